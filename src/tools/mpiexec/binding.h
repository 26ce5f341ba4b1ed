/*
 * Which cores a rank may use (-bind-to, -map-by).
 */
#ifndef DM_TOOLS_MPIEXEC_BINDING_H
#define DM_TOOLS_MPIEXEC_BINDING_H

#include <sched.h>
#include <stdbool.h>

#include "tools/mpiexec/options.h"

/* Understand the options, for so many ranks on this host; once, before the other. False: reported. */
bool dm_launch_binding_check(const struct dm_launch_options *options, int n_ranks);
/* How many processors so many ranks of this host have together; 0: they are not bound. */
int dm_launch_binding_cores(int n_ranks);
/* The cores of the nth rank on this host; NULL: all. */
const cpu_set_t *dm_launch_binding_of(int nth);

#endif
