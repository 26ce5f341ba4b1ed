/*
 * Registered memory: regions that the layer allocates, registrations of any
 * memory, and the cache that keeps them.
 *
 * Invariant of the cache: the intervals in the tree do not overlap, unless it is exact (DATUM_REG_CACHE):
 * then entries are found by start and end; an entry is on
 * the LRU list if and only if nobody holds a reference and it is kept.
 */
#ifndef DM_DAPL_ADAPT_MEM_H
#define DM_DAPL_ADAPT_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/dapl_adapt.h"
#include "dapl_adapt/ia.h"
#include "util/list.h"
#include "util/rbtree.h"

struct dm_mr {
    uintptr_t start;
    uintptr_t end;
    struct dm_lmr lmr[DM_RAILS_MAX];
    int n_refs;
    bool is_cached; /* in the tree */
    bool is_alloc;  /* dm_adapt_mem_alloc made the memory */
    bool is_bare;   /* but no provider has registered it; not in the tree */
    int fd;         /* of allocated memory */
    struct dm_rbnode node;
    struct dm_list lru;
};

struct dm_reg_cache {
    struct dm_rbtree tree;
    struct dm_list lru; /* oldest first */
    struct dm_mr *last; /* found last; in the tree */
    bool is_exact;
    size_t idle_len;
    size_t max_idle;
    uint64_t n_hits;
    uint64_t n_misses;
    uint64_t made_len; /* bytes registered for misses */
    uint64_t n_evicted;
};

/*
 * The bare call: plain memory, or with fd >= 0 the start of that file as shared memory, which
 * the cookie "fd:N+0" names. *lmr_p is empty after a refusal.
 */
DAT_RETURN dm_lmr_try(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *addr, size_t len, int fd,
                      struct dm_lmr *lmr_p);
/* Register with one IA: plain memory, or with fd >= 0 as shared memory first. */
int dm_lmr_create(struct dm_ia *ia, void *addr, size_t len, int fd, struct dm_lmr *lmr_p);
/* The same for memory that a provider's atomic operations change. */
int dm_lmr_create_atomic(struct dm_ia *ia, void *addr, size_t len, int fd, struct dm_lmr *lmr_p);
void dm_lmr_free(struct dm_lmr *lmr);

/*
 * Page-aligned memory in a memory file, registered with one IA; for rings. DM_EAGAIN: the provider
 * has no registrations or lockable memory left.
 */
struct dm_region {
    char *ptr;
    size_t len;
    int fd;
    struct dm_lmr lmr;
};
int dm_region_alloc(struct dm_ia *ia, size_t len, struct dm_region *region_p);
void dm_region_free(struct dm_region *region);
/* Register it with another IA instead; the memory stays. DM_EPROVIDER. */
int dm_region_move(struct dm_ia *ia, struct dm_region *region);

void dm_reg_cache_init(struct dm_reg_cache *cache, size_t max_idle, bool is_exact);
/* Free every idle entry and forget the rest. */
void dm_reg_cache_fini(struct dm_reg_cache *cache);
/* Entry that covers the range (exact: is the range), with a reference, or NULL. */
struct dm_mr *dm_reg_cache_find(struct dm_reg_cache *cache, uintptr_t addr, size_t len);
/* Put a new entry in, taking out what it overlaps, or exact: equals (freed when unused). */
void dm_reg_cache_insert(struct dm_reg_cache *cache, struct dm_mr *mr);
/* Free the oldest idle entry; false when there is none. */
bool dm_reg_cache_evict(struct dm_reg_cache *cache);
/* Give a reference back; keep says whether an unused entry may stay. */
void dm_reg_cache_put(struct dm_reg_cache *cache, struct dm_mr *mr, bool keep);
/*
 * The memory of a range is gone or has other pages: entries that touch it are not
 * found any more. This is the place where news about unmapped memory arrives.
 */
void dm_reg_cache_invalidate(struct dm_reg_cache *cache, uintptr_t addr, size_t len);
/* Smallest and largest address of the entries that touch the range. */
void dm_reg_cache_union(const struct dm_reg_cache *cache, uintptr_t *start_p, uintptr_t *end_p);

#endif
