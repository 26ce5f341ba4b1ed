/*
 * Requests and receives: where the memory of one is.
 */
#include "providers/tcp/dto.h"

#include "providers/net/key.h"

bool dm_tcp_op_resolve(struct dm_tcp_ep *ep, struct dm_tcp_op *op, uint64_t len, uint32_t priv)
{
    op->n_vec = 0;
    op->base.len = 0;
    for (uint32_t i = 0; i < op->base.dto.n_seg && op->base.len < len; i++) {
        const DAT_LMR_TRIPLET *seg = &op->base.dto.seg[i];
        char *mem;

        if (seg->segment_length == 0)
            continue;
        mem = dm_net_key_mem(&ep->base.ep, seg->lmr_context, seg->virtual_address,
                             seg->segment_length, priv);
        if (mem == NULL)
            return false;
        op->vec[op->n_vec].iov_base = mem;
        op->vec[op->n_vec++].iov_len = seg->segment_length;
        op->base.len += seg->segment_length;
    }
    return true;
}

uint32_t dm_tcp_op_part(const struct dm_tcp_op *op, uint64_t pos, uint64_t n, struct iovec *vec,
                        uint32_t max)
{
    uint32_t n_vec = 0;

    for (uint32_t i = 0; i < op->n_vec && n > 0 && n_vec < max; i++) {
        uint64_t len = op->vec[i].iov_len;

        if (pos >= len) {
            pos -= len;
            continue;
        }
        len -= pos;
        if (len > n)
            len = n;
        vec[n_vec].iov_base = (char *)op->vec[i].iov_base + pos;
        vec[n_vec++].iov_len = len;
        n -= len;
        pos = 0;
    }
    return n_vec;
}
