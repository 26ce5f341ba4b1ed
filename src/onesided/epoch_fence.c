/*
 * Active target synchronization with MPI_Win_fence (MPI-4.0 section 12.5.1).
 */
#include "mpi/coll/coll.h"
#include "onesided/rma.h"

int dm_win_fence(int assert_flags, struct dm_win *win)
{
    int err, barrier_err;

    if (win->access != DM_EPOCH_NONE && win->access != DM_EPOCH_FENCE)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_fence inside an epoch of %s",
                       win->access == DM_EPOCH_START ? "MPI_Win_start" : "MPI_Win_lock");
    if (win->exposure == DM_EPOCH_POST)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_fence between MPI_Win_post and MPI_Win_wait");
    /* after the flush my transfers are at their targets; after the barrier everybody's are */
    err = dm_rma_flush_all(win);
    if (err == DM_EPEER)
        return err;
    /* whoever was refused something still comes: the others wait */
    barrier_err = dm_barrier(win->comm);
    if (barrier_err != DM_OK)
        return barrier_err;
    win->access = assert_flags & MPI_MODE_NOSUCCEED ? DM_EPOCH_NONE : DM_EPOCH_FENCE;
    win->exposure = win->access;
    return err;
}
