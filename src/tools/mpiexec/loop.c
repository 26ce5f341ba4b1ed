/*
 * epoll, and a list of timers: there are few.
 */
#include "tools/mpiexec/loop.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "util/clock.h"

enum { EVENTS_MAX = 64 };

bool dm_launch_loop_open(struct dm_launch_loop *loop)
{
    loop->is_over = false;
    loop->timers = NULL;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return loop->epoll_fd >= 0;
}

void dm_launch_loop_close(struct dm_launch_loop *loop)
{
    close(loop->epoll_fd);
}

bool dm_launch_loop_add(struct dm_launch_loop *loop, struct dm_launch_watch *watch, int fd,
                        bool is_output, void (*fn)(void *arg), void *arg)
{
    struct epoll_event event = {.events = is_output ? EPOLLOUT : EPOLLIN, .data.ptr = watch};

    watch->fn = fn;
    watch->arg = arg;
    watch->fd = -1;
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return false;
    watch->fd = fd;
    return true;
}

void dm_launch_loop_remove(struct dm_launch_loop *loop, struct dm_launch_watch *watch)
{
    if (watch->fn != NULL && watch->fd >= 0)
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->fd = -1;
}

void dm_launch_loop_after(struct dm_launch_loop *loop, struct dm_launch_timer *timer, uint64_t ns,
                          void (*fn)(void *arg), void *arg)
{
    struct dm_launch_timer *known = loop->timers;

    while (known != NULL && known != timer)
        known = known->next;
    if (known == NULL) {
        timer->next = loop->timers;
        loop->timers = timer;
    }
    timer->fn = fn;
    timer->arg = arg;
    timer->at = dm_clock_ns() + ns;
}

void dm_launch_loop_forget(struct dm_launch_loop *loop, const struct dm_launch_timer *timer)
{
    struct dm_launch_timer **at = &loop->timers;

    while (*at != NULL && *at != timer)
        at = &(*at)->next;
    if (*at != NULL)
        *at = timer->next;
}

/* Calls what is due; returns milliseconds until the next timer, -1: none. */
static int loop_timers(struct dm_launch_loop *loop)
{
    uint64_t now = dm_clock_ns();
    uint64_t next = UINT64_MAX;

    for (struct dm_launch_timer *timer = loop->timers; timer != NULL; timer = timer->next) {
        if (timer->at != 0 && timer->at <= now) {
            timer->at = 0;
            timer->fn(timer->arg);
        }
        if (timer->at != 0 && timer->at < next)
            next = timer->at;
    }
    if (next == UINT64_MAX)
        return -1;
    return next <= now ? 0 : (int)((next - now) / 1000000) + 1;
}

void dm_launch_loop_run(struct dm_launch_loop *loop)
{
    struct epoll_event events[EVENTS_MAX];

    for (;;) {
        int ms = loop_timers(loop);
        int n;

        if (loop->is_over)
            return;
        n = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, ms);
        for (int i = 0; i < n && !loop->is_over; i++) {
            struct dm_launch_watch *watch = events[i].data.ptr;

            if (watch->fd >= 0)
                watch->fn(watch->arg);
        }
    }
}
