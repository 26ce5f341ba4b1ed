/*
 * The mail by which two providers serve each other. Atomic operations are
 * carried out by the target's processor, on an aligned 64-bit word in host byte
 * order: they are atomic to each other and to the program's own atomic
 * instructions.
 */
#include "providers/ofi/dto.h"

#include <string.h>

#include "providers/ofi/calls.h"
#include "providers/ofi/rmr.h"

/* The word, if the peer may have it. */
static _Atomic uint64_t *find_word(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail)
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

static void on_atomic(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail)
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

static void on_atomic_done(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail)
{
    struct dm_ofi_op *op = dm_ofi_op_find(ep, (uint32_t)mail->id);
    const struct dm_ofi_region *region;
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
    uint64_t at;
    void *sink;

    if (op == NULL || !dm_dto_is_atomic(&op->dto) || op->is_done)
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

static void on_recv(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail)
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
    struct dm_ofi_ep *ep = conn->ep;

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
