/*
 * The monotonic clock.
 */
#include "util/clock.h"

#include <time.h>

uint64_t dm_clock_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

uint64_t dm_clock_after(uint64_t us)
{
    uint64_t now = dm_clock_ns();

    return us <= (UINT64_MAX - now) / 1000 ? now + us * 1000 : UINT64_MAX;
}

double dm_clock_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

double dm_clock_tick(void)
{
    struct timespec ts;

    clock_getres(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}
