/*
 * Runs one test: guard -t SECONDS -o OUT -e ERR [-b] -- COMMAND...
 *
 * The command gets its own session and a time limit. The guard is the reaper of
 * everything that descends from the command, daemons included, so it knows when a
 * process outlives it; no process, no socket, so abstract sockets need no search.
 * Exit status: the command's own (128 + signal), 124 after a time-out, 125 when
 * the guard itself fails, 126 when processes were left. What happened is said on the
 * guard's stdout. -b shows the stacks of all processes before a time-out kills them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS  2000 /* for processes that are on their way out */
#define PROCS_MAX 4096

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void die(const char *what)
{
    fprintf(stderr, "guard: %s: %s\n", what, strerror(errno));
    exit(125);
}

struct proc {
    pid_t pid;
    pid_t parent;
    char state;
    char name[32];
};

static int list_procs(struct proc *procs)
{
    DIR *dir = opendir("/proc");
    struct dirent *ent;
    int n = 0;

    if (dir == NULL)
        die("/proc");
    while (n < PROCS_MAX && (ent = readdir(dir)) != NULL) {
        char path[300], buf[512], *paren;
        ssize_t len;
        int fd;

        if (ent->d_name[0] < '0' || ent->d_name[0] > '9')
            continue;
        snprintf(path, sizeof(path), "/proc/%s/stat", ent->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        len = read(fd, buf, sizeof(buf) - 1);
        close(fd);
        if (len <= 0)
            continue;
        buf[len] = '\0';
        paren = strrchr(buf, ')');
        if (paren == NULL || strchr(buf, '(') == NULL)
            continue;
        *paren = '\0';
        snprintf(procs[n].name, sizeof(procs[n].name), "%s", strchr(buf, '(') + 1);
        procs[n].pid = (pid_t)atoi(buf);
        if (sscanf(paren + 1, " %c %d", &procs[n].state, &procs[n].parent) == 2)
            n++;
    }
    closedir(dir);
    return n;
}

/* Mark my descendants; the list is small, so sweep until nothing changes. */
static int descendants(struct proc *procs, int n, bool *mine)
{
    bool again = true;
    int found = 0;

    memset(mine, 0, (size_t)n * sizeof(*mine));
    while (again) {
        again = false;
        for (int i = 0; i < n; i++) {
            bool is_child = procs[i].parent == getpid();

            for (int j = 0; j < n && !is_child; j++)
                is_child = mine[j] && procs[j].pid == procs[i].parent;
            if (is_child && !mine[i] && procs[i].state != 'Z') {
                mine[i] = true;
                again = true;
                found++;
            }
        }
    }
    return found;
}

static void show_stack(pid_t pid)
{
    char cmd[200];

    snprintf(cmd, sizeof(cmd),
             "timeout 20 gdb -p %d -batch -nx -ex 'thread apply all bt 30' 2>/dev/null |"
             " grep -E '^(Thread|#)'",
             pid);
    fflush(stdout);
    if (system(cmd) != 0)
        printf("guard: no stack of process %d (is gdb there?)\n", pid);
}

/* Whose stack says nothing about a hang. */
static bool is_launcher(const char *name)
{
    static const char *const names[] = {
        "sh", "bash", "env", "timeout", "mpiexec", "hydra_pmi_proxy", "mpiexec.hydra"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static void each_descendant(const char *what, int sig, bool stacks)
{
    static struct proc procs[PROCS_MAX];
    static bool mine[PROCS_MAX];
    int n = list_procs(procs);

    descendants(procs, n, mine);
    for (int i = 0; i < n; i++) {
        if (!mine[i])
            continue;
        if (what != NULL)
            printf("guard: %s: process %d (%s)\n", what, procs[i].pid, procs[i].name);
        if (stacks && !is_launcher(procs[i].name))
            show_stack(procs[i].pid);
        if (sig != 0)
            kill(procs[i].pid, sig);
    }
}

/* Reap; true when no child is left. */
static bool reap(pid_t main_pid, int *status_p, bool *main_done_p)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == main_pid) {
            *status_p = status;
            *main_done_p = true;
        }
    }
    return pid < 0 && errno == ECHILD;
}

/* Wait for a blocked signal (SIGCHLD above all), at most ms; which one, or 0. */
static int pause_ms(const sigset_t *set, double ms)
{
    struct timespec ts;
    int sig;

    if (ms < 1)
        ms = 1;
    ts.tv_sec = (time_t)(ms / 1000);
    ts.tv_nsec = (long)((ms - (double)ts.tv_sec * 1000) * 1e6);
    sig = sigtimedwait(set, NULL, &ts);
    return sig > 0 ? sig : 0;
}

static void kill_all(pid_t main_pid, const sigset_t *set)
{
    int status;
    bool done;

    kill(-main_pid, SIGKILL);
    for (int i = 0; i < 500 && !reap(main_pid, &status, &done); i++) {
        each_descendant(NULL, SIGKILL, false);
        pause_ms(set, 10);
    }
}

static void run_child(char **argv, const char *out, const char *err)
{
    sigset_t none;
    int fd;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (setsid() < 0)
        die("setsid");
    fd = open("/dev/null", O_RDONLY);
    if (fd < 0 || dup2(fd, 0) < 0)
        die("/dev/null");
    fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (fd < 0 || dup2(fd, 1) < 0)
        die(out);
    if (strcmp(out, err) != 0)
        fd = open(err, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (fd < 0 || dup2(fd, 2) < 0)
        die(err);
    execvp(argv[0], argv);
    die(argv[0]);
}

int main(int argc, char **argv)
{
    const char *out = "/dev/null", *err = "/dev/null";
    double limit = 30, start, end = 0;
    bool stacks = false, done = false;
    int opt, status = 0;
    pid_t pid;
    sigset_t set;

    while ((opt = getopt(argc, argv, "+t:o:e:b")) >= 0) {
        switch (opt) {
        case 't':
            limit = atof(optarg);
            break;
        case 'o':
            out = optarg;
            break;
        case 'e':
            err = optarg;
            break;
        case 'b':
            stacks = true;
            break;
        default:
            return 125;
        }
    }
    if (optind >= argc)
        return 125;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        die("prctl");
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    start = now();
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0)
        run_child(argv + optind, out, err);
    for (;;) {
        bool empty = reap(pid, &status, &done);

        if (done && empty)
            break;
        if (done && end == 0)
            end = now();
        if (done && (now() - end) * 1000 > GRACE_MS) {
            each_descendant("left behind", 0, false);
            kill_all(pid, &set);
            return 126;
        }
        if (!done && now() - start > limit) {
            printf("guard: killed after %.0f seconds\n", limit);
            each_descendant("was running", 0, stacks);
            kill_all(pid, &set);
            return 124;
        }
        opt = pause_ms(&set, done ? 20 : 200);
        if (opt != 0 && opt != SIGCHLD) {
            kill_all(pid, &set);
            return 130;
        }
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
