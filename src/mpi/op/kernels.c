/*
 * The loops of the predefined operations for any machine, and the choice.
 */
#define DM_OP_KERNELS dm_op_kernels_narrow
#define DM_OP_TARGET

#include "mpi/op/kernels.inc"

const dm_op_kernel_row *dm_op_kernels(void)
{
    return DM_HAS_WIDE() ? dm_op_kernels_wide() : dm_op_kernels_narrow();
}
