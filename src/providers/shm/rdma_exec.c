/*
 * Carrying out a request from the initiator's side, in three steps: find the
 * remote regions, then, with the busy word odd, check that they are still
 * valid, check the local segments and copy. While the busy word is odd no lock
 * is taken and nothing is waited for: the peer may be waiting for us.
 */
#include "providers/shm/rdma.h"

#include <errno.h>
#include <string.h>

#include "providers/shm/msg.h"

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
static void ask_map(struct dm_sep *ep, uint32_t key, uint64_t serial)
{
    struct dm_shm_msg msg = {.type = DM_MSG_MAP, .key = key, .serial = serial};

    if (ep->is_map_asked || ep->conn == NULL)
        return;
    ep->is_map_asked = true;
    dm_shm_msg_send(ep->conn, &msg, -1);
}

/* Where the region is mapped here. Until the answer comes, process_vm serves,
 * so that requests do not wait. */
static enum find find_map(struct dm_sep *ep, uint32_t key, struct dm_shm_found *f, bool is_locked)
{
    struct dm_shm_map *map;

    if (!is_locked)
        return FIND_LOCK;
    map = dm_shm_peer_map_find(ep->peer, f->serial);
    if (map == NULL) {
        ask_map(ep, key, f->serial);
        return ep->peer->can_cma ? FIND_OK : FIND_MAP;
    }
    f->data = map->data;
    f->key = key;
    return FIND_OK;
}

/* Look the key up in the peer's table, and remember it. */
static enum find find_fill(struct dm_sep *ep, uint32_t key, bool is_locked, struct dm_shm_found *f)
{
    const struct dm_shm_key *entry = &ep->peer->hdr->keys[key & DM_SHM_KEY_IDX];
    bool is_shared;
    uint32_t pz;

    f->key = 0; /* never a valid key */
    f->entry = entry;
    f->serial = atomic_load_explicit(&entry->serial, memory_order_acquire);
    if (f->serial == 0 || entry->key != key)
        return FIND_BAD;
    f->priv = entry->priv;
    f->va = entry->va;
    f->len = entry->len;
    f->data = NULL;
    pz = entry->pz;
    is_shared = entry->is_shared != 0;
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&entry->serial, memory_order_relaxed) != f->serial ||
        pz != ep->peer_sh->pz)
        return FIND_BAD;
    if (is_shared && dm_shm_ia_of(ep)->copy == DM_COPY_AUTO)
        return find_map(ep, key, f, is_locked);
    f->key = key;
    return FIND_OK;
}

static enum find find(struct dm_sep *ep, const DAT_RMR_TRIPLET *at, uint64_t len, uint32_t priv,
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
    piece->va = at->virtual_address;
    piece->len = len;
    piece->data = f->data != NULL ? f->data + offset : NULL;
    return FIND_OK;
}

bool dm_shm_local_check(const struct dm_shm_key *keys, uint32_t pz, const struct dm_shm_op *op,
                        struct iovec *vec, uint64_t *len_p)
{
    uint32_t priv =
        op->kind == DM_OP_READ ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : DAT_MEM_PRIV_LOCAL_READ_FLAG;
    uint64_t total = 0;

    for (uint32_t i = 0; i < op->n_seg; i++) {
        const DAT_LMR_TRIPLET *seg = &op->seg[i];
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
        memcpy(&vec[i].iov_base, &seg->virtual_address, sizeof(vec[i].iov_base));
        total += seg->segment_length;
    }
    *len_p = total;
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

static void copy_mapped(struct dm_sep *ep, struct cursor *cur, const struct piece *piece,
                        bool is_write)
{
    uint64_t at = 0;

    while (at < piece->len) {
        uint64_t len;
        char *local = next_local(cur, piece->len - at, &len);

        if (is_write)
            dm_shm_copy_last(&ep->bulk, piece->data + at, local, len);
        else
            memcpy(local, piece->data + at, len);
        at += len;
    }
}

/* One system call for one stretch; a write's last 8 bytes are an element of
 * their own, which the kernel copies after the others. */
static ssize_t copy_cma_once(pid_t pid, char *local, uint64_t va, uint64_t len, bool is_write)
{
    uint64_t tail = is_write && len > DM_COPY_TAIL ? DM_COPY_TAIL : 0;
    uint64_t va_tail = va + len - tail;
    struct iovec here = {.iov_base = local, .iov_len = len};
    struct iovec there[2] = {{.iov_len = len - tail}, {.iov_len = tail}};

    memcpy(&there[0].iov_base, &va, sizeof(va));
    memcpy(&there[1].iov_base, &va_tail, sizeof(va_tail));
    if (is_write)
        return process_vm_writev(pid, &here, 1, there, 2, 0);
    return process_vm_readv(pid, &here, 1, there, 1, 0);
}

/* 0, or errno. */
static int copy_cma(struct dm_sep *ep, struct cursor *cur, const struct piece *piece, bool is_write)
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
static enum dm_shm_exec copy_pieces(struct dm_sep *ep, const struct iovec *vec,
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

/* RDMA write or read. False: the region changed under us, look again. */
static bool exec_rdma(struct dm_sep *ep, const struct dm_shm_op *op, bool is_locked,
                      struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    bool is_write = op->kind == DM_OP_WRITE;
    uint32_t priv = is_write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;
    struct iovec vec[DM_IOV_MAX];
    struct piece piece;
    uint64_t len = 0;
    enum find found;
    bool is_valid = true;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_local_check(ep->keys, ep->pz_id, op, vec, &len)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    res->len = len;
    if (len == 0)
        return true;
    found = find(ep, &op->remote, len, priv, is_locked, &piece);
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
    else if (!dm_shm_local_check(ep->keys, ep->pz_id, op, vec, &len))
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else
        *exec_p = copy_pieces(ep, vec, &piece, 1, is_write, res);
    dm_shm_busy_end(ep);
    return is_valid;
}

const struct dm_shm_recv *dm_shm_recv_head(struct dm_sep *ep)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;
    uint32_t head = atomic_load_explicit(&peer->recv_head, memory_order_relaxed);

    if (atomic_load_explicit(&peer->recv_tail, memory_order_acquire) == head ||
        atomic_load_explicit(&peer->recv_ring, memory_order_relaxed) == 0)
        return NULL;
    return (const void *)((const char *)ep->peer->hdr + peer->recvs +
                          (uint64_t)(head & peer->recv_mask) * peer->recv_stride);
}

void dm_shm_recv_done(struct dm_sep *ep, DAT_DTO_COMPLETION_STATUS status, uint64_t len,
                      struct dm_shm_result *res)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;
    const struct dm_shm_recv *recv = dm_shm_recv_head(ep);
    uint64_t ring = atomic_load_explicit(&peer->recv_ring, memory_order_relaxed);
    DAT_DTO_COMPLETION_EVENT_DATA dto = {
        .status = status, .transfered_length = (DAT_SEG_LENGTH)len, .operation = DAT_DTO_RECEIVE};
    struct dm_evd_item item;
    enum dm_evd_added added;

    dto.user_cookie.as_64 = recv->cookie;
    memcpy(&dto.ep_handle, &peer->handle, sizeof(peer->handle));
    atomic_store_explicit(&peer->recv_head,
                          atomic_load_explicit(&peer->recv_head, memory_order_relaxed) + 1,
                          memory_order_release);
    item = dm_evd_item_dto(&dto, DM_TAG(peer->gen, DM_TAG_RECV));
    added = dm_evd_ring_add((struct dm_evd_ring *)(void *)((char *)ep->peer->hdr + ring),
                            ep->peer_owner, &item);
    res->is_poke = added == DM_EVD_ADDED_AGENT;
    res->is_overflow = added == DM_EVD_FULL;
    if (added == DM_EVD_FULL)
        res->status = DAT_DTO_ERR_REMOTE_RESPONDER;
}

/* Find the memory of a receive for len bytes. */
static enum find find_recv(struct dm_sep *ep, const struct dm_shm_recv *recv, uint64_t len,
                           bool is_locked, struct piece *piece, uint32_t *n_p)
{
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
        if (found != FIND_OK)
            return found;
        done += part;
        n++;
    }
    *n_p = n;
    return FIND_OK;
}

static uint64_t recv_room(const struct dm_shm_recv *recv)
{
    uint64_t room = 0;

    for (uint32_t i = 0; i < recv->n_seg; i++)
        room += recv->seg[i].segment_length;
    return room;
}

/* The busy word is odd. */
static enum dm_shm_exec send_now(struct dm_sep *ep, const struct dm_shm_op *op,
                                 const struct piece *piece, uint32_t n,
                                 DAT_DTO_COMPLETION_STATUS recv_status, struct dm_shm_result *res)
{
    struct iovec vec[DM_IOV_MAX];
    uint64_t len;
    enum dm_shm_exec exec = DM_EXEC_DONE;

    if (!dm_shm_local_check(ep->keys, ep->pz_id, op, vec, &len)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return DM_EXEC_DONE;
    }
    if (recv_status == DAT_DTO_SUCCESS)
        exec = copy_pieces(ep, vec, piece, n, true, res);
    if (exec != DM_EXEC_DONE)
        return exec;
    if (res->status != DAT_DTO_SUCCESS)
        recv_status = DAT_DTO_ERR_LOCAL_PROTECTION;
    if (recv_status != DAT_DTO_SUCCESS)
        res->status = DAT_DTO_ERR_REMOTE_RESPONDER;
    dm_shm_recv_done(ep, recv_status, len, res);
    return DM_EXEC_DONE;
}

/* False: a region changed under us, look again. */
static bool exec_send(struct dm_sep *ep, const struct dm_shm_op *op, bool is_locked,
                      struct dm_shm_result *res, enum dm_shm_exec *exec_p)
{
    const struct dm_shm_recv *recv;
    struct iovec vec[DM_IOV_MAX];
    struct piece piece[DM_IOV_MAX];
    DAT_DTO_COMPLETION_STATUS recv_status = DAT_DTO_SUCCESS;
    uint32_t n = 0;
    bool is_valid = true;
    enum find found = FIND_OK;

    *exec_p = DM_EXEC_DONE;
    if (!dm_shm_local_check(ep->keys, ep->pz_id, op, vec, &res->len)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return true;
    }
    recv = dm_shm_recv_head(ep);
    if (recv == NULL) {
        *exec_p = dm_shm_is_up(ep) ? DM_EXEC_NO_RECV : DM_EXEC_DOWN;
        return true;
    }
    if (recv_room(recv) < res->len)
        recv_status = DAT_DTO_ERR_LOCAL_LENGTH;
    else
        found = find_recv(ep, recv, res->len, is_locked, piece, &n);
    if (found == FIND_BAD) {
        recv_status = DAT_DTO_ERR_LOCAL_PROTECTION;
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
    else if (dm_shm_recv_head(ep) == NULL)
        *exec_p = DM_EXEC_NO_RECV; /* the ring is being moved */
    else
        *exec_p = send_now(ep, op, piece, n, recv_status, res);
    dm_shm_busy_end(ep);
    return is_valid;
}

enum dm_shm_exec dm_shm_exec(struct dm_sep *ep, const struct dm_shm_op *op, bool is_locked,
                             struct dm_shm_result *res)
{
    enum dm_shm_exec exec;
    bool is_valid;

    /* Each round needs a region to vanish, and a vanished key stays bad. */
    do {
        memset(res, 0, sizeof(*res));
        is_valid = op->kind == DM_OP_SEND ? exec_send(ep, op, is_locked, res, &exec)
                                          : exec_rdma(ep, op, is_locked, res, &exec);
    } while (!is_valid);
    return exec;
}
