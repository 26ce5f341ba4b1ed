/*
 * The monotonic clock, and what takes its place.
 */
#include "util/clock.h"

#include <time.h>

struct dm_clock_state dm_clock_state;

static uint64_t clock_monotonic(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

void dm_clock_use(const struct dm_clock_source *source)
{
    if (source == NULL && dm_clock_state.source != NULL)
        dm_clock_state.ahead =
            dm_clock_state.source->now(dm_clock_state.source->arg) - clock_monotonic();
    dm_clock_state.source = source;
}

uint64_t dm_clock_ns(void)
{
    if (dm_clock_state.source != NULL)
        return dm_clock_state.source->now(dm_clock_state.source->arg);
    return clock_monotonic() + dm_clock_state.ahead;
}

uint64_t dm_clock_after(uint64_t us)
{
    uint64_t now = dm_clock_ns();

    return us <= (UINT64_MAX - now) / 1000 ? now + us * 1000 : UINT64_MAX;
}

double dm_clock_s(void)
{
    struct timespec ts;

    if (dm_clock_state.source != NULL || dm_clock_state.ahead != 0)
        return (double)dm_clock_ns() * 1e-9;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

double dm_clock_tick(void)
{
    struct timespec ts;

    if (dm_clock_state.source != NULL)
        return 1e-9;
    clock_getres(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}
