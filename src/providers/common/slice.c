/*
 * A provider's own thread: its start and scheduling.
 */
#include "providers/common/slice.h"

#include <signal.h>
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

bool dm_prov_thread_start(struct dm_pia *ia, void *(*run)(void *ia))
{
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ia->has_thread = true;
    if (pthread_create(&ia->thread, NULL, run, ia) != 0)
        ia->has_thread = false;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ia->has_thread;
}
