/*
 * Memory that is registered when another rail comes.
 */
#include <stdbool.h>
#include <stddef.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/mem_pool.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/public/types.h"
#include "util/err.h"

static int mr_extend(struct dm_ia *ia, struct dm_mr *mr)
{
    if (mr->is_bare || mr->lmr[ia->index].handle != DAT_HANDLE_NULL)
        return DM_OK;
    return dm_lmr_create(ia, (void *)mr->start, mr->end - mr->start, mr->fd, &mr->lmr[ia->index]);
}

/* The program's memory is registered anew when it is used again; segments are used without asking. */
static bool mr_keep_extended(void *arg, struct dm_mr *mr)
{
    return mr_extend(arg, mr) == DM_OK || mr->is_alloc;
}

int dm_mem_extend(struct dm_adapt *adapt, struct dm_ia *ia)
{
    struct dm_mr *mr;
    int err;

    while (!adapt->mem.keeps_regs && dm_reg_cache_evict(&adapt->mem.cache))
        ; /* the settings keep nothing, or its memory may have other pages by now */
    dm_reg_cache_sift(&adapt->mem.cache, mr_keep_extended, ia);
    for (int i = 0; (mr = dm_mem_pool_mr(&adapt->mem.pool, i)) != NULL; i++) {
        err = mr_extend(ia, mr);
        if (err == DM_EAGAIN)
            return DM_FAIL(DM_EPROVIDER, "%s cannot register %zu bytes of allocated memory",
                           ia->name, (size_t)(mr->end - mr->start));
        if (err != DM_OK)
            return err;
    }
    return DM_OK;
}

static bool mr_keep_withdrawn(void *arg, struct dm_mr *mr)
{
    dm_lmr_free(&mr->lmr[*(const int *)arg]);
    return true;
}

void dm_mem_withdraw(struct dm_adapt *adapt, int index)
{
    struct dm_mr *mr;

    dm_reg_cache_sift(&adapt->mem.cache, mr_keep_withdrawn, &index);
    for (int i = 0; (mr = dm_mem_pool_mr(&adapt->mem.pool, i)) != NULL; i++)
        dm_lmr_free(&mr->lmr[index]);
}
