/*
 * Extended operations (dat_ib_extensions.h, version 209): RDMA write with
 * immediate data, fetch-and-add, compare-and-swap. The atomic ones work on an
 * aligned 64-bit word in host byte order, and are atomic to each other, however
 * they are carried out, and to the program's own atomic instructions. And the other calls that post requests of the rarer kinds.
 */
#include "providers/common/dto.h"

#include <string.h>

#include "providers/common/provider.h"
#include "util/clock.h"
#include "util/datagram.h"

const uint8_t dm_dto_local_privs[] = {
    [DM_OP_SEND] = DAT_MEM_PRIV_LOCAL_READ_FLAG,
    [DM_OP_WRITE] = DAT_MEM_PRIV_LOCAL_READ_FLAG,
    [DM_OP_READ] = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
    [DM_OP_SEND_INVALIDATE] = DAT_MEM_PRIV_LOCAL_READ_FLAG,
    [DM_OP_READ_TO_RMR] = DAT_MEM_PRIV_REMOTE_WRITE_FLAG, /* written as if by a peer */
    [DM_OP_WRITE_IMMED] = DAT_MEM_PRIV_LOCAL_READ_FLAG,
    [DM_OP_FETCH_ADD] = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
    [DM_OP_CMP_SWAP] = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
};

const DAT_DTOS dm_dto_operations[] = {
    [DM_OP_SEND] = DAT_DTO_SEND,
    [DM_OP_WRITE] = DAT_DTO_RDMA_WRITE,
    [DM_OP_READ] = DAT_DTO_RDMA_READ,
    [DM_OP_SEND_INVALIDATE] = DAT_DTO_SEND,
    [DM_OP_READ_TO_RMR] = DAT_DTO_RDMA_READ,
    [DM_OP_WRITE_IMMED] = (DAT_DTOS)DAT_IB_DTO_RDMA_WRITE_IMMED,
    [DM_OP_FETCH_ADD] = (DAT_DTOS)DAT_IB_DTO_FETCH_ADD,
    [DM_OP_CMP_SWAP] = (DAT_DTOS)DAT_IB_DTO_CMP_SWAP,
    [DM_OP_BIND] = DAT_DTO_BIND_MW,
};

DAT_RETURN dm_dto_post(struct dm_ep *ep, const struct dm_dto *dto)
{
    if (ep->request_evd == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_REQUEST);
    return ep->obj.ia->ops->post(ep, dto);
}

DAT_RETURN dm_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
                                        DAT_BOOLEAN is_invalidate, DAT_RMR_CONTEXT context)
{
    struct dm_dto dto = {.kind = DM_OP_SEND, .flags = flags, .cookie = cookie, .seg = seg};
    DAT_RETURN ret;

    if (is_invalidate != DAT_FALSE) {
        dto.kind = DM_OP_SEND_INVALIDATE;
        dto.invalidate = context;
    }
    ret = dm_dto_check(ep, &dto, n, NULL);
    return ret == DAT_SUCCESS ? dm_dto_post((struct dm_ep *)ep, &dto) : ret;
}

DAT_RETURN dm_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
                                    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                    DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_READ_TO_RMR, .flags = flags, .cookie = cookie};
    DAT_LMR_TRIPLET to;
    DAT_RETURN ret;

    if (local == NULL)
        return DM_DAT_ARG(2);
    if (remote == NULL)
        return DM_DAT_ARG(4);
    memset(&to, 0, sizeof(to));
    to.virtual_address = local->virtual_address;
    to.segment_length = local->segment_length;
    to.lmr_context = local->rmr_context;
    dto.seg = &to;
    ret = dm_dto_check(ep, &dto, 1, remote);
    return ret == DAT_SUCCESS ? dm_dto_post((struct dm_ep *)ep, &dto) : ret;
}

void dm_dto_item_extend(struct dm_evd_item *item, const struct dm_dto *dto,
                        DAT_DTO_COMPLETION_STATUS status)
{
    static const DAT_IB_EXT_TYPE types[] = {
        [DM_OP_WRITE_IMMED] = DAT_IB_RDMA_WRITE_IMMED,
        [DM_OP_FETCH_ADD] = DAT_IB_FETCH_AND_ADD,
        [DM_OP_CMP_SWAP] = DAT_IB_CMP_AND_SWAP,
    };
    DAT_RMR_BIND_COMPLETION_EVENT_DATA bind = {.status = status};
    DAT_IB_EXTENSION_EVENT_DATA data;

    if (dto->kind == DM_OP_BIND) {
        item->data[DM_ITEM_EXTRA] = item->data[0]; /* the EP */
        memcpy(&bind.rmr_handle, &dto->remote.virtual_address, sizeof(bind.rmr_handle));
        memcpy(&bind.user_cookie, &dto->cookie, sizeof(bind.user_cookie));
        item->number = DAT_RMR_BIND_COMPLETION_EVENT;
        memcpy(item->data, &bind, sizeof(bind));
        return;
    }
    memset(&data, 0, sizeof(data));
    data.type = types[dto->kind];
    data.status = status == DAT_DTO_SUCCESS ? DAT_OP_SUCCESS : DAT_IB_OP_ERR;
    if (dto->kind == DM_OP_WRITE_IMMED)
        data.val.immed.data = dto->immed;
    item->number = (uint32_t)DAT_IB_DTO_EVENT;
    memcpy(&item->ext, &data, sizeof(item->ext));
    memcpy(&item->data[DM_ITEM_EXTRA], (const char *)&data + sizeof(item->ext),
           sizeof(item->data[0]));
}

/* add, or compare and swap; one segment of the word's size. */
static DAT_RETURN post_atomic(struct dm_ep *ep, enum dm_dto_kind kind, va_list args)
{
    struct dm_dto dto = {.kind = kind, .n_seg = 1};
    const DAT_RMR_TRIPLET *remote;

    dto.operand[0] = va_arg(args, DAT_UINT64);
    if (kind == DM_OP_CMP_SWAP)
        dto.operand[1] = va_arg(args, DAT_UINT64);
    dto.seg = va_arg(args, DAT_LMR_TRIPLET *);
    dto.cookie = va_arg(args, DAT_DTO_COOKIE);
    remote = va_arg(args, DAT_RMR_TRIPLET *);
    dto.flags = va_arg(args, DAT_COMPLETION_FLAGS);
    if (dto.seg == NULL || remote == NULL)
        return DM_DAT(DAT_INVALID_PARAMETER, 0);
    if (dto.seg->segment_length != sizeof(uint64_t))
        return DM_DAT(DAT_LENGTH_ERROR, 0);
    dto.remote = *remote;
    return dm_dto_post(ep, &dto);
}

static DAT_RETURN post_write_immed(struct dm_ep *ep, va_list args)
{
    struct dm_dto dto = {.kind = DM_OP_WRITE_IMMED};
    DAT_COUNT n = va_arg(args, DAT_COUNT);
    const DAT_RMR_TRIPLET *remote;

    dto.seg = va_arg(args, DAT_LMR_TRIPLET *);
    dto.cookie = va_arg(args, DAT_DTO_COOKIE);
    remote = va_arg(args, DAT_RMR_TRIPLET *);
    dto.immed = va_arg(args, DAT_UINT32);
    dto.flags = va_arg(args, DAT_COMPLETION_FLAGS);
    if (n < 0 || n > DM_IOV_MAX || (n > 0 && (dto.seg == NULL || remote == NULL)))
        return DM_DAT(DAT_INVALID_PARAMETER, 0);
    dto.n_seg = (uint32_t)n;
    if (remote != NULL)
        dto.remote = *remote;
    return dm_dto_post(ep, &dto);
}

/* Open an instance for a look at its attributes; libdat2 gives the name in
 * place of a handle. */
static DAT_RETURN open_query(const DAT_NAME_PTR name, va_list args)
{
    DAT_HANDLE *ia_p = va_arg(args, DAT_HANDLE *);
    DAT_IA_ATTR_MASK ia_mask = va_arg(args, DAT_IA_ATTR_MASK);
    DAT_IA_ATTR *ia_attr = va_arg(args, DAT_IA_ATTR *);
    DAT_PROVIDER_ATTR_MASK mask = va_arg(args, DAT_PROVIDER_ATTR_MASK);
    DAT_PROVIDER_ATTR *attr = va_arg(args, DAT_PROVIDER_ATTR *);
    DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
    DAT_RETURN ret;

    if (name == NULL || ia_p == NULL)
        return DM_DAT(DAT_INVALID_PARAMETER, 0);
    ret = dm_ia_open(name, 0, &async_evd, ia_p);
    if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
        ret = dm_ia_open_safe(name, 0, &async_evd, ia_p);
    if (ret != DAT_SUCCESS)
        return ret;
    ret = dm_ia_query(*ia_p, NULL, ia_mask, ia_attr, mask, attr);
    if (ret != DAT_SUCCESS)
        (void)dm_ia_close(*ia_p, DAT_CLOSE_ABRUPT_FLAG);
    return ret;
}

/* How the instance's virtual time is used. */
static DAT_RETURN ext_clock(DAT_IA_HANDLE handle, va_list args)
{
    struct dm_pia *ia = dm_obj_get(handle, DAT_HANDLE_TYPE_IA);
    struct dm_clock_source *source = va_arg(args, struct dm_clock_source *);

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (source == NULL)
        return DM_DAT(DAT_INVALID_PARAMETER, 0);
    if (ia->ops->ia.clock == NULL || !ia->ops->ia.clock(ia, source))
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    return DAT_SUCCESS;
}

/* Datagrams between instances of this host. */
static DAT_RETURN ext_datagrams(DAT_IA_HANDLE handle, va_list args)
{
    struct dm_pia *ia = dm_obj_get(handle, DAT_HANDLE_TYPE_IA);
    struct dm_datagrams *datagrams = va_arg(args, struct dm_datagrams *);

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (datagrams == NULL)
        return DM_DAT(DAT_INVALID_PARAMETER, 0);
    if (ia->ops->ia.datagrams == NULL || !ia->ops->ia.datagrams(ia, datagrams))
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    return DAT_SUCCESS;
}

DAT_RETURN dm_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP number, va_list args)
{
    struct dm_ep *ep;

    switch ((int)number) {
    case DAT_IB_FETCH_AND_ADD_OP:
    case DAT_IB_CMP_AND_SWAP_OP:
    case DAT_IB_RDMA_WRITE_IMMED_OP:
        ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
        if (ep == NULL)
            return DM_DAT_BAD(EP);
        if (number == DAT_IB_RDMA_WRITE_IMMED_OP)
            return post_write_immed(ep, args);
        return post_atomic(ep, number == DAT_IB_FETCH_AND_ADD_OP ? DM_OP_FETCH_ADD : DM_OP_CMP_SWAP,
                           args);
    case DAT_IB_OPEN_QUERY_OP:
        return open_query(handle, args);
    case DAT_IB_CLOSE_QUERY_OP:
        return dm_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
    case DM_CLOCK_OP:
        return ext_clock(handle, args);
    case DM_DATAGRAM_OP:
        return ext_datagrams(handle, args);
    default: /* InfiniBand's datagrams, collectives, counters */
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    }
}
