/*
 * Registration on all rails.
 */
#include "dapl_adapt/core/mem_register.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "util/err.h"
#include "util/list.h"
#include "util/log.h"

int dm_mem_register_rails(struct dm_adapt *adapt, struct dm_mr *mr)
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

int dm_mem_register(struct dm_adapt *adapt, uintptr_t start, uintptr_t end, struct dm_mr **mr_p)
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
    err = dm_mem_register_rails(adapt, mr);
    if (err != DM_OK) {
        free(mr);
        if (err != DM_EPROVIDER)
            return err;
        /* memory the provider cannot take, a read-only page for example */
        DM_TRACE(REG, "refused: %s", dm_err_detail());
        return DM_EAGAIN;
    }
    adapt->mem.cache.made_len += end - start;
    *mr_p = mr;
    return DM_OK;
}
