/*
 * What the ranks are doing, for who asks mpiexec.
 */
#ifndef DM_TOOLS_MPIEXEC_REPORT_H
#define DM_TOOLS_MPIEXEC_REPORT_H

#include <stdbool.h>
#include <sys/types.h>

struct dm_launch_jobs; /* jobs.h */

/* Print what the ranks of all jobs on this host are doing, with their stacks, on stderr. Takes a second at most.
 * is_last: they are ended next, so that system calls that they sleep in may end early. */
void dm_launch_report_ranks(const struct dm_launch_jobs *jobs, bool is_last);
/* Would the signal end this process? Not if it handles or ignores it, or cannot be looked at. */
bool dm_launch_report_is_fatal(pid_t pid, int signo);

#endif
