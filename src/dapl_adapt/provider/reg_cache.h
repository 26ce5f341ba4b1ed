/*
 * The cache of registrations of any memory.
 *
 * Invariant: the intervals in the tree do not overlap, unless they are found by start and end, or by the
 * first page (DATUM_REG_CACHE); an entry is on the LRU list if and only if nobody holds a
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
    struct dm_list lru; /* idle: of the cache; in use and not in the tree: in `single` */
};

/* What an entry is found for: any range within, just its own, any that begins at its first page. */
enum dm_reg_match { DM_REG_INTERVAL, DM_REG_EXACT, DM_REG_PAGE };

struct dm_reg_cache {
    struct dm_rbtree tree;
    struct dm_list lru;    /* oldest first */
    struct dm_list single; /* in use, and found no more */
    struct dm_mr *last;    /* found last; in the tree */
    enum dm_reg_match match;
    bool is_guarded; /* entries may be stale; core/mem_pinned.c knows which */
    bool is_special; /* guarded, or not of intervals */
    size_t page;
    size_t idle_len;
    size_t max_idle;
    uint64_t n_hits;
    uint64_t n_misses;
    uint64_t made_len; /* bytes registered for misses */
    uint64_t n_evicted;
    uint64_t n_changed; /* dropped by dm_reg_cache_forget_changed */
};

void dm_reg_cache_init(struct dm_reg_cache *cache, size_t max_idle, enum dm_reg_match match,
                       size_t page);
/* From now on dm_reg_cache_find finds nothing. */
void dm_reg_cache_guard(struct dm_reg_cache *cache);
/* Free every idle entry and forget the rest. */
void dm_reg_cache_fini(struct dm_reg_cache *cache);
/* Entry that covers the range and matches, with a reference, or NULL. */
struct dm_mr *dm_reg_cache_find(struct dm_reg_cache *cache, uintptr_t addr, size_t len);
/* The same of a guarded cache; unless the news were taken only of memory that is the library's own. */
struct dm_mr *dm_reg_cache_find_guarded(struct dm_reg_cache *cache, uintptr_t addr, size_t len,
                                        bool is_current);
/* Put a new entry in, taking out those whose place it takes (freed when unused). */
void dm_reg_cache_insert(struct dm_reg_cache *cache, struct dm_mr *mr);
/* An entry that nobody else shall find; freed with its last reference. */
void dm_reg_cache_add_single(struct dm_reg_cache *cache, struct dm_mr *mr);
/* Show every entry, those in use that are found no more, too; one that `keep` does not want is not found any more. */
void dm_reg_cache_sift(struct dm_reg_cache *cache, bool (*keep)(void *arg, struct dm_mr *mr),
                       void *arg);
/* Free the oldest idle entry; false when there is none. */
bool dm_reg_cache_evict(struct dm_reg_cache *cache);
/* Give a reference back; keep says whether an unused entry may stay. */
void dm_reg_cache_put(struct dm_reg_cache *cache, struct dm_mr *mr, bool keep);
/* The memory of a range is gone or has other pages: entries that touch it are not found any more. */
void dm_reg_cache_invalidate(struct dm_reg_cache *cache, uintptr_t addr, size_t len);
/* The same for news of the program's memory. */
void dm_reg_cache_forget_changed(struct dm_reg_cache *cache, uintptr_t start, uintptr_t end);
/* Smallest and largest address of the entries that touch the range. */
void dm_reg_cache_union(const struct dm_reg_cache *cache, uintptr_t *start_p, uintptr_t *end_p);

#endif
