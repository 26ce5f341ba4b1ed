/*
 * The loops of the predefined operations for any machine, and the choice.
 */
#define DM_OP_KERNEL_OF dm_op_kernel_narrow
#define DM_OP_TARGET

#include "mpi/op/kernels.inc"

dm_op_kernel *dm_op_kernel_of(enum dm_op_code code, enum dm_op_ctype ctype)
{
    return DM_HAS_WIDE() ? dm_op_kernel_wide(code, ctype) : dm_op_kernel_narrow(code, ctype);
}
