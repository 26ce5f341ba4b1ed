/*
 * Which cores a rank may use (-bind-to, -map-by).
 */
#ifndef DM_TOOLS_MPIEXEC_BINDING_H
#define DM_TOOLS_MPIEXEC_BINDING_H

#include <sched.h>
#include <stdbool.h>

#include "tools/mpiexec/options.h"

/* Is this a value of -bind-to, wherever the ranks run? False: reported, with the option's name. */
bool dm_launch_binding_is_good(const char *option, const char *text);
/* Does a text begin with a unit that ranks can take in turn? */
bool dm_launch_binding_is_unit(const char *text);
/*
 * Find the cores for so many ranks on this host, by options that are good; once, before the others.
 * False: reported, this host does not have what is asked for.
 */
bool dm_launch_binding_check(const struct dm_launch_options *options, int n_ranks,
                             const char *host);
/* How many processors so many ranks of this host have together; 0: they are not bound, and have one each. */
int dm_launch_binding_cores(int n_ranks);
/* The processors of the nth rank on this host in words; "": all. */
void dm_launch_binding_print(int nth, char *text, size_t len);
/* The cores of the nth rank on this host; NULL: all. */
const cpu_set_t *dm_launch_binding_of(int nth);

#endif
