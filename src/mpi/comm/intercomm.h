/*
 * Between the files of src/mpi/comm.
 */
#ifndef DM_MPI_COMM_INTERCOMM_H
#define DM_MPI_COMM_INTERCOMM_H

#include "mpi/core/core.h"

/* MPI_Comm_dup of an intercommunicator. */
int dm_intercomm_dup(struct dm_comm *comm, struct dm_comm **comm_p);

#endif
