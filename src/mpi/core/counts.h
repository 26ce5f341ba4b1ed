/*
 * Array arguments that are int[] in MPI_X and MPI_Count[] (or MPI_Aint[]) in MPI_X_c.
 */
#ifndef DM_MPI_CORE_COUNTS_H
#define DM_MPI_CORE_COUNTS_H

#include <stddef.h>

#include "mpi.h"

struct dm_counts {
    const int *narrow;
    const MPI_Count *wide;
};
static inline MPI_Count dm_count_at(struct dm_counts c, size_t i)
{
    return c.narrow != NULL ? c.narrow[i] : c.wide[i];
}
static inline struct dm_counts dm_counts_int(const int *a)
{
    return (struct dm_counts){.narrow = a, .wide = NULL};
}
static inline struct dm_counts dm_counts_wide(const void *a)
{
    return (struct dm_counts){.narrow = NULL, .wide = (const MPI_Count *)a};
}

#endif
