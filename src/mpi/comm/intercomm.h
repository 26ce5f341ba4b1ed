/*
 * Between the files of src/mpi/comm.
 */
#ifndef DM_MPI_COMM_INTERCOMM_H
#define DM_MPI_COMM_INTERCOMM_H

#include "mpi/core/core.h"

/*
 * An intercommunicator object from all its parts: references of the groups and of eh are taken,
 * local is taken over, also when it fails. DM_ENOMEM.
 */
int dm_intercomm_new(struct dm_group *group, struct dm_group *remote, uint32_t ctx,
                     struct dm_comm *local, struct dm_errhandler *eh, struct dm_comm **comm_p);
/* MPI_Comm_dup of an intercommunicator. */
int dm_intercomm_dup(struct dm_comm *comm, struct dm_comm **comm_p);

/*
 * What a duplicate inherits besides groups and error handler: the topology, and the attributes as
 * their callbacks say.
 */
int dm_comm_inherit(struct dm_comm *from, struct dm_comm *to);

/* Start and stop of nonblocking duplication, with the layer. */
void dm_idup_start(void);
void dm_idup_stop(void);

#endif
