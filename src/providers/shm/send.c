/*
 * Requests that use a receive of the peer: sends, and RDMA writes with immediate data.
 */
#include "providers/shm/rdma.h"

#include "providers/shm/recv.h"
#include "providers/shm/transport/copy_iov.h"
#include "providers/shm/transport/quiesce.h"

/* Find the memory of a receive for len bytes. */
static enum dm_shm_find recv_find(struct dm_shm_ep *ep, const struct dm_shm_recv *recv,
                                  uint64_t len, bool is_locked, struct dm_shm_piece *piece,
                                  uint32_t *n_p)
{
    enum dm_shm_find all = DM_FIND_OK;
    uint64_t done = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < recv->n_seg && done < len; i++) {
        const DAT_LMR_TRIPLET *seg = &recv->seg[i];
        DAT_RMR_TRIPLET at = {.virtual_address = seg->virtual_address,
                              .rmr_context = seg->lmr_context};
        uint64_t part = len - done < seg->segment_length ? len - done : seg->segment_length;
        enum dm_shm_find found;

        if (part == 0)
            continue;
        found =
            dm_shm_rkey_find(ep, &at, part, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, is_locked, &piece[n]);
        /* Staged: a bad one that comes later must be found before the first is filled. */
        if (found != DM_FIND_OK && found != DM_FIND_STAGE)
            return found;
        if (found == DM_FIND_STAGE)
            all = DM_FIND_STAGE;
        done += part;
        n++;
    }
    *n_p = n;
    return all;
}

static uint64_t recv_space(const struct dm_shm_recv *recv)
{
    uint64_t space = 0;

    for (uint32_t i = 0; i < recv->n_seg; i++)
        space += recv->seg[i].segment_length;
    return space;
}

/* The busy word is odd. */
static enum dm_shm_exec send_copy(struct dm_shm_ep *ep, const struct dm_shm_op *op,
                                  const struct iovec *vec, const struct dm_shm_piece *piece,
                                  uint32_t n, const struct dm_shm_target_recv *t,
                                  struct dm_shm_recv_cqe *how, struct dm_shm_result *res)
{
    enum dm_shm_exec exec = DM_EXEC_DONE;

    if (!dm_shm_rdma_is_local(ep->keys, op)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return DM_EXEC_DONE;
    }
    how->len = res->len;
    if (how->status == DAT_DTO_SUCCESS)
        exec = dm_shm_copy_pieces(ep, vec, piece, n, true, res);
    if (exec != DM_EXEC_DONE)
        return exec;
    if (res->status != DAT_DTO_SUCCESS)
        how->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    if (how->status != DAT_DTO_SUCCESS)
        res->status = DAT_DTO_ERR_REMOTE_RESPONDER;
    else
        how->is_quiet = dm_shm_recv_is_quiet(ep, t, op);
    dm_shm_recv_done(ep, t, how, res);
    return DM_EXEC_DONE;
}

/* False: a region changed under us, look again. */
bool dm_shm_exec_send(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                      struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    struct dm_shm_target_recv t;
    struct dm_shm_recv_cqe how = dm_shm_recv_cqe_of(op);
    struct iovec vec[DM_IOV_MAX];
    struct dm_shm_piece piece[DM_IOV_MAX];
    uint32_t n = 0;
    bool is_valid = true;
    enum dm_shm_find found = DM_FIND_OK;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, vec, &res->len)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    if (!dm_shm_recv_peek(ep, &t)) {
        *exec_p = dm_shm_is_up(ep) ? DM_EXEC_NO_RECV : DM_EXEC_DOWN;
        return true;
    }
    if (op->is_copied)
        how.status = op->recv_status;
    else if (recv_space(t.recv) < res->len)
        how.status = DAT_DTO_ERR_LOCAL_LENGTH;
    else
        found = recv_find(ep, t.recv, res->len, is_locked, piece, &n);
    if (found == DM_FIND_BAD) {
        how.status = DAT_DTO_ERR_LOCAL_PROTECTION;
        n = 0;
    } else if (found != DM_FIND_OK) {
        *exec_p = dm_shm_exec_of(found);
        return true;
    }
    dm_shm_busy_begin(ep);
    if (!dm_shm_is_up(ep))
        *exec_p = DM_EXEC_DOWN;
    else if (!dm_shm_pieces_valid(piece, n))
        is_valid = false;
    else if (!dm_shm_recv_take(ep, &t))
        *exec_p = DM_EXEC_NO_RECV; /* the ring is being moved */
    else
        *exec_p = send_copy(ep, op, vec, piece, n, &t, &how, res);
    dm_shm_busy_end(ep);
    return is_valid;
}

/* A send that takes a context away: the peer does that first, as soon as it
 * has a receive for the message. */
bool dm_shm_exec_send_invalidate(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                                 struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    struct iovec vec[DM_IOV_MAX];
    struct dm_shm_target_recv t;

    if (op->is_invalidated)
        return dm_shm_exec_send(ep, op, is_locked, res, exec_p);
    *exec_p = DM_EXEC_STAGE;
    if (!dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, vec, &res->len)) {
        *exec_p = DM_EXEC_DONE;
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    } else if (!dm_shm_recv_peek(ep, &t)) {
        *exec_p = dm_shm_is_up(ep) ? DM_EXEC_NO_RECV : DM_EXEC_DOWN;
    }
    return true;
}

/* The peer's receive that an RDMA write with immediate data uses up. */
static enum dm_shm_exec immed_complete(struct dm_shm_ep *ep, const struct dm_shm_op *op,
                                       struct dm_shm_target_recv *t, struct dm_shm_result *res)
{
    struct dm_shm_recv_cqe how = {.operation = (DAT_DTOS)DAT_IB_DTO_RECV_IMMED,
                                  .len = res->len,
                                  .number = (uint32_t)DAT_IB_DTO_EVENT,
                                  .ext = DAT_IB_RDMA_WRITE_IMMED_DATA,
                                  .extra = op->dto.immed};

    how.is_quiet = dm_shm_recv_is_quiet(ep, t, op);
    if (!dm_shm_recv_take(ep, t))
        return DM_EXEC_NO_RECV;
    dm_shm_recv_done(ep, t, &how, res);
    return DM_EXEC_DONE;
}

/* RDMA write with immediate data: nothing is written before there is a receive
 * for it. False: a region changed under us, look again. */
bool dm_shm_exec_write_immed(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                             struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    struct iovec vec[DM_IOV_MAX];
    struct dm_shm_target_recv t;
    struct dm_shm_piece piece;
    uint32_t n_piece = 0;
    enum dm_shm_find found = DM_FIND_OK;
    bool is_valid = true;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, vec, &res->len)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    if (op->done < res->len) { /* not yet written in stages */
        n_piece = 1;
        found = dm_shm_rkey_find(ep, &op->dto.remote, res->len, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
                                 is_locked, &piece);
    }
    if (found == DM_FIND_BAD) {
        res->status = DAT_DTO_ERR_REMOTE_ACCESS;
        return true;
    }
    if (!dm_shm_recv_peek(ep, &t)) {
        *exec_p = dm_shm_is_up(ep) ? DM_EXEC_NO_RECV : DM_EXEC_DOWN;
        return true;
    }
    *exec_p = dm_shm_exec_of(found);
    if (found != DM_FIND_OK)
        return true;
    dm_shm_busy_begin(ep);
    if (!dm_shm_is_up(ep))
        *exec_p = DM_EXEC_DOWN;
    else if (!dm_shm_pieces_valid(&piece, n_piece))
        is_valid = false;
    else if (!dm_shm_rdma_is_local(ep->keys, op))
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else {
        *exec_p = dm_shm_copy_pieces(ep, vec, &piece, n_piece, true, res);
        if (*exec_p == DM_EXEC_DONE && res->status == DAT_DTO_SUCCESS)
            *exec_p = immed_complete(ep, op, &t, res);
    }
    dm_shm_busy_end(ep);
    return is_valid;
}
