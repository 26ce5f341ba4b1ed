/*
 * For debuggers that attach to all ranks of a job: the table of processes that they read out of mpiexec ("The MPIR
 * Process Acquisition Interface", MPI Forum, 2010).
 */
#ifndef DM_TOOLS_MPIEXEC_DEBUGGER_H
#define DM_TOOLS_MPIEXEC_DEBUGGER_H

struct dm_launch_node; /* node.h */

/* All ranks of the job run: fill in the table, and stop for a debugger if there is one. Jobs on this host alone. */
void dm_launch_debugger_show(const struct dm_launch_node *node);
/* The job is ended by mpiexec, for this reason. */
void dm_launch_debugger_aborts(const char *why);

#endif
