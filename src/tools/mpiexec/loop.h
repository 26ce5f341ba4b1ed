/*
 * The one event loop of mpiexec: descriptors and timers. A callback may add and remove whatever it
 * likes; what it removes is not called any more, if the watch itself stays in memory.
 */
#ifndef DM_TOOLS_MPIEXEC_LOOP_H
#define DM_TOOLS_MPIEXEC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* What to call when a descriptor is ready. Belongs to the caller, and lives as long as the loop. Zeroed: not used yet. */
struct dm_launch_watch {
    void (*fn)(void *arg); /* NULL: never watched */
    void *arg;
    int fd; /* -1: not watched now */
};

/* What to call at a time. Belongs to the caller. */
struct dm_launch_timer {
    void (*fn)(void *arg);
    void *arg;
    uint64_t at; /* dm_clock_ns; 0: not set */
    struct dm_launch_timer *next;
};

struct dm_launch_loop {
    int epoll_fd;
    bool is_over;
    struct dm_launch_timer *timers;
};

/* False: no descriptor (errno). */
bool dm_launch_loop_open(struct dm_launch_loop *loop);
void dm_launch_loop_close(struct dm_launch_loop *loop);
/* Call fn(arg) whenever fd is readable, or writable; false: errno. A plain file cannot be watched
 * (EPERM). */
bool dm_launch_loop_add(struct dm_launch_loop *loop, struct dm_launch_watch *watch, int fd,
                        bool is_output, void (*fn)(void *arg), void *arg);
/* Stop watching; the descriptor stays open. */
void dm_launch_loop_remove(struct dm_launch_loop *loop, struct dm_launch_watch *watch);
/* Call fn(arg) once, ns nanoseconds from now; a timer that is set already is set anew. */
void dm_launch_loop_after(struct dm_launch_loop *loop, struct dm_launch_timer *timer, uint64_t ns,
                          void (*fn)(void *arg), void *arg);
/* Its memory will be freed. Only from outside of timers, or from another timer. */
void dm_launch_loop_forget(struct dm_launch_loop *loop, const struct dm_launch_timer *timer);
/* Run until is_over is set. */
void dm_launch_loop_run(struct dm_launch_loop *loop);

#endif
