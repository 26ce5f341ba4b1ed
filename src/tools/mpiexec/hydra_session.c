/*
 * libdatum_hydra.so, which mpiexec has loaded into Hydra: the ranks of this host share a session,
 * rank 0 reads mpiexec's own standard input, and mpiexec is told which processes become ranks, and how they end.
 *
 * Hydra's proxy puts every process that it starts into a session of its own. Linux (sched_autogroup)
 * shares out the cores among sessions first, and sched_yield gives a core to others of the same
 * session only (since 6.6): ranks that outnumber the cores hand them over late, or after milliseconds.
 * A process group of its own is all that a rank needs, for Hydra to end it.
 *
 * Hydra passes standard input on by itself: it ends a job whose rank 0 reads slower than the input comes, and
 * calls one failed that has ended before. So rank 0 gets it as it is; its descriptor is in DM_STDIN_ENV.
 *
 * Hydra has some descriptors for each rank, and dies of an assertion when there are none left. So
 * its limit is raised; programs get the user's. And each rank would inherit those of all before it.
 *
 * LD_PRELOAD is as the user has it everywhere but in the proxy of this host: the front that
 * starts it, and the ranks, do not see ours.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mpiexec/hydra_session.h"

#define NAME "LD_PRELOAD="

enum { FDS_MAX = 4096 };

static char *with_ours;
static unsigned char is_users_fd[FDS_MAX]; /* open when the proxy began: not its own */
static struct rlimit fd_limit;             /* the user's */
static int is_raised;

static void hydra_raise_fd_limit(void)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_NOFILE, &fd_limit) != 0)
        return;
    most = fd_limit;
    most.rlim_cur = most.rlim_max;
    is_raised = setrlimit(RLIMIT_NOFILE, &most) == 0;
}

/* Calls fn for each open descriptor below FDS_MAX. */
static void each_fd(void (*fn)(int fd))
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    int fd;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL) {
        fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd < FDS_MAX && fd != dirfd(dir))
            fn(fd);
    }
    closedir(dir);
}

static void note_fd(int fd)
{
    is_users_fd[fd] = 1;
}

static void hide_fd(int fd)
{
    const char *pmi = getenv("PMI_FD");

    if (!is_users_fd[fd] && (pmi == NULL || fd != atoi(pmi)))
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* In the child that becomes a rank. */
static void take_stdin(void)
{
    const char *text = getenv(DM_STDIN_ENV), *rank = getenv("PMI_RANK");
    int fd = text != NULL ? atoi(text) : -1;

    if (fd < 0)
        return;
    if (rank == NULL)
        rank = getenv("PMI_ID"); /* with -pmi-port */
    /* to the others the input of a batch job is empty, not silent */
    if (rank == NULL || strcmp(rank, "0") != 0) {
        close(fd);
        fd = open("/dev/null", O_RDONLY);
    }
    dup2(fd, STDIN_FILENO);
    close(fd);
    unsetenv(DM_STDIN_ENV);
}

/* Tells mpiexec; DATUM_REPORT is "fd:inode". */
static void hydra_report(const char *what, int num, int num2)
{
    const char *report = getenv("DATUM_REPORT");
    unsigned long long inode;
    struct stat st;
    char text[64];
    int fd;

    if (report == NULL || sscanf(report, "%d:%llu", &fd, &inode) != 2 || fstat(fd, &st) != 0 ||
        (unsigned long long)st.st_ino != inode)
        return;
    snprintf(text, sizeof(text), "%s %d %d", what, num, num2);
    send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* A process that will be a rank. */
static void announce(void)
{
    const char *rank = getenv("PMI_RANK");

    if (rank == NULL)
        rank = getenv("PMI_ID");
    if (rank != NULL)
        hydra_report("start", atoi(rank), (int)getpid());
}

static int is_proxy(void)
{
    return strcmp(program_invocation_short_name, DM_HYDRA_PROXY) == 0;
}

/* Ours is the last of the list (dm_install_preload). */
__attribute__((constructor)) static void hide(void)
{
    size_t len = strlen(NAME);
    char *last, *users;

    hydra_raise_fd_limit();
    for (char **at = environ; at != NULL && *at != NULL && with_ours == NULL; at++)
        if (strncmp(*at, NAME, len) == 0)
            with_ours = *at;
    users = with_ours != NULL ? strdup(with_ours + len) : NULL;
    if (is_proxy()) {
        each_fd(note_fd);
        hydra_report("helper", (int)getpid(), 0);
    }
    if (users == NULL)
        return;
    last = strrchr(users, ':');
    if (last == NULL) {
        unsetenv("LD_PRELOAD");
    } else {
        *last = '\0';
        setenv("LD_PRELOAD", users, 1);
    }
    free(users);
}

/* In the child that becomes the proxy, or a rank. */
int execvp(const char *file, char *const argv[])
{
    const char *slash = strrchr(file, '/');

    if (with_ours != NULL && strcmp(slash != NULL ? slash + 1 : file, DM_HYDRA_PROXY) == 0)
        putenv(with_ours);
    else
        take_stdin();
    if (is_proxy()) {
        each_fd(hide_fd);
        announce();
    }
    if (is_raised)
        setrlimit(RLIMIT_NOFILE, &fd_limit);
    return execvpe(file, argv, environ);
}

/* In the proxy's child that becomes a rank, and elsewhere. */
pid_t setsid(void)
{
    if (is_proxy() && setpgid(0, 0) == 0)
        return getpid();
    return (pid_t)syscall(SYS_setsid);
}

/* The proxy has heard how a rank ended: mpiexec can look only until then. */
pid_t waitpid(pid_t pid, int *status, int options)
{
    int how = 0;
    pid_t ended = (pid_t)syscall(SYS_wait4, pid, &how, options, NULL);

    if (ended > 0 && status != NULL)
        *status = how;
    if (ended > 0 && (WIFEXITED(how) || WIFSIGNALED(how)) && is_proxy())
        hydra_report("over", (int)ended, how);
    return ended;
}

static void kill_children(int signo)
{
    char path[64];
    int pid;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "re");
    if (f == NULL)
        return;
    while (fscanf(f, "%d", &pid) == 1)
        kill(pid, signo);
    fclose(f);
}

/* The proxy ends the group of each rank, but a rank that has come no further than fork is still in the proxy's own. */
int killpg(pid_t group, int signo)
{
    if (!is_proxy() || group != getpgrp())
        return kill(-group, signo);
    kill_children(signo);
    return 0;
}
