/*
 * A session for what is started: Linux shares out the cores among sessions first
 * (sched_autogroup), and sched_yield gives a core to others of the same session only (since 6.6).
 * So all ranks of a host have one of their own, apart from whatever else runs in the user's; were
 * each in its own, ranks that outnumber the cores would hand them over late.
 *
 * A session begins with a new process. That is a short-lived one with our memory and descriptors,
 * which starts the ranks; they are our children all the same.
 */
#ifndef DM_TOOLS_MPIEXEC_SESSION_H
#define DM_TOOLS_MPIEXEC_SESSION_H

#include <sys/types.h>

/* Run fn(arg) in a session of its own, and return when it has; where the system makes none, it
 * runs in ours. fn may do what a function called here may, but not end the process. */
void dm_launch_session_run(void (*fn)(void *arg), void *arg);
/*
 * Start a process that runs fn(arg) in our memory, and wait until that has executed a program, or
 * returned: its exit status then. parent is mpiexec, whoever calls. Returns the process, or -1 with
 * errno.
 */
pid_t dm_launch_session_child(int (*fn)(void *arg), void *arg, pid_t parent);

#endif
