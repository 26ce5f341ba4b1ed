/*
 * LMRs and RMRs: contexts for regions, and for windows onto them. The file of shared memory is of
 * no use here: the memory is the caller's, as any.
 */
#include "providers/net/key.h"

/* Requests under way may not use it any more. */
static void key_shut(struct dm_net *net, uint32_t key)
{
    struct dm_net_region *region = dm_net_key_entry(net, key);

    dm_net_key_hide(net, key);
    if (region->mr != NULL)
        net->ops->region_close(region);
    region->mr = NULL;
    dm_net_key_free(&net->pia, key);
}

DAT_RETURN dm_net_lmr_register(struct dm_lmr *lmr, const struct dm_lmr_file *file,
                               const struct dm_lmr *from)
{
    struct dm_net_region region = {.key = dm_net_key_new(lmr->obj.ia),
                                   .pz = lmr->pz,
                                   .va = lmr->va,
                                   .len = lmr->len,
                                   .addr = lmr->addr,
                                   .priv = DM_PRIV_LMR(lmr->priv)};

    (void)file;
    (void)from;
    if (region.key == 0)
        return DM_DAT_NO_REGION;
    if (!dm_net_key_open((struct dm_net *)lmr->obj.ia, &region)) {
        dm_net_key_free(lmr->obj.ia, region.key);
        return DM_DAT_NO_REGION;
    }
    lmr->key = region.key;
    return DAT_SUCCESS;
}

void dm_net_lmr_deregister(struct dm_lmr *lmr)
{
    key_shut((struct dm_net *)lmr->obj.ia, lmr->key);
}

void dm_net_rmr_hide(struct dm_rmr *rmr)
{
    struct dm_net *net = (struct dm_net *)rmr->obj.ia;

    dm_net_key_hide(net, rmr->key);
    (void)dm_net_key_wait(net, rmr->pz, rmr->key);
}

void dm_net_rmr_shut(struct dm_rmr *rmr)
{
    key_shut((struct dm_net *)rmr->obj.ia, rmr->key);
}

/* Show the window to peers. */
static bool rmr_window_open(struct dm_ep *ep, const struct dm_bind *bind,
                            const DAT_LMR_TRIPLET *triplet)
{
    struct dm_window window = dm_rmr_window(ep, bind, triplet);
    struct dm_net_region region = {.key = bind->key,
                                   .pz = bind->rmr->pz,
                                   .only = window.only,
                                   .va = window.va,
                                   .len = window.len,
                                   .addr = window.addr,
                                   .priv = window.priv,
                                   .is_window = true};

    return dm_net_key_open((struct dm_net *)ep->obj.ia, &region);
}

enum dm_net_bound dm_net_rmr_exec(struct dm_ep *ep, struct dm_bind *bind,
                                  const DAT_LMR_TRIPLET *triplet)
{
    struct dm_net *net = (struct dm_net *)ep->obj.ia;
    struct dm_rmr *rmr = bind->rmr;

    if (!dm_rmr_is_allowed(ep, bind, triplet))
        return DM_NET_BIND_FAILED;
    /* A write that is under way may arrive until the bind has completed: it must find the window
     * open, or the connection would break. */
    if (rmr->key != 0) {
        dm_net_key_hide(net, rmr->key);
        if (!net->ops->window_is_left(net, rmr->pz, rmr->key))
            return DM_NET_BIND_LATER;
    }
    if (bind->key != 0 && !rmr_window_open(ep, bind, triplet))
        return DM_NET_BIND_FAILED;
    dm_rmr_shut(rmr);
    if (bind->key != 0)
        dm_rmr_set(ep, bind, triplet);
    return DM_NET_BOUND;
}

void dm_net_rmr_bound(struct dm_bind *bind)
{
    struct dm_rmr *rmr = bind->rmr;

    if (rmr->key != 0 && dm_net_key_region((struct dm_net *)rmr->obj.ia, rmr->key) == NULL)
        dm_rmr_shut(rmr); /* flushed half-way */
    dm_rmr_bound(bind);
}
