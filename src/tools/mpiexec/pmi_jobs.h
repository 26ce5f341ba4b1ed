/*
 * What PMI-1 says about other jobs: spawning, names, connections.
 */
#ifndef DM_TOOLS_MPIEXEC_PMI_JOBS_H
#define DM_TOOLS_MPIEXEC_PMI_JOBS_H

#include "tools/mpiexec/node.h"

/* A line of a request to spawn, or its begin. False: it is none. */
bool dm_launch_pmi_spawn_line(struct dm_launch_rank *rank, const char *line);

void dm_launch_pmi_publish(struct dm_launch_rank *rank, const char *line);
void dm_launch_pmi_unpublish(struct dm_launch_rank *rank, const char *line);
void dm_launch_pmi_lookup(struct dm_launch_rank *rank, const char *line);
void dm_launch_pmi_connected(struct dm_launch_rank *rank, const char *line);
void dm_launch_pmi_disconnected(struct dm_launch_rank *rank, const char *line);

#endif
