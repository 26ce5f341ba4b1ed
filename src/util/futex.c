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

#include "util/port.h"

#define NS_PER_S 1000000000u

#define FUTEX_OF_32 2 /* bits, and shared between processes */

/* As futex_waitv takes them; older headers do not have it. */
struct futex_one {
    uint64_t value, address;
    uint32_t flags, zero;
};

/* NULL: no deadline. */
static struct timespec *futex_deadline(uint64_t deadline_ns, struct timespec *ts)
{
    if (deadline_ns == DM_FUTEX_FOREVER)
        return NULL;
    ts->tv_sec = (time_t)(deadline_ns / NS_PER_S);
    ts->tv_nsec = (long)(deadline_ns % NS_PER_S);
    return ts;
}

int dm_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
    struct timespec ts;

    if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, futex_deadline(deadline_ns, &ts), NULL,
                FUTEX_BITSET_MATCH_ANY) == 0)
        return 0;
    return errno == EAGAIN ? 0 : errno;
}

int dm_futex_wait_two(_Atomic uint32_t *a, uint32_t value_a, _Atomic uint32_t *b, uint32_t value_b,
                      uint64_t deadline_ns)
{
    const struct futex_one both[2] = {{value_a, (uintptr_t)a, FUTEX_OF_32, 0},
                                      {value_b, (uintptr_t)b, FUTEX_OF_32, 0}};
    struct timespec ts;

    if (syscall(DM_SYS_FUTEX_WAITV, both, 2, 0, futex_deadline(deadline_ns, &ts),
                CLOCK_MONOTONIC) >= 0)
        return 0;
    if (errno == EAGAIN)
        return 0;
    return errno == ETIMEDOUT || errno == EINTR ? errno : ENOSYS; /* filters say EPERM, too */
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
