/*
 * Requests: what the consumer has posted, the checks of the posting calls, and
 * how a completion looks.
 */
#ifndef DM_PROVIDERS_COMMON_DTO_H
#define DM_PROVIDERS_COMMON_DTO_H

#include "providers/common/ep.h"

enum dm_dto_kind {
    DM_OP_SEND,
    DM_OP_WRITE,
    DM_OP_READ, /* up to here plain completions */
    DM_OP_SEND_INVALIDATE,
    DM_OP_READ_TO_RMR, /* the segment is an RMR triplet */
    DM_OP_WRITE_IMMED,
    DM_OP_FETCH_ADD,
    DM_OP_CMP_SWAP,
    DM_OP_BIND,
    DM_OP_RECV
};

struct dm_bind;

struct dm_dto {
    enum dm_dto_kind kind;
    DAT_COMPLETION_FLAGS flags;
    DAT_DTO_COOKIE cookie;
    uint32_t n_seg;
    const DAT_LMR_TRIPLET *seg;
    DAT_RMR_TRIPLET remote;
    union {
        uint64_t operand[2]; /* FETCH_ADD; CMP_SWAP: compare, swap */
        uint32_t immed;      /* WRITE_IMMED */
        uint32_t invalidate; /* SEND_INVALIDATE */
        struct dm_bind *bind;
    };
};

/* By kind: the privilege that a request needs for its own segments, and what DAT calls it. */
extern const uint8_t dm_dto_local_privs[];
extern const DAT_DTOS dm_dto_operations[];

/* Make the completion of an extended request or a bind out of a plain one. */
void dm_dto_item_extend(struct dm_evd_item *item, const struct dm_dto *dto,
                        DAT_DTO_COMPLETION_STATUS status);
/* Post a request of a rarer kind; takes the lock. */
DAT_RETURN dm_dto_post(struct dm_ep *ep, const struct dm_dto *dto);

static inline bool dm_dto_is_send(const struct dm_dto *dto)
{
    return dto->kind == DM_OP_SEND || dto->kind == DM_OP_SEND_INVALIDATE;
}

static inline bool dm_dto_is_read(const struct dm_dto *dto)
{
    return dto->kind == DM_OP_READ || dto->kind == DM_OP_READ_TO_RMR;
}

static inline bool dm_dto_is_atomic(const struct dm_dto *dto)
{
    return dto->kind == DM_OP_FETCH_ADD || dto->kind == DM_OP_CMP_SWAP;
}

/* Does a successful request end without waking anybody? */
static inline bool dm_dto_is_quiet(const struct dm_ep *ep, const struct dm_dto *dto)
{
    return (dto->flags & DAT_COMPLETION_UNSIGNALLED_FLAG) != 0 &&
           (ep->attr.request_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG) != 0;
}

/* The completion of a request. */
static inline struct dm_evd_item dm_dto_item(struct dm_ep *ep, const struct dm_dto *dto,
                                             DAT_DTO_COMPLETION_STATUS status, uint64_t len)
{
    DAT_DTO_COMPLETION_EVENT_DATA data = {.ep_handle = (DAT_EP_HANDLE)ep,
                                          .user_cookie = dto->cookie,
                                          .status = status,
                                          .transfered_length = (DAT_SEG_LENGTH)len,
                                          .operation = dm_dto_operations[dto->kind],
                                          .rmr_context = dto->remote.rmr_context};
    struct dm_evd_item item = dm_evd_item_dto(&data, DM_TAG(ep->obj.gen, DM_TAG_REQUEST));

    if (dm_unlikely(dto->kind >= DM_OP_WRITE_IMMED))
        dm_dto_item_extend(&item, dto, status);
    return item;
}

/* Add the completion of a request to its dispatcher. False: there was no space. */
static inline bool dm_dto_complete(struct dm_ep *ep, const struct dm_dto *dto,
                                   DAT_DTO_COMPLETION_STATUS status, uint64_t len)
{
    struct dm_evd_item item = dm_dto_item(ep, dto, status, len);

    if (dm_unlikely(status == DAT_DTO_SUCCESS && dm_dto_is_quiet(ep, dto)))
        return dm_evd_add_quiet(ep->request_evd, &item);
    return dm_evd_add(ep->request_evd, &item);
}

/* The checks of a posting call; fills in what dto has not got yet. */
static inline DAT_RETURN dm_dto_check(DAT_EP_HANDLE handle, struct dm_dto *dto, DAT_COUNT n,
                                      const DAT_RMR_TRIPLET *remote)
{
    if (!dm_obj_is(handle, DAT_HANDLE_TYPE_EP))
        return DM_DAT_BAD(EP);
    if (n < 0 || n > DM_IOV_MAX)
        return DM_DAT_ARG(2);
    if (n > 0 && dto->seg == NULL)
        return DM_DAT_ARG(3);
    if (!dm_dto_is_send(dto) && remote == NULL && n > 0)
        return DM_DAT_ARG(5);
    if (((struct dm_ep *)handle)->request_evd == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_REQUEST);
    dto->n_seg = (uint32_t)n;
    if (remote != NULL)
        dto->remote = *remote;
    return DAT_SUCCESS;
}

/* A receive always completes; and where the threshold decides who is woken,
 * the single receive has no say in it. */
static inline bool dm_recv_are_flags_ok(const struct dm_ep *ep, DAT_COMPLETION_FLAGS flags)
{
    if ((flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)
        return false;
    return (flags & DAT_COMPLETION_UNSIGNALLED_FLAG) == 0 ||
           (ep->attr.recv_completion_flags & DAT_COMPLETION_EVD_THRESHOLD_FLAG) == 0;
}

/* The checks of dat_ep_post_recv. */
static inline DAT_RETURN dm_recv_check(DAT_EP_HANDLE handle, DAT_COUNT n,
                                       const DAT_LMR_TRIPLET *seg, DAT_COMPLETION_FLAGS flags)
{
    const struct dm_ep *ep = (const struct dm_ep *)handle;

    if (!dm_obj_is(ep, DAT_HANDLE_TYPE_EP))
        return DM_DAT_BAD(EP);
    if (ep->srq != NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    if (ep->recv_evd == NULL || ep->attr.max_recv_dtos == 0)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_RECV);
    if (n < 0 || n > ep->attr.max_recv_iov)
        return DM_DAT_ARG(2);
    if (n > 0 && seg == NULL)
        return DM_DAT_ARG(3);
    return dm_likely(dm_recv_are_flags_ok(ep, flags)) ? DAT_SUCCESS : DM_DAT_ARG(5);
}

/* DAT calls. */
DAT_RETURN dm_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
                                        DAT_BOOLEAN is_invalidate, DAT_RMR_CONTEXT context);
DAT_RETURN dm_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
                                    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                    DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP number, va_list args);

#endif
