/*
 * What is ours instead of the system's, so that a byte string always does the same: epoll_wait(), the clock,
 * sleeping, and process_vm.
 */
#ifndef DM_TESTS_FUZZ_LOCKSTEP_H
#define DM_TESTS_FUZZ_LOCKSTEP_H

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* ---- the thread in lock step ---- */

static sem_t is_idle;
static sem_t may_go;
static atomic_bool is_free; /* it runs by itself, to end */

int epoll_wait(int fd, struct epoll_event *ev, int n, int timeout)
{
    (void)timeout;
    if (!atomic_load(&is_free)) {
        sem_post(&is_idle);
        while (sem_wait(&may_go) != 0)
            continue;
    }
    return (int)syscall(SYS_epoll_pwait, fd, ev, n, 0, NULL, 8);
}

static void rounds(int n)
{
    while (n-- > 0) {
        sem_post(&may_go);
        while (sem_wait(&is_idle) != 0)
            continue;
    }
}

/* Waiting for a peer that never finishes takes no time: a sleep moves the clock. */
static _Atomic int64_t skipped_ns;

int nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    atomic_fetch_add(&skipped_ns, 1000 * (int64_t)time->tv_nsec);
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int ret = (int)syscall(SYS_clock_gettime, clock, ts);
    int64_t ns = clock == CLOCK_MONOTONIC ? ts->tv_nsec + atomic_load(&skipped_ns) : ts->tv_nsec;

    ts->tv_sec += ns / 1000000000;
    ts->tv_nsec = (long)(ns % 1000000000);
    return ret;
}

/* The peer's memory is no business of this process: a transfer just works. */
static bool is_cma_refused;

static ssize_t total(const struct iovec *vec, unsigned long n)
{
    size_t len = 0;

    for (unsigned long i = 0; i < n; i++)
        len += vec[i].iov_len;
    return (ssize_t)len;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
                         const struct iovec *remote, unsigned long n_remote, unsigned long flags)
{
    (void)pid;
    (void)flags;
    (void)remote;
    (void)n_remote;
    errno = EPERM;
    if (is_cma_refused)
        return -1;
    for (unsigned long i = 0; i < n_local; i++)
        memset(local[i].iov_base, 0x5a, local[i].iov_len);
    return total(local, n_local);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long n_local,
                          const struct iovec *remote, unsigned long n_remote, unsigned long flags)
{
    volatile unsigned char sum = 0;

    (void)pid;
    (void)flags;
    (void)remote;
    (void)n_remote;
    errno = EPERM;
    if (is_cma_refused)
        return -1;
    for (unsigned long i = 0; i < n_local; i++)
        for (size_t at = 0; at < local[i].iov_len; at++)
            sum = sum ^ ((const unsigned char *)local[i].iov_base)[at];
    (void)sum; /* all has been read */
    return total(local, n_local);
}

#endif
