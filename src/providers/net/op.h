/*
 * Requests and receives on their way: their memory, and their completions. ia->lock is held in all
 * functions. Each request and receive goes through the inline ones.
 */
#ifndef DM_PROVIDERS_NET_OP_H
#define DM_PROVIDERS_NET_OP_H

#include <stdlib.h>
#include <string.h>

#include "providers/net/key.h"
#include "providers/net/srq.h"

/* More of them in the pool. False: out of memory. */
bool dm_net_op_pool_grow(struct dm_net *net);
void dm_net_ops_close(struct dm_net *net);
/* Has it a segment of the region? */
bool dm_net_op_uses(const struct dm_net_op *op, uint32_t key);
/* Bytes in all its segments. */
uint64_t dm_net_op_space(const struct dm_net_op *op);

/* One with its segments, copied from dto. NULL: out of memory. */
static inline struct dm_net_op *dm_net_op_new(struct dm_net *net, const struct dm_dto *dto)
{
    struct dm_net_op *op;
    DAT_LMR_TRIPLET *seg;

    if (dm_list_is_empty(&net->pool.free) && !dm_net_op_pool_grow(net))
        return NULL;
    op = dm_container_of(net->pool.free.prev, struct dm_net_op, link);
    seg = op->few;
    op->more = NULL;
    if (dm_unlikely(dto->n_seg > DM_NET_OP_SEGS)) {
        op->more = malloc(dto->n_seg * (sizeof(*seg) + net->ops->seg_size));
        if (op->more == NULL)
            return NULL;
        seg = op->more;
    }
    dm_list_del(&op->link);
    op->dto = *dto;
    op->dto.seg = seg;
    if (dto->n_seg > 0)
        memcpy(seg, dto->seg, dto->n_seg * sizeof(*seg));
    op->status = DAT_DTO_SUCCESS;
    op->len = 0;
    op->pos = 0;
    return op;
}

static inline void dm_net_op_free(struct dm_net *net, struct dm_net_op *op)
{
    if (dm_unlikely(op->more != NULL))
        free(op->more);
    op->more = NULL;
    dm_list_add_tail(&net->pool.free, &op->link);
}

/* Add the completion of a request. */
static inline void dm_net_dto_complete(struct dm_net_ep *ep, const struct dm_dto *dto,
                                       DAT_DTO_COMPLETION_STATUS status, uint64_t len)
{
    if (dm_unlikely(dto->kind == DM_OP_BIND))
        dm_net_rmr_bound(dto->bind);
    if (status == DAT_DTO_SUCCESS && (dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)
        return;
    if (dm_dto_complete(&ep->ep, dto, status, len))
        ep->n_signalled++; /* else nobody will dequeue it: the slot is free again */
}

/* Does a receive that is successful end without waking anybody? */
static inline bool dm_net_recv_is_quiet(const struct dm_net_ep *ep, const struct dm_net_op *op,
                                        bool is_solicited)
{
    unsigned notify = (unsigned)ep->ep.attr.recv_completion_flags;

    return ((notify & DAT_COMPLETION_SOLICITED_WAIT_FLAG) != 0 && !is_solicited) ||
           (notify & (unsigned)op->dto.flags & DAT_COMPLETION_UNSIGNALLED_FLAG) != 0;
}

/* What the completion of a receive says, but for the message. */
static inline DAT_DTO_COMPLETION_EVENT_DATA dm_net_recv_data(const struct dm_net_ep *ep,
                                                             const struct dm_net_op *op,
                                                             DAT_DTO_COMPLETION_STATUS status,
                                                             uint64_t len)
{
    return (DAT_DTO_COMPLETION_EVENT_DATA){.ep_handle = (DAT_EP_HANDLE)ep,
                                           .user_cookie = op->dto.cookie,
                                           .status = status,
                                           .transfered_length = (DAT_SEG_LENGTH)len,
                                           .operation = DAT_DTO_RECEIVE};
}

/* Add it. False: it is lost. */
static inline bool dm_net_recv_complete(struct dm_net_ep *ep, const struct dm_net_op *op,
                                        const struct dm_evd_item *item, bool is_solicited,
                                        bool is_success)
{
    if (ep->srq != NULL)
        ep->srq->n_taken--;
    if (is_success && dm_net_recv_is_quiet(ep, op, is_solicited))
        return dm_evd_add_quiet(ep->ep.recv_evd, item);
    return dm_evd_add(ep->ep.recv_evd, item);
}

#endif
