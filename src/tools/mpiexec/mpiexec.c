/*
 * mpiexec: starts MPICH's Hydra so that the job finds this library, its DAT
 * providers, and an end.
 *
 * Hydra gets all arguments as they are, and keeps the standard descriptors and
 * the terminal. What is added is that a death is reported by rank: Hydra names
 * any process of the host, often one that it has killed itself. So the ranks on
 * this host leave a copy of their connection to Hydra here (ranks.c). Then
 * Hydra does not notice a death; we do, know who it was, and have Hydra end the job.
 * Those on other hosts connect to us: whose connection ends first has died first.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "tools/mpiexec/args.h"
#include "tools/mpiexec/remote.h"
#include "tools/mpiexec/ranks.h"
#include "tools/mpiexec/hydra_session.h"
#include "tools/out.h"
#include "tools/install_paths.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#define HYDRA "mpiexec.hydra"

/* Out of the way of descriptors that a program may expect to be free. */
#define REPORT_FD_MIN 64

/* After a signal or a death: how long Hydra has to end the job before it is killed. */
#define GRACE_NS UINT64_C(3000000000)
/* Ctrl-C reaches Hydra through the terminal; a kill of mpiexec alone does not. */
#define FORWARD_NS UINT64_C(200000000)
/* How long to wait for Hydra's helpers when Hydra itself was killed. */
#define ORPHANS_NS UINT64_C(2000000000)
/* How often to look for launchers that failed, and how often one must be seen. */
#define LOOK_NS     UINT64_C(1000000000)
#define LOOKS_TO_BE 3

struct mpiexec {
    pid_t hydra;
    int status; /* of Hydra, valid when it has ended */
    bool has_ended;
    bool is_killed; /* by us */
    int signal_fd;
    int helper; /* of Hydra's, that was killed; 0: none */
    int helper_signo;
    int signo;           /* the signal that ends the job, 0: none */
    uint64_t forward_at; /* when to pass it on, 0: not */
    uint64_t kill_at;    /* when to kill Hydra, 0: not */
    uint64_t look_at;    /* when to look for launchers that failed, UINT64_MAX: not */
    int n_looks;         /* that have seen one */
    struct dm_mpiexec_ranks ranks;
};

static const char usage[] =
    "Usage: mpiexec [OPTION]... -n N PROGRAM [ARGUMENT]... [: -n N PROGRAM ...]\n"
    "\n"
    "Runs N processes of an MPI program on Datum. This is a thin front to MPICH's\n"
    "Hydra, which gets all options as they are and whose own help follows.\n"
    "\n"
    "  DAT_OVERRIDE    the dat.conf with the DAT providers; default: Datum's own\n"
    "  DATUM_PROVIDER  the providers to use, by name, separated by commas\n"
    "  DATUM_HYDRA     the Hydra to start; default: " HYDRA " in PATH\n"
    "\n"
    "datum-info lists all settings and tells which providers work.\n"
    "\n";

/* ---- finding things ---- */

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Looks for a program as a shell does; false when there is none. */
static bool find_in_path(const char *name, char *path, size_t len)
{
    const char *dirs = dm_cfg_env("PATH");

    if (strchr(name, '/') != NULL) {
        snprintf(path, len, "%s", name);
        return is_program(path);
    }
    if (dirs == NULL)
        dirs = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t dir_len = strcspn(dirs, ":");

        if (dir_len == 0)
            snprintf(path, len, "./%s", name);
        else
            snprintf(path, len, "%.*s/%s", (int)dir_len, dirs, name);
        if (is_program(path))
            return true;
        if (dirs[dir_len] == '\0')
            return false;
        dirs += dir_len + 1;
    }
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat sa;
    struct stat sb;

    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

/* A script in Hydra's place would take away what is meant for Hydra. */
static bool is_binary(const char *path)
{
    char magic[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_elf = fd >= 0 && read(fd, magic, 4) == 4 && memcmp(magic, "\177ELF", 4) == 0;

    if (fd >= 0)
        close(fd);
    return is_elf;
}

static int find_hydra(char *path, size_t len)
{
    const char *name = dm_cfg_env("DATUM_HYDRA");
    bool is_named = name != NULL && *name != '\0';

    if (!find_in_path(is_named ? name : HYDRA, path, len)) {
        if (is_named)
            dm_log_error("DATUM_HYDRA is '%s', but there is no such program", name);
        else
            dm_log_error("%s, the process manager of MPICH, is not in PATH; on Debian: apt-get "
                         "install mpich; elsewhere name it in DATUM_HYDRA",
                         HYDRA);
        return DM_ELAUNCH;
    }
    if (is_same_file(path, "/proc/self/exe")) {
        dm_log_error("%s is this mpiexec itself; DATUM_HYDRA must name MPICH's %s", path, HYDRA);
        return DM_ELAUNCH;
    }
    return DM_OK;
}

/* ---- starting ---- */

static void die(const char *what)
{
    dm_log_error("mpiexec: %s: %s", what, strerror(errno));
    exit(1);
}

/* The socket to the ranks on this host; returns their end, which they inherit. And the port for others. */
static int open_report(struct mpiexec *front, char *const *argv)
{
    /* A rank must not hang when this process is stopped. */
    struct timeval limit = {.tv_sec = 1};
    struct dm_mpiexec_remote remote;
    char remote_text[64];
    char text[128];
    struct stat st;
    int fds[2];
    int fd;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
        die("socketpair");
    setsockopt(fds[1], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    fd = fcntl(fds[1], F_DUPFD, REPORT_FD_MIN);
    if (fd < 0)
        fd = fcntl(fds[1], F_DUPFD, 3);
    close(fds[1]);
    if (fd < 0 || fstat(fd, &st) != 0)
        die("socketpair");
    dm_mpiexec_remote_open(&remote, argv, remote_text, sizeof(remote_text));
    snprintf(text, sizeof(text), "%d:%llu%s", fd, (unsigned long long)st.st_ino, remote_text);
    setenv("DATUM_REPORT", text, 1);
    dm_mpiexec_ranks_init(&front->ranks, fds[0], &remote);
    return fd;
}

/* Ranks write to pipes; whose progress is to be seen must know that a terminal is behind, and how wide. */
static void export_terminal(void)
{
    int fd = isatty(STDOUT_FILENO) ? STDOUT_FILENO : isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
    struct winsize size = {0};
    char text[32];

    unsetenv("DATUM_TERMINAL");
    if (fd < 0)
        return;
    ioctl(fd, TIOCGWINSZ, &size);
    snprintf(text, sizeof(text), "%d:%s", size.ws_col, fd == STDOUT_FILENO ? "out" : "err");
    setenv("DATUM_TERMINAL", text, 1);
}

/* A rank takes two descriptors. Hydra and the program have kept the limit that was. */
static void raise_fd_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * In the process that becomes Hydra: rank 0 gets our input, and Hydra's own never comes. Not from a
 * terminal, which belongs to Hydra's process group, and not from afar.
 */
static void hand_over_stdin(char *const *argv, int silent_fd)
{
    char text[16];
    int fd;

    if (silent_fd < 0 || isatty(STDIN_FILENO) || dm_mpiexec_may_be_remote(argv))
        return;
    fd = fcntl(STDIN_FILENO, F_DUPFD, REPORT_FD_MIN);
    if (fd < 0)
        return;
    dup2(silent_fd, STDIN_FILENO);
    snprintf(text, sizeof(text), "%d", fd);
    setenv(DM_STDIN_ENV, text, 1);
}

static void start_hydra(struct mpiexec *front, const char *path, char **argv, const sigset_t *mask)
{
    pid_t parent = getpid();
    int report_fd = open_report(front, argv);
    int silent[2] = {-1, -1}; /* nothing is written, and it stays open as long as this process */

    if (pipe2(silent, O_CLOEXEC) != 0)
        silent[0] = -1;
    front->hydra = fork();
    if (front->hydra < 0)
        die("fork");
    if (front->hydra == 0) {
        /* When this front is killed, so is Hydra, whose helpers then end the job. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        sigprocmask(SIG_SETMASK, mask, NULL);
        argv[0] = (char *)path;
        if (is_binary(path) && dm_install_preload("libdatum_hydra.so"))
            hand_over_stdin(argv, silent[0]);
        execv(path, argv);
        dm_log_error("cannot start %s: %s", path, strerror(errno));
        _exit(126);
    }
    close(report_fd);
    if (silent[0] >= 0)
        close(silent[0]);
    raise_fd_limit();
}

/* ---- watching ---- */

static void take_signal(struct mpiexec *front)
{
    struct signalfd_siginfo info;
    uint64_t now = dm_clock_ns();

    if (read(front->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    switch (info.ssi_signo) {
    case SIGCHLD:
    case SIGTTIN:
        break;
    case SIGUSR1:
    case SIGUSR2:
        kill(front->hydra, (int)info.ssi_signo);
        break;
    default:
        if (front->signo != 0) {
            /* Asked twice: at once. */
            front->kill_at = now;
            break;
        }
        front->signo = (int)info.ssi_signo;
        front->kill_at = now + GRACE_NS;
        if (info.ssi_code <= 0)
            front->forward_at = now + (info.ssi_signo == SIGINT ? FORWARD_NS : 0);
        break;
    }
}

static FILE *open_children(pid_t parent)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    return fopen(path, "re");
}

/* Is this one, dead or alive, Hydra's helper on this host? */
static bool is_helper(const struct mpiexec *front, int pid)
{
    char path[64];
    char name[32] = "";
    bool is_it;
    FILE *f;

    if (front->ranks.helper_pid != 0)
        return pid == front->ranks.helper_pid;
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    is_it = fgets(name, sizeof(name), f) != NULL && strcmp(name, DM_HYDRA_PROXY "\n") == 0;
    fclose(f);
    return is_it;
}

/* Ranks whose helper was killed have come to us; those that are no MPI programs live on. */
static void end_orphans(const struct mpiexec *front)
{
    FILE *f = open_children(getpid());
    int pid;

    if (f == NULL)
        return;
    while (fscanf(f, "%d", &pid) == 1)
        if (pid != front->hydra && kill(-pid, SIGKILL) != 0) /* each has a process group */
            kill(pid, SIGKILL);
    fclose(f);
}

/*
 * The first child of Hydra that has failed and that Hydra does not wait for; 0: none. These
 * are ssh to another host and the proxy of this one.
 */
static int failed_launcher(pid_t hydra, int *status_p)
{
    FILE *f = open_children(hydra);
    int found = 0;
    int pid;

    if (f == NULL)
        return 0;
    while (found == 0 && fscanf(f, "%d", &pid) == 1) {
        *status_p = dm_mpiexec_zombie_status(pid);
        if (*status_p > 0)
            found = pid;
    }
    fclose(f);
    return found;
}

/* Hydra waits for ever for a host that ssh could not reach, and for ranks whose helper was killed. */
static void look_for_launchers(struct mpiexec *front, uint64_t now)
{
    int status = 0;
    int pid = failed_launcher(front->hydra, &status);

    front->look_at = now + LOOK_NS;
    front->n_looks = pid != 0 ? front->n_looks + 1 : 0;
    if (front->n_looks < LOOKS_TO_BE)
        return;
    front->look_at = UINT64_MAX;
    if (WIFSIGNALED(status) && is_helper(front, pid)) {
        front->helper = pid;
        front->helper_signo = WTERMSIG(status);
        end_orphans(front);
    } else if (WIFSIGNALED(status)) {
        dm_log_error(
            "the launcher of a host (process %d) was killed by signal %d; the job is ended", pid,
            WTERMSIG(status));
    } else {
        dm_log_error(
            "the launcher of a host (ssh or the like, process %d) ended with status %d: the "
            "host does not exist, or lets nobody in, or has no hydra_pmi_proxy; what it "
            "said stands above; the job is ended",
            pid, WEXITSTATUS(status));
    }
    front->is_killed = true;
    kill(front->hydra, SIGTERM);
    if (front->kill_at == 0)
        front->kill_at = now + GRACE_NS;
}

/* Does what is due; returns the milliseconds until the next thing, -1: none. */
static int run_timers(struct mpiexec *front)
{
    uint64_t now = dm_clock_ns();
    uint64_t next = dm_mpiexec_ranks_deadline(&front->ranks);

    if (front->forward_at != 0 && now >= front->forward_at) {
        front->forward_at = 0;
        kill(front->hydra, front->signo);
    }
    if (front->kill_at != 0 && now >= front->kill_at) {
        front->kill_at = 0;
        front->forward_at = 0;
        front->is_killed = true;
        kill(front->hydra, SIGKILL);
    }
    if (now >= front->look_at)
        look_for_launchers(front, now);
    if (front->look_at < next)
        next = front->look_at;
    if (front->forward_at != 0 && front->forward_at < next)
        next = front->forward_at;
    if (front->kill_at != 0 && front->kill_at < next)
        next = front->kill_at;
    if (next == UINT64_MAX)
        return -1;
    return next <= now ? 0 : (int)((next - now) / 1000000) + 1;
}

/* Hydra's helpers become our children when Hydra ends; true when none is left. */
static bool reap(struct mpiexec *front)
{
    for (;;) {
        siginfo_t info = {0};
        int status;

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno == ECHILD;
        if (info.si_pid == 0)
            return false;
        if (info.si_code != CLD_EXITED &&
            is_helper(front, info.si_pid)) { /* that is why Hydra ended */
            front->helper = info.si_pid;
            front->helper_signo = info.si_status;
        }
        if (waitpid(info.si_pid, &status, 0) == front->hydra) {
            front->status = status;
            front->has_ended = true;
        }
    }
}

static void watch(struct mpiexec *front)
{
    front->look_at = dm_clock_ns() + LOOK_NS;
    while (!front->has_ended) {
        struct pollfd pfds[2] = {
            {.fd = front->signal_fd, .events = POLLIN},
            {.fd = dm_mpiexec_ranks_fd(&front->ranks), .events = POLLIN},
        };

        if (poll(pfds, 2, run_timers(front)) < 0 && errno != EINTR)
            die("poll");
        if (pfds[0].revents != 0)
            take_signal(front);
        if (front->signo != 0)
            dm_mpiexec_ranks_ignore(&front->ranks);
        if (dm_mpiexec_ranks_run(&front->ranks) && front->kill_at == 0)
            front->kill_at = dm_clock_ns() + GRACE_NS;
        reap(front);
    }
}

/* When Hydra was killed, its helpers are still busy ending the job. */
static void wait_for_orphans(struct mpiexec *front)
{
    uint64_t end = dm_clock_ns() + ORPHANS_NS;

    while (!reap(front) && dm_clock_ns() < end) {
        struct pollfd pfd = {.fd = front->signal_fd, .events = POLLIN};
        struct signalfd_siginfo info;

        if (poll(&pfd, 1, 50) > 0 && read(front->signal_fd, &info, sizeof(info)) < 0)
            break;
    }
}

/* Says what happened and returns the exit status: Hydra's own, if it has one. */
static int conclude(struct mpiexec *front)
{
    int signo = WIFSIGNALED(front->status) ? WTERMSIG(front->status) : 0;

    if (front->signo != 0) {
        dm_log_error("mpiexec got signal %d (%s); the job is ended", front->signo,
                     strsignal(front->signo));
        /* Hydra may not have seen what became of the ranks, and says 0 then. */
        return signo != 0 || WEXITSTATUS(front->status) == 0 ? 128 + front->signo
                                                             : WEXITSTATUS(front->status);
    }
    if (front->helper != 0) {
        dm_log_error("the process manager's helper on this host (%s, process %d) was killed by "
                     "signal %d (%s), and with it all ranks of this host; the job is ended",
                     DM_HYDRA_PROXY, front->helper, front->helper_signo,
                     strsignal(front->helper_signo));
        return signo != 0 || WEXITSTATUS(front->status) == 0 ? 128 + front->helper_signo
                                                             : WEXITSTATUS(front->status);
    }
    if (signo != 0 && !front->is_killed) { /* the ranks have died of that */
        dm_log_error("the process manager (%s, process %d) was killed by signal %d (%s)%s; the job "
                     "is ended",
                     HYDRA, (int)front->hydra, signo, strsignal(signo),
                     signo == SIGPIPE ? ": nobody reads the job's output any more" : "");
        return 128 + signo;
    }
    dm_mpiexec_ranks_report(&front->ranks, signo != 0 ? 0 : WEXITSTATUS(front->status));
    if (signo != 0 && front->ranks.lost_rank < 0)
        return 128 + signo;
    /* Hydra is killed when no rank here can end the job, and calls it a success when we had it ended. */
    return dm_mpiexec_ranks_status(&front->ranks, signo != 0 ? 0 : WEXITSTATUS(front->status));
}

/*
 * Signals come through a descriptor. SIGTTIN is for Hydra, which tries whether the terminal is ours and is
 * in our process group: it must not stop us. A SIGHUP that is ignored (nohup) would come, too, were it blocked.
 */
static void open_signals(struct mpiexec *front, sigset_t *old)
{
    static const int signals[] = {SIGCHLD, SIGHUP,  SIGINT,  SIGQUIT,
                                  SIGTERM, SIGUSR1, SIGUSR2, SIGTTIN};
    struct sigaction hangup;
    sigset_t mask;

    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&mask, signals[i]);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN)
        sigdelset(&mask, SIGHUP);
    sigprocmask(SIG_BLOCK, &mask, old);
    front->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (front->signal_fd < 0)
        die("signalfd");
}

/* None of our own descriptors shall become a rank's input or output. */
static void open_standard(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    static struct mpiexec front;
    char hydra[PATH_MAX];
    sigset_t mask;

    open_standard();
    if (argc < 2) {
        fputs("datum: error: mpiexec: no program is named\n", stderr);
        fputs(usage, stderr);
        return 2;
    }
    if (dm_mpiexec_args_check(argv) != DM_OK)
        return 2;
    if (strcmp(argv[1], "--help") == 0)
        fputs(usage, stdout);
    if (strcmp(argv[1], "--version") == 0)
        printf("Datum %s\n", DM_VERSION);
    if (dm_out_end("mpiexec", 0) != 0)
        return 1;
    if (find_hydra(hydra, sizeof(hydra)) != DM_OK)
        return 127;
    dm_install_set_library_path();
    dm_install_set_dat_conf();
    export_terminal();
    /* A SIGCHLD that is ignored, as some parents leave it, would take Hydra's status away. */
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    open_signals(&front, &mask);
    start_hydra(&front, hydra, argv, &mask);
    watch(&front);
    if (front.helper != 0)
        end_orphans(&front);
    if (front.helper != 0 || WIFSIGNALED(front.status) || front.signo != 0)
        wait_for_orphans(&front);
    argc = conclude(&front);
    dm_mpiexec_ranks_fini(&front.ranks);
    return argc;
}
