/*
 * What is checked at the origin before anything is sent: the epoch and the range
 * (MPI-4.0 sections 12.5 and 12.3).
 */
#include "onesided/call.h"
#include "onesided/lock.h"

static int check_epoch(struct dm_win *win, int target)
{
    switch (win->epoch.access) {
    case DM_EPOCH_FENCE:
        return DM_OK;
    case DM_EPOCH_LOCK_ALL:
        if (dm_likely(win->peers[target].is_locked || win->epoch.is_nocheck))
            return DM_OK;
        return dm_rma_lock_used(win, target);
    case DM_EPOCH_START:
        if (win->peers[target].is_started)
            return DM_OK;
        return DM_FAIL(DM_ERR_RMA_SYNC, "target %d is not in the group of MPI_Win_start", target);
    case DM_EPOCH_LOCK:
        if (win->peers[target].is_locked)
            return DM_OK;
        return DM_FAIL(DM_ERR_RMA_SYNC, "target %d is not locked", target);
    default:
        return DM_FAIL(DM_ERR_RMA_SYNC,
                       "no access epoch: call MPI_Win_fence, MPI_Win_start or MPI_Win_lock first");
    }
}

static int check_range(const struct dm_win *win, int target, MPI_Aint disp, size_t count,
                       const struct dm_type *type, uint64_t *offset_p)
{
    const struct dm_win_part *part = &win->parts[target];
    dm_int128 start, first, last, span;

    *offset_p = 0;
    if (count == 0 || type->size == 0)
        return DM_OK;
    start = (dm_int128)disp * part->disp_unit;
    span = (dm_int128)type->extent * (dm_int128)(count - 1);
    first = start + type->true_lb + (span < 0 ? span : 0);
    last = start + type->true_lb + type->true_extent + (span > 0 ? span : 0);
    if (first < 0 || last > (dm_int128)part->size)
        return DM_FAIL(DM_ERR_RMA_RANGE,
                       "bytes %lld to %lld of the part of target %d, which has %llu bytes "
                       "(displacement %lld in units of %u)",
                       (long long)first, (long long)last - 1, target,
                       (unsigned long long)part->size, (long long)disp, part->disp_unit);
    *offset_p = (uint64_t)start;
    return DM_OK;
}

int dm_rma_check_sizes(size_t origin_count, const struct dm_type *origin_type, size_t target_count,
                       const struct dm_type *target_type)
{
    uint64_t origin_len = origin_count * (uint64_t)origin_type->size;
    uint64_t target_len = target_count * (uint64_t)target_type->size;

    if (origin_len != target_len)
        return DM_FAIL(DM_ERR_TYPE, "the origin has %llu bytes, the target %llu",
                       (unsigned long long)origin_len, (unsigned long long)target_len);
    return DM_OK;
}

int dm_rma_check_call(struct dm_win *win, size_t origin_count, const struct dm_type *origin_type,
                      int target, MPI_Aint disp, size_t target_count,
                      const struct dm_type *target_type, uint64_t *offset_p)
{
    int err = check_epoch(win, target);

    if (err == DM_OK)
        err = check_range(win, target, disp, target_count, target_type, offset_p);
    return err != DM_OK ? err
                        : dm_rma_check_sizes(origin_count, origin_type, target_count, target_type);
}
