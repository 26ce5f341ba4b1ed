/*
 * What only the target can do: its progress thread carries out an atomic
 * operation on memory that is not mapped here, and invalidates an RMR's context. Like a staged copy, the request waits at the head of the queue for the
 * answer.
 */
#include "providers/shm/ext.h"

#include <string.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/key.h"
#include "providers/shm/transport/quiesce.h"

bool dm_shm_ext_is_remote(const struct dm_shm_op *op)
{
    return dm_dto_is_atomic(&op->dto) ||
           (op->dto.kind == DM_OP_SEND_INVALIDATE && !op->is_invalidated);
}

void dm_shm_ext_request(struct dm_shm_ep *ep, const struct dm_shm_op *op)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_INVALIDATE};

    if (op->dto.kind == DM_OP_SEND_INVALIDATE) {
        msg.key = op->dto.invalidate;
    } else {
        msg.type = DM_CTRL_ATOMIC;
        msg.status = op->dto.kind;
        msg.key = op->dto.remote.rmr_context;
        msg.va = op->dto.remote.virtual_address;
        msg.size = op->dto.operand[0];
        msg.offset = op->dto.operand[1];
    }
    ep->stage.is_busy = true;
    dm_shm_ctrl_send(ep->conn, &msg, -1);
}

bool dm_shm_ext_response(struct dm_shm_ep *ep, struct dm_shm_op *op, const struct dm_shm_ctrl *msg,
                         struct dm_shm_result *res)
{
    struct iovec vec[1];

    if (msg->status != DAT_DTO_SUCCESS) {
        res->status = DAT_DTO_ERR_REMOTE_ACCESS;
        return true;
    }
    if (op->dto.kind == DM_OP_SEND_INVALIDATE) {
        op->is_invalidated = true;
        return false;
    }
    if (!dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, vec, &res->len))
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else
        memcpy(vec[0].iov_base, &msg->size, sizeof(msg->size));
    return true;
}

/* The word, if the peer may do that to it. */
static void *shm_atomic_word(struct dm_shm_ep *ep, const struct dm_shm_ctrl *msg)
{
    const struct dm_shm_key *entry = &ep->keys[msg->key & DM_SHM_KEY_IDX];
    uint64_t offset = msg->va - entry->va;
    uint64_t addr = entry->addr + offset;
    void *at;

    if (!dm_shm_key_is_allowed(ep, entry, msg->key) ||
        (entry->priv & (uint32_t)DAT_IB_MEM_PRIV_REMOTE_ATOMIC) == 0 || offset > entry->len ||
        entry->len - offset < sizeof(uint64_t) || addr % sizeof(uint64_t) != 0)
        return NULL;
    memcpy(&at, &addr, sizeof(at));
    return at;
}

void dm_shm_ext_atomic(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg)
{
    struct dm_shm_ctrl answer = {.type = DM_CTRL_STAGED};
    uint64_t operand[2] = {msg->size, msg->offset};
    void *word = shm_atomic_word(conn->ep, msg);

    if (word == NULL || (msg->status != DM_OP_FETCH_ADD && msg->status != DM_OP_CMP_SWAP))
        answer.status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else
        answer.size = dm_shm_atomic((enum dm_dto_kind)msg->status, word, operand);
    dm_shm_ctrl_send(conn, &answer, -1);
}

void dm_shm_ext_invalidate(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg)
{
    struct dm_shm_ctrl answer = {.type = DM_CTRL_STAGED};

    if (dm_rmr_invalidate(&conn->ep->ep, msg->key))
        (void)dm_shm_quiesce(conn->ia, NULL);
    else
        answer.status = DAT_DTO_ERR_LOCAL_PROTECTION;
    dm_shm_ctrl_send(conn, &answer, -1);
}
