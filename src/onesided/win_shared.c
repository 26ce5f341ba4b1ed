/*
 * Shared windows (MPI-4.0 section 12.2.3): one memory file that all processes map.
 *
 * Rank 0 makes the file and hands it over to the others (mpi/node/segment.h).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/coll/coll.h"
#include "mpi/node/node.h"
#include "mpi/node/segment.h"
#include "onesided/map.h"
#include "onesided/peer.h"
#include "onesided/win.h"

/* What each rank wants; rank 0 decides about the layout. */
struct wish {
    uint64_t size;
    uint32_t is_noncontig;
    uint32_t pad;
};

static int check_hosts(const struct dm_comm *comm)
{
    int rank = dm_node_first_remote(comm->group, dm_world.rank);

    if (rank < 0)
        return DM_OK;
    return DM_FAIL(DM_ERR_RMA_SHARED,
                   "rank %d is on another host (%s) than this process: split the "
                   "communicator with MPI_COMM_TYPE_SHARED",
                   rank, dm_world.host_of(dm_world.host_arg, dm_comm_proc(comm, rank)));
}

/* Bytes before this rank's part, and in all; UINT64_MAX: more than there can be. */
static uint64_t win_shared_lay_out(const struct dm_win *win, const struct wish *wishes,
                                   uint64_t *before_p)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t at = 0;

    for (int i = 0; i < win->comm->size; i++) {
        if (i == win->comm->rank)
            *before_p = at;
        at += wishes[i].size;
        if (wishes[0].is_noncontig)
            at = (at + page - 1) / page * page;
        /* each wish is at most this, so that the sum did not wrap */
        if (at > INT64_MAX)
            return UINT64_MAX;
    }
    return at > 0 ? at : page;
}

/* The file exists and everybody has it mapped, or nobody has. */
static int win_shared_share(struct dm_win *win, struct dm_comm *comm, uint64_t len)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    struct dm_node_segment segment = {.fd = -1};
    struct dm_node_file file = {.len = 0};
    int failed = 0, n_failed = 0, err;

    if (win->comm->rank == 0)
        (void)dm_node_segment_make(&segment, "datum-window", len, &file);
    err = dm_bcast(&file, sizeof(file), byte, 0, comm);
    if (err == DM_OK && file.len == 0)
        return DM_FAIL(DM_ERR_RMA_SHARED, "rank 0 could not make %llu bytes of shared memory%s%s",
                       (unsigned long long)len, win->comm->rank == 0 ? ": " : "",
                       win->comm->rank == 0 ? dm_err_detail() : "");
    if (err == DM_OK && win->comm->rank != 0 && dm_node_segment_map(&segment, &file, len) != DM_OK)
        err = DM_FAIL(DM_ERR_RMA_SHARED, "the memory of rank 0 cannot be mapped: %s",
                      dm_err_detail());
    failed = err != DM_OK;
    if (err == DM_OK || err == DM_ERR_RMA_SHARED) {
        int sum_err =
            dm_allreduce(&failed, &n_failed, 1, dm_type_get(MPI_INT), dm_op_get(MPI_SUM), comm);

        err = err == DM_OK ? sum_err : err;
    }
    dm_node_segment_close_file(&segment);
    win->map = segment.at;
    win->map_len = segment.len;
    if (err == DM_OK && n_failed > 0)
        err =
            DM_FAIL(DM_ERR_RMA_SHARED, "%d processes could not map the memory of rank 0", n_failed);
    return err;
}

int dm_rma_share(struct dm_win *win, struct dm_comm *comm)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    const char *noncontig = dm_info_value(win->info, "alloc_shared_noncontig");
    struct wish mine = {.size = (uint64_t)win->size,
                        .is_noncontig = noncontig != NULL && strcmp(noncontig, "true") == 0};
    uint64_t before = 0;
    struct wish *wishes;
    int err = check_hosts(win->comm);

    if (err != DM_OK)
        return err;
    wishes = malloc((size_t)win->comm->size * sizeof(*wishes));
    if (wishes == NULL)
        return DM_FAIL(DM_ENOMEM, "sizes of %d processes", win->comm->size);
    err = dm_allgather(&mine, sizeof(mine), byte, wishes, sizeof(mine), byte, comm);
    if (err == DM_OK)
        err = win_shared_share(win, comm, win_shared_lay_out(win, wishes, &before));
    free(wishes);
    if (err != DM_OK)
        return err;
    win->base = win->size > 0 ? (char *)win->map + before : NULL; /* as MPICH */
    win->is_mapped = win->comm->size > 1;
    return DM_OK;
}

/* Where this process finds the part of a rank, NULL: it has no bytes, or is not to be loaded from here. */
static char *win_shared_at(struct dm_win *win, int rank)
{
    const struct dm_win_peer *peer = &win->peers[rank];

    if (win->parts[rank].size == 0)
        return NULL;
    if (win->flavor == MPI_WIN_FLAVOR_SHARED)
        return (char *)win->map + win->parts[rank].file_offset;
    if (rank == win->comm->rank)
        return win->base;
    if (!peer->is_tried)
        dm_rma_map_part(win, rank);
    return peer->map;
}

int dm_win_shared_query(struct dm_win *win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                        void *baseptr)
{
    char *at;

    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return DM_FAIL(DM_ERR_RMA_FLAVOR, "a dynamic window has no memory of its own");
    if (rank == MPI_PROC_NULL) {
        /* with no memory at all any rank's answer is right */
        for (rank = 0; rank < win->comm->size - 1 && win_shared_at(win, rank) == NULL;)
            rank++;
    }
    at = win_shared_at(win, rank);
    *size = at != NULL ? (MPI_Aint)win->parts[rank].size : 0;
    *disp_unit = (MPI_Aint)win->parts[rank].disp_unit;
    *(void **)baseptr = at;
    return DM_OK;
}
