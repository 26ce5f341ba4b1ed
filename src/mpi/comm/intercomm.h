/*
 * Between the files of src/mpi/comm.
 */
#ifndef DM_MPI_COMM_INTERCOMM_H
#define DM_MPI_COMM_INTERCOMM_H

#include "mpi/core/core.h"

/* MPI_Comm_dup of an intercommunicator. */
int dm_intercomm_dup(struct dm_comm *comm, struct dm_comm **comm_p);

/*
 * What a duplicate inherits besides groups and error handler: the topology, and the attributes as their callbacks
 * say.
 */
int dm_comm_inherit(struct dm_comm *from, struct dm_comm *to);

/* Start and stop of nonblocking duplication, with the layer. */
void dm_idup_start(void);
void dm_idup_stop(void);

#endif
