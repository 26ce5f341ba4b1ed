/*
 * What ranks write: theirs to inherit, unless something is to be done with it.
 */
#ifndef DM_TOOLS_MPIEXEC_OUTPUT_H
#define DM_TOOLS_MPIEXEC_OUTPUT_H

#include "tools/mpiexec/node.h"

/*
 * Where a rank that is about to be started shall write: its descriptor for stream 1 or 2, -1:
 * mpiexec's own. False: reported. dm_launch_output_started closes it here again.
 */
bool dm_launch_output_open(struct dm_launch_rank *rank, int stream, int *fd_p);
/* Read what is left until a rank's streams end, or nothing more comes. */
void dm_launch_output_drain(struct dm_launch_rank *rank);
/* A name or a prefix: %r rank, %w size, %p process, %h host, %% a percent sign. */
void dm_launch_output_expand(const char *pattern, const struct dm_launch_rank *rank, char *text,
                             size_t len);

#endif
