/*
 * Options of Open MPI's mpirun that are more than other names for ours.
 */
#ifndef DM_TOOLS_MPIEXEC_OPEN_MPI_H
#define DM_TOOLS_MPIEXEC_OPEN_MPI_H

#include "tools/mpiexec/option_rows.h"

/* Understand -map-by: slot, node, ppr:N:node or a unit of cores, with modifiers. False: reported. */
bool dm_launch_map_by(const struct dm_launch_option_at *at);
/* When all options are read: what of -map-by depends on others. False: reported. */
bool dm_launch_map_finish(struct dm_launch_options *options);
/* What there is here for an option that only Open MPI has; NULL: it is none of those. */
const char *dm_launch_instead_of(const char *name, size_t len);

#endif
