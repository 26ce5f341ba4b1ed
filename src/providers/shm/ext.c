/*
 * Extended operations (dat_ib_extensions.h, version 209): RDMA write with
 * immediate data, fetch-and-add, compare-and-swap. The atomic ones work on an
 * aligned 64-bit word in host byte order, and are atomic with respect to every
 * processor: to each other, whichever way they go, and to the program's own
 * atomic instructions.
 */
#include <string.h>

#include "providers/shm/calls.h"
#include "providers/shm/rmr.h"

void dm_shm_item_extend(struct dm_evd_item *item, const struct dm_shm_op *op,
                        DAT_DTO_COMPLETION_STATUS status)
{
    static const DAT_IB_EXT_TYPE types[] = {
        [DM_OP_WRITE_IMMED] = DAT_IB_RDMA_WRITE_IMMED,
        [DM_OP_FETCH_ADD] = DAT_IB_FETCH_AND_ADD,
        [DM_OP_CMP_SWAP] = DAT_IB_CMP_AND_SWAP,
    };
    DAT_RMR_BIND_COMPLETION_EVENT_DATA bind = {.status = status};
    DAT_IB_EXTENSION_EVENT_DATA data;

    if (op->kind == DM_OP_BIND) {
        item->data[DM_ITEM_EXTRA] = item->data[0]; /* the EP */
        memcpy(&bind.rmr_handle, &op->remote.virtual_address, sizeof(bind.rmr_handle));
        memcpy(&bind.user_cookie, &op->cookie, sizeof(bind.user_cookie));
        item->number = DAT_RMR_BIND_COMPLETION_EVENT;
        memcpy(item->data, &bind, sizeof(bind));
        return;
    }
    memset(&data, 0, sizeof(data));
    data.type = types[op->kind];
    data.status = status == DAT_DTO_SUCCESS ? DAT_OP_SUCCESS : DAT_IB_OP_ERR;
    if (op->kind == DM_OP_WRITE_IMMED)
        data.val.immed.data = op->immed;
    item->number = (uint32_t)DAT_IB_DTO_EVENT;
    memcpy(&item->ext, &data, sizeof(item->ext));
    memcpy(&item->data[DM_ITEM_EXTRA], (const char *)&data + sizeof(item->ext),
           sizeof(item->data[0]));
}

/* add, or compare and swap; one segment of the word's size. */
static DAT_RETURN post_atomic(struct dm_sep *ep, enum dm_shm_op_kind kind, va_list args)
{
    struct dm_shm_op op = {.kind = kind, .n_seg = 1};
    const DAT_RMR_TRIPLET *remote;

    op.operand[0] = va_arg(args, DAT_UINT64);
    if (kind == DM_OP_CMP_SWAP)
        op.operand[1] = va_arg(args, DAT_UINT64);
    op.seg = va_arg(args, DAT_LMR_TRIPLET *);
    op.cookie = va_arg(args, DAT_DTO_COOKIE);
    remote = va_arg(args, DAT_RMR_TRIPLET *);
    op.flags = va_arg(args, DAT_COMPLETION_FLAGS);
    if (op.seg == NULL || remote == NULL)
        return DM_DAT(DAT_INVALID_PARAMETER, 0);
    if (op.seg->segment_length != sizeof(uint64_t))
        return DM_DAT(DAT_LENGTH_ERROR, 0);
    op.remote = *remote;
    return dm_shm_post(ep, &op);
}

static DAT_RETURN post_write_immed(struct dm_sep *ep, va_list args)
{
    struct dm_shm_op op = {.kind = DM_OP_WRITE_IMMED};
    DAT_COUNT n = va_arg(args, DAT_COUNT);
    const DAT_RMR_TRIPLET *remote;

    op.seg = va_arg(args, DAT_LMR_TRIPLET *);
    op.cookie = va_arg(args, DAT_DTO_COOKIE);
    remote = va_arg(args, DAT_RMR_TRIPLET *);
    op.immed = va_arg(args, DAT_UINT32);
    op.flags = va_arg(args, DAT_COMPLETION_FLAGS);
    if (n < 0 || n > DM_IOV_MAX || (n > 0 && (op.seg == NULL || remote == NULL)))
        return DM_DAT(DAT_INVALID_PARAMETER, 0);
    op.n_seg = (uint32_t)n;
    if (remote != NULL)
        op.remote = *remote;
    return dm_shm_post(ep, &op);
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
    ret = dm_shm_ia_open(name, 0, &async_evd, ia_p);
    if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
        ret = dm_shm_ia_open_safe(name, 0, &async_evd, ia_p);
    if (ret != DAT_SUCCESS)
        return ret;
    ret = dm_shm_ia_query(*ia_p, NULL, ia_mask, ia_attr, mask, attr);
    if (ret != DAT_SUCCESS)
        (void)dm_shm_ia_close(*ia_p, DAT_CLOSE_ABRUPT_FLAG);
    return ret;
}

DAT_RETURN dm_shm_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP number, va_list args)
{
    struct dm_sep *ep;

    switch ((int)number) {
    case DAT_IB_FETCH_AND_ADD_OP:
    case DAT_IB_CMP_AND_SWAP_OP:
    case DAT_IB_RDMA_WRITE_IMMED_OP:
        ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
        if (ep == NULL)
            return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        if (number == DAT_IB_RDMA_WRITE_IMMED_OP)
            return post_write_immed(ep, args);
        return post_atomic(ep, number == DAT_IB_FETCH_AND_ADD_OP ? DM_OP_FETCH_ADD : DM_OP_CMP_SWAP,
                           args);
    case DAT_IB_OPEN_QUERY_OP:
        return open_query(handle, args);
    case DAT_IB_CLOSE_QUERY_OP:
        return dm_shm_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
    default: /* datagrams, collectives, counters */
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    }
}
