/*
 * The predefined operations, and the C type of each predefined datatype.
 */
#ifndef DM_MPI_OP_OP_STATE_H
#define DM_MPI_OP_OP_STATE_H

#include "mpi/op/kernels.h"
#include "mpi/op/op.h"
#include "mpi/op/op_table.h"

struct dm_op_state {
    struct dm_op ops[DM_OP_N];
    const dm_op_kernel_row *kernels; /* for this machine, by enum dm_op_ctype */
    uint8_t ctype[2][128];           /* enum dm_op_ctype by low bits of the handle; [1] are pairs */
};
extern struct dm_op_state dm_op_state;

#endif
