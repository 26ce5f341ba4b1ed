/*
 * The loops of the predefined operations for any machine, and the choice.
 */
#define DM_OP_KERNELS dm_op_kernels
#define DM_OP_TARGET

#include "mpi/op/kernels_inl.h"

dm_op_kernel *dm_op_kernel_of(enum dm_op_code code, enum dm_op_ctype ctype)
{
    return DM_HAS_WIDE() ? dm_op_kernels_wide[ctype][code] : dm_op_kernels[ctype][code];
}
