/*
 * The loops of the predefined operations.
 */
#ifndef DM_MPI_OP_KERNELS_H
#define DM_MPI_OP_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/op/op_table.h"

typedef void dm_op_kernel(const void *restrict in, void *restrict inout, size_t n);

/* The kernels of a C type by enum dm_op_code; NULL: there is none. */
typedef dm_op_kernel *dm_op_kernel_row[DM_OP_N];

/* The table for this machine, by enum dm_op_ctype; the one for any, and the one for those with DM_HAS_WIDE(). */
const dm_op_kernel_row *dm_op_kernels(void);
const dm_op_kernel_row *dm_op_kernels_narrow(void);
const dm_op_kernel_row *dm_op_kernels_wide(void);

#endif
