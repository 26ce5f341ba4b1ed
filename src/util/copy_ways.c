/*
 * Copies by the faster of two ways.
 */
#include "util/copy_ways.h"

#include <stdatomic.h>
#include <string.h>

#include "util/clock.h"
#include "util/port_vector.h"

#define STRING_MOST ((size_t)1 << 20) /* beyond, the C library may pass the caches by */

static void copy_in_way(int way, char *to, const char *from, size_t len)
{
    if (way == 1)
        dm_copy_long(to, from, len);
    else if (len <= STRING_MOST)
        dm_copy_string(to, from, len);
    else
        memcpy(to, from, len);
}

static int copy_class(size_t len)
{
    static const size_t most[] = {2 << 10, 6 << 10, 12 << 10, 32 << 10, 128 << 10, 1024 << 10};
    int i = 0;

    while (i < DM_COPY_CLASSES - 1 && len > most[i])
        i++;
    return i;
}

void dm_copy_ways_long(struct dm_copy_ways *ways, char *to, const char *from, size_t len)
{
    struct dm_trial *t = &ways->trials[copy_class(len)];
    uint64_t start;

    if (dm_likely(!dm_trial_is_due(t))) {
        copy_in_way(t->way, to, from, len);
        return;
    }
    start = dm_clock_ns();
    copy_in_way(t->way, to, from, len);
    /* what waits in the store buffer delays the next copy */
    atomic_thread_fence(memory_order_seq_cst);
    (void)dm_trial_sample(t, (double)(dm_clock_ns() - start) / (double)len);
}
