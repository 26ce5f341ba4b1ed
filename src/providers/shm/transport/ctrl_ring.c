/*
 * Control rings, and the doorbell.
 */
#include "providers/shm/transport/ctrl_ring.h"

#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/shm/cm.h"
#include "providers/shm/transport/peer.h"

enum { BATCH = 16, WRITE_TRIES = 2 };

bool dm_shm_doorbell_open(struct dm_shm_ia *ia)
{
    struct dm_shm_doorbell *door = &ia->doorbell;
    struct dm_shm_name name;

    dm_list_init(&door->src.link);
    dm_hash_init(&door->conns);
    dm_shm_sock_doorbell_name(ia->seg.hdr->id, &name);
    door->uid = geteuid();
    door->src.kind = DM_SRC_DOORBELL;
    door->src.fd = dm_shm_sock_doorbell(&name);
    if (door->src.fd < 0)
        return false;
    if (getrandom(&door->last_id, sizeof(door->last_id), 0) == sizeof(door->last_id) &&
        dm_shm_src_add(ia, &door->src))
        return true;
    close(door->src.fd);
    return false;
}

void dm_shm_doorbell_leave(struct dm_shm_ia *ia)
{
    dm_shm_src_close(ia, &ia->doorbell.src);
    ia->doorbell.src.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void dm_shm_doorbell_close(struct dm_shm_ia *ia)
{
    if (ia->doorbell.src.fd >= 0)
        close(ia->doorbell.src.fd);
    dm_hash_fini(&ia->doorbell.conns);
}

uint64_t dm_shm_doorbell_new_id(struct dm_shm_ia *ia)
{
    uint64_t id;

    do { /* a walk through all numbers, mixed by a bijection */
        id = ia->doorbell.last_id += 0x9e3779b97f4a7c15u;
        id = (id ^ id >> 30) * 0xbf58476d1ce4e5b9u;
        id = (id ^ id >> 27) * 0x94d049bb133111ebu;
        id ^= id >> 31;
    } while (id == 0);
    return id;
}

/* 1: rung, 0: the peer's socket is full. */
static int ctrl_ring_send(struct dm_shm_conn *conn, struct dm_shm_ctrl *msg, int fd)
{
    int sent;

    msg->conn = conn->peer_id;
    sent = dm_shm_sock_send(conn->ia->doorbell.src.fd, &conn->peer->doorbell, msg, fd);
    if (sent < 0)
        dm_shm_guard_suspect(conn->ia, conn->peer);
    return sent != 0;
}

/* The word is set before the second try: whatever fills the socket then is read after it. */
static void ctrl_ring_notify(struct dm_shm_conn *conn)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_DOORBELL};

    if (ctrl_ring_send(conn, &msg, -1) != 0)
        return;
    atomic_store(&conn->peer->hdr->is_look_due, 1);
    (void)ctrl_ring_send(conn, &msg, -1);
}

void dm_shm_ctrl_ring_clear(struct dm_shm_conn *conn)
{
    struct dm_shm_link_ep *own = conn->ep->sh;

    atomic_store(&own->n_ctrl, 0);
    atomic_store(&own->n_ctrl_read, 0);
    atomic_store(&own->is_ctrl_full, 0);
}

/* 1: written, 0: no space; and whether the reader has seen all that was there before. */
static int ctrl_ring_put(struct dm_shm_link_ep *peer, const struct dm_shm_ctrl *msg, uint32_t n_max,
                         bool *is_first_p)
{
    uint32_t n = atomic_load(&peer->n_ctrl);
    struct dm_shm_ctrl_slot *slot = &peer->ctrl[n % DM_SHM_CTRL_SLOTS];

    if (n - atomic_load(&peer->n_ctrl_read) >= n_max) {
        atomic_store(&peer->is_ctrl_full, 1);
        return 0;
    }
    *slot = (struct dm_shm_ctrl_slot){.type = msg->type,
                                      .status = msg->status,
                                      .key = msg->key,
                                      .len = msg->len,
                                      .serial = msg->serial,
                                      .va = msg->va,
                                      .offset = msg->offset,
                                      .size = msg->size};
    atomic_store(&peer->n_ctrl, n + 1);
    *is_first_p = atomic_load(&peer->n_ctrl_read) == n;
    return 1;
}

int dm_shm_ctrl_ring_write(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, bool is_last)
{
    struct dm_shm_link_ep *own = conn->ep->sh;
    struct dm_shm_link_ep *peer = conn->ep->peer_sh;
    uint32_t n_max = is_last ? DM_SHM_CTRL_SLOTS : DM_SHM_CTRL_SLOTS - 1;
    bool is_first = false;
    int is_done = 1;

    atomic_fetch_add(&own->ctrl_busy, 1);
    if (atomic_load(&peer->link) == conn->ep->peer_up) {
        is_done = 0;
        /* Again, after it has been told that somebody waits for space. */
        for (int i = 0; i < WRITE_TRIES && !is_done; i++)
            is_done = ctrl_ring_put(peer, msg, n_max, &is_first);
    }
    atomic_fetch_add(&own->ctrl_busy, 1);
    if (is_first)
        ctrl_ring_notify(conn);
    return is_done;
}

int dm_shm_ctrl_ring_send_fd(struct dm_shm_conn *conn, struct dm_shm_ctrl *msg, int fd)
{
    return ctrl_ring_send(conn, msg, fd);
}

int dm_shm_ctrl_ring_read(struct dm_shm_conn *conn, struct dm_shm_ctrl *msg)
{
    struct dm_shm_link_ep *own = conn->ep->sh;
    uint32_t n_read = atomic_load(&own->n_ctrl_read);
    uint32_t n = atomic_load(&own->n_ctrl) - n_read;
    struct dm_shm_ctrl_slot slot;

    if (n > DM_SHM_CTRL_SLOTS)
        return -1;
    if (n == 0) {
        if (atomic_load(&own->is_ctrl_full) != 0 && atomic_exchange(&own->is_ctrl_full, 0) != 0)
            ctrl_ring_notify(conn); /* there is space again */
        return 0;
    }
    slot = own->ctrl[n_read % DM_SHM_CTRL_SLOTS];
    atomic_store(&own->n_ctrl_read, n_read + 1);
    memset(msg, 0, offsetof(struct dm_shm_ctrl, data));
    msg->type = slot.type;
    msg->status = slot.status;
    msg->key = slot.key;
    msg->len = slot.len;
    msg->serial = slot.serial;
    msg->va = slot.va;
    msg->offset = slot.offset;
    msg->size = slot.size;
    return 1;
}

static void doorbell_deliver(struct dm_shm_ia *ia, const struct dm_shm_ctrl *msg, int fd,
                             pid_t from)
{
    struct dm_shm_conn *conn;

    if (msg->type == DM_CTRL_DEATH) {
        dm_shm_guard_hear(ia, msg->id);
        return;
    }
    conn = dm_hash_get(&ia->doorbell.conns, msg->conn);
    if (conn == NULL || conn->pid != from)
        return;
    if (msg->type == DM_CTRL_APART) {
        dm_shm_cm_apart(conn);
        return;
    }
    dm_shm_conn_look(conn);
    if (msg->type == DM_CTRL_MAP_FD && !conn->src.is_dead)
        dm_shm_conn_hear(conn, msg, fd);
}

void dm_shm_doorbell_look(struct dm_shm_ia *ia)
{
    if (atomic_load(&ia->seg.hdr->is_look_due) == 0)
        return;
    atomic_store(&ia->seg.hdr->is_look_due, 0);
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_shm_ep *ep = dm_container_of(it, struct dm_shm_ep, ep.obj.link);

        if (ep->conn != NULL)
            dm_shm_conn_look(ep->conn);
    }
}

void dm_shm_doorbell_ready(struct dm_shm_ia *ia)
{
    for (int i = 0; i < BATCH; i++) { /* if there are more, the socket stays readable */
        struct ucred from = {.uid = (uid_t)-1};
        struct dm_shm_ctrl msg;
        int fd;
        int got = dm_shm_sock_recv(ia->doorbell.src.fd, &msg, &fd, &from);

        if (got == 0)
            break;
        if (fd == DM_SOCK_FD_LOST)
            dm_shm_no_descriptor(ia);
        if (got > 0 && dm_shm_sock_is_uid_trusted(from.uid, ia->doorbell.uid))
            doorbell_deliver(ia, &msg, fd, from.pid);
        if (fd >= 0)
            close(fd);
    }
}
