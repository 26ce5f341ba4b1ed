/*
 * Requests and receives: those that are not in use are in a pool of the instance, which grows by
 * chunks; and where the memory of one is.
 */
#include "providers/tcp/dto.h"

#include <stdlib.h>
#include <string.h>

#include "providers/net/key.h"

enum { OPS_PER_CHUNK = 32 };

struct op_chunk {
    struct dm_list link;
    struct dm_tcp_op ops[OPS_PER_CHUNK];
};

static bool op_pool_grow(struct dm_tcp_ia *ia)
{
    struct op_chunk *chunk = malloc(sizeof(*chunk));

    if (chunk == NULL)
        return false;
    dm_list_add_tail(&ia->pool.chunks, &chunk->link);
    for (int i = 0; i < OPS_PER_CHUNK; i++)
        dm_list_add_tail(&ia->pool.free, &chunk->ops[i].link);
    return true;
}

struct dm_tcp_op *dm_tcp_op_new(struct dm_tcp_ia *ia, const struct dm_dto *dto)
{
    struct dm_tcp_op *op;
    DAT_LMR_TRIPLET *seg;

    if (dm_list_is_empty(&ia->pool.free) && !op_pool_grow(ia))
        return NULL;
    op = dm_container_of(ia->pool.free.prev, struct dm_tcp_op, link);
    seg = op->few;
    op->vec = op->few_vec;
    op->more = NULL;
    if (dm_unlikely(dto->n_seg > DM_TCP_OP_SEGS)) {
        op->more = malloc(dto->n_seg * (sizeof(*seg) + sizeof(*op->vec)));
        if (op->more == NULL)
            return NULL;
        seg = op->more;
        op->vec = (struct iovec *)(void *)(seg + dto->n_seg);
    }
    dm_list_del(&op->link);
    op->dto = *dto;
    op->dto.seg = seg;
    if (dto->n_seg > 0)
        memcpy(seg, dto->seg, dto->n_seg * sizeof(*seg));
    op->number = 0;
    op->has_slot = false;
    op->is_sent = false;
    op->is_answered = false;
    op->is_recv_due = false;
    op->status = DAT_DTO_SUCCESS;
    op->len = 0;
    op->pos = 0;
    op->n_vec = 0;
    return op;
}

void dm_tcp_op_free(struct dm_tcp_ia *ia, struct dm_tcp_op *op)
{
    if (dm_unlikely(op->more != NULL))
        free(op->more);
    op->more = NULL;
    dm_list_add_tail(&ia->pool.free, &op->link);
}

void dm_tcp_ops_close(struct dm_tcp_ia *ia)
{
    while (!dm_list_is_empty(&ia->pool.chunks)) {
        struct op_chunk *chunk = dm_container_of(ia->pool.chunks.next, struct op_chunk, link);

        dm_list_del(&chunk->link);
        free(chunk);
    }
    dm_list_init(&ia->pool.free);
}

bool dm_tcp_op_uses(const struct dm_tcp_op *op, uint32_t key)
{
    for (uint32_t i = 0; i < op->dto.n_seg; i++)
        if (op->dto.seg[i].lmr_context == key && op->dto.seg[i].segment_length > 0)
            return true;
    return false;
}

bool dm_tcp_op_resolve(struct dm_tcp_ep *ep, struct dm_tcp_op *op, uint64_t len, uint32_t priv)
{
    op->n_vec = 0;
    op->len = 0;
    for (uint32_t i = 0; i < op->dto.n_seg && op->len < len; i++) {
        const DAT_LMR_TRIPLET *seg = &op->dto.seg[i];
        char *mem;

        if (seg->segment_length == 0)
            continue;
        mem = dm_net_key_mem(&ep->ep, seg->lmr_context, seg->virtual_address, seg->segment_length,
                             priv);
        if (mem == NULL)
            return false;
        op->vec[op->n_vec].iov_base = mem;
        op->vec[op->n_vec++].iov_len = seg->segment_length;
        op->len += seg->segment_length;
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
