/*
 * Registration with one provider.
 */
#include "dapl_adapt/provider/lmr.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <dat2/dat_ib_extensions.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/provider/serial.h"
#include "util/err.h"
#include "util/log.h"

/* A file that peers on this host could map, and where in it the memory is; fd -1: there is none. */
struct lmr_source {
    int fd;
    uint64_t offset;
};

static DAT_RETURN lmr_try_with(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *addr, size_t len,
                               struct lmr_source from, int priv, struct dm_lmr *lmr_p)
{
    char cookie[DAT_LMR_COOKIE_SIZE];
    DAT_REGION_DESCRIPTION region;
    DAT_MEM_TYPE type = DAT_MEM_TYPE_VIRTUAL;
    DAT_VLEN reg_len;
    DAT_VADDR reg_addr;
    DAT_RETURN rc;

    memset(lmr_p, 0, sizeof(*lmr_p));
    memset(&region, 0, sizeof(region));
    region.for_va = addr;
    if (from.fd >= 0) {
        memset(cookie, 0, sizeof(cookie));
        snprintf(cookie, sizeof(cookie), "fd:%d+%llu", from.fd, (unsigned long long)from.offset);
        type = DAT_MEM_TYPE_SHARED_VIRTUAL;
        region.for_shared_memory.virtual_address = addr;
        region.for_shared_memory.shared_memory_id = &cookie;
    }
    rc = dat_lmr_create(ia, type, region, len, pz, (DAT_MEM_PRIV_FLAGS)priv, DAT_VA_TYPE_VA,
                        &lmr_p->handle, &lmr_p->lctx, &lmr_p->rctx, &reg_len, &reg_addr);
    if (rc != DAT_SUCCESS)
        memset(lmr_p, 0, sizeof(*lmr_p));
    return rc;
}

DAT_RETURN dm_lmr_try(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *addr, size_t len, int fd,
                      struct dm_lmr *lmr_p)
{
    return lmr_try_with(ia, pz, addr, len, (struct lmr_source){.fd = fd}, DAT_MEM_PRIV_ALL_FLAG,
                        lmr_p);
}

static DAT_RETURN lmr_create_once(const struct dm_ia *ia, void *addr, size_t len,
                                  struct lmr_source from, int priv, struct dm_lmr *lmr_p)
{
    DAT_RETURN rc;

    dm_serial_enter(ia->is_serial);
    rc = lmr_try_with(ia->ia, ia->pz, addr, len, from, priv, lmr_p);
    dm_serial_leave(ia->is_serial);
    lmr_p->is_serial = rc == DAT_SUCCESS && ia->is_serial;
    return rc;
}

/*
 * Memory of a file that peers on this host could map is registered as such where the
 * provider knows how (probed at open); should it refuse later, it gets plain memory.
 */
static int lmr_create_with(struct dm_ia *ia, void *addr, size_t len, struct lmr_source from,
                           int priv, struct dm_lmr *lmr_p)
{
    DAT_RETURN rc;

    if (from.fd >= 0 && ia->caps.can_share) {
        if (lmr_create_once(ia, addr, len, from, priv, lmr_p) == DAT_SUCCESS)
            return DM_OK;
        ia->caps.can_share = false;
        DM_TRACE(REG, "%s refuses a shared memory registration", ia->name);
    }
    rc = lmr_create_once(ia, addr, len, (struct lmr_source){.fd = -1}, priv, lmr_p);
    if (rc == DAT_SUCCESS)
        return DM_OK;
    if (DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES)
        return DM_EAGAIN;
    return DM_FAIL(DM_EPROVIDER, "%s: dat_lmr_create of %zu bytes: %s", ia->name, len,
                   dm_dat_text(rc));
}

int dm_lmr_create(struct dm_ia *ia, void *addr, size_t len, int fd, struct dm_lmr *lmr_p)
{
    return lmr_create_with(ia, addr, len, (struct lmr_source){.fd = fd}, DAT_MEM_PRIV_ALL_FLAG,
                           lmr_p);
}

int dm_lmr_create_part(struct dm_ia *ia, void *addr, size_t len, int fd, uint64_t offset,
                       struct dm_lmr *lmr_p)
{
    return lmr_create_with(ia, addr, len, (struct lmr_source){.fd = fd, .offset = offset},
                           DAT_MEM_PRIV_ALL_FLAG, lmr_p);
}

int dm_lmr_create_atomic(struct dm_ia *ia, void *addr, size_t len, int fd, struct dm_lmr *lmr_p)
{
    int priv = DAT_MEM_PRIV_ALL_FLAG | (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;

    return lmr_create_with(ia, addr, len, (struct lmr_source){.fd = fd}, priv, lmr_p);
}

void dm_lmr_free(struct dm_lmr *lmr)
{
    if (lmr->handle != DAT_HANDLE_NULL) {
        dm_serial_enter(lmr->is_serial);
        dat_lmr_free(lmr->handle);
        dm_serial_leave(lmr->is_serial);
    }
    memset(lmr, 0, sizeof(*lmr));
}
