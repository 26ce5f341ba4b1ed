/*
 * Other instances: their control segments and the regions of theirs that are
 * mapped here. One struct dm_shm_peer per instance, shared by its connections.
 */
#include "providers/shm/transport/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "providers/shm/transport/map.h"
#include "util/err.h"
#include "util/log.h"

/* Only a real transfer shows. */
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

bool dm_shm_peer_can_cma(struct dm_shm_peer *peer)
{
    if (atomic_load_explicit(&peer->cma, memory_order_relaxed) == DM_CMA_UNKNOWN)
        atomic_store(&peer->cma, probe_cma(peer) ? DM_CMA_YES : DM_CMA_NO);
    return atomic_load_explicit(&peer->cma, memory_order_relaxed) == DM_CMA_YES;
}

/* Is it a segment that cannot shrink under us? Its size. */
static bool peer_check_fd(int fd, size_t *size_p)
{
    struct stat st;
    int seals;

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(struct dm_shm_hdr))
        return false;
    seals = fcntl(fd, F_GET_SEALS);
    *size_p = (size_t)st.st_size;
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

/* To peers it looks as if nobody were there: warn once. */
static void explain_no_map(struct dm_shm_ia *ia, size_t size)
{
    if (!ia->is_short_reported)
        dm_log_warn(
            "%s: %zu MiB of a peer's memory cannot be mapped: %s; raise the limit of address space "
            "(ulimit -v), or have all say a smaller segment= in the ia_params",
            ia->pia.obj.provider->device_name, size >> 20, strerror(errno));
    ia->is_short_reported = true;
}

/* Where a segment is in a file. */
struct peer_extent {
    uint64_t offset;
    size_t size;
};

/* Its own file holds nothing else; an arena says where it is. */
static bool peer_locate(int fd, const struct dm_shm_who *who, struct peer_extent *at)
{
    struct dm_arena_head *head;
    size_t size = at->size;
    bool is_there = true;
    uint64_t magic;

    at->offset = 0;
    if (size < sizeof(*head) || pread(fd, &magic, sizeof(magic), 0) != sizeof(magic) ||
        magic != DM_ARENA_MAGIC)
        return true;
    head = mmap(NULL, sizeof(*head), PROT_READ, MAP_SHARED, fd, 0);
    if (head == MAP_FAILED)
        return false;
    if (dm_arena_is_head(head, size))
        is_there =
            dm_arena_find(head, size, who->id, who->mask, who->pid, &at->offset, &at->size) &&
            at->size >= sizeof(struct dm_shm_hdr);
    munmap(head, sizeof(*head));
    return is_there;
}

/* Is it a segment, and the one that is meant? */
static bool peer_is_segment(const struct dm_shm_hdr *hdr, const struct dm_shm_who *who)
{
    return hdr->magic == DM_SHM_MAGIC && hdr->version == DM_SHM_VERSION && hdr->id != 0 &&
           ((hdr->id ^ who->id) & who->mask) == 0;
}

static struct dm_shm_peer *peer_new(struct dm_shm_hdr *hdr, size_t size)
{
    struct dm_shm_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL)
        return NULL;
    peer->hdr = hdr;
    peer->size = size;
    peer->id = hdr->id;
    return peer;
}

/* In our own arena. */
static struct dm_shm_peer *peer_find_part(const struct dm_shm_ia *ia, const struct dm_shm_who *who)
{
    const struct dm_arena *arena = &ia->seg.arena;
    struct dm_shm_peer *peer;
    struct dm_shm_hdr *hdr;
    uint64_t offset;
    size_t size;

    if (arena->head == NULL ||
        !dm_arena_find(arena->head, arena->size, who->id, who->mask, who->pid, &offset, &size))
        return NULL;
    hdr = (void *)((char *)arena->head + offset);
    if (size < sizeof(*hdr) || !peer_is_segment(hdr, who))
        return NULL;
    peer = peer_new(hdr, size);
    if (peer != NULL)
        peer->is_part = true;
    return peer;
}

/* Map a segment; NULL: it is none, or no memory. */
static struct dm_shm_peer *peer_map(struct dm_shm_ia *ia, int fd, const struct dm_shm_who *who)
{
    struct dm_shm_peer *peer = NULL;
    struct peer_extent at = {.size = 0};
    void *map;

    if (!peer_check_fd(fd, &at.size) || !peer_locate(fd, who, &at))
        return NULL;
    map = mmap(NULL, at.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
               (off_t)at.offset);
    if (map == MAP_FAILED) {
        explain_no_map(ia, at.size);
        return NULL;
    }
    if (peer_is_segment(map, who))
        peer = peer_new(map, at.size);
    if (peer == NULL)
        munmap(map, at.size);
    return peer;
}

static void peer_free(struct dm_shm_peer *peer)
{
    if (!peer->is_part)
        munmap(peer->hdr, peer->size);
    free(peer);
}

static bool peer_list(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    peer->same = dm_hash_get(&ia->peers_by_id, peer->id);
    if (dm_hash_put(&ia->peers_by_id, peer->id, peer) != DM_OK)
        return false;
    dm_list_add_tail(&ia->peers, &peer->link);
    return true;
}

static void peer_unlist(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    struct dm_shm_peer *at = dm_hash_get(&ia->peers_by_id, peer->id);

    dm_list_del(&peer->link);
    if (at != peer) {
        while (at->same != peer)
            at = at->same;
        at->same = peer->same;
    } else if (peer->same != NULL) {
        (void)dm_hash_put(&ia->peers_by_id, peer->id, peer->same); /* in its place */
    } else {
        (void)dm_hash_del(&ia->peers_by_id, peer->id);
    }
}

struct dm_shm_peer *dm_shm_peer_find(struct dm_shm_ia *ia, uint64_t id, pid_t pid)
{
    struct dm_shm_peer *peer = dm_hash_get(&ia->peers_by_id, id);

    while (peer != NULL && peer->pid != pid)
        peer = peer->same;
    if (peer != NULL)
        peer->n_refs++;
    return peer;
}

struct dm_shm_peer *dm_shm_peer_get(struct dm_shm_ia *ia, int fd, const struct dm_shm_who *who)
{
    struct dm_shm_peer *same =
        who->mask == UINT64_MAX ? dm_shm_peer_find(ia, who->id, who->pid) : NULL;
    struct dm_shm_peer *peer;

    if (same != NULL)
        return same;
    peer = peer_find_part(ia, who);
    if (peer == NULL && fd >= 0)
        peer = peer_map(ia, fd, who);
    if (peer == NULL)
        return NULL;
    same = dm_shm_peer_find(ia, peer->id, who->pid);
    if (same != NULL || !peer_list(ia, peer)) {
        peer_free(peer);
        return same;
    }
    peer->pid = who->pid;
    peer->n_refs = 1;
    atomic_init(&peer->cma, ia->copy != DM_COPY_STAGED ? DM_CMA_UNKNOWN : DM_CMA_NO);
    dm_shm_sock_doorbell_name(peer->id, &peer->doorbell);
    dm_shm_guard_begin(ia, peer);
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

    if (offset % 64 != 0 || offset < offsetof(struct dm_shm_hdr, short_blocks) ||
        !dm_shm_peer_has(peer, offset, sizeof(*link)))
        return false;
    link = (const void *)((const char *)peer->hdr + offset);
    if (link->srq != 0)
        return link->srq % 64 == 0 && link->srq >= offsetof(struct dm_shm_hdr, short_blocks) &&
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

void dm_shm_peer_put(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    if (--peer->n_refs > 0)
        return;
    dm_shm_guard_end(ia, peer);
    dm_shm_maps_free(peer);
    if (peer->qual != 0 && dm_hash_get(&ia->peers_by_qual, peer->qual) == peer)
        (void)dm_hash_del(&ia->peers_by_qual, peer->qual);
    peer_unlist(ia, peer);
    peer_free(peer);
}
