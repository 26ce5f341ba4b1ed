/*
 * Jobs that processes have spawned: on this host they are started here; on others a mpiexec of
 * their own does, which is our child.
 */
#ifndef DM_TOOLS_MPIEXEC_SPAWNED_H
#define DM_TOOLS_MPIEXEC_SPAWNED_H

#include "tools/mpiexec/jobs.h"
#include "tools/mpiexec/spawn_request.h"

/* Start what a rank has asked for, and answer it, now or when another mpiexec says how it went.
 * The texts of the request are taken over. */
void dm_launch_spawned_start(struct dm_launch_rank *rank, struct dm_launch_request *request);
/* A process that is no rank has ended: is it such a mpiexec? */
void dm_launch_spawned_note_end(struct dm_launch_jobs *jobs, pid_t pid, int status);
/* Free a job that is over. */
void dm_launch_spawned_free(struct dm_launch_node *node);

#endif
