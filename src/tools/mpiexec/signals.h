/*
 * Signals that mpiexec gets, through a descriptor.
 */
#ifndef DM_TOOLS_MPIEXEC_SIGNALS_H
#define DM_TOOLS_MPIEXEC_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "tools/mpiexec/loop.h"

/* What to do with them. */
struct dm_launch_signals {
    void (*child)(void *arg);                                 /* one has ended */
    void (*end)(void *arg, int signo, bool is_from_terminal); /* the user wants the end */
    void (*pass)(void *arg, int signo); /* is for the ranks: SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT */
    void *arg;
    int fd;
    struct dm_launch_watch watch;
};

/*
 * Block them, and watch for them; old gets those that were blocked before. A SIGHUP that is
 * ignored (nohup) stays so. False: errno.
 */
bool dm_launch_signals_open(struct dm_launch_signals *signals, struct dm_launch_loop *loop,
                            sigset_t *old);
/* Stop mpiexec itself, until SIGCONT. */
void dm_launch_signals_stop(void);

#endif
