/*
 * The registration cache.
 *
 * Two registrations are never kept for one address, unless the cache is exact: a new one takes in what it
 * overlaps, so that neighbouring pieces of one array grow together into one region. An
 * entry that is still referenced when it is replaced leaves the tree and is freed
 * with its last reference.
 */
#include "dapl_adapt/mem.h"

#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/adapt.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/host.h"
#include "util/log.h"

static struct dm_mr *mr_of(const struct dm_rbnode *node)
{
    return dm_container_of(node, struct dm_mr, node);
}

static int cmp_numbers(uintptr_t x, uintptr_t y)
{
    return x < y ? -1 : x > y;
}

static int cmp_nodes(const struct dm_rbnode *a, const struct dm_rbnode *b)
{
    int order = cmp_numbers(mr_of(a)->start, mr_of(b)->start);

    return order != 0 ? order : cmp_numbers(mr_of(a)->end, mr_of(b)->end);
}

static int cmp_key(const void *key, const struct dm_rbnode *node)
{
    return cmp_numbers(*(const uintptr_t *)key, mr_of(node)->start);
}

void dm_reg_cache_init(struct dm_reg_cache *cache, size_t max_idle, bool is_exact)
{
    memset(cache, 0, sizeof(*cache));
    dm_rbtree_init(&cache->tree, cmp_nodes);
    dm_list_init(&cache->lru);
    cache->max_idle = max_idle;
    cache->is_exact = is_exact;
}

static void destroy(struct dm_mr *mr)
{
    for (int i = 0; i < DM_RAILS_MAX; i++)
        dm_lmr_free(&mr->lmr[i]);
    free(mr);
}

/* Out of the tree; freed if nobody uses it. */
static void forget(struct dm_reg_cache *cache, struct dm_mr *mr)
{
    if (cache->last == mr)
        cache->last = NULL;
    if (mr->is_cached)
        dm_rbtree_del(&cache->tree, &mr->node);
    mr->is_cached = false;
    if (mr->n_refs == 0) {
        cache->idle_len -= mr->end - mr->start;
        dm_list_del(&mr->lru);
        destroy(mr);
    }
}

void dm_reg_cache_fini(struct dm_reg_cache *cache)
{
    struct dm_rbnode *node;

    while ((node = dm_rbtree_first(&cache->tree)) != NULL)
        forget(cache, mr_of(node));
}

static inline bool covers(const struct dm_mr *mr, uintptr_t addr, size_t len)
{
    return addr >= mr->start && addr < mr->end && len <= mr->end - addr;
}

/* The entry of just this range, NULL when there is none. */
static struct dm_mr *find_exact(const struct dm_reg_cache *cache, uintptr_t start, uintptr_t end)
{
    struct dm_rbnode *node = dm_rbtree_find_ge(&cache->tree, &start, cmp_key);

    while (node != NULL && mr_of(node)->start == start && mr_of(node)->end < end)
        node = dm_rbtree_next(node);
    return node != NULL && mr_of(node)->start == start && mr_of(node)->end == end ? mr_of(node)
                                                                                  : NULL;
}

struct dm_mr *dm_reg_cache_find(struct dm_reg_cache *cache, uintptr_t addr, size_t len)
{
    struct dm_mr *mr = cache->last;
    struct dm_rbnode *node;

    if (dm_unlikely(cache->is_exact)) {
        mr = find_exact(cache, addr, addr + len);
        if (mr == NULL)
            return NULL;
    } else if (mr == NULL || !covers(mr, addr, len)) {
        node = dm_rbtree_find_le(&cache->tree, &addr, cmp_key);
        if (node == NULL || !covers(mr_of(node), addr, len))
            return NULL;
        mr = mr_of(node);
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
static struct dm_mr *first_overlap(const struct dm_reg_cache *cache, uintptr_t start, uintptr_t end)
{
    struct dm_rbnode *node;

    if (cache->is_exact) { /* they overlap: any may be the one */
        node = dm_rbtree_first(&cache->tree);
        while (node != NULL && mr_of(node)->end <= start)
            node = dm_rbtree_next(node);
        return node != NULL && mr_of(node)->start < end ? mr_of(node) : NULL;
    }
    node = dm_rbtree_find_le(&cache->tree, &start, cmp_key);
    if (node != NULL && mr_of(node)->end > start)
        return mr_of(node);
    node = dm_rbtree_find_ge(&cache->tree, &start, cmp_key);
    return node != NULL && mr_of(node)->start < end ? mr_of(node) : NULL;
}

void dm_reg_cache_union(const struct dm_reg_cache *cache, uintptr_t *start_p, uintptr_t *end_p)
{
    const struct dm_mr *mr = first_overlap(cache, *start_p, *end_p);
    const struct dm_rbnode *node = mr != NULL ? &mr->node : NULL;
    uintptr_t end = *end_p;

    for (; node != NULL && mr_of(node)->start < end; node = dm_rbtree_next(node)) {
        if (mr_of(node)->start < *start_p)
            *start_p = mr_of(node)->start;
        if (mr_of(node)->end > *end_p)
            *end_p = mr_of(node)->end;
    }
}

void dm_reg_cache_insert(struct dm_reg_cache *cache, struct dm_mr *mr)
{
    struct dm_mr *old;

    while ((old = cache->is_exact ? find_exact(cache, mr->start, mr->end)
                                  : first_overlap(cache, mr->start, mr->end)) != NULL)
        forget(cache, old);
    dm_rbtree_add(&cache->tree, &mr->node);
    mr->is_cached = true;
    cache->last = mr;
}

bool dm_reg_cache_evict(struct dm_reg_cache *cache)
{
    if (dm_list_is_empty(&cache->lru))
        return false;
    cache->n_evicted++;
    forget(cache, dm_container_of(cache->lru.next, struct dm_mr, lru));
    return true;
}

void dm_reg_cache_put(struct dm_reg_cache *cache, struct dm_mr *mr, bool keep)
{
    if (--mr->n_refs > 0)
        return;
    dm_list_add_tail(&cache->lru, &mr->lru);
    cache->idle_len += mr->end - mr->start;
    if (!keep || !mr->is_cached)
        forget(cache, mr);
    while (cache->idle_len > cache->max_idle && dm_reg_cache_evict(cache))
        ;
}

void dm_reg_cache_invalidate(struct dm_reg_cache *cache, uintptr_t addr, size_t len)
{
    struct dm_mr *mr;

    while (len > 0 && (mr = first_overlap(cache, addr, addr + len)) != NULL)
        forget(cache, mr);
}

/* ---- the layer's face ---- */

/* Register with every rail; out of registrations: give idle ones up and try again. */
static int create_all(struct dm_adapt *adapt, struct dm_mr *mr)
{
    size_t len = mr->end - mr->start;
    int err = DM_OK;

    for (int i = 0; i < adapt->n_ias && err == DM_OK; i++) {
        do {
            pthread_mutex_lock(&adapt->lock);
            err = dm_lmr_create(adapt->ias[i], (void *)mr->start, len, mr->fd, &mr->lmr[i]);
            pthread_mutex_unlock(&adapt->lock);
        } while (err == DM_EAGAIN && dm_reg_cache_evict(&adapt->cache));
    }
    if (err != DM_OK) {
        for (int i = 0; i < adapt->n_ias; i++)
            dm_lmr_free(&mr->lmr[i]);
    }
    return err;
}

static int register_range(struct dm_adapt *adapt, uintptr_t start, uintptr_t end,
                          struct dm_mr **mr_p)
{
    struct dm_mr *mr = calloc(1, sizeof(*mr));
    int err;

    if (mr == NULL)
        return DM_FAIL(DM_ENOMEM, "a registration");
    mr->start = start;
    mr->end = end;
    mr->fd = -1;
    mr->n_refs = 1;
    dm_list_init(&mr->lru);
    err = create_all(adapt, mr);
    if (err != DM_OK) {
        free(mr);
        return err;
    }
    *mr_p = mr;
    return DM_OK;
}

int dm_adapt_reg(struct dm_adapt *adapt, void *addr, size_t len, struct dm_mr **mr_p)
{
    struct dm_reg_cache *cache = &adapt->cache;
    uintptr_t start = (uintptr_t)addr;
    uintptr_t end;
    uintptr_t page_start;
    uintptr_t page_end;
    int err;

    if (len == 0) /* nothing will be touched; any registration does */
        len = 1;
    *mr_p = dm_reg_cache_find(cache, start, len);
    if (*mr_p != NULL)
        return DM_OK;
    cache->n_misses++;
    end = start + len;
    /* whole pages: they are mapped as one, and neighbours in them will hit */
    page_start = start & ~(uintptr_t)(adapt->page - 1);
    page_end = (end + adapt->page - 1) & ~(uintptr_t)(adapt->page - 1);
    if (!cache->is_exact) {
        start = page_start;
        end = page_end;
        dm_reg_cache_union(cache, &start, &end);
    }
    err = register_range(adapt, start, end, mr_p);
    if (err != DM_OK && (start < page_start || end > page_end)) {
        /* what was there before may be unmapped by now */
        dm_reg_cache_invalidate(cache, page_start, page_end - page_start);
        err = register_range(adapt, page_start, page_end, mr_p);
    }
    if (err == DM_EPROVIDER) {
        /* memory the provider cannot take, a read-only page for example */
        DM_TRACE(REG, "refused: %s", dm_err_detail());
        err = DM_EAGAIN;
    }
    if (err == DM_OK) {
        cache->made_len += (*mr_p)->end - (*mr_p)->start;
        dm_reg_cache_insert(cache, *mr_p);
    }
    return err;
}

void dm_adapt_unreg(struct dm_adapt *adapt, struct dm_mr *mr)
{
    dm_reg_cache_put(&adapt->cache, mr, adapt->keeps_regs);
}

int dm_adapt_mem_alloc(struct dm_adapt *adapt, size_t len, void **ptr_p, struct dm_mr **mr_p)
{
    struct dm_mr *mr = calloc(1, sizeof(*mr));
    void *ptr;
    int err;

    if (mr == NULL)
        return DM_FAIL(DM_ENOMEM, "a registration");
    len = len > 0 ? (len + adapt->page - 1) & ~(adapt->page - 1) : adapt->page;
    err = dm_host_shm_alloc("datum-mem", len, &ptr, &mr->fd);
    if (err != DM_OK) {
        free(mr);
        return err;
    }
    mr->start = (uintptr_t)ptr;
    mr->end = mr->start + len;
    mr->n_refs = 1;
    mr->is_alloc = true;
    dm_list_init(&mr->lru);
    err = create_all(adapt, mr);
    mr->is_bare = err != DM_OK;
    if (mr->is_bare)
        DM_TRACE(REG, "refused: %zu bytes of allocated memory", len);
    else
        dm_reg_cache_insert(&adapt->cache, mr);
    *ptr_p = ptr;
    *mr_p = mr;
    return DM_OK;
}

void dm_adapt_mem_free(struct dm_adapt *adapt, void *ptr, struct dm_mr *mr)
{
    size_t len = mr->end - mr->start;
    int fd = mr->fd;

    /* whoever still holds a reference keeps the keys, not the memory */
    dm_reg_cache_invalidate(&adapt->cache, mr->start, len);
    dm_reg_cache_put(&adapt->cache, mr, false);
    dm_host_shm_free(ptr, len, fd);
}

bool dm_adapt_is_registered(const struct dm_mr *mr)
{
    return !mr->is_bare;
}

bool dm_adapt_can_map(const struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->n_ias; i++) {
        if (adapt->ias[i]->can_share)
            return true;
    }
    return false;
}

bool dm_adapt_mem_file(const struct dm_adapt *adapt, const struct dm_mr *mr, int *fd_p,
                       uintptr_t *start_p)
{
    *fd_p = mr->fd;
    *start_p = mr->start;
    return mr->is_alloc && dm_adapt_can_map(adapt);
}

void dm_adapt_rkey(const struct dm_mr *mr, struct dm_rkey *rkey_p)
{
    for (int i = 0; i < DM_RAILS_MAX; i++)
        rkey_p->ctx[i] = mr->lmr[i].rctx;
}
