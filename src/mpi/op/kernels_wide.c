/*
 * The loops of the predefined operations for machines with wide vectors.
 */
#define DM_OP_KERNELS dm_op_kernels_wide
#define DM_OP_TARGET  DM_TARGET_WIDE

#include "mpi/op/kernels.inc"
