/*
 * What agents report of the start of their ranks to the mpiexec that has started them, when that runs a
 * spawned job: its parent waits for it.
 */
#ifndef DM_TOOLS_MPIEXEC_REPORTS_H
#define DM_TOOLS_MPIEXEC_REPORTS_H

#include <stdbool.h>

#include "tools/mpiexec/server.h"

struct dm_launch_reports {
    struct dm_launch_server server;
    int n_awaited; /* agents that have not reported yet */
    void (*done)(void *arg, const char *why);
    void *arg;
};

/*
 * Expect the reports of so many agents; once done(arg, NULL) is called when all have started their ranks,
 * or done(arg, why) when one has not. False: errno.
 */
bool dm_launch_reports_open(struct dm_launch_reports *reports, struct dm_launch_loop *loop, int n,
                            void (*done)(void *arg, const char *why), void *arg);
/* An agent's: its ranks run (why NULL), or not, and why. False: nobody hears it. */
bool dm_launch_report(const char *why);

#endif
