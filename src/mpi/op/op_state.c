/* Filled by dm_op_start. */
#include "mpi/op/op_state.h"

struct dm_op_state dm_op_state;
