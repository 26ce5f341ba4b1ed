/*
 * Guards of processes.
 */
#include "providers/shm/transport/guard.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "providers/shm/conn.h"
#include "providers/shm/transport/inbox.h"
#include "providers/shm/transport/peer.h"
#include "providers/shm/wire.h"

/* How many one process guards; when all peers have been looked at that nobody guards, and how many of the
 * others are looked at meanwhile. */
enum { GUARDED_MAX = 8, ROUNDS = 4, LOOKS = 4, LOOK_NS = 500000000 };

static int guard_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool dm_shm_guard_is_there(const struct dm_shm_peer *peer)
{
    return dm_shm_sock_is_there(&peer->doorbell, SOCK_DGRAM);
}

static bool pidfd_has_ended(int fd)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};

    return poll(&pfd, 1, 0) > 0;
}

bool dm_shm_guard_has_ended(const struct dm_shm_ia *ia, const struct dm_shm_peer *peer)
{
    bool has_ended;
    int fd;

    if (peer->guarded != NULL)
        return pidfd_has_ended(peer->guarded->src.fd);
    errno = 0;
    fd = peer->pid > 0 && peer->pid != ia->pia.pid ? guard_pidfd(peer->pid) : -1;
    if (fd < 0) /* no such process; or one that cannot be named here, or no descriptor */
        return errno == ESRCH || !dm_shm_guard_is_there(peer);
    has_ended = pidfd_has_ended(fd);
    close(fd);
    return has_ended;
}

/* Become a guard, if there is a place. */
static bool guard_claim(struct dm_shm_ia *ia, const struct dm_shm_peer *peer)
{
    for (int i = 0; i < DM_SHM_GUARDS; i++) {
        uint64_t none = 0;

        if (atomic_load_explicit(&peer->hdr->guards[i], memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&peer->hdr->guards[i], &none, ia->seg.hdr->id))
            return true;
    }
    return false;
}

/* Who was a guard is none any more. */
static void guard_clear(struct dm_shm_hdr *of, uint64_t id)
{
    for (int i = 0; i < DM_SHM_GUARDS; i++) {
        uint64_t expected = id;

        (void)atomic_compare_exchange_strong(&of->guards[i], &expected, 0);
    }
}

static void guard_try(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    struct dm_shm_guarded *guarded;

    if (peer->guarded != NULL || peer->pid <= 0 || peer->pid == ia->pia.pid ||
        ia->guard.n_guarded >= GUARDED_MAX || !guard_claim(ia, peer))
        return;
    guarded = calloc(1, sizeof(*guarded));
    if (guarded != NULL) {
        guarded->src.kind = DM_SRC_GUARDED;
        guarded->src.fd = guard_pidfd(peer->pid);
        guarded->peer = peer;
        if (guarded->src.fd >= 0 && dm_shm_src_add(ia, &guarded->src)) {
            dm_list_add_tail(&ia->quiet_srcs, &guarded->src.link);
            peer->guarded = guarded;
            ia->guard.n_guarded++;
            return;
        }
        if (guarded->src.fd >= 0)
            close(guarded->src.fd);
        free(guarded);
    }
    guard_clear(peer->hdr, ia->seg.hdr->id);
}

static void guard_stop(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    if (peer->guarded == NULL)
        return;
    dm_shm_src_defer_free(ia, &peer->guarded->src);
    peer->guarded = NULL;
    ia->guard.n_guarded--;
    guard_clear(peer->hdr, ia->seg.hdr->id);
}

void dm_shm_guard_begin(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    struct dm_shm_hdr *own = ia->seg.hdr;

    peer->slot = DM_SHM_PEERS;
    for (uint32_t i = 0; i < DM_SHM_PEERS && peer->slot == DM_SHM_PEERS; i++) {
        uint32_t at = (ia->guard.n_peers + i) % DM_SHM_PEERS;

        if (atomic_load_explicit(&own->peers[at], memory_order_relaxed) == 0)
            peer->slot = at;
    }
    if (peer->slot < DM_SHM_PEERS)
        atomic_store(&own->peers[peer->slot], peer->id);
    if (ia->guard.n_peers++ == 0) {
        ia->guard.due = dm_futex_now() + LOOK_NS;
        if (ia->guard.due < ia->wake_at)
            dm_shm_kick(&ia->pia);
    }
    guard_try(ia, peer);
}

void dm_shm_guard_end(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    guard_stop(ia, peer);
    if (peer->slot < DM_SHM_PEERS)
        atomic_store(&ia->seg.hdr->peers[peer->slot], 0);
    ia->guard.n_peers--;
}

/* Tell all whom it was connected with, unless another has begun to. */
static void guard_notify(struct dm_shm_ia *ia, const struct dm_shm_peer *dead)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_DEATH, .id = dead->id};

    if (atomic_exchange(&dead->hdr->is_mourned, 1) != 0)
        return;
    for (int i = 0; i < DM_SHM_PEERS; i++) {
        uint64_t id = atomic_load_explicit(&dead->hdr->peers[i], memory_order_relaxed);
        struct dm_shm_name to;

        if (id == 0 || id == ia->seg.hdr->id)
            continue;
        dm_shm_sock_doorbell_name(id, &to);
        (void)dm_shm_sock_send(ia->doorbell.src.fd, &to, &msg,
                               -1); /* else it finds out by itself */
    }
}

/* A connection of this peer that does not know yet. */
static struct dm_shm_conn *guard_find_conn(const struct dm_list *srcs,
                                           const struct dm_shm_peer *peer)
{
    dm_list_for_each (it, srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);
        struct dm_shm_conn *conn = (struct dm_shm_conn *)src;

        if (src->kind == DM_SRC_CONN && conn->peer == peer && !conn->is_peer_gone)
            return conn;
    }
    return NULL;
}

/* It is dead: its connections are broken, and we stop looking at it. */
static void guard_lost(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    struct dm_shm_conn *conn;

    if (peer->is_gone)
        return;
    peer->is_gone = true;
    dm_shm_peer_hold(peer);
    guard_notify(ia, peer);
    guard_clear(ia->seg.hdr, peer->id);
    guard_stop(ia, peer);
    if (dm_shm_inbox_look(ia) != DM_FUTEX_FOREVER) /* what it has said before */
        dm_shm_kick(&ia->pia);                     /* some of it has to wait */
    dm_shm_inbox_forget(ia, peer->id, peer->pid != ia->pia.pid && dm_shm_guard_has_ended(ia, peer));
    while ((conn = guard_find_conn(&ia->quiet_srcs, peer)) != NULL ||
           (conn = guard_find_conn(&ia->srcs, peer)) != NULL) {
        dm_shm_conn_look(conn); /* it may have disconnected in order before */
        if (!conn->src.is_dead && !conn->is_peer_gone)
            dm_shm_conn_lost(conn);
    }
    dm_shm_peer_put(ia, peer);
}

void dm_shm_guard_ready(struct dm_shm_ia *ia, struct dm_shm_guarded *guarded)
{
    guard_lost(ia, guarded->peer);
}

static void guard_check(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    peer->is_suspect = false;
    if (!peer->is_gone && !dm_shm_guard_is_there(peer))
        guard_lost(ia, peer);
}

void dm_shm_guard_suspect(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    if (peer->is_gone || peer->is_suspect)
        return;
    peer->is_suspect = true;
    ia->guard.has_suspects = true;
    dm_shm_kick(&ia->pia);
}

static struct dm_shm_peer *guard_find_suspect(const struct dm_shm_ia *ia)
{
    dm_list_for_each (it, &ia->peers) {
        struct dm_shm_peer *peer = dm_container_of(it, struct dm_shm_peer, link);

        if (peer->is_suspect)
            return peer;
    }
    return NULL;
}

static void guard_check_suspects(struct dm_shm_ia *ia)
{
    struct dm_shm_peer *peer;

    ia->guard.has_suspects = false;
    while ((peer = guard_find_suspect(ia)) != NULL)
        guard_check(ia, peer);
}

void dm_shm_guard_hear(struct dm_shm_ia *ia, uint64_t id)
{
    struct dm_shm_peer *peer = dm_hash_get(&ia->peers_by_id, id);

    if (peer == NULL)
        guard_clear(ia->seg.hdr, id); /* it may have guarded us all the same */
    for (; peer != NULL; peer = peer->same)
        peer->is_suspect = true;
    guard_check_suspects(ia);
}

static bool guard_is_guarded(const struct dm_shm_peer *peer)
{
    return atomic_load_explicit(&peer->hdr->guards[0], memory_order_relaxed) != 0 ||
           atomic_load_explicit(&peer->hdr->guards[1], memory_order_relaxed) != 0;
}

uint64_t dm_shm_guard_look(struct dm_shm_ia *ia, uint64_t now)
{
    uint32_t n = ia->guard.n_peers;

    if (ia->guard.has_suspects)
        guard_check_suspects(ia);
    if (n == 0)
        return DM_FUTEX_FOREVER;
    if (now < ia->guard.due)
        return ia->guard.due;
    dm_shm_inbox_doubt(ia);
    dm_shm_inbox_sweep(ia);
    for (uint32_t i = 0; i <= n / ROUNDS && !dm_list_is_empty(&ia->peers); i++) {
        struct dm_shm_peer *peer = dm_container_of(ia->peers.next, struct dm_shm_peer, link);

        dm_list_del(&peer->link); /* the next time others are first */
        dm_list_add_tail(&ia->peers, &peer->link);
        guard_try(ia, peer);
        if (i < LOOKS || !guard_is_guarded(peer))
            guard_check(ia, peer);
    }
    ia->guard.due = now + LOOK_NS;
    return ia->guard.due;
}

void dm_shm_guard_leave(struct dm_shm_ia *ia)
{
    atomic_store(&ia->seg.hdr->is_mourned, 1);
}
