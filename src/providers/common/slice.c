/*
 * The scheduling of a provider's own thread.
 */
#include "providers/common/slice.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLICE_NS = 100000 };

/* The layout that the sched_setattr system call expects. */
struct sched_params {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime; /* normal policy: the time slice */
    uint64_t deadline;
    uint64_t period;
};

void dm_thread_short_slice(void)
{
    struct sched_params params = {.size = sizeof(params), .runtime = SLICE_NS};

    (void)syscall(SYS_sched_setattr, 0, &params, 0);
}
