/*
 * The loops of the predefined operations.
 */
#ifndef DM_MPI_OP_KERNELS_H
#define DM_MPI_OP_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/op/op_table.h"

typedef void dm_op_kernel(const void *restrict in, void *restrict inout, size_t n);

extern dm_op_kernel *const dm_op_kernels[DM_CT_N][DM_OP_N];
extern dm_op_kernel *const dm_op_kernels_wide[DM_CT_N][DM_OP_N]; /* if DM_HAS_WIDE() */

/* The kernel of an operation on a C type, for this machine, NULL when there is none. */
dm_op_kernel *dm_op_kernel_of(enum dm_op_code code, enum dm_op_ctype ctype);

#endif
