/*
 * The fields of MPI_Status beyond the public ones: 63-bit count and cancelled flag, as MPICH lays
 * them out. Inline: a receive sets its status with five stores.
 */
#ifndef DM_MPI_CORE_STATUS_H
#define DM_MPI_CORE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi.h"

static inline void dm_status_set_bytes(MPI_Status *status, uint64_t bytes)
{
    status->count_lo = (int)(uint32_t)bytes;
    status->count_hi_and_cancelled =
        (int)((uint32_t)(bytes >> 32) << 1 | ((uint32_t)status->count_hi_and_cancelled & 1));
}

static inline uint64_t dm_status_bytes(const MPI_Status *status)
{
    return (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32 |
           (uint32_t)status->count_lo;
}

static inline void dm_status_set_cancelled(MPI_Status *status, bool is_cancelled)
{
    status->count_hi_and_cancelled =
        (int)(((uint32_t)status->count_hi_and_cancelled & ~1u) | is_cancelled);
}

static inline bool dm_status_cancelled(const MPI_Status *status)
{
    return (status->count_hi_and_cancelled & 1) != 0;
}

/* The empty status of the standard: any source, any tag, success, 0 bytes. */
static inline void dm_status_set_empty(MPI_Status *status)
{
    *status = (MPI_Status){.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG};
}

/* Like it with source MPI_PROC_NULL. */
static inline void dm_status_set_proc_null(MPI_Status *status)
{
    *status = (MPI_Status){.MPI_SOURCE = MPI_PROC_NULL, .MPI_TAG = MPI_ANY_TAG};
}

#endif
