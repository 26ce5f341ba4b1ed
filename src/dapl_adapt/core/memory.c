/*
 * Registrations from the cache, and memory that is allocated registered.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/mem_pinned.h"
#include "dapl_adapt/core/mem_pool.h"
#include "dapl_adapt/core/mem_register.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/types.h"
#include "util/err.h"
#include "util/host.h"
#include "util/list.h"
#include "util/log.h"

int dm_adapt_reg(struct dm_adapt *adapt, void *addr, size_t len, struct dm_mr **mr_p)
{
    struct dm_reg_cache *cache = &adapt->mem.cache;
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
    if (cache->is_guarded)
        return dm_mem_pinned_reg(adapt, start, len, mr_p);
    cache->n_misses++;
    end = start + len;
    /* whole pages: they are mapped as one, and neighbours in them will hit */
    page_start = start & ~(uintptr_t)(adapt->mem.page - 1);
    page_end = (end + adapt->mem.page - 1) & ~(uintptr_t)(adapt->mem.page - 1);
    if (cache->match != DM_REG_EXACT) {
        start = page_start;
        end = page_end;
    }
    if (cache->match == DM_REG_INTERVAL)
        dm_reg_cache_union(cache, &start, &end);
    err = dm_mem_register(adapt, start, end, mr_p);
    if (err != DM_OK && (start < page_start || end > page_end)) {
        /* what was there before may be unmapped by now */
        dm_reg_cache_invalidate(cache, page_start, page_end - page_start);
        err = dm_mem_register(adapt, page_start, page_end, mr_p);
    }
    if (err == DM_OK)
        dm_reg_cache_insert(cache, *mr_p);
    return err;
}

void dm_adapt_unreg(struct dm_adapt *adapt, struct dm_mr *mr)
{
    dm_reg_cache_put(&adapt->mem.cache, mr, adapt->mem.keeps_regs);
}

int dm_mem_open(struct dm_adapt *adapt, size_t len, void **ptr_p, struct dm_mr **mr_p)
{
    struct dm_mr *mr = calloc(1, sizeof(*mr));
    void *ptr;
    int err;

    if (mr == NULL)
        return DM_FAIL(DM_ENOMEM, "a registration");
    len = (len + adapt->mem.page - 1) & ~(adapt->mem.page - 1);
    err = dm_host_mem_alloc("datum-mem", len, &ptr, &mr->fd);
    if (err != DM_OK) {
        free(mr);
        return err;
    }
    mr->start = (uintptr_t)ptr;
    mr->end = mr->start + len;
    mr->n_refs = 1;
    mr->is_alloc = true;
    dm_list_init(&mr->lru);
    err = dm_mem_register_rails(adapt, mr);
    mr->is_bare = err != DM_OK;
    if (mr->is_bare)
        DM_TRACE(REG, "refused: %zu bytes of allocated memory", len);
    else
        dm_reg_cache_insert(&adapt->mem.cache, mr);
    *ptr_p = ptr;
    *mr_p = mr;
    return DM_OK;
}

void dm_mem_close(struct dm_adapt *adapt, void *ptr, struct dm_mr *mr)
{
    size_t len = mr->end - mr->start;
    int fd = mr->fd;

    /* whoever still holds a reference keeps the keys, not the memory */
    dm_reg_cache_invalidate(&adapt->mem.cache, mr->start, len);
    dm_reg_cache_put(&adapt->mem.cache, mr, false);
    dm_host_shm_free(ptr, len, fd);
}

bool dm_adapt_is_registered(const struct dm_mr *mr)
{
    return !mr->is_bare;
}

bool dm_adapt_can_map(const struct dm_adapt *adapt)
{
    return dm_rails_can_map(&adapt->rails);
}

bool dm_adapt_mem_file(const struct dm_adapt *adapt, const struct dm_mr *mr, int *fd_p,
                       uintptr_t *start_p, size_t *len_p)
{
    *fd_p = mr->fd;
    *start_p = mr->start;
    *len_p = mr->end - mr->start;
    return mr->is_alloc && mr->fd >= 0 && dm_adapt_can_map(adapt);
}

void dm_adapt_rkey(const struct dm_mr *mr, struct dm_rkey *rkey_p)
{
    for (int i = 0; i < DM_RAILS_MAX; i++)
        rkey_p->ctx[i] = mr->lmr[i].rctx;
}
