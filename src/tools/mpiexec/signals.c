/*
 * A signalfd. A blocked signal comes even if it is ignored. SIGTTIN is blocked, so that a look at a terminal in whose background we are does not
 * stop us.
 */
#include "tools/mpiexec/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

static void on_signal(void *arg)
{
    struct dm_launch_signals *signals = arg;
    struct signalfd_siginfo info;
    bool has_child = false;

    while (read(signals->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        int signo = (int)info.ssi_signo;

        switch (signo) {
        case SIGCHLD:
            has_child = true;
            break;
        case SIGTTIN:
            break;
        case SIGUSR1:
        case SIGUSR2:
        case SIGTSTP:
        case SIGCONT:
            signals->pass(signals->arg, signo);
            break;
        default:
            signals->end(signals->arg, signo, info.ssi_code > 0);
            break;
        }
    }
    if (has_child)
        signals->child(signals->arg);
}

bool dm_launch_signals_open(struct dm_launch_signals *signals, struct dm_launch_loop *loop,
                            sigset_t *old)
{
    static const int all[] = {SIGCHLD, SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                              SIGUSR2, SIGTSTP, SIGCONT, SIGTTIN, SIGPIPE};
    sigset_t mask;
    sigset_t watched;

    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct sigaction action;

        if (all[i] != SIGHUP || sigaction(all[i], NULL, &action) != 0 ||
            action.sa_handler != SIG_IGN)
            sigaddset(&mask, all[i]);
    }
    sigprocmask(SIG_BLOCK, &mask, old);
    watched = mask;
    sigdelset(&watched, SIGPIPE); /* writing says EPIPE */
    signals->fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0 &&
           dm_launch_loop_add(loop, &signals->watch, signals->fd, false, on_signal, signals);
}

void dm_launch_signals_stop(void)
{
    raise(SIGSTOP);
}
