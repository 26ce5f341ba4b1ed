/*
 * The futex system call; there is no libc function for it.
 */
#include "util/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

int dm_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
    struct timespec ts;
    struct timespec *ts_p = NULL;

    if (deadline_ns != DM_FUTEX_FOREVER) {
        ts.tv_sec = (time_t)(deadline_ns / NS_PER_S);
        ts.tv_nsec = (long)(deadline_ns % NS_PER_S);
        ts_p = &ts;
    }
    if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, ts_p, NULL, FUTEX_BITSET_MATCH_ANY) == 0)
        return 0;
    return errno == EAGAIN ? 0 : errno;
}

void dm_futex_wake(_Atomic uint32_t *word, int n)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, n, NULL, NULL, 0);
}

uint64_t dm_futex_now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t dm_futex_deadline(uint32_t timeout_us)
{
    if (timeout_us == UINT32_MAX)
        return DM_FUTEX_FOREVER;
    return dm_futex_now() + (uint64_t)timeout_us * 1000u;
}
