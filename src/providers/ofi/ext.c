/*
 * Requests that the target's processor carries out, and answers to ours. Atomic operations are
 * carried out by the target's processor, on an aligned 64-bit word in host byte
 * order: they are atomic to each other and to the program's own atomic
 * instructions.
 */
#include "providers/ofi/ext.h"

#include <string.h>

#include "providers/ofi/ctrl.h"
#include "providers/ofi/key.h"

/* The word, if the peer may use it. */
static _Atomic uint64_t *ofi_atomic_word(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl)
{
    const uint32_t both = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    const struct dm_net_region *region =
        dm_net_key_find(&ep->base.ep, ctrl->key, ctrl->va, sizeof(uint64_t),
                        both | (uint32_t)DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
    char *at;

    if (region == NULL || ((region->priv & both) != both &&
                           (region->priv & (uint32_t)DAT_IB_MEM_PRIV_REMOTE_ATOMIC) == 0))
        return NULL;
    at = dm_net_region_at(region, ctrl->va);
    return (uintptr_t)at % sizeof(uint64_t) == 0 ? (_Atomic uint64_t *)(void *)at : NULL;
}

void dm_ofi_ext_atomic_request(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl)
{
    struct dm_ofi_ctrl answer = {.type = DM_CTRL_ATOMIC_RSP, .id = ctrl->id};
    _Atomic uint64_t *word = ofi_atomic_word(ep, ctrl);
    uint64_t old = ctrl->value[0];

    if (word == NULL)
        answer.status = 1;
    else if (ctrl->status == 0)
        old = atomic_fetch_add(word, old);
    else
        (void)atomic_compare_exchange_strong(word, &old, ctrl->value[1]);
    answer.value[0] = old;
    dm_ofi_ctrl_post(ep, &answer);
}

void dm_ofi_ext_atomic_response(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl)
{
    struct dm_ofi_op *op = dm_ofi_op_find(ep, (uint32_t)ctrl->id);
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
    char *sink;

    if (op == NULL || !dm_dto_is_atomic(&op->base.dto) || op->is_done)
        return;
    sink = dm_net_key_mem(&ep->base.ep, op->base.dto.seg->lmr_context,
                          op->base.dto.seg->virtual_address, sizeof(uint64_t),
                          DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
    if (ctrl->status != 0) {
        status = DAT_DTO_ERR_REMOTE_ACCESS;
    } else if (sink == NULL) {
        status = DAT_DTO_ERR_LOCAL_PROTECTION;
    } else {
        memcpy(sink, &ctrl->value[0], sizeof(ctrl->value[0]));
    }
    dm_ofi_op_finish(op, status);
    dm_ofi_dto_push(ep);
}

void dm_ofi_ext_recv_response(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl)
{
    struct dm_ofi_op *op = dm_ofi_op_find(ep, (uint32_t)ctrl->id);

    if (op == NULL || op->is_granted)
        return;
    if (ctrl->status != 0)
        dm_ofi_op_refuse(op, DAT_DTO_ERR_REMOTE_RESPONDER);
    op->is_granted = true;
    dm_ofi_dto_push(ep);
}
