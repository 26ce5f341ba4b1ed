/*
 * A process that outlives mpiexec when that is killed, and then ends the process groups of the
 * ranks: the kernel itself kills ranks only, not what they have started.
 */
#ifndef DM_TOOLS_MPIEXEC_GUARD_H
#define DM_TOOLS_MPIEXEC_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

/* Start it, before anything is open that it should not have. Without it, all works but this. */
void dm_launch_guard_start(void);
/* Our process group is to be ended. For a process that leads it and shares mpiexec's memory: said by
 * itself, before it executes its program, since mpiexec may be killed at any time. */
void dm_launch_guard_add_self(void);
/* Is this the guard? */
bool dm_launch_guard_is(pid_t pid);
/* All has ended well. */
void dm_launch_guard_end(void);

#endif
