/*
 * RMRs: contexts for windows onto regions.
 */
#include "providers/tcp/rmr.h"

#include "providers/tcp/key.h"

void dm_tcp_rmr_hide(struct dm_rmr *rmr)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)rmr->obj.ia;

    dm_tcp_key_hide(ia, rmr->key);
    (void)dm_tcp_key_wait(ia, rmr->pz, rmr->key);
}

void dm_tcp_rmr_shut(struct dm_rmr *rmr)
{
    dm_tcp_key_hide((struct dm_tcp_ia *)rmr->obj.ia, rmr->key);
    dm_tcp_key_free(rmr->obj.ia, rmr->key);
}

/* Show the window to peers. */
static void rmr_window_open(struct dm_tcp_ep *ep, const struct dm_bind *bind,
                            const DAT_LMR_TRIPLET *triplet)
{
    struct dm_window window = dm_rmr_window(&ep->ep, bind, triplet);
    struct dm_tcp_region region = {.key = bind->key,
                                   .pz = bind->rmr->pz,
                                   .only = (struct dm_tcp_ep *)window.only,
                                   .va = window.va,
                                   .len = window.len,
                                   .addr = window.addr,
                                   .priv = window.priv,
                                   .is_window = true};

    dm_tcp_key_open(dm_tcp_ia_of(ep), &region);
}

enum dm_tcp_bound dm_tcp_rmr_exec(struct dm_tcp_ep *ep, struct dm_bind *bind,
                                  const DAT_LMR_TRIPLET *triplet)
{
    struct dm_tcp_ia *ia = dm_tcp_ia_of(ep);
    struct dm_rmr *rmr = bind->rmr;

    if (!dm_rmr_is_allowed(&ep->ep, bind, triplet))
        return DM_TCP_BIND_FAILED;
    if (rmr->key != 0) {
        dm_tcp_key_hide(ia, rmr->key);
        if (dm_tcp_key_is_used(ia, rmr->pz, rmr->key))
            return DM_TCP_BIND_LATER;
    }
    if (bind->key != 0)
        rmr_window_open(ep, bind, triplet);
    dm_rmr_shut(rmr);
    if (bind->key != 0)
        dm_rmr_set(&ep->ep, bind, triplet);
    return DM_TCP_BOUND;
}

void dm_tcp_rmr_bound(struct dm_bind *bind)
{
    struct dm_rmr *rmr = bind->rmr;

    if (rmr->key != 0 && !dm_tcp_key_is_open((struct dm_tcp_ia *)rmr->obj.ia, rmr->key))
        dm_rmr_shut(rmr); /* flushed half-way */
    dm_rmr_bound(bind);
}
