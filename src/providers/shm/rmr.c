/*
 * RMRs: entries of the key table for windows onto regions.
 */
#include "providers/shm/rmr.h"

#include "providers/shm/key.h"
#include "providers/shm/lmr.h"
#include "providers/shm/transport/quiesce.h"

void dm_shm_rmr_hide(struct dm_rmr *rmr)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)rmr->obj.ia;

    (void)dm_shm_key_hide(ia, rmr->key);
    (void)dm_shm_quiesce(ia, NULL);
}

void dm_shm_rmr_shut(struct dm_rmr *rmr)
{
    (void)dm_shm_key_hide((struct dm_shm_ia *)rmr->obj.ia, rmr->key);
    dm_shm_key_free(rmr->obj.ia, rmr->key);
}

/* Show the window to peers. */
static void window_publish(struct dm_shm_ep *ep, const struct dm_bind *bind,
                           const DAT_LMR_TRIPLET *triplet)
{
    const struct dm_shm_lmr *lmr = (const struct dm_shm_lmr *)bind->lmr;
    struct dm_window window = dm_rmr_window(&ep->ep, bind, triplet);
    struct dm_shm_ia *ia = dm_shm_ia_of(ep);
    struct dm_shm_key entry = {.va = window.va,
                               .len = window.len,
                               .addr = window.addr,
                               .base_serial = dm_shm_key_serial(ia, lmr->lmr.key),
                               .base_key = lmr->fd >= 0 ? lmr->lmr.key : 0,
                               .priv = window.priv,
                               .pz = bind->rmr->pz->id};

    if (window.only != NULL)
        entry.only = DM_SHM_ONLY(dm_shm_seg_offset(&ia->seg, ep->sh));
    dm_shm_key_publish(ia, bind->key, &entry);
}

enum dm_shm_exec dm_shm_rmr_exec(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                                 struct dm_shm_result *res)
{
    struct dm_bind *bind = op->dto.bind;

    if (!is_locked)
        return DM_EXEC_LOCK;
    if (!dm_rmr_is_allowed(&ep->ep, bind, op->dto.seg)) {
        res->status = DAT_RMR_OPERATION_FAILED;
        return DM_EXEC_DONE;
    }
    dm_rmr_unbind(bind->rmr);
    if (bind->key != 0) {
        window_publish(ep, bind, op->dto.seg);
        dm_rmr_set(&ep->ep, bind, op->dto.seg);
    }
    return DM_EXEC_DONE;
}
