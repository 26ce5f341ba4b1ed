/*
 * Regions of peers that are mapped here, by the serial of their key. Their files are opened as
 * descriptors of the owner (/proc), or, where that is not allowed or the owner cannot be named, its
 * descriptor is asked for: a request is open for one region of an endpoint at a time.
 */
#include "providers/shm/transport/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/dto.h"
#include "providers/shm/lmr.h"
#include "providers/shm/transport/peer.h"
#include "providers/shm/transport/quiesce.h"

static void map_free(struct dm_shm_map *map)
{
    if (map->base != NULL)
        munmap(map->base, map->len);
    free(map);
}

void dm_shm_maps_free(struct dm_shm_peer *peer)
{
    for (int i = 0; i < DM_SHM_MAP_BUCKETS; i++)
        while (peer->maps[i] != NULL) {
            struct dm_shm_map *map = peer->maps[i];

            peer->maps[i] = map->next;
            map_free(map);
        }
}

static struct dm_shm_map **map_bucket(struct dm_shm_peer *peer, uint64_t serial)
{
    return &peer->maps[serial % DM_SHM_MAP_BUCKETS];
}

struct dm_shm_map *dm_shm_map_find(struct dm_shm_peer *peer, uint64_t serial)
{
    struct dm_shm_map *map = *map_bucket(peer, serial);

    while (map != NULL && map->serial != serial)
        map = map->next;
    return map;
}

/* A region as its owner shows or describes it. */
struct map_source {
    uint64_t addr; /* in the owner */
    uint64_t len;
    uint64_t offset; /* in the file */
    uint64_t size;   /* of the file, 0: there is none */
    uint64_t dev;
    uint64_t ino;
    int fd;       /* of the owner's */
    char *shared; /* where the file is mapped here, if it is the arena */
};

static void map_add(struct dm_shm_peer *peer, uint64_t serial, int fd,
                    const struct map_source *source)
{
    struct dm_shm_map **at = map_bucket(peer, serial);
    struct dm_shm_map *map;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t lead = source->offset % page;

    if (dm_shm_map_find(peer, serial) != NULL)
        return;
    map = calloc(1, sizeof(*map));
    if (map == NULL)
        return;
    map->serial = serial;
    map->va = source->addr;
    map->region_len = source->len;
    if (source->len > source->size || source->offset > source->size - source->len) {
        map->data = NULL; /* not so much is there */
    } else if (source->shared != NULL) {
        map->data = source->shared + source->offset;
    } else {
        map->len = (size_t)(lead + source->len);
        map->base = mmap(NULL, map->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                         (off_t)(source->offset - lead));
        if (map->base == MAP_FAILED)
            map->base = NULL;
        else
            map->data = map->base + lead;
    }
    map->next = *at;
    *at = map;
}

void dm_shm_map_del(struct dm_shm_peer *peer, uint64_t serial)
{
    struct dm_shm_map **at = map_bucket(peer, serial);

    while (*at != NULL && (*at)->serial != serial)
        at = &(*at)->next;
    if (*at != NULL) {
        struct dm_shm_map *map = *at;

        *at = map->next;
        map_free(map);
    }
}

/* What the owner shows of a region, while that is there. It learns that it has to tell its end. */
static bool map_look(struct dm_shm_ep *ep, const struct dm_shm_key *entry, uint64_t serial,
                     struct map_source *source)
{
    bool is_there = false;
    struct dm_shm_file *file;
    uint64_t offset;

    dm_shm_busy_begin(ep); /* until it ends the owner frees nothing */
    offset = (uint64_t)entry->file * 64;
    if (dm_shm_is_up(ep) && atomic_load(&entry->serial) == serial && offset != 0 &&
        dm_shm_peer_has(ep->peer, offset, sizeof(*file))) {
        file = (void *)((char *)ep->peer->hdr + offset);
        *source = (struct map_source){.addr = entry->addr,
                                      .len = entry->len,
                                      .offset = file->offset,
                                      .dev = file->dev,
                                      .ino = file->ino,
                                      .fd = file->fd};
        atomic_store(&file->is_mapped, 1);
        is_there = true;
    }
    dm_shm_busy_end(ep);
    return is_there;
}

/* Open the file of a region; -1 and errno, ESTALE: it is another one. */
static int map_file(const struct dm_shm_peer *peer, struct map_source *source)
{
    char path[64];
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)peer->pid, source->fd);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_dev == source->dev && st.st_ino == source->ino) {
        source->size = (uint64_t)st.st_size;
        return fd;
    }
    close(fd);
    errno = ESTALE;
    return -1;
}

/* Is the region in the arena? Then it is mapped already. */
static bool map_is_shared(const struct dm_arena *arena, struct map_source *source)
{
    if (arena->head == NULL || source->dev != arena->dev || source->ino != arena->ino)
        return false;
    source->shared = (char *)arena->head;
    source->size = arena->size;
    return true;
}

struct dm_shm_map *dm_shm_map_open(struct dm_shm_ep *ep, uint32_t key, uint64_t serial)
{
    struct dm_shm_peer *peer = ep->peer;
    const struct dm_shm_key *entry = &peer->hdr->keys[key & DM_SHM_KEY_IDX];
    struct map_source source;
    int fd;

    if (!map_look(ep, entry, serial, &source))
        return NULL;
    if (map_is_shared(&dm_shm_ia_of(ep)->seg.arena, &source)) {
        map_add(peer, serial, -1, &source);
        return dm_shm_map_find(peer, serial);
    }
    if (peer->is_apart || peer->pid <= 0)
        return NULL;
    fd = map_file(peer, &source);
    if (fd < 0) { /* unless it was closed a moment ago, none of its files can be opened here */
        peer->is_apart =
            errno != EMFILE && errno != ENFILE && atomic_load(&entry->serial) == serial;
        return NULL;
    }
    map_add(peer, serial, fd, &source);
    close(fd);
    return dm_shm_map_find(peer, serial);
}

/* Ask for the descriptor of a region; one such question is open at a time. */
void dm_shm_map_request(struct dm_shm_ep *ep, uint32_t key, uint64_t serial)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_MAP, .key = key, .serial = serial};

    if (ep->map_req.is_open || ep->conn == NULL)
        return;
    ep->map_req.is_open = true;
    ep->map_req.serial = serial;
    dm_shm_ctrl_send(ep->conn, &msg, -1);
}

/* The peer asks for the descriptor of a region. */
void dm_shm_map_execute(struct dm_shm_conn *conn, const struct dm_shm_ctrl *ask)
{
    struct dm_shm_lmr *lmr = dm_shm_lmr_find(conn->ia, ask->key);
    struct dm_shm_ctrl msg = {.type = DM_CTRL_MAP_FD, .key = ask->key, .serial = ask->serial};
    int fd = -1;

    if (lmr != NULL && lmr->fd >= 0 && conn->ep != NULL && lmr->lmr.pz == conn->ep->ep.pz) {
        fd = lmr->fd;
        msg.status = 1;
        msg.offset = lmr->fd_offset;
        msg.size = lmr->lmr.len;
        msg.va = lmr->lmr.addr;
        lmr->is_exported = true;
    }
    dm_shm_ctrl_send(conn, &msg, fd);
}

void dm_shm_map_response(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    struct map_source source = {.addr = msg->va, .len = msg->size, .offset = msg->offset};
    struct stat st;

    if (!conn->ep->map_req.is_open || conn->ep->map_req.serial != msg->serial)
        return;
    if (msg->status == 1 && fd >= 0 && fstat(fd, &st) == 0)
        source.size = (uint64_t)st.st_size;
    map_add(conn->peer, msg->serial, fd, &source);
    conn->ep->map_req.is_open = false;
    dm_shm_dto_push(conn->ep);
}
