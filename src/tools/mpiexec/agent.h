/*
 * mpiexec --agent: the ranks of one host of a job on several.
 */
#ifndef DM_TOOLS_MPIEXEC_AGENT_H
#define DM_TOOLS_MPIEXEC_AGENT_H

#include <sys/resource.h>

/* What an agent must know, in variables: mpiexec's words, each escaped, with blanks between; the
 * hosts NAME[:SLOTS],... */
#define DM_LAUNCH_AGENT_ARGS  "DATUM_AGENT"
#define DM_LAUNCH_AGENT_HOSTS "DATUM_AGENT_HOSTS"

/* Run it; returns its exit status. files is the limit that ranks get. */
int dm_launch_agent_run(const struct rlimit *files);

#endif
