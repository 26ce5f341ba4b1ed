/*
 * The loops of the predefined operations.
 */
#ifndef DM_MPI_OP_KERNELS_H
#define DM_MPI_OP_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/op/op_table.h"

typedef void dm_op_kernel(const void *restrict in, void *restrict inout, size_t n);

/* The kernel of an operation on a C type, for this machine, NULL when there is none. */
dm_op_kernel *dm_op_kernel_of(enum dm_op_code code, enum dm_op_ctype ctype);
/* The one for any machine, and the one for those with DM_HAS_WIDE(). */
dm_op_kernel *dm_op_kernel_narrow(enum dm_op_code code, enum dm_op_ctype ctype);
dm_op_kernel *dm_op_kernel_wide(enum dm_op_code code, enum dm_op_ctype ctype);

#endif
