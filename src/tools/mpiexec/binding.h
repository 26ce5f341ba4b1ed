/*
 * Which cores a rank may use (-bind-to, -map-by).
 */
#ifndef DM_TOOLS_MPIEXEC_BINDING_H
#define DM_TOOLS_MPIEXEC_BINDING_H

#include <sched.h>
#include <stdbool.h>

#include "tools/mpiexec/options.h"

/* Understand the options; once, before the other. False: reported. */
bool dm_launch_binding_check(const struct dm_launch_options *options);
/* The cores of the nth rank on this host; NULL: all. */
const cpu_set_t *dm_launch_binding_of(int nth);

#endif
