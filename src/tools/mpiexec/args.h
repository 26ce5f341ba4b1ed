/*
 * What of Hydra's command line concerns its front.
 */
#ifndef DM_TOOLS_MPIEXEC_ARGS_H
#define DM_TOOLS_MPIEXEC_ARGS_H

#include <stdbool.h>

/* Does an option name other hosts, or one who knows them? Arguments of the programs are none. */
bool dm_mpiexec_args_name_hosts(char *const *argv);
/*
 * What Hydra would take and misunderstand: a count that is no number, options without a program. DM_OK, or DM_ELAUNCH, and
 * reported. What Hydra refuses by itself, and what is behind an option that is unknown here, is left to it.
 */
int dm_mpiexec_args_check(char *const *argv);

#endif
