/*
 * RMRs: contexts for windows onto regions.
 */
#include "providers/ofi/rmr.h"

#include "providers/ofi/key.h"
#include "providers/ofi/rkey.h"

void dm_ofi_rmr_hide(struct dm_rmr *rmr)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)rmr->obj.ia;

    dm_ofi_key_hide(ia, rmr->key);
    (void)dm_ofi_rkey_wait(ia, rmr->pz, rmr->key);
}

void dm_ofi_rmr_shut(struct dm_rmr *rmr)
{
    dm_ofi_key_shut((struct dm_ofi_ia *)rmr->obj.ia, rmr->key);
    dm_ofi_key_free(rmr->obj.ia, rmr->key);
}

/* Show the window to peers. */
static bool window_open(struct dm_ofi_ep *ep, const struct dm_bind *bind,
                        const DAT_LMR_TRIPLET *triplet)
{
    struct dm_window window = dm_rmr_window(&ep->ep, bind, triplet);
    struct dm_ofi_region region = {.key = bind->key,
                                   .pz = bind->rmr->pz,
                                   .is_window = true,
                                   .only = (struct dm_ofi_ep *)window.only,
                                   .va = window.va,
                                   .len = window.len,
                                   .addr = window.addr,
                                   .priv = window.priv};

    return dm_ofi_key_open(dm_ofi_ia_of(ep), &region);
}

int dm_ofi_rmr_exec(struct dm_ofi_ep *ep, struct dm_bind *bind, const DAT_LMR_TRIPLET *triplet)
{
    struct dm_ofi_ia *ia = dm_ofi_ia_of(ep);
    struct dm_rmr *rmr = bind->rmr;

    if (!dm_rmr_is_allowed(&ep->ep, bind, triplet))
        return -FI_EINVAL;
    /* A write that is under way may arrive until the bind has completed; if it
     * found the window shut, the fabric would break the connection. */
    if (rmr->key != 0)
        dm_ofi_key_hide(ia, rmr->key);
    if (rmr->key != 0 && !dm_ofi_rkey_is_acked(ia, rmr->pz))
        return -FI_EBUSY;
    if (bind->key != 0 && !window_open(ep, bind, triplet))
        return -FI_ENOMEM;
    dm_rmr_shut(rmr);
    if (bind->key != 0)
        dm_rmr_set(&ep->ep, bind, triplet);
    return 0;
}

void dm_ofi_rmr_bound(struct dm_bind *bind)
{
    struct dm_rmr *rmr = bind->rmr;

    if (rmr->key != 0 && dm_ofi_key_region((struct dm_ofi_ia *)rmr->obj.ia, rmr->key) == NULL)
        dm_rmr_shut(rmr); /* flushed half-way */
    dm_rmr_bound(bind);
}
