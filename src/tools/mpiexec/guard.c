/*
 * The guard reads numbers of process groups from a socket whose other end only mpiexec has. Its
 * end without a zero before is mpiexec's death.
 */
#include "tools/mpiexec/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    pid_t pid;
    int fd; /* to it */
} guard = {.fd = -1};

static void run_guard(int fd)
{
    static pid_t groups[1 << 16];
    size_t n = 0;
    pid_t group;
    ssize_t got;

    setpgid(0, 0);
    prctl(PR_SET_NAME, "mpiexec-guard");
    for (;;) {
        got = read(fd, &group, sizeof(group));
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof(group))
            break;
        if (group == 0)
            _exit(0);
        if (n < sizeof(groups) / sizeof(groups[0]))
            groups[n++] = group;
    }
    for (size_t i = 0; i < n; i++)
        kill(-groups[i], SIGKILL);
    _exit(0);
}

void dm_launch_guard_start(void)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
        return;
    guard.pid = fork();
    if (guard.pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        /* Who waits for the end of our output must not wait for the guard. */
        for (int fd = 0; fd <= STDERR_FILENO; fd++)
            dup2(null, fd);
        close(fds[1]);
        run_guard(fds[0]);
    }
    close(fds[0]);
    guard.fd = fds[1];
    /* Whichever of us runs first: who ends our group ends ranks only through the guard. */
    if (guard.pid > 0)
        setpgid(guard.pid, guard.pid);
}

static void guard_write(pid_t group)
{
    if (guard.fd >= 0)
        (void)!send(guard.fd, &group, sizeof(group), MSG_NOSIGNAL);
}

void dm_launch_guard_add_self(void)
{
    guard_write(getpid());
}

bool dm_launch_guard_is(pid_t pid)
{
    return pid == guard.pid;
}

void dm_launch_guard_end(void)
{
    guard_write(0);
    if (guard.fd >= 0)
        close(guard.fd);
    guard.fd = -1;
    if (guard.pid > 0)
        waitpid(guard.pid, NULL, 0);
}
