/*
 * Pool of objects of one size: get and put are O(1) and call malloc only to
 * grow by a chunk. Not locked: one owner, or a lock around it.
 */
#ifndef DM_UTIL_POOL_H
#define DM_UTIL_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "util/port.h"

struct dm_pool {
    size_t obj_len;   /* bytes from one object to the next */
    size_t per_chunk; /* objects in a chunk */
    size_t max;       /* objects at most, 0 for no limit */
    size_t n_total;   /* objects in all chunks */
    size_t n_used;    /* objects handed out: 0 at the end, or there is a leak */
    void *free;       /* list of free objects, linked by their first word */
    void *chunks;     /* list of chunks, linked by their first word */
};

/*
 * An empty pool of objects of len bytes, aligned like malloc (to a cache line
 * when len is a multiple of one). Grows by per_chunk objects up to max.
 */
void dm_pool_init(struct dm_pool *pool, size_t len, size_t per_chunk, size_t max);
/* One more chunk; false when max is reached or memory is out. */
bool dm_pool_grow(struct dm_pool *pool);
/* An object with undefined content; NULL when max is reached or memory is out. */
static inline void *dm_pool_get(struct dm_pool *pool)
{
    void *obj = pool->free;

    if (dm_unlikely(obj == NULL)) {
        if (!dm_pool_grow(pool))
            return NULL;
        obj = pool->free;
    }
    pool->free = *(void **)obj;
    pool->n_used++;
    return obj;
}
/* Give back what dm_pool_get returned. */
static inline void dm_pool_put(struct dm_pool *pool, void *obj)
{
    *(void **)obj = pool->free;
    pool->free = obj;
    pool->n_used--;
}
/* Make sure that n more objects can be had without malloc: DM_OK or DM_ENOMEM. */
int dm_pool_reserve(struct dm_pool *pool, size_t n);
/* Free all chunks, with every object that is still out. */
void dm_pool_fini(struct dm_pool *pool);

#endif
