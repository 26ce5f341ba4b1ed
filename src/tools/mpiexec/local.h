/*
 * A job whose ranks are all on this host.
 */
#ifndef DM_TOOLS_MPIEXEC_LOCAL_H
#define DM_TOOLS_MPIEXEC_LOCAL_H

#include <sys/resource.h>

#include "tools/mpiexec/options.h"
#include "tools/mpiexec/placement.h"

/* Run it; returns the exit status of mpiexec. files is the limit that ranks get. */
int dm_launch_local_run(const struct dm_launch_options *options,
                        const struct dm_launch_place *place, const struct rlimit *files);

#endif
