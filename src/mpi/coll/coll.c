/*
 * Start and stop of the collectives, and the barrier.
 */
#include "mpi/coll/coll.h"

#include <stdlib.h>

#include "mpi/coll/body.h"
#include "mpi/coll/coll_state.h"
#include "util/cfg.h"

int dm_coll_start(void)
{
    dm_coll_state.byte = dm_type_get(MPI_BYTE);
    return dm_coll_force(dm_cfg()->coll);
}

void dm_coll_stop(void)
{
    free(dm_coll_state.spare);
    dm_coll_state = (struct dm_coll_state){0};
}

int dm_coll_no_inter(const char *name)
{
    return DM_FAIL(DM_ENOTSUP, "%s on an intercommunicator", name);
}

int dm_barrier(struct dm_comm *comm)
{
    static const struct dm_coll_args none;

    if (comm->remote != NULL)
        return dm_coll_no_inter("barrier");
    if (comm->size == 1)
        return DM_OK;
    return dm_coll_run(DM_COLL_BARRIER, 0, &none, comm);
}
