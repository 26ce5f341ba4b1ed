/*
 * Registration on all rails, from the cache where it covers the range, and memory that is allocated
 * registered.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/mem_pool.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/types.h"
#include "util/err.h"
#include "util/host.h"
#include "util/list.h"
#include "util/log.h"

/* Register with every rail; out of registrations: give idle ones up and try again. */
static int mr_create_all(struct dm_adapt *adapt, struct dm_mr *mr)
{
    size_t len = mr->end - mr->start;
    int err = DM_OK;

    for (int i = 0; i < adapt->rails.n_ias && err == DM_OK; i++) {
        do {
            pthread_mutex_lock(&adapt->shared.lock);
            err = dm_lmr_create(adapt->rails.ias[i], (void *)mr->start, len, mr->fd, &mr->lmr[i]);
            pthread_mutex_unlock(&adapt->shared.lock);
        } while (err == DM_EAGAIN && dm_reg_cache_evict(&adapt->mem.cache));
    }
    if (err != DM_OK) {
        for (int i = 0; i < adapt->rails.n_ias; i++)
            dm_lmr_free(&mr->lmr[i]);
    }
    return err;
}

static int mr_register_range(struct dm_adapt *adapt, uintptr_t start, uintptr_t end,
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
    err = mr_create_all(adapt, mr);
    if (err != DM_OK) {
        free(mr);
        return err;
    }
    *mr_p = mr;
    return DM_OK;
}

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
    cache->n_misses++;
    end = start + len;
    /* whole pages: they are mapped as one, and neighbours in them will hit */
    page_start = start & ~(uintptr_t)(adapt->mem.page - 1);
    page_end = (end + adapt->mem.page - 1) & ~(uintptr_t)(adapt->mem.page - 1);
    if (!cache->is_exact) {
        start = page_start;
        end = page_end;
        dm_reg_cache_union(cache, &start, &end);
    }
    err = mr_register_range(adapt, start, end, mr_p);
    if (err != DM_OK && (start < page_start || end > page_end)) {
        /* what was there before may be unmapped by now */
        dm_reg_cache_invalidate(cache, page_start, page_end - page_start);
        err = mr_register_range(adapt, page_start, page_end, mr_p);
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
    err = mr_create_all(adapt, mr);
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
    return mr->is_alloc && dm_adapt_can_map(adapt);
}

void dm_adapt_rkey(const struct dm_mr *mr, struct dm_rkey *rkey_p)
{
    for (int i = 0; i < DM_RAILS_MAX; i++)
        rkey_p->ctx[i] = mr->lmr[i].rctx;
}
