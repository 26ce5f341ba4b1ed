/*
 * Long copies within a host, by the faster of two ways.
 */
#include "onesided/window_copy.h"

#include <string.h>

#include "onesided/state.h"
#include "util/clock.h"
#include "util/trial.h"

/* By loads and stores, which is way 0; or by the C library. */
static void copy_by(int way, void *to, const void *from, size_t len)
{
    if (way == 0)
        dm_copy_long(to, from, len);
    else
        memcpy(to, from, len);
}

static int copy_class(size_t len)
{
    return len <= (size_t)32 << 10    ? 0
           : len <= (size_t)128 << 10 ? 1
           : len <= (size_t)1 << 20   ? 2
                                      : 3;
}

void dm_rma_copy_long(void *to, const void *from, size_t len)
{
    struct dm_trial *t = &dm_rma_state.copies[copy_class(len)];
    uint64_t start;

    if (dm_likely(!dm_trial_is_due(t))) {
        copy_by(t->way, to, from, len);
        return;
    }
    start = dm_clock_ns();
    copy_by(t->way, to, from, len);
    (void)dm_trial_sample(t, (double)(dm_clock_ns() - start) / (double)len);
}
