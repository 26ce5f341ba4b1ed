/*
 * Carrying out a request from the initiator's side, in three steps: find the
 * remote regions, then, with the busy word odd, check that they are still
 * valid, check the local segments and copy. While the busy word is odd no lock
 * is taken and nothing is waited for: the peer may be waiting for us.
 */
#include "providers/shm/rdma.h"

#include <errno.h>
#include <string.h>

#include "providers/common/last.h"
#include "providers/shm/msg.h"
#include "providers/shm/rmr.h"
#include "util/copy.h"

/* A part of the remote side. */
struct piece {
    const struct dm_shm_key *entry;
    uint64_t serial;
    uint64_t va;
    uint64_t len;
    char *data; /* NULL: copy with process_vm */
};

enum find { FIND_OK, FIND_BAD, FIND_LOCK, FIND_MAP, FIND_STAGE };

/* Ask for the descriptor of a region; one such question is open at a time. */
static void ask_map(struct dm_shm_ep *ep, uint32_t key, uint64_t serial)
{
    struct dm_shm_msg msg = {.type = DM_MSG_MAP, .key = key, .serial = serial};

    if (ep->is_map_asked || ep->conn == NULL)
        return;
    ep->is_map_asked = true;
    ep->map_serial = serial;
    dm_shm_msg_send(ep->conn, &msg, -1);
}

/* Where the region, or that of an RMR, is mapped here. Until the answer comes,
 * process_vm serves, so that requests do not wait. */
static enum find find_map(struct dm_shm_ep *ep, uint32_t key, const struct dm_shm_key *base,
                          struct dm_shm_found *f, bool is_locked)
{
    struct dm_shm_map *map;
    uint64_t offset;

    if (!is_locked)
        return FIND_LOCK;
    map = dm_shm_peer_map_find(ep->peer, base->base_serial);
    if (map == NULL) {
        ask_map(ep, base->base_key, base->base_serial);
        return ep->peer->can_cma ? FIND_OK : FIND_MAP;
    }
    offset = f->addr - map->va;
    if (map->data != NULL && offset <= map->region_len && f->len <= map->region_len - offset)
        f->data = map->data + offset;
    f->key = key;
    return FIND_OK;
}

/* Look the key up in the peer's table, and remember it. */
static enum find find_fill(struct dm_shm_ep *ep, uint32_t key, bool is_locked,
                           struct dm_shm_found *f)
{
    const struct dm_shm_key *entry = &ep->peer->hdr->keys[key & DM_SHM_KEY_IDX];
    struct dm_shm_key seen;

    f->key = 0; /* never a valid key */
    f->entry = entry;
    f->serial = atomic_load_explicit(&entry->serial, memory_order_acquire);
    if (f->serial == 0 || entry->key != key)
        return FIND_BAD;
    f->priv = entry->priv;
    f->va = entry->va;
    f->len = entry->len;
    f->addr = entry->addr;
    f->data = NULL;
    seen.pz = entry->pz;
    seen.only = entry->only;
    seen.base_key = entry->base_key;
    seen.base_serial = entry->base_serial;
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&entry->serial, memory_order_relaxed) != f->serial ||
        seen.pz != ep->peer_sh->pz || (seen.only != 0 && seen.only != ep->peer_only))
        return FIND_BAD;
    if (seen.base_key != 0 && dm_shm_ia_of(ep)->copy == DM_COPY_AUTO)
        return find_map(ep, key, &seen, f, is_locked);
    f->key = key;
    return FIND_OK;
}

static enum find find(struct dm_shm_ep *ep, const DAT_RMR_TRIPLET *at, uint64_t len, uint32_t priv,
                      bool is_locked, struct piece *piece)
{
    struct dm_shm_found *f = &ep->found[at->rmr_context % DM_SHM_FOUND_N];
    enum find found = FIND_OK;
    uint64_t offset;

    if (f->key != at->rmr_context ||
        atomic_load_explicit(&f->entry->serial, memory_order_acquire) != f->serial)
        found = find_fill(ep, at->rmr_context, is_locked, f);
    if (found == FIND_BAD)
        return FIND_BAD;
    offset = at->virtual_address - f->va;
    if ((f->priv & priv) != priv || offset > f->len || len > f->len - offset)
        return FIND_BAD;
    if (found != FIND_OK)
        return found;
    if (f->data == NULL && !ep->peer->can_cma)
        return FIND_STAGE;
    piece->entry = f->entry;
    piece->serial = f->serial;
    piece->va = f->addr + offset;
    piece->len = len;
    piece->data = f->data != NULL ? f->data + offset : NULL;
    return FIND_OK;
}

bool dm_shm_local_check(const struct dm_shm_key *keys, uint32_t pz, const struct dm_shm_op *op,
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
        total += seg->segment_length;
    }
    *len_p = total;
    return true;
}

/* Are the segments, which were checked a moment ago, still registered? While a
 * key lives, what it stands for does not change. */
static bool is_still_local(const struct dm_shm_key *keys, const struct dm_shm_op *op)
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

/* A walk along the local segments. */
struct cursor {
    const struct iovec *vec;
    size_t done; /* of the current one */
};

/* The next stretch of at most max bytes. */
static char *next_local(struct cursor *cur, uint64_t max, uint64_t *len_p)
{
    char *at;

    while (cur->done == cur->vec->iov_len) {
        cur->vec++;
        cur->done = 0;
    }
    at = (char *)cur->vec->iov_base + cur->done;
    *len_p = cur->vec->iov_len - cur->done;
    if (*len_p > max)
        *len_p = max;
    cur->done += *len_p;
    return at;
}

static void copy_mapped(struct dm_shm_ep *ep, struct cursor *cur, const struct piece *piece,
                        bool is_write)
{
    uint64_t at = 0;

    while (at < piece->len) {
        uint64_t len;
        char *local = next_local(cur, piece->len - at, &len);

        if (is_write)
            dm_shm_copy_last(&ep->bulk, piece->data + at, local, len);
        else
            dm_copy(local, piece->data + at, len);
        at += len;
    }
}

/* One system call for one stretch; a write's last bytes are an element of
 * their own, which the kernel copies after the others. */
static ssize_t copy_cma_once(pid_t pid, char *local, uint64_t va, uint64_t len, bool is_write)
{
    uint64_t tail = is_write ? dm_last_tail(va, len) : 0;
    uint64_t va_tail = va + len - tail;
    struct iovec here = {.iov_base = local, .iov_len = len};
    struct iovec there[2] = {{.iov_len = len - tail}, {.iov_len = tail}};

    memcpy(&there[0].iov_base, &va, sizeof(va));
    memcpy(&there[1].iov_base, &va_tail, sizeof(va_tail));
    if (is_write)
        return process_vm_writev(pid, &here, 1, there, 2, 0); /* the first may be empty */
    return process_vm_readv(pid, &here, 1, there, 1, 0);
}

/* 0, or errno. */
static int copy_cma(struct dm_shm_ep *ep, struct cursor *cur, const struct piece *piece,
                    bool is_write)
{
    uint64_t at = 0;

    while (at < piece->len) {
        uint64_t len;
        char *local = next_local(cur, piece->len - at, &len);

        while (len > 0) {
            ssize_t n = copy_cma_once(ep->peer->pid, local, piece->va + at, len, is_write);

            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return n < 0 ? errno : EFAULT;
            local += n;
            at += (uint64_t)n;
            len -= (uint64_t)n;
        }
    }
    return 0;
}

/* Copy between the local segments and the pieces; DM_EXEC_DONE when done. */
static enum dm_shm_exec copy_pieces(struct dm_shm_ep *ep, const struct iovec *vec,
                                    const struct piece *piece, uint32_t n, bool is_write,
                                    struct dm_shm_result *res)
{
    struct cursor cur = {.vec = vec};

    for (uint32_t i = 0; i < n; i++) {
        int err = 0;

        if (piece[i].data != NULL)
            copy_mapped(ep, &cur, &piece[i], is_write);
        else
            err = copy_cma(ep, &cur, &piece[i], is_write);
        if (err == ESRCH)
            return DM_EXEC_DOWN;
        if (err == EPERM || err == ENOSYS) {
            ep->peer->can_cma = false;
            return DM_EXEC_STAGE;
        }
        if (err != 0)
            res->status = DAT_DTO_ERR_REMOTE_ACCESS;
    }
    return DM_EXEC_DONE;
}

static bool are_valid(const struct piece *piece, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load_explicit(&piece[i].entry->serial, memory_order_relaxed) != piece[i].serial)
            return false;
    return true;
}

static enum dm_shm_exec exec_of(enum find found)
{
    switch (found) {
    case FIND_LOCK:
        return DM_EXEC_LOCK;
    case FIND_MAP:
        return DM_EXEC_MAP;
    case FIND_STAGE:
        return DM_EXEC_STAGE;
    default:
        return DM_EXEC_DONE;
    }
}

/* Does this endpoint serve the window that is a read's sink? */
static bool is_rmr_ours(const struct dm_shm_ep *ep, const DAT_LMR_TRIPLET *sink)
{
    return dm_shm_key_serves(ep, &ep->keys[sink->lmr_context & DM_SHM_KEY_IDX], sink->lmr_context);
}

/* RDMA write or read. False: the region changed under us, look again. */
static bool exec_rdma(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                      struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    bool is_write = op->dto.kind == DM_OP_WRITE;
    uint32_t priv = is_write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;
    struct iovec vec[DM_IOV_MAX];
    struct piece piece;
    uint64_t len = 0;
    enum find found;
    bool is_valid = true;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_local_check(ep->keys, ep->pz_id, op, vec, &len) ||
        (op->dto.kind == DM_OP_READ_TO_RMR && len > 0 && !is_rmr_ours(ep, op->dto.seg))) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    res->len = len;
    if (len == 0)
        return true;
    found = find(ep, &op->dto.remote, len, priv, is_locked, &piece);
    if (found == FIND_BAD) {
        res->status = DAT_DTO_ERR_REMOTE_ACCESS;
        return true;
    }
    *exec_p = exec_of(found);
    if (found != FIND_OK)
        return true;
    dm_shm_busy_begin(ep);
    if (!dm_shm_is_up(ep))
        *exec_p = DM_EXEC_DOWN;
    else if (!are_valid(&piece, 1))
        is_valid = false;
    else if (!is_still_local(ep->keys, op))
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else
        *exec_p = copy_pieces(ep, vec, &piece, 1, is_write, res);
    dm_shm_busy_end(ep);
    return is_valid;
}

/* Find the memory of a receive for len bytes. */
static enum find find_recv(struct dm_shm_ep *ep, const struct dm_shm_recv *recv, uint64_t len,
                           bool is_locked, struct piece *piece, uint32_t *n_p)
{
    enum find all = FIND_OK;
    uint64_t done = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < recv->n_seg && done < len; i++) {
        const DAT_LMR_TRIPLET *seg = &recv->seg[i];
        DAT_RMR_TRIPLET at = {.virtual_address = seg->virtual_address,
                              .rmr_context = seg->lmr_context};
        uint64_t part = len - done < seg->segment_length ? len - done : seg->segment_length;
        enum find found;

        if (part == 0)
            continue;
        found = find(ep, &at, part, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, is_locked, &piece[n]);
        /* Staged: a bad one that comes later must be found before the first is filled. */
        if (found != FIND_OK && found != FIND_STAGE)
            return found;
        if (found == FIND_STAGE)
            all = FIND_STAGE;
        done += part;
        n++;
    }
    *n_p = n;
    return all;
}

static uint64_t recv_room(const struct dm_shm_recv *recv)
{
    uint64_t room = 0;

    for (uint32_t i = 0; i < recv->n_seg; i++)
        room += recv->seg[i].segment_length;
    return room;
}

/* The busy word is odd. */
static enum dm_shm_exec send_now(struct dm_shm_ep *ep, const struct dm_shm_op *op,
                                 const struct iovec *vec, const struct piece *piece, uint32_t n,
                                 const struct dm_shm_taken *t, struct dm_shm_arrival *how,
                                 struct dm_shm_result *res)
{
    enum dm_shm_exec exec = DM_EXEC_DONE;

    if (!is_still_local(ep->keys, op)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return DM_EXEC_DONE;
    }
    how->len = res->len;
    if (how->status == DAT_DTO_SUCCESS)
        exec = copy_pieces(ep, vec, piece, n, true, res);
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
static bool exec_send(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                      struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    struct dm_shm_taken t;
    struct dm_shm_arrival how = dm_shm_arrival_of(op);
    struct iovec vec[DM_IOV_MAX];
    struct piece piece[DM_IOV_MAX];
    uint32_t n = 0;
    bool is_valid = true;
    enum find found = FIND_OK;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_local_check(ep->keys, ep->pz_id, op, vec, &res->len)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    if (!dm_shm_recv_peek(ep, &t)) {
        *exec_p = dm_shm_is_up(ep) ? DM_EXEC_NO_RECV : DM_EXEC_DOWN;
        return true;
    }
    if (op->is_copied)
        how.status = op->recv_status;
    else if (recv_room(t.recv) < res->len)
        how.status = DAT_DTO_ERR_LOCAL_LENGTH;
    else
        found = find_recv(ep, t.recv, res->len, is_locked, piece, &n);
    if (found == FIND_BAD) {
        how.status = DAT_DTO_ERR_LOCAL_PROTECTION;
        n = 0;
    } else if (found != FIND_OK) {
        *exec_p = exec_of(found);
        return true;
    }
    dm_shm_busy_begin(ep);
    if (!dm_shm_is_up(ep))
        *exec_p = DM_EXEC_DOWN;
    else if (!are_valid(piece, n))
        is_valid = false;
    else if (!dm_shm_recv_take(ep, &t))
        *exec_p = DM_EXEC_NO_RECV; /* the ring is being moved */
    else
        *exec_p = send_now(ep, op, vec, piece, n, &t, &how, res);
    dm_shm_busy_end(ep);
    return is_valid;
}

/* The peer's receive that an RDMA write with immediate data uses up. */
static enum dm_shm_exec announce(struct dm_shm_ep *ep, const struct dm_shm_op *op,
                                 struct dm_shm_taken *t, struct dm_shm_result *res)
{
    struct dm_shm_arrival how = {.operation = (DAT_DTOS)DAT_IB_DTO_RECV_IMMED,
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
static bool exec_write_immed(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                             struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    struct iovec vec[DM_IOV_MAX];
    struct dm_shm_taken t;
    struct piece piece;
    uint32_t n_piece = 0;
    enum find found = FIND_OK;
    bool is_valid = true;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_local_check(ep->keys, ep->pz_id, op, vec, &res->len)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    if (op->done < res->len) { /* not yet written in stages */
        n_piece = 1;
        found =
            find(ep, &op->dto.remote, res->len, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, is_locked, &piece);
    }
    if (found == FIND_BAD) {
        res->status = DAT_DTO_ERR_REMOTE_ACCESS;
        return true;
    }
    if (!dm_shm_recv_peek(ep, &t)) {
        *exec_p = dm_shm_is_up(ep) ? DM_EXEC_NO_RECV : DM_EXEC_DOWN;
        return true;
    }
    *exec_p = exec_of(found);
    if (found != FIND_OK)
        return true;
    dm_shm_busy_begin(ep);
    if (!dm_shm_is_up(ep))
        *exec_p = DM_EXEC_DOWN;
    else if (!are_valid(&piece, n_piece))
        is_valid = false;
    else if (!is_still_local(ep->keys, op))
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else {
        *exec_p = copy_pieces(ep, vec, &piece, n_piece, true, res);
        if (*exec_p == DM_EXEC_DONE && res->status == DAT_DTO_SUCCESS)
            *exec_p = announce(ep, op, &t, res);
    }
    dm_shm_busy_end(ep);
    return is_valid;
}

/* Fetch-and-add, compare-and-swap: by this processor where the word is mapped,
 * else by the peer's progress thread, which is just as atomic. */
static bool exec_atomic(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                        struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    struct iovec vec[1];
    struct piece piece;
    uint64_t old;
    enum find found;
    bool is_valid = true;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_local_check(ep->keys, ep->pz_id, op, vec, &res->len)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    found = find(ep, &op->dto.remote, sizeof(old), (uint32_t)DAT_IB_MEM_PRIV_REMOTE_ATOMIC,
                 is_locked, &piece);
    if (found == FIND_OK && piece.va % sizeof(old) != 0)
        found = FIND_BAD;
    else if (found == FIND_OK && (piece.data == NULL || (uintptr_t)piece.data % sizeof(old) != 0))
        found = FIND_STAGE;
    if (found != FIND_OK) {
        *exec_p = exec_of(found);
        if (found == FIND_BAD)
            res->status = DAT_DTO_ERR_REMOTE_ACCESS;
        return true;
    }
    dm_shm_busy_begin(ep);
    if (!dm_shm_is_up(ep))
        *exec_p = DM_EXEC_DOWN;
    else if (!are_valid(&piece, 1))
        is_valid = false;
    else if (!is_still_local(ep->keys, op))
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else {
        old = dm_shm_atomic(op->dto.kind, piece.data, op->dto.operand);
        memcpy(vec[0].iov_base, &old, sizeof(old));
    }
    dm_shm_busy_end(ep);
    return is_valid;
}

/* A send that takes a context away: the peer does that first, as soon as it
 * has a receive for the message. */
static bool exec_send_invalidate(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                                 struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    struct iovec vec[DM_IOV_MAX];
    struct dm_shm_taken t;

    if (op->is_invalidated)
        return exec_send(ep, op, is_locked, res, exec_p);
    *exec_p = DM_EXEC_STAGE;
    if (!dm_shm_local_check(ep->keys, ep->pz_id, op, vec, &res->len)) {
        *exec_p = DM_EXEC_DONE;
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    } else if (!dm_shm_recv_peek(ep, &t)) {
        *exec_p = dm_shm_is_up(ep) ? DM_EXEC_NO_RECV : DM_EXEC_DOWN;
    }
    return true;
}

static bool exec_other(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                       struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    switch (op->dto.kind) {
    case DM_OP_SEND_INVALIDATE:
        return exec_send_invalidate(ep, op, is_locked, res, exec_p);
    case DM_OP_WRITE_IMMED:
        return exec_write_immed(ep, op, is_locked, res, exec_p);
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
            is_valid = exec_send(ep, op, is_locked, res, &exec);
        else if (op->dto.kind <= DM_OP_READ)
            is_valid = exec_rdma(ep, op, is_locked, res, &exec);
        else
            is_valid = exec_other(ep, op, is_locked, res, &exec);
    } while (!is_valid);
    return exec;
}
