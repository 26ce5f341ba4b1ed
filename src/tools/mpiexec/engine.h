/*
 * A job on several hosts: an engine that is there already starts mpiexec --agent on each.
 */
#ifndef DM_TOOLS_MPIEXEC_ENGINE_H
#define DM_TOOLS_MPIEXEC_ENGINE_H

#include "tools/mpiexec/options.h"
#include "tools/mpiexec/placement.h"

/* Run it; returns the exit status of mpiexec. */
int dm_launch_engine_run(const struct dm_launch_options *options,
                         const struct dm_launch_place *place);

#endif
