/*
 * The cache of registrations of any memory.
 *
 * Invariant: the intervals in the tree do not overlap, unless it is exact (DATUM_REG_CACHE): then
 * entries are found by start and end; an entry is on the LRU list if and only if nobody holds a
 * reference and it is kept.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_REG_CACHE_H
#define DM_DAPL_ADAPT_PROVIDER_REG_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/public/types.h"
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

void dm_reg_cache_init(struct dm_reg_cache *cache, size_t max_idle, bool is_exact);
/* Free every idle entry and forget the rest. */
void dm_reg_cache_fini(struct dm_reg_cache *cache);
/* Entry that covers the range (exact: is the range), with a reference, or NULL. */
struct dm_mr *dm_reg_cache_find(struct dm_reg_cache *cache, uintptr_t addr, size_t len);
/* Put a new entry in, taking out what it overlaps, or exact: equals (freed when unused). */
void dm_reg_cache_insert(struct dm_reg_cache *cache, struct dm_mr *mr);
/* Show every entry; one that `keep` does not want is not found any more. */
void dm_reg_cache_sift(struct dm_reg_cache *cache, bool (*keep)(void *arg, struct dm_mr *mr),
                       void *arg);
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
