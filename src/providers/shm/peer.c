/*
 * Other instances: their control segments and the regions of theirs that are
 * mapped here. One struct dm_shm_peer per instance, shared by its connections.
 */
#include "providers/shm/shm.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

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

struct dm_shm_peer *dm_shm_peer_get(struct dm_shm_ia *ia, int fd, uint64_t id, pid_t pid)
{
    struct dm_shm_peer *peer;
    struct stat st;
    void *map;

    dm_list_for_each (it, &ia->peers) {
        peer = dm_container_of(it, struct dm_shm_peer, link);
        if (peer->id == id && peer->pid == pid) {
            peer->n_refs++;
            return peer;
        }
    }
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(struct dm_shm_hdr))
        return NULL;
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return NULL;
    map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) {
        free(peer);
        return NULL;
    }
    peer->hdr = map;
    peer->size = (size_t)st.st_size;
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
    return peer;
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

void dm_shm_peer_put(struct dm_shm_peer *peer)
{
    if (--peer->n_refs > 0)
        return;
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
                         uint64_t len)
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
    if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size >= offset + len) {
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

static bool is_gone(const struct dm_shm_conn *conn)
{
    struct pollfd pfd = {.fd = conn->src.fd, .events = 0};

    return conn->is_peer_gone || poll(&pfd, 1, 0) != 0;
}

static void wait_idle(const _Atomic uint64_t *busy, const struct dm_shm_conn *conn)
{
    uint64_t value = atomic_load(busy);
    struct timespec nap = {.tv_nsec = 50000};

    for (int i = 0; (value & 1) != 0 && atomic_load(busy) == value; i++) {
        if (i < 100) {
            sched_yield();
            continue;
        }
        if (conn != NULL && is_gone(conn))
            return;
        nanosleep(&nap, NULL);
    }
}

void dm_shm_quiesce(struct dm_shm_ia *ia, struct dm_sep *only)
{
    bool is_first = true;

    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_sep *ep = dm_container_of(it, struct dm_sep, ep.obj.link);

        if (ep->conn == NULL || ep->peer_sh == NULL || (only != NULL && ep != only))
            continue;
        if (is_first)
            dm_shm_barrier_all();
        is_first = false;
        wait_idle(&ep->peer_sh->busy, ep->conn);
        if (ia->pia.is_threadsafe && only == NULL)
            wait_idle(&ep->sh->busy, NULL); /* other threads of our own */
    }
}
