/*
 * Other instances: their control segments and the regions of theirs that are
 * mapped here. One struct dm_shm_peer per instance, shared by its connections.
 */
#include "providers/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "util/log.h"

/* Since Linux 6.5; older headers do not have it. */
#define DM_SO_PEERPIDFD 77

enum { N_YIELDS = 100, NAP_NS = 50000, SHORT_NS = 2000000 };
/* Longer than any transfer takes; a peer that needs more has been stopped. */
#define PATIENCE_NS 5000000000u

/* Can we copy to and from it? Only a real transfer tells. */
static bool probe_cma(const struct dm_shm_peer *peer)
{
    struct dm_shm_hdr *hdr = peer->hdr;
    uint64_t value = 0;
    struct iovec local = {.iov_base = &value, .iov_len = sizeof(value)};
    struct iovec remote = {.iov_len = sizeof(value)};
    uint64_t va = hdr->self_va + offsetof(struct dm_shm_hdr, nonce);

    memcpy(&remote.iov_base, &va, sizeof(va));
    if (process_vm_readv(peer->pid, &local, 1, &remote, 1, 0) != sizeof(value) ||
        value != hdr->nonce)
        return false;
    va = hdr->self_va + offsetof(struct dm_shm_hdr, probe);
    memcpy(&remote.iov_base, &va, sizeof(va));
    value ^= (uint64_t)getpid();
    return process_vm_writev(peer->pid, &local, 1, &remote, 1, 0) == sizeof(value);
}

/* Is it a segment that cannot shrink under us? Its size. */
static bool check_fd(int fd, size_t *size_p)
{
    struct stat st;
    int seals;

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(struct dm_shm_hdr))
        return false;
    seals = fcntl(fd, F_GET_SEALS);
    *size_p = (size_t)st.st_size;
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

/* Watch the peer's process: its sockets stay open if a child has inherited
 * them. Where the kernel cannot do that, the sockets have to do. */
static void watch(struct dm_shm_ia *ia, struct dm_shm_peer *peer, int sock)
{
    struct dm_shm_death *death;
    int fd = -1;
    socklen_t len = sizeof(fd);

    if (peer->pid == ia->pia.pid)
        return;
    if (getsockopt(sock, SOL_SOCKET, DM_SO_PEERPIDFD, &fd, &len) != 0)
        fd = (int)syscall(SYS_pidfd_open, peer->pid, 0);
    if (fd < 0)
        return;
    death = calloc(1, sizeof(*death));
    if (death == NULL) {
        close(fd);
        return;
    }
    death->src.kind = DM_SRC_PEER;
    death->src.fd = fd;
    death->peer = peer;
    dm_list_add_tail(&ia->srcs, &death->src.link);
    if (dm_shm_src_add(ia, &death->src))
        peer->death = death;
    else
        dm_shm_src_bury(ia, &death->src);
}

/* To whoever connects it looks as if nobody were there: say so once. */
static void explain_no_map(struct dm_shm_ia *ia, size_t size)
{
    if (!ia->is_short_told)
        dm_log_warn(
            "%s: %zu MiB of a peer's memory cannot be mapped: %s; raise the limit of address space "
            "(ulimit -v), or have all say a smaller segment= in the ia_params",
            ia->pia.obj.provider->device_name, size >> 20, strerror(errno));
    ia->is_short_told = true;
}

struct dm_shm_peer *dm_shm_peer_get(struct dm_shm_ia *ia, int sock, int fd, uint64_t id, pid_t pid)
{
    struct dm_shm_peer *peer;
    size_t size;
    void *map;

    dm_list_for_each (it, &ia->peers) {
        peer = dm_container_of(it, struct dm_shm_peer, link);
        if (peer->id == id && peer->pid == pid) {
            peer->n_refs++;
            return peer;
        }
    }
    if (!check_fd(fd, &size))
        return NULL;
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return NULL;
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) {
        explain_no_map(ia, size);
        free(peer);
        return NULL;
    }
    peer->hdr = map;
    peer->size = size;
    peer->id = id;
    peer->pid = pid;
    peer->n_refs = 1;
    if (peer->hdr->magic != DM_SHM_MAGIC || peer->hdr->version != DM_SHM_VERSION ||
        peer->hdr->id != id) {
        munmap(map, peer->size);
        free(peer);
        return NULL;
    }
    peer->can_cma = ia->copy != DM_COPY_STAGED && probe_cma(peer);
    dm_list_add_tail(&ia->peers, &peer->link);
    watch(ia, peer, sock);
    return peer;
}

struct dm_evd_ring *dm_shm_peer_ring(const struct dm_shm_peer *peer, uint64_t offset)
{
    struct dm_evd_ring *ring;
    uint64_t size;
    int64_t cno;

    if (dm_unlikely(offset % 64 != 0 || offset > peer->size - sizeof(*ring)))
        return NULL;
    ring = (void *)((char *)peer->hdr + offset);
    size = ring->size;
    if (dm_unlikely(size == 0 || (size & (size - 1)) != 0 ||
                    size > (peer->size - offset - sizeof(*ring)) / sizeof(ring->slots[0])))
        return NULL;
    cno = atomic_load_explicit(&ring->cno, memory_order_relaxed);
    if (dm_unlikely(cno != 0 && (cno % 64 != 0 || offset + (uint64_t)cno > peer->size - 64)))
        return NULL;
    return ring;
}

bool dm_shm_peer_ep_ok(const struct dm_shm_peer *peer, uint64_t offset)
{
    const struct dm_shm_link_ep *link;
    uint64_t stride;

    if (offset % 64 != 0 || offset < sizeof(struct dm_shm_hdr) ||
        !dm_shm_peer_has(peer, offset, sizeof(*link)))
        return false;
    link = (const void *)((const char *)peer->hdr + offset);
    if (link->srq != 0)
        return link->srq % 64 == 0 && link->srq >= sizeof(struct dm_shm_hdr) &&
               dm_shm_peer_has(peer, link->srq, sizeof(struct dm_shm_link_srq));
    stride = link->recv_stride;
    if (link->recvs == 0) /* it never receives */
        return true;
    return link->recvs % 8 == 0 && stride % 8 == 0 && stride >= sizeof(struct dm_shm_recv) &&
           dm_shm_peer_has(peer, link->recvs, ((uint64_t)link->recv_mask + 1) * stride);
}

bool dm_shm_peer_srq_ok(const struct dm_shm_peer *peer, const struct dm_shm_link_srq *srq)
{
    return srq->order % 8 == 0 && srq->descs % 8 == 0 && srq->stride % 8 == 0 &&
           srq->stride >= sizeof(struct dm_shm_desc) && srq->stride <= peer->size &&
           srq->order_mask < peer->size / sizeof(uint64_t) &&
           dm_shm_peer_has(peer, srq->order, (srq->order_mask + 1) * sizeof(uint64_t)) &&
           dm_shm_peer_has(peer, srq->descs, srq->n_desc * srq->stride);
}

void dm_shm_peer_hold(struct dm_shm_peer *peer)
{
    peer->n_refs++;
}

static void map_free(struct dm_shm_map *map)
{
    if (map->base != NULL)
        munmap(map->base, map->len);
    free(map);
}

void dm_shm_peer_put(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    if (--peer->n_refs > 0)
        return;
    if (peer->death != NULL)
        dm_shm_src_bury(ia, &peer->death->src);
    for (int i = 0; i < DM_SHM_MAP_BUCKETS; i++)
        while (peer->maps[i] != NULL) {
            struct dm_shm_map *map = peer->maps[i];

            peer->maps[i] = map->next;
            map_free(map);
        }
    dm_list_del(&peer->link);
    munmap(peer->hdr, peer->size);
    free(peer);
}

static struct dm_shm_map **bucket(struct dm_shm_peer *peer, uint64_t serial)
{
    return &peer->maps[serial % DM_SHM_MAP_BUCKETS];
}

struct dm_shm_map *dm_shm_peer_map_find(struct dm_shm_peer *peer, uint64_t serial)
{
    struct dm_shm_map *map = *bucket(peer, serial);

    while (map != NULL && map->serial != serial)
        map = map->next;
    return map;
}

void dm_shm_peer_map_add(struct dm_shm_peer *peer, uint64_t serial, int fd, uint64_t offset,
                         uint64_t len, uint64_t va)
{
    struct dm_shm_map **at = bucket(peer, serial);
    struct dm_shm_map *map;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t lead = offset % page;
    struct stat st;

    if (dm_shm_peer_map_find(peer, serial) != NULL)
        return;
    map = calloc(1, sizeof(*map));
    if (map == NULL)
        return;
    map->serial = serial;
    map->va = va;
    map->region_len = len;
    if (fd >= 0 && fstat(fd, &st) == 0 && len <= (uint64_t)st.st_size &&
        offset <= (uint64_t)st.st_size - len) {
        map->len = (size_t)(lead + len);
        map->base = mmap(NULL, map->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                         (off_t)(offset - lead));
        if (map->base == MAP_FAILED)
            map->base = NULL;
        else
            map->data = map->base + lead;
    }
    map->next = *at;
    *at = map;
}

void dm_shm_peer_map_del(struct dm_shm_peer *peer, uint64_t serial)
{
    struct dm_shm_map **at = bucket(peer, serial);

    while (*at != NULL && (*at)->serial != serial)
        at = &(*at)->next;
    if (*at != NULL) {
        struct dm_shm_map *map = *at;

        *at = map->next;
        map_free(map);
    }
}

/* Has the peer's process ended? That its socket is closed says so only where
 * nothing better is known: a thread of a process that has closed it may still
 * be in the middle of a transfer. */
static bool is_gone(const struct dm_shm_conn *conn)
{
    struct pollfd pfd = {.fd = conn->src.fd, .events = POLLIN};

    if (conn->peer != NULL && conn->peer->death != NULL) {
        pfd.fd = conn->peer->death->src.fd;
        return poll(&pfd, 1, 0) > 0;
    }
    pfd.events = 0;
    return conn->is_peer_gone || poll(&pfd, 1, 0) != 0;
}

/* Wait for at most so long; false if time is up. */
static bool wait_idle(const _Atomic uint64_t *busy, const struct dm_shm_conn *conn, uint64_t ns)
{
    uint64_t value = atomic_load(busy);
    struct timespec nap = {.tv_nsec = NAP_NS};
    uint64_t deadline = 0;

    for (int i = 0; (value & 1) != 0 && atomic_load(busy) == value; i++) {
        if (i < N_YIELDS) {
            sched_yield();
            continue;
        }
        if (deadline == 0)
            deadline = dm_futex_now() + ns;
        if (conn != NULL && is_gone(conn))
            return true;
        if (dm_futex_now() >= deadline)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

static bool wait_peer(struct dm_shm_ep *ep, uint64_t patience)
{
    struct dm_shm_conn *conn = ep->conn;

    if (conn->is_stuck)
        patience = SHORT_NS; /* no second time for nothing */
    conn->is_stuck = !wait_idle(&ep->peer_sh->busy, conn, patience);
    return !conn->is_stuck;
}

bool dm_shm_is_quiet(struct dm_shm_ep *ep)
{
    if (ep->conn == NULL || ep->peer_sh == NULL)
        return true;
    dm_shm_barrier_all();
    return wait_idle(&ep->peer_sh->busy, ep->conn, SHORT_NS);
}

bool dm_shm_quiesce(struct dm_shm_ia *ia, struct dm_shm_ep *only)
{
    bool is_first = true;
    bool is_quiet = true;

    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_shm_ep *ep = dm_container_of(it, struct dm_shm_ep, ep.obj.link);

        if (ep->conn == NULL || ep->peer_sh == NULL || (only != NULL && ep != only))
            continue;
        if (is_first)
            dm_shm_barrier_all();
        is_first = false;
        is_quiet = wait_peer(ep, PATIENCE_NS) && is_quiet;
        if (ia->pia.is_threadsafe && only == NULL) /* other threads of our own */
            (void)wait_idle(&ep->sh->busy, NULL, UINT64_MAX / 2);
    }
    return is_quiet;
}
