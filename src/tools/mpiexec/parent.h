/*
 * The process that has started this mpiexec to run a spawned job, if one has: see
 * pmi/pmi_mpiexec.h.
 */
#ifndef DM_TOOLS_MPIEXEC_PARENT_H
#define DM_TOOLS_MPIEXEC_PARENT_H

#include "tools/mpiexec/node.h"

/* Is there one? An agent has it from its mpiexec, but not the pipe. */
bool dm_launch_parent_is(void);
/* The same, and speak to it, but let no rank. */
bool dm_launch_parent_open(void);
/* Put the pairs that it gives into the space. False: no memory. */
bool dm_launch_parent_pairs(struct dm_launch_kvs *kvs);
/* All runs; or nothing does, and why (NULL: all runs). Once, later calls say nothing. */
void dm_launch_parent_say(const char *why);
/* The job could not be started: say so to whoever it concerns. */
void dm_launch_parent_blame(const struct dm_launch_node *node);

#endif
