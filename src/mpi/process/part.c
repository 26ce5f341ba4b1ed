/*
 * Parting: MPI_Comm_disconnect, what the loss of a process of another job means, and the parent.
 */
#include <string.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/process/process.h"
#include "mpi/process/state.h"
#include "mpi/pt2pt/pt2pt.h"

struct dm_process_state dm_process_state;

/* ---- disconnect ---- */

/* Is a request of the program under way in a communicator? */
static bool part_has_pending(const struct dm_comm *comm)
{
    const struct dm_handle_table *table = &dm_handles.of[DM_KIND_REQUEST];

    for (uint32_t i = 0; i < table->n; i++) {
        const struct dm_req *req = table->slots[i];

        if (((uintptr_t)req & 1) == 0 && req->comm == comm && req->n_pending > 0)
            return true;
    }
    return false;
}

static bool part_has_foreign(const struct dm_group *group, bool (*is_so)(int proc))
{
    for (int i = 0; group != NULL && i < group->size; i++)
        if (is_so(dm_group_proc(group, i)))
            return true;
    return false;
}

/* One that has called MPI_Finalize has parted all the same. */
static bool part_is_deserted(const struct dm_comm *comm)
{
    return part_has_foreign(comm->group, dm_world_is_gone) ||
           part_has_foreign(comm->remote, dm_world_is_gone);
}

/* How it went at the leader of the local group goes for all of it. */
enum { PART_BOTH_HERE, PART_DESERTED, PART_FAILED };

/* All processes are here, or those of the other side have called MPI_Finalize instead. */
static int part_sync(struct dm_comm *comm, bool *is_deserted_p)
{
    struct dm_type *type = dm_type_get(MPI_INT);
    int tag = dm_coll_tag(comm->coll_seq);
    int how = PART_BOTH_HERE;
    int err, reported;

    *is_deserted_p = comm->remote == NULL && part_is_deserted(comm);
    if (comm->remote == NULL)
        return *is_deserted_p ? DM_OK : dm_barrier(comm);
    comm->coll_seq++;
    err = dm_barrier(comm->local);
    if (err == DM_OK && comm->rank == 0) {
        if (!part_is_deserted(comm))
            err = dm_p2p_sendrecv_coll(NULL, 0, type, 0, NULL, 0, type, 0, tag, comm);
        how = err != DM_OK ? PART_FAILED : PART_BOTH_HERE;
        if (part_is_deserted(comm))
            how =
                dm_chan_is_lost(dm_world.chan, dm_comm_proc(comm, 0)) ? PART_FAILED : PART_DESERTED;
    }
    reported = dm_bcast(&how, 1, type, 0, comm->local);
    *is_deserted_p = how == PART_DESERTED;
    if (reported != DM_OK || how != PART_FAILED)
        return reported;
    return err != DM_OK ? err : DM_FAIL(DM_EPEER, "the other group cannot be reached any more");
}

int dm_comm_disconnect(struct dm_comm *comm)
{
    bool is_own = !part_has_foreign(comm->group, dm_world_is_foreign) &&
                  !part_has_foreign(comm->remote, dm_world_is_foreign);
    bool is_deserted = false;
    int err;

    while (part_has_pending(comm))
        dm_chan_progress_wait(dm_world.chan);
    err = is_own ? dm_barrier(comm) : part_sync(comm, &is_deserted);
    if (err != DM_OK)
        return err;
    if (!is_own && !is_deserted) {
        /* All are here: who goes may go before this process has heard the last of it. */
        dm_comm_count_fatal(comm, -1);
        comm->is_parting = true;
        (void)part_sync(comm, &is_deserted);
    }
    return dm_comm_free(comm);
}

/* ---- loss ---- */

bool dm_process_loss_is_fatal(int proc)
{
    const struct dm_handle_table *table = &dm_handles.of[DM_KIND_COMM];

    for (uint32_t i = 0; i < table->n; i++) {
        const struct dm_comm *comm = table->slots[i];

        if (((uintptr_t)comm & 1) != 0 || comm->is_parting || !dm_errhandler_is_fatal(comm->eh))
            continue;
        if (dm_group_rank_of(comm->group, proc) != MPI_UNDEFINED ||
            (comm->remote != NULL && dm_group_rank_of(comm->remote, proc) != MPI_UNDEFINED))
            return true;
    }
    return false;
}

/* ---- the parent ---- */

int dm_comm_get_parent(struct dm_comm **parent_p)
{
    struct dm_comm *parent = dm_process_state.parent;

    /* Messages by one that was freed may be under way. */
    *parent_p = parent != NULL && parent->is_freed ? NULL : parent;
    return DM_OK;
}

static void part_forget_parent(struct dm_comm *comm)
{
    if (comm == dm_process_state.parent)
        dm_process_state.parent = NULL;
}

/* ---- the layer ---- */

void dm_process_set_launcher(struct dm_pmi *pmi)
{
    dm_process_state.pmi = pmi;
}

int dm_process_start(void)
{
    dm_process_state.parent = NULL;
    dm_core_on_comm_free(part_forget_parent);
    dm_jobs_start();
    dm_handshake_start();
    return DM_OK;
}

void dm_process_stop(void)
{
    dm_handshake_stop();
    dm_jobs_stop();
}
