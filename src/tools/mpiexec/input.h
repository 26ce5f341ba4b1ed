/*
 * Standard input: a rank's own, or passed on.
 */
#ifndef DM_TOOLS_MPIEXEC_INPUT_H
#define DM_TOOLS_MPIEXEC_INPUT_H

#include "tools/mpiexec/loop.h"
#include "tools/mpiexec/node.h"

/*
 * What a rank shall read: a descriptor that the caller closes when the rank is started. A
 * terminal's input is passed on, as is that for all ranks; other input is the rank's as it is;
 * ranks without input read /dev/null. -1: reported.
 */
int dm_launch_input_open(struct dm_launch_rank *rank);
/* Pass on what there is to be passed on, now that all ranks are started. */
void dm_launch_input_start(struct dm_launch_node *node);
/* mpiexec has come to the foreground of its terminal, perhaps. */
void dm_launch_input_again(void);

#endif
