/*
 * Extended operations (dat_ib_extensions.h, version 209): RDMA write with
 * immediate data, fetch-and-add, compare-and-swap; and the mail by which two
 * providers serve each other. The atomic operations are carried out by the
 * target's processor, on an aligned 64-bit word in host byte order: they are
 * atomic to each other and to the program's own atomic instructions.
 */
#include "providers/ofi/dto.h"

#include <string.h>

#include "providers/ofi/calls.h"
#include "providers/ofi/rmr.h"

void dm_ofi_item_extend(struct dm_evd_item *item, const struct dm_ofi_dto *dto,
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

/* ---- mail ---- */

/* The word, if the peer may have it. */
static _Atomic uint64_t *find_word(struct dm_oep *ep, const struct dm_ofi_mail *mail)
{
    const uint32_t both = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    const struct dm_ofi_region *region =
        dm_ofi_key_find(dm_ofi_ia_of(ep), ep, mail->key, mail->va, sizeof(uint64_t),
                        both | (uint32_t)DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
    _Atomic uint64_t *word;
    uint64_t at;

    if (region == NULL || ((region->priv & both) != both &&
                           (region->priv & (uint32_t)DAT_IB_MEM_PRIV_REMOTE_ATOMIC) == 0))
        return NULL;
    at = region->addr + (mail->va - region->va);
    memcpy(&word, &at, sizeof(word));
    return at % sizeof(uint64_t) == 0 ? word : NULL;
}

static void on_atomic(struct dm_oep *ep, const struct dm_ofi_mail *mail)
{
    struct dm_ofi_mail answer = {.type = DM_MAIL_ATOMIC_DONE, .id = mail->id};
    _Atomic uint64_t *word = find_word(ep, mail);
    uint64_t old = mail->value[0];

    if (word == NULL)
        answer.status = 1;
    else if (mail->status == 0)
        old = atomic_fetch_add(word, old);
    else
        (void)atomic_compare_exchange_strong(word, &old, mail->value[1]);
    answer.value[0] = old;
    dm_ofi_mail_post(ep, &answer);
}

static void on_atomic_done(struct dm_oep *ep, const struct dm_ofi_mail *mail)
{
    struct dm_ofi_op *op = dm_ofi_op_find(ep, (uint32_t)mail->id);
    const struct dm_ofi_region *region;
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
    uint64_t at;
    void *sink;

    if (op == NULL || !dm_ofi_is_atomic(&op->dto) || op->is_done)
        return;
    region = dm_ofi_key_find(dm_ofi_ia_of(ep), ep, op->dto.seg->lmr_context,
                             op->dto.seg->virtual_address, sizeof(uint64_t),
                             DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
    if (mail->status != 0) {
        status = DAT_DTO_ERR_REMOTE_ACCESS;
    } else if (region == NULL) {
        status = DAT_DTO_ERR_LOCAL_PROTECTION;
    } else {
        at = region->addr + (op->dto.seg->virtual_address - region->va);
        memcpy(&sink, &at, sizeof(sink));
        memcpy(sink, &mail->value[0], sizeof(mail->value[0]));
    }
    dm_ofi_op_over(op, status);
    dm_ofi_push(ep);
}

static void on_recv(struct dm_oep *ep, const struct dm_ofi_mail *mail)
{
    struct dm_ofi_op *op = dm_ofi_op_find(ep, (uint32_t)mail->id);

    if (op == NULL || op->is_granted)
        return;
    if (mail->status != 0)
        dm_ofi_op_refuse(op, DAT_DTO_ERR_REMOTE_RESPONDER);
    op->is_granted = true;
    dm_ofi_push(ep);
}

void dm_ofi_mail_arrived(struct dm_ofi_conn *conn, const struct dm_ofi_mail *mail)
{
    struct dm_oep *ep = conn->ep;

    if (ep == NULL)
        return;
    switch ((enum dm_ofi_mail_type)mail->type) {
    case DM_MAIL_ATOMIC:
        on_atomic(ep, mail);
        break;
    case DM_MAIL_ATOMIC_DONE:
        on_atomic_done(ep, mail);
        break;
    case DM_MAIL_ASK_RECV:
        dm_ofi_srq_asked(ep, mail);
        break;
    case DM_MAIL_RECV:
        on_recv(ep, mail);
        break;
    case DM_MAIL_ASK_KEY:
        dm_ofi_far_asked(ep, mail->key);
        break;
    case DM_MAIL_KEY:
        dm_ofi_far_told(ep, mail);
        break;
    case DM_MAIL_KEY_GONE:
        dm_ofi_far_gone(ep, mail->key);
        break;
    case DM_MAIL_GONE_OK:
        dm_ofi_far_confirmed(ep, mail->value[0]);
        break;
    case DM_MAIL_IMMED_LEN:
        ep->immed_len = mail->value[0];
        break;
    case DM_MAIL_READ:
        dm_ofi_read_asked(ep, mail);
        break;
    case DM_MAIL_READ_DONE:
        dm_ofi_read_answered(ep, mail);
        break;
    case DM_MAIL_FLOOR:
        conn->peer_floor = mail->value[0];
        break;
    default:
        break; /* of a newer peer */
    }
}

/* ---- the calls ---- */

/* add, or compare and swap; one segment of the word's size. */
static DAT_RETURN post_atomic(struct dm_oep *ep, enum dm_ofi_op_kind kind, va_list args)
{
    struct dm_ofi_dto dto = {.kind = kind, .n_seg = 1};
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
    return dm_ofi_post(ep, &dto);
}

static DAT_RETURN post_write_immed(struct dm_oep *ep, va_list args)
{
    struct dm_ofi_dto dto = {.kind = DM_OP_WRITE_IMMED};
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
    return dm_ofi_post(ep, &dto);
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
    ret = dm_ofi_ia_open(name, 0, &async_evd, ia_p);
    if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
        ret = dm_ofi_ia_open_safe(name, 0, &async_evd, ia_p);
    if (ret != DAT_SUCCESS)
        return ret;
    ret = dm_ofi_ia_query(*ia_p, NULL, ia_mask, ia_attr, mask, attr);
    if (ret != DAT_SUCCESS)
        (void)dm_ofi_ia_close(*ia_p, DAT_CLOSE_ABRUPT_FLAG);
    return ret;
}

DAT_RETURN dm_ofi_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP number, va_list args)
{
    struct dm_oep *ep;

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
        return dm_ofi_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
    default: /* datagrams, collectives, counters */
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    }
}
