/*
 * The registration cache.
 *
 * Two registrations are never kept for one address, unless the cache is exact: a new one takes in what it
 * overlaps, so that neighbouring pieces of one array grow together into one region. An
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

void dm_reg_cache_init(struct dm_reg_cache *cache, size_t max_idle, bool is_exact)
{
    memset(cache, 0, sizeof(*cache));
    dm_rbtree_init(&cache->tree, cache_cmp_nodes);
    dm_list_init(&cache->lru);
    cache->max_idle = max_idle;
    cache->is_exact = is_exact;
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
    }
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

struct dm_mr *dm_reg_cache_find(struct dm_reg_cache *cache, uintptr_t addr, size_t len)
{
    struct dm_mr *mr = cache->last;
    struct dm_rbnode *node;

    if (dm_unlikely(cache->is_exact)) {
        mr = cache_find_exact(cache, addr, addr + len);
        if (mr == NULL)
            return NULL;
    } else if (mr == NULL || !cache_covers(mr, addr, len)) {
        node = dm_rbtree_find_le(&cache->tree, &addr, cache_cmp_key);
        if (node == NULL || !cache_covers(cache_mr_of(node), addr, len))
            return NULL;
        mr = cache_mr_of(node);
        cache->last = mr;
    }
    if (mr->n_refs++ == 0) {
        dm_list_del(&mr->lru);
        cache->idle_len -= mr->end - mr->start;
    }
    cache->n_hits++;
    return mr;
}

/* The first entry that touches [start, end), NULL when none does. */
static struct dm_mr *cache_first_overlap(const struct dm_reg_cache *cache, uintptr_t start,
                                         uintptr_t end)
{
    struct dm_rbnode *node;

    if (cache->is_exact) { /* they overlap: any may be the one */
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

void dm_reg_cache_insert(struct dm_reg_cache *cache, struct dm_mr *mr)
{
    struct dm_mr *old;

    while ((old = cache->is_exact ? cache_find_exact(cache, mr->start, mr->end)
                                  : cache_first_overlap(cache, mr->start, mr->end)) != NULL)
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

void dm_reg_cache_put(struct dm_reg_cache *cache, struct dm_mr *mr, bool keep)
{
    if (--mr->n_refs > 0)
        return;
    dm_list_add_tail(&cache->lru, &mr->lru);
    cache->idle_len += mr->end - mr->start;
    if (!keep || !mr->is_cached)
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
