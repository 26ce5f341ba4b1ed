/*
 * The registration cache.
 *
 * With intervals two registrations are never kept for one address: a new one takes in what it overlaps, so
 * that neighbouring pieces of one array grow together into one region. An
 * entry that is still referenced when it is replaced leaves the tree and is freed
 * with its last reference.
 */
#include "dapl_adapt/provider/reg_cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/public/types.h"
#include "util/list.h"
#include "util/port.h"
#include "util/rbtree.h"

static struct dm_mr *cache_mr_of(const struct dm_rbnode *node)
{
    return dm_container_of(node, struct dm_mr, node);
}

static int cache_cmp_numbers(uintptr_t x, uintptr_t y)
{
    return x < y ? -1 : x > y;
}

static int cache_cmp_nodes(const struct dm_rbnode *a, const struct dm_rbnode *b)
{
    int order = cache_cmp_numbers(cache_mr_of(a)->start, cache_mr_of(b)->start);

    return order != 0 ? order : cache_cmp_numbers(cache_mr_of(a)->end, cache_mr_of(b)->end);
}

static int cache_cmp_key(const void *key, const struct dm_rbnode *node)
{
    return cache_cmp_numbers(*(const uintptr_t *)key, cache_mr_of(node)->start);
}

void dm_reg_cache_init(struct dm_reg_cache *cache, size_t max_idle, enum dm_reg_match match,
                       size_t page)
{
    memset(cache, 0, sizeof(*cache));
    dm_rbtree_init(&cache->tree, cache_cmp_nodes);
    dm_list_init(&cache->lru);
    dm_list_init(&cache->single);
    cache->max_idle = max_idle;
    cache->match = match;
    cache->is_special = match != DM_REG_INTERVAL;
    cache->page = page;
}

void dm_reg_cache_guard(struct dm_reg_cache *cache)
{
    cache->is_guarded = true;
    cache->is_special = true;
}

static void cache_destroy(struct dm_mr *mr)
{
    for (int i = 0; i < DM_RAILS_MAX; i++)
        dm_lmr_free(&mr->lmr[i]);
    free(mr);
}

/* Out of the tree; freed if nobody uses it. */
static void cache_forget(struct dm_reg_cache *cache, struct dm_mr *mr)
{
    if (cache->last == mr)
        cache->last = NULL;
    if (mr->is_cached)
        dm_rbtree_del(&cache->tree, &mr->node);
    mr->is_cached = false;
    if (mr->n_refs == 0) {
        cache->idle_len -= mr->end - mr->start;
        dm_list_del(&mr->lru);
        cache_destroy(mr);
    } else {
        dm_reg_cache_add_single(cache, mr);
    }
}

void dm_reg_cache_add_single(struct dm_reg_cache *cache, struct dm_mr *mr)
{
    dm_list_add_tail(&cache->single, &mr->lru);
}

void dm_reg_cache_fini(struct dm_reg_cache *cache)
{
    struct dm_rbnode *node;

    while ((node = dm_rbtree_first(&cache->tree)) != NULL)
        cache_forget(cache, cache_mr_of(node));
}

void dm_reg_cache_sift(struct dm_reg_cache *cache, bool (*keep)(void *arg, struct dm_mr *mr),
                       void *arg)
{
    struct dm_rbnode *next;

    for (struct dm_rbnode *node = dm_rbtree_first(&cache->tree); node != NULL; node = next) {
        next = dm_rbtree_next(node);
        if (!keep(arg, cache_mr_of(node)))
            cache_forget(cache, cache_mr_of(node));
    }
    dm_list_for_each (it, &cache->single)
        (void)keep(arg, dm_container_of(it, struct dm_mr, lru));
}

static inline bool cache_covers(const struct dm_mr *mr, uintptr_t addr, size_t len)
{
    return addr >= mr->start && addr < mr->end && len <= mr->end - addr;
}

/* The entry of just this range, NULL when there is none. */
static struct dm_mr *cache_find_exact(const struct dm_reg_cache *cache, uintptr_t start,
                                      uintptr_t end)
{
    struct dm_rbnode *node = dm_rbtree_find_ge(&cache->tree, &start, cache_cmp_key);

    while (node != NULL && cache_mr_of(node)->start == start && cache_mr_of(node)->end < end)
        node = dm_rbtree_next(node);
    return node != NULL && cache_mr_of(node)->start == start && cache_mr_of(node)->end == end
               ? cache_mr_of(node)
               : NULL;
}

/* The entry that begins at this page, NULL when there is none. */
static struct dm_mr *cache_find_page(const struct dm_reg_cache *cache, uintptr_t start)
{
    struct dm_rbnode *node = dm_rbtree_find_ge(&cache->tree, &start, cache_cmp_key);

    return node != NULL && cache_mr_of(node)->start == start ? cache_mr_of(node) : NULL;
}

static inline struct dm_mr *cache_find_interval(const struct dm_reg_cache *cache, uintptr_t addr,
                                                size_t len)
{
    struct dm_rbnode *node = dm_rbtree_find_le(&cache->tree, &addr, cache_cmp_key);

    return node != NULL && cache_covers(cache_mr_of(node), addr, len) ? cache_mr_of(node) : NULL;
}

static struct dm_mr *cache_search(const struct dm_reg_cache *cache, uintptr_t addr, size_t len)
{
    struct dm_mr *mr;

    switch (cache->match) {
    case DM_REG_EXACT:
        return cache_find_exact(cache, addr, addr + len);
    case DM_REG_PAGE:
        mr = cache_find_page(cache, addr & ~(uintptr_t)(cache->page - 1));
        return mr != NULL && cache_covers(mr, addr, len) ? mr : NULL;
    default:
        return cache_find_interval(cache, addr, len);
    }
}

static inline struct dm_mr *cache_take(struct dm_reg_cache *cache, struct dm_mr *mr)
{
    if (mr->n_refs++ == 0) {
        dm_list_del(&mr->lru);
        cache->idle_len -= mr->end - mr->start;
    }
    cache->n_hits++;
    return mr;
}

struct dm_mr *dm_reg_cache_find(struct dm_reg_cache *cache, uintptr_t addr, size_t len)
{
    struct dm_mr *mr = cache->last;

    if (dm_unlikely(cache->is_special)) {
        mr = cache->is_guarded ? NULL : cache_search(cache, addr, len);
        if (mr == NULL)
            return NULL;
    } else if (mr == NULL || !cache_covers(mr, addr, len)) {
        mr = cache_find_interval(cache, addr, len);
        if (mr == NULL)
            return NULL;
        cache->last = mr;
    }
    return cache_take(cache, mr);
}

struct dm_mr *dm_reg_cache_find_guarded(struct dm_reg_cache *cache, uintptr_t addr, size_t len,
                                        bool is_current)
{
    struct dm_mr *mr = cache_search(cache, addr, len);

    return mr != NULL && (is_current || mr->is_alloc) ? cache_take(cache, mr) : NULL;
}

/* The first entry that touches [start, end), NULL when none does. */
static struct dm_mr *cache_first_overlap(const struct dm_reg_cache *cache, uintptr_t start,
                                         uintptr_t end)
{
    struct dm_rbnode *node;

    if (cache->match != DM_REG_INTERVAL) { /* they overlap: any may be the one */
        node = dm_rbtree_first(&cache->tree);
        while (node != NULL && cache_mr_of(node)->end <= start)
            node = dm_rbtree_next(node);
        return node != NULL && cache_mr_of(node)->start < end ? cache_mr_of(node) : NULL;
    }
    node = dm_rbtree_find_le(&cache->tree, &start, cache_cmp_key);
    if (node != NULL && cache_mr_of(node)->end > start)
        return cache_mr_of(node);
    node = dm_rbtree_find_ge(&cache->tree, &start, cache_cmp_key);
    return node != NULL && cache_mr_of(node)->start < end ? cache_mr_of(node) : NULL;
}

void dm_reg_cache_union(const struct dm_reg_cache *cache, uintptr_t *start_p, uintptr_t *end_p)
{
    const struct dm_mr *mr = cache_first_overlap(cache, *start_p, *end_p);
    const struct dm_rbnode *node = mr != NULL ? &mr->node : NULL;
    uintptr_t end = *end_p;

    for (; node != NULL && cache_mr_of(node)->start < end; node = dm_rbtree_next(node)) {
        if (cache_mr_of(node)->start < *start_p)
            *start_p = cache_mr_of(node)->start;
        if (cache_mr_of(node)->end > *end_p)
            *end_p = cache_mr_of(node)->end;
    }
}

/* What a new entry takes the place of. */
static struct dm_mr *cache_first_old(const struct dm_reg_cache *cache, const struct dm_mr *mr)
{
    switch (cache->match) {
    case DM_REG_EXACT:
        return cache_find_exact(cache, mr->start, mr->end);
    case DM_REG_PAGE:
        return cache_find_page(cache, mr->start);
    default:
        return cache_first_overlap(cache, mr->start, mr->end);
    }
}

void dm_reg_cache_insert(struct dm_reg_cache *cache, struct dm_mr *mr)
{
    struct dm_mr *old;

    while ((old = cache_first_old(cache, mr)) != NULL)
        cache_forget(cache, old);
    dm_rbtree_add(&cache->tree, &mr->node);
    mr->is_cached = true;
    cache->last = mr;
}

bool dm_reg_cache_evict(struct dm_reg_cache *cache)
{
    if (dm_list_is_empty(&cache->lru))
        return false;
    cache->n_evicted++;
    cache_forget(cache, dm_container_of(cache->lru.next, struct dm_mr, lru));
    return true;
}

/* Out of line: who keeps registrations does not come here. */
static DM_NOINLINE void cache_free_single(struct dm_mr *mr)
{
    dm_list_del(&mr->lru);
    cache_destroy(mr);
}

void dm_reg_cache_put(struct dm_reg_cache *cache, struct dm_mr *mr, bool keep)
{
    if (--mr->n_refs > 0)
        return;
    if (dm_unlikely(!mr->is_cached)) {
        cache_free_single(mr);
        return;
    }
    dm_list_add_tail(&cache->lru, &mr->lru);
    cache->idle_len += mr->end - mr->start;
    if (!keep)
        cache_forget(cache, mr);
    while (cache->idle_len > cache->max_idle && dm_reg_cache_evict(cache))
        ;
}

void dm_reg_cache_invalidate(struct dm_reg_cache *cache, uintptr_t addr, size_t len)
{
    struct dm_mr *mr;

    while (len > 0 && (mr = cache_first_overlap(cache, addr, addr + len)) != NULL)
        cache_forget(cache, mr);
}

void dm_reg_cache_forget_changed(struct dm_reg_cache *cache, uintptr_t start, uintptr_t end)
{
    struct dm_rbnode *next;
    struct dm_mr *mr;

    for (struct dm_rbnode *node = dm_rbtree_first(&cache->tree); node != NULL; node = next) {
        next = dm_rbtree_next(node);
        mr = cache_mr_of(node);
        if (mr->is_alloc || mr->start >= end || mr->end <= start)
            continue;
        cache->n_changed++;
        cache_forget(cache, mr);
    }
}
