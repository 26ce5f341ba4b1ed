/*
 * Regions for rings.
 */
#include "dapl_adapt/provider/region.h"

#include <stddef.h>
#include <string.h>

#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "util/err.h"
#include "util/host.h"

int dm_region_alloc(struct dm_ia *ia, size_t len, struct dm_region *region_p)
{
    void *ptr;
    int err;

    memset(region_p, 0, sizeof(*region_p));
    region_p->len = len;
    err = dm_host_shm_alloc("datum-ring", len, &ptr, &region_p->fd);
    if (err != DM_OK)
        return err;
    region_p->ptr = ptr;
    err = dm_lmr_create(ia, ptr, len, region_p->fd, &region_p->lmr);
    if (err != DM_OK) {
        dm_host_shm_free(ptr, len, region_p->fd);
        memset(region_p, 0, sizeof(*region_p));
    }
    return err;
}

int dm_region_move(struct dm_ia *ia, struct dm_region *region)
{
    int err;

    dm_lmr_free(&region->lmr);
    err = dm_lmr_create(ia, region->ptr, region->len, region->fd, &region->lmr);
    if (err == DM_EAGAIN)
        err =
            DM_FAIL(DM_EPROVIDER, "%s cannot register %zu bytes for a ring", ia->name, region->len);
    return err;
}

void dm_region_free(struct dm_region *region)
{
    if (region->ptr == NULL)
        return;
    dm_lmr_free(&region->lmr);
    dm_host_shm_free(region->ptr, region->len, region->fd);
    memset(region, 0, sizeof(*region));
}
