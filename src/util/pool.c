/*
 * Object pool. A chunk is one aligned allocation: a cache line with the link to
 * the next chunk, then the objects. Chunks live until the pool ends, so an
 * object's memory stays mapped after it was given back.
 */
#include "util/pool.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "util/err.h"
#include "util/port.h"

#define PAGE 4096

static size_t pool_round_up(size_t len, size_t align)
{
    return (len + align - 1) / align * align;
}

void dm_pool_init(struct dm_pool *pool, size_t len, size_t per_chunk, size_t max)
{
    size_t align = alignof(max_align_t);

    *pool = (struct dm_pool){
        .obj_len = pool_round_up(len > 0 ? len : 1, align),
        .per_chunk = per_chunk > 0 ? per_chunk : 1,
        .max = max,
    };
}

/* Where the list of free objects touches each page: one call instead of a fault for each. */
static void pool_populate(const struct dm_pool *pool, char *chunk, size_t len)
{
    size_t before = (uintptr_t)chunk % PAGE;

    if (len >= 2 * PAGE && pool->obj_len <= PAGE)
        (void)madvise(chunk - before, before + len, DM_MADV_POPULATE);
}

bool dm_pool_grow(struct dm_pool *pool)
{
    size_t n = pool->per_chunk;
    char *chunk;

    if (pool->max > 0 && pool->max - pool->n_total < n)
        n = pool->max - pool->n_total;
    if (n == 0)
        return false;
    chunk = aligned_alloc(DM_CACHE_LINE,
                          pool_round_up(DM_CACHE_LINE + n * pool->obj_len, DM_CACHE_LINE));
    if (chunk == NULL)
        return false;
    pool_populate(pool, chunk, DM_CACHE_LINE + n * pool->obj_len);
    *(void **)(void *)chunk = pool->chunks;
    pool->chunks = chunk;
    /* From the last to the first, so that they are handed out in address order. */
    for (size_t i = n; i-- > 0;) {
        void *obj = chunk + DM_CACHE_LINE + i * pool->obj_len;

        *(void **)obj = pool->free;
        pool->free = obj;
    }
    pool->n_total += n;
    return true;
}

int dm_pool_reserve(struct dm_pool *pool, size_t n)
{
    while (pool->n_total - pool->n_used < n)
        if (!dm_pool_grow(pool))
            return DM_FAIL(DM_ENOMEM, "%zu objects of %zu bytes", n, pool->obj_len);
    return DM_OK;
}

void dm_pool_fini(struct dm_pool *pool)
{
    void *chunk = pool->chunks;

    while (chunk != NULL) {
        void *next = *(void **)chunk;

        free(chunk);
        chunk = next;
    }
    pool->chunks = NULL;
    pool->free = NULL;
    pool->n_total = 0;
    pool->n_used = 0;
}
