/*
 * Parts of a window that this process can address, and what is loaded and stored there at once.
 */
#ifndef DM_ONESIDED_MAP_H
#define DM_ONESIDED_MAP_H

#include "onesided/combine.h"
#include "onesided/peer.h"
#include "onesided/state.h"

struct dm_win_least; /* win.h */

/* Fill in where the memory of this part can be mapped from, if anywhere. */
void dm_rma_map_offer(const struct dm_win *win, struct dm_win_part *own);
/* All parts are known: may somebody map anything of this window here? */
void dm_rma_map_start(struct dm_win *win, const struct dm_win_least *least);
/* Map the target's part if that is possible; once. */
void dm_rma_map_part(struct dm_win *win, int target);
void dm_rma_unmap_all(struct dm_win *win);
/* No window is left. */
void dm_rma_map_stop(void);
/* The target's part in this process' address space, or NULL. */
static inline char *dm_rma_reach(const struct dm_rma_call *call)
{
    struct dm_win_peer *peer = &call->win->peers[call->target];

    if (dm_unlikely(!peer->is_tried))
        dm_rma_map_part(call->win, call->target);
    return peer->map;
}
/*
 * The quick test of most calls: where len bytes of a target lie that this process can address now,
 * mapped, in an open epoch, in range. NULL: dm_rma_check_call finds out.
 */
static inline char *dm_rma_quick(const struct dm_win *win, int target, MPI_Aint disp, size_t len)
{
    const struct dm_win_peer *peer;
    const struct dm_win_part *part;
    uint64_t offset;

    if (dm_unlikely(target < 0 || (uint64_t)disp > INT32_MAX))
        return NULL;
    peer = &win->peers[target];
    part = &win->parts[target];
    offset = (uint64_t)disp * part->disp_unit;
    if (dm_unlikely(peer->map == NULL ||
                    !(win->epoch.is_open || peer->is_locked || peer->is_started) ||
                    len > part->size || offset > part->size - len))
        return NULL;
    dm_rma_state.counts.n_path[DM_PATH_LOAD_STORE]++;
    return peer->map + offset;
}
/*
 * The same if this call's updates may go there now: nothing that it
 * could overtake is on its way, another thread's flush of it included. Else NULL.
 */
static inline char *dm_rma_map(const struct dm_rma_call *call)
{
    return dm_rma_is_busy(call->win, call->target) ? NULL : dm_rma_reach(call);
}
/* dm_rma_quick for elements that are updated: nothing to overtake, and this process may do it. */
static inline char *dm_rma_quick_update(const struct dm_win *win, int target, MPI_Aint disp,
                                        size_t len, int basic)
{
    char *at = dm_rma_quick(win, target, disp, len);

    if (at == NULL || dm_rma_is_busy(win, target) || !dm_rma_may_combine(win, target, basic, at))
        return NULL;
    return at;
}

#endif
