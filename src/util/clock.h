/*
 * Time: the monotonic clock.
 */
#ifndef DM_UTIL_CLOCK_H
#define DM_UTIL_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t dm_clock_ns(void);
/* The same in so many microseconds; UINT64_MAX, which never comes, when that is too far away. */
uint64_t dm_clock_after(uint64_t us);
/* Seconds of CLOCK_MONOTONIC, for MPI_Wtime. */
double dm_clock_s(void);
/* Resolution of the clock in seconds, for MPI_Wtick. */
double dm_clock_tick(void);

#endif
