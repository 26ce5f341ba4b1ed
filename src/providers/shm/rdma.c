/*
 * Carrying out a request from the initiator's side, in three steps: find the
 * remote regions, then, with the busy word odd, check that they are still
 * valid, check the local segments and copy. While the busy word is odd no lock
 * is taken and nothing is waited for: the peer may be waiting for us.
 */
#include "providers/shm/rdma.h"

#include <stdlib.h>
#include <string.h>

#include "providers/shm/ext.h"
#include "providers/shm/key.h"
#include "providers/shm/rmr.h"
#include "providers/shm/transport/copy_iov.h"
#include "providers/shm/transport/quiesce.h"

bool dm_shm_rdma_local_check(const struct dm_shm_key *keys, uint32_t pz, const struct dm_shm_op *op,
                             struct iovec *vec, uint64_t *len_p)
{
    uint32_t priv = dm_dto_local_privs[op->dto.kind];
    uint64_t total = 0;

    for (uint32_t i = 0; i < op->dto.n_seg; i++) {
        const DAT_LMR_TRIPLET *seg = &op->dto.seg[i];
        const struct dm_shm_key *entry = &keys[seg->lmr_context & DM_SHM_KEY_IDX];
        uint64_t offset = seg->virtual_address - entry->va;

        vec[i].iov_base = NULL;
        vec[i].iov_len = seg->segment_length;
        if (seg->segment_length == 0)
            continue;
        if (entry->key != seg->lmr_context || entry->pz != pz || (entry->priv & priv) == 0 ||
            atomic_load_explicit(&entry->serial, memory_order_relaxed) == 0 ||
            offset > entry->len || seg->segment_length > entry->len - offset)
            return false;
        offset += entry->addr;
        memcpy(&vec[i].iov_base, &offset, sizeof(vec[i].iov_base));
        if (op->taken != NULL)
            vec[i].iov_base = op->taken + total;
        total += seg->segment_length;
    }
    *len_p = total;
    return true;
}

static bool do_overlap(const struct iovec *a, uint32_t n_a, const struct iovec *b, uint32_t n_b)
{
    for (uint32_t i = 0; i < n_a; i++)
        for (uint32_t j = 0; j < n_b; j++)
            if ((uintptr_t)a[i].iov_base < (uintptr_t)b[j].iov_base + b[j].iov_len &&
                (uintptr_t)b[j].iov_base < (uintptr_t)a[i].iov_base + a[i].iov_len)
                return true;
    return false;
}

/* Will a request that waits place data where these segments are? */
static bool rdma_is_awaited(const struct dm_shm_ep *ep, const struct iovec *vec, uint32_t n)
{
    struct iovec sink[DM_IOV_MAX];
    uint64_t len;

    dm_list_for_each (it, &ep->queue) {
        const struct dm_shm_op *op = dm_container_of(it, struct dm_shm_op, link);

        if ((dm_dto_is_read(&op->dto) || dm_dto_is_atomic(&op->dto)) &&
            dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, sink, &len) &&
            do_overlap(vec, n, sink, op->dto.n_seg))
            return true;
    }
    return false;
}

bool dm_shm_rdma_take(struct dm_shm_ep *ep, struct dm_shm_op *op)
{
    struct iovec vec[DM_IOV_MAX];
    uint64_t len;
    char *to;

    if (op->dto.kind != DM_OP_WRITE ||
        !dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, vec, &len) || len == 0 ||
        len > DM_TAKEN_MAX || rdma_is_awaited(ep, vec, op->dto.n_seg))
        return true;
    to = malloc(len);
    if (to == NULL)
        return false;
    op->taken = to;
    for (uint32_t i = 0; i < op->dto.n_seg; to += vec[i++].iov_len)
        if (vec[i].iov_len > 0)
            memcpy(to, vec[i].iov_base, vec[i].iov_len);
    return true;
}

/* Are the segments, which were checked a moment ago, still registered? While a
 * key lives, what it stands for does not change. */
bool dm_shm_rdma_is_local(const struct dm_shm_key *keys, const struct dm_shm_op *op)
{
    for (uint32_t i = 0; i < op->dto.n_seg; i++) {
        const struct dm_shm_key *entry = &keys[op->dto.seg[i].lmr_context & DM_SHM_KEY_IDX];

        if (op->dto.seg[i].segment_length != 0 &&
            (entry->key != op->dto.seg[i].lmr_context ||
             atomic_load_explicit(&entry->serial, memory_order_relaxed) == 0))
            return false;
    }
    return true;
}

enum dm_shm_exec dm_shm_exec_of(enum dm_shm_find found)
{
    switch (found) {
    case DM_FIND_LOCK:
        return DM_EXEC_LOCK;
    case DM_FIND_MAP:
        return DM_EXEC_MAP;
    case DM_FIND_STAGE:
        return DM_EXEC_STAGE;
    default:
        return DM_EXEC_DONE;
    }
}

/* Does this endpoint serve the window that is a read's sink? */
static bool is_rmr_ours(const struct dm_shm_ep *ep, const DAT_LMR_TRIPLET *sink)
{
    return dm_shm_key_is_allowed(ep, &ep->keys[sink->lmr_context & DM_SHM_KEY_IDX],
                                 sink->lmr_context);
}

/* RDMA write or read. False: the region changed under us, look again. */
static bool exec_rdma(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                      struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    bool is_write = op->dto.kind == DM_OP_WRITE;
    uint32_t priv = is_write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;
    struct iovec vec[DM_IOV_MAX];
    struct dm_shm_piece piece;
    uint64_t len = 0;
    enum dm_shm_find found;
    bool is_valid = true;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, vec, &len) ||
        (op->dto.kind == DM_OP_READ_TO_RMR && len > 0 && !is_rmr_ours(ep, op->dto.seg))) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    res->len = len;
    if (len == 0)
        return true;
    found = dm_shm_rkey_find(ep, &op->dto.remote, len, priv, is_locked, &piece);
    if (found == DM_FIND_BAD) {
        res->status = DAT_DTO_ERR_REMOTE_ACCESS;
        return true;
    }
    *exec_p = dm_shm_exec_of(found);
    if (found != DM_FIND_OK)
        return true;
    dm_shm_busy_begin(ep);
    if (!dm_shm_is_up(ep))
        *exec_p = DM_EXEC_DOWN;
    else if (!dm_shm_pieces_valid(&piece, 1))
        is_valid = false;
    else if (!dm_shm_rdma_is_local(ep->keys, op))
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else
        *exec_p = dm_shm_copy_pieces(ep, vec, &piece, 1, is_write, res);
    dm_shm_busy_end(ep);
    return is_valid;
}

/* Fetch-and-add, compare-and-swap: by this processor where the word is mapped,
 * else by the peer's progress thread, which is just as atomic. */
static bool exec_atomic(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                        struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    struct iovec vec[1];
    struct dm_shm_piece piece;
    uint64_t old;
    enum dm_shm_find found;
    bool is_valid = true;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, vec, &res->len)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    found = dm_shm_rkey_find(ep, &op->dto.remote, sizeof(old),
                             (uint32_t)DAT_IB_MEM_PRIV_REMOTE_ATOMIC, is_locked, &piece);
    if (found == DM_FIND_OK && piece.va % sizeof(old) != 0)
        found = DM_FIND_BAD;
    else if (found == DM_FIND_OK &&
             (piece.data == NULL || (uintptr_t)piece.data % sizeof(old) != 0))
        found = DM_FIND_STAGE;
    if (found != DM_FIND_OK) {
        *exec_p = dm_shm_exec_of(found);
        if (found == DM_FIND_BAD)
            res->status = DAT_DTO_ERR_REMOTE_ACCESS;
        return true;
    }
    dm_shm_busy_begin(ep);
    if (!dm_shm_is_up(ep))
        *exec_p = DM_EXEC_DOWN;
    else if (!dm_shm_pieces_valid(&piece, 1))
        is_valid = false;
    else if (!dm_shm_rdma_is_local(ep->keys, op))
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else {
        old = dm_shm_atomic(op->dto.kind, piece.data, op->dto.operand);
        memcpy(vec[0].iov_base, &old, sizeof(old));
    }
    dm_shm_busy_end(ep);
    return is_valid;
}

static bool exec_other(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                       struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    switch (op->dto.kind) {
    case DM_OP_SEND_INVALIDATE:
        return dm_shm_exec_send_invalidate(ep, op, is_locked, res, exec_p);
    case DM_OP_WRITE_IMMED:
        return dm_shm_exec_write_immed(ep, op, is_locked, res, exec_p);
    case DM_OP_FETCH_ADD:
    case DM_OP_CMP_SWAP:
        return exec_atomic(ep, op, is_locked, res, exec_p);
    case DM_OP_BIND:
        *exec_p = dm_shm_rmr_exec(ep, op, is_locked, res);
        return true;
    default:
        return exec_rdma(ep, op, is_locked, res, exec_p);
    }
}

enum dm_shm_exec dm_shm_exec(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                             struct dm_shm_result *res)
{
    enum dm_shm_exec exec;
    bool is_valid;

    /* Each round needs a region to vanish, and a vanished key stays bad. */
    do {
        memset(res, 0, sizeof(*res));
        if (op->dto.kind == DM_OP_SEND)
            is_valid = dm_shm_exec_send(ep, op, is_locked, res, &exec);
        else if (op->dto.kind <= DM_OP_READ)
            is_valid = exec_rdma(ep, op, is_locked, res, &exec);
        else
            is_valid = exec_other(ep, op, is_locked, res, &exec);
    } while (!is_valid);
    return exec;
}
