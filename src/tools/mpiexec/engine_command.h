/*
 * The command line of the engine: MPICH's Hydra, or srun inside a job of Slurm.
 */
#ifndef DM_TOOLS_MPIEXEC_ENGINE_COMMAND_H
#define DM_TOOLS_MPIEXEC_ENGINE_COMMAND_H

#include <stdbool.h>

#include "tools/mpiexec/options.h"
#include "tools/mpiexec/placement.h"

/*
 * Fill argv with the command that starts an agent on each host that has ranks, and the environment
 * with what the agents must know (agent.h). False: reported. The words are never freed.
 */
bool dm_launch_engine_command(const struct dm_launch_options *options,
                              const struct dm_launch_place *place, struct dm_launch_list *argv);

#endif
