/*
 * Regions for rings.
 */
#include "dapl_adapt/provider/region.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/host.h"
#include "util/port.h"

#define CHUNK_FIRST 4 /* regions, and twice as many in each chunk that follows, */
#define CHUNK_MAX   64

#define PART_ALIGN ((size_t)2 << 20) /* as much as a page of page tables maps */

struct dm_region_chunk {
    struct dm_region_chunk *next; /* of this IA */
    struct dm_ia *ia;
    char *ptr;
    size_t slot_len;
    int n_slots;
    uint64_t used; /* a bit for each slot */
    bool is_part;  /* of the arena, */
    bool is_left;  /* which gives its memory back */
    struct dm_lmr lmr;
};

static int region_make(struct dm_ia *ia, size_t len, char **ptr_p, int *fd_p, struct dm_lmr *lmr_p)
{
    void *ptr;
    int err = dm_host_mem_alloc("datum-ring", len, &ptr, fd_p);

    if (err != DM_OK)
        return err;
    *ptr_p = ptr;
    err = dm_lmr_create(ia, ptr, len, *fd_p, lmr_p);
    if (err != DM_OK)
        dm_host_shm_free(ptr, len, *fd_p);
    return err;
}

/* A part of the arena. False: there is none that has so much. */
static bool region_take_part(struct dm_ia *ia, const struct dm_arena *arena, size_t len,
                             char **ptr_p, struct dm_lmr *lmr_p)
{
    void *ptr = MAP_FAILED;
    uint64_t offset = arena->head != NULL ? dm_arena_take(arena, len, PART_ALIGN) : 0;

    if (offset != 0)
        ptr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd, (off_t)offset);
    if (ptr == MAP_FAILED)
        return false;
    *ptr_p = ptr;
    if (dm_lmr_create_part(ia, ptr, len, arena->fd, offset, lmr_p) == DM_OK)
        return true;
    munmap(ptr, len);
    return false;
}

/* ---- chunks ---- */

static uint64_t chunk_all(const struct dm_region_chunk *chunk)
{
    return UINT64_MAX >> (CHUNK_MAX - chunk->n_slots);
}

/* One with a free slot of that length; NULL: there is none. */
static struct dm_region_chunk *chunk_find(const struct dm_ia *ia, size_t slot_len)
{
    struct dm_region_chunk *chunk = ia->memory.ring_chunks;

    while (chunk != NULL && (chunk->slot_len != slot_len || chunk->used == chunk_all(chunk)))
        chunk = chunk->next;
    return chunk;
}

static struct dm_region_chunk *chunk_make(struct dm_ia *ia, const struct dm_arena *arena,
                                          size_t slot_len, int n_more)
{
    struct dm_region_chunk *chunk = calloc(1, sizeof(*chunk));
    int n = ia->memory.ring_chunks != NULL ? 2 * ia->memory.ring_chunks->n_slots : CHUNK_FIRST;
    int fd;

    if (chunk == NULL)
        return NULL;
    n = n < n_more + 1 ? n : n_more + 1;
    chunk->ia = ia;
    chunk->slot_len = slot_len;
    chunk->n_slots = n < CHUNK_MAX ? n : CHUNK_MAX;
    chunk->is_part =
        region_take_part(ia, arena, slot_len * (size_t)chunk->n_slots, &chunk->ptr, &chunk->lmr);
    chunk->is_left = chunk->is_part && dm_arena_is_large(arena);
    if (!chunk->is_part) {
        if (region_make(ia, slot_len * (size_t)chunk->n_slots, &chunk->ptr, &fd, &chunk->lmr) !=
            DM_OK) {
            free(chunk);
            return NULL;
        }
        if (fd >= 0)
            close(fd); /* the provider has its own */
    }
    chunk->next = ia->memory.ring_chunks;
    ia->memory.ring_chunks = chunk;
    return chunk;
}

/* The file may live on, as the arena does in any case. */
static void chunk_free(struct dm_region_chunk *chunk, bool is_end)
{
    struct dm_region_chunk **at = &chunk->ia->memory.ring_chunks;

    while (*at != chunk)
        at = &(*at)->next;
    *at = chunk->next;
    dm_lmr_free(&chunk->lmr);
    if (!is_end || (chunk->is_part && !chunk->is_left))
        (void)madvise(chunk->ptr, chunk->slot_len * (size_t)chunk->n_slots, MADV_REMOVE);
    munmap(chunk->ptr, chunk->slot_len * (size_t)chunk->n_slots);
    free(chunk);
}

static bool chunk_take(struct dm_ia *ia, const struct dm_arena *arena, size_t len, int n_more,
                       struct dm_region *region_p)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t slot_len = (len + page - 1) / page * page;
    struct dm_region_chunk *chunk = chunk_find(ia, slot_len);
    int slot;

    if (chunk == NULL)
        chunk = chunk_make(ia, arena, slot_len, n_more);
    if (chunk == NULL)
        return false;
    slot = dm_lowest_bit(~chunk->used);
    chunk->used |= UINT64_C(1) << slot;
    *region_p = (struct dm_region){.ptr = chunk->ptr + (size_t)slot * slot_len,
                                   .len = len,
                                   .fd = -1,
                                   .lmr = chunk->lmr,
                                   .chunk = chunk};
    return true;
}

/* The next one finds zeros, and memory that nobody uses goes back. */
static void chunk_give(struct dm_region *region, bool is_end)
{
    struct dm_region_chunk *chunk = region->chunk;
    int slot = (int)((size_t)(region->ptr - chunk->ptr) / chunk->slot_len);

    chunk->used &= ~(UINT64_C(1) << slot);
    if (chunk->used == 0)
        chunk_free(chunk, is_end);
    else if (!is_end && madvise(region->ptr, chunk->slot_len, MADV_REMOVE) != 0)
        memset(region->ptr, 0, chunk->slot_len);
}

/* ---- regions ---- */

int dm_region_alloc(struct dm_ia *ia, const struct dm_arena *arena, size_t len, int n_more,
                    struct dm_region *region_p)
{
    int err;

    memset(region_p, 0, sizeof(*region_p));
    if (n_more > 0 && ia->caps.can_share && !ia->caps.is_pinning &&
        chunk_take(ia, arena, len, n_more, region_p))
        return DM_OK;
    region_p->len = len;
    err = region_make(ia, len, &region_p->ptr, &region_p->fd, &region_p->lmr);
    if (err != DM_OK)
        memset(region_p, 0, sizeof(*region_p));
    return err;
}

int dm_region_move(struct dm_ia *ia, struct dm_region *region)
{
    int err;

    dm_lmr_free(&region->lmr);
    err = dm_lmr_create(ia, region->ptr, region->len, region->fd, &region->lmr);
    if (err == DM_EAGAIN)
        err =
            DM_FAIL(DM_EPROVIDER, "%s cannot register %zu bytes for a ring", ia->name, region->len);
    return err;
}

void dm_region_free(struct dm_region *region, bool is_end)
{
    if (region->ptr == NULL)
        return;
    if (region->chunk != NULL) {
        chunk_give(region, is_end);
    } else {
        dm_lmr_free(&region->lmr);
        dm_host_shm_free(region->ptr, region->len, region->fd);
    }
    memset(region, 0, sizeof(*region));
}
