/*
 * The engine is our child, keeps our standard descriptors and the terminal, and ends when the job
 * does. What is added: a host that cannot be reached, which Hydra would wait for; signals; a
 * time-out; an engine that is killed.
 */
#include "tools/mpiexec/engine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mpiexec/engine_command.h"
#include "tools/mpiexec/loop.h"
#include "tools/mpiexec/name_server.h"
#include "tools/mpiexec/names.h"
#include "tools/mpiexec/parent.h"
#include "tools/mpiexec/reports.h"
#include "tools/mpiexec/signals.h"
#include "util/log.h"

/* After a signal: how long the engine has to end the job before it is killed. */
#define GRACE_NS UINT64_C(3000000000)
/* Ctrl-C reaches the engine through the terminal; a kill of mpiexec alone does not. */
#define FORWARD_NS UINT64_C(200000000)
/* How long to wait for the engine's helpers when it was killed. */
#define ORPHANS_NS UINT64_C(2000000000)
/* How often to look for launchers that failed, and how often one must be seen. */
#define LOOK_NS UINT64_C(1000000000)
/* How long agents have to report on their ranks when time is up. */
#define LAST_REPORT_NS UINT64_C(1500000000)
/* When to report to who has started us that all runs, if agents cannot. */
#define REPORT_NS UINT64_C(15000000000)

enum {
    LOOKS_TO_BE = 3,
    TIMEOUT_STATUS = 124,
    ENGINE_GAVE_UP = 255, /* Hydra's status when it has failed itself */
};

struct engine {
    struct dm_launch_loop loop;
    struct dm_launch_signals signals;
    struct dm_launch_timer forward, kill, look, timeout, orphans, report;
    sigset_t mask;
    const char *name;
    int seconds; /* of the time-out */
    pid_t pid;
    int status; /* wait status, when it has ended */
    bool has_ended;
    bool is_killed;   /* by us */
    int signo;        /* the signal that ends the job, 0: none */
    int n_looks;      /* that have seen a failed launcher */
    bool has_no_host; /* one could not be reached */
    int helper_signo; /* that has killed its helper on this host, 0: none */
    bool is_timed_out;
};

/* ---- its helpers ---- */

static FILE *open_children(pid_t parent)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    return fopen(path, "re");
}

/* The wait status of one that has ended and is not waited for; -1: it lives, or cannot be seen. */
static int zombie_status(int pid)
{
    char path[64];
    char text[2048];
    const char *at;
    size_t n;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return -1;
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    /* Field 3 after the name, which may hold anything, is the state; 52 is the status. */
    at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ' || at[2] != 'Z')
        return -1;
    for (int field = 2; field < 52 && at != NULL; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? (int)strtol(at, NULL, 10) : -1;
}

/* The first child of the engine that has failed and that it does not wait for; 0: none. */
static int failed_launcher(pid_t engine, int *status_p)
{
    FILE *f = open_children(engine);
    int found = 0;
    int pid;

    if (f == NULL)
        return 0;
    while (found == 0 && fscanf(f, "%d", &pid) == 1) {
        *status_p = zombie_status(pid);
        if (*status_p > 0)
            found = pid;
    }
    fclose(f);
    return found;
}

static void on_kill(void *arg)
{
    struct engine *engine = arg;

    engine->is_killed = true;
    kill(engine->pid, SIGKILL);
}

/* Hydra waits for ever for a host that ssh could not reach, and for ranks whose helper was killed.
 */
static void on_look(void *arg)
{
    struct engine *engine = arg;
    int status = 0;
    int pid = failed_launcher(engine->pid, &status);

    engine->n_looks = pid != 0 ? engine->n_looks + 1 : 0;
    if (engine->n_looks < LOOKS_TO_BE) {
        dm_launch_loop_after(&engine->loop, &engine->look, LOOK_NS, on_look, engine);
        return;
    }
    engine->is_killed = true;
    if (WIFSIGNALED(status)) {
        engine->helper_signo = WTERMSIG(status);
        dm_log_error(
            "the launcher of a host (process %d) was killed by signal %d; the job is ended", pid,
            WTERMSIG(status));
    } else {
        dm_log_error(
            "the launcher of a host (ssh or the like, process %d) ended with status %d: the "
            "host does not exist, or lets nobody in, or has no hydra_pmi_proxy; what it "
            "said stands above; the job is ended",
            pid, WEXITSTATUS(status));
        engine->has_no_host = true;
    }
    /* A host that was not reached cannot be told the end, of which Hydra would speak at length; the
     * others end without it. */
    kill(engine->pid, engine->has_no_host ? SIGKILL : SIGTERM);
    dm_launch_loop_after(&engine->loop, &engine->kill, GRACE_NS, on_kill, engine);
}

/* ---- events ---- */

static void on_orphans_late(void *arg)
{
    struct engine *engine = arg;

    engine->loop.is_over = true;
}

/* Is this one, dead or alive, the helper that Hydra has on this host? */
static bool is_helper(int pid)
{
    char path[64];
    char name[32] = "";
    bool is_it;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    is_it = fgets(name, sizeof(name), f) != NULL && strcmp(name, "hydra_pmi_proxy\n") == 0;
    fclose(f);
    return is_it;
}

/* Waits for all that have ended; true when no child is left. */
static bool reap_engine(struct engine *engine)
{
    for (;;) {
        siginfo_t info = {0};
        int status;

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno == ECHILD;
        if (info.si_pid == 0)
            return false;
        if (info.si_code != CLD_EXITED && !engine->is_killed && engine->signo == 0 &&
            is_helper(info.si_pid))
            engine->helper_signo = info.si_status;
        if (waitpid(info.si_pid, &status, 0) == engine->pid) {
            engine->status = status;
            engine->has_ended = true;
        }
    }
}

/* Its helpers become our children when it ends; when it was killed, they are still busy ending the
 * job. */
static void on_engine_child(void *arg)
{
    struct engine *engine = arg;
    bool is_last = reap_engine(engine);

    if (!engine->has_ended)
        return;
    engine->forward.at = engine->kill.at = engine->look.at = engine->timeout.at = 0;
    if (is_last || !WIFSIGNALED(engine->status))
        engine->loop.is_over = true;
    else if (engine->orphans.at == 0)
        dm_launch_loop_after(&engine->loop, &engine->orphans, ORPHANS_NS, on_orphans_late, engine);
}

static void on_forward(void *arg)
{
    struct engine *engine = arg;

    kill(engine->pid, engine->signo);
}

static void on_engine_end(void *arg, int signo, bool is_from_terminal)
{
    struct engine *engine = arg;

    if (engine->signo != 0) { /* asked twice: at once */
        on_kill(engine);
        return;
    }
    engine->signo = signo;
    dm_launch_loop_after(&engine->loop, &engine->kill, GRACE_NS, on_kill, engine);
    if (!is_from_terminal)
        dm_launch_loop_after(&engine->loop, &engine->forward, signo == SIGINT ? FORWARD_NS : 0,
                             on_forward, engine);
}

static void on_engine_pass(void *arg, int signo)
{
    struct engine *engine = arg;

    kill(engine->pid, signo);
    if (signo == SIGTSTP)
        dm_launch_signals_stop();
}

static void on_engine_timeout(void *arg)
{
    struct engine *engine = arg;

    if (!engine->is_timed_out) {
        dm_log_error("mpiexec: the job has run for %d seconds (-timeout); it is ended",
                     engine->seconds);
        engine->is_timed_out = true;
        kill(engine->pid, SIGUSR1); /* agents report */
        dm_launch_loop_after(&engine->loop, &engine->timeout, LAST_REPORT_NS, on_engine_timeout,
                             engine);
        return;
    }
    engine->is_killed = true;
    kill(engine->pid, SIGTERM);
    dm_launch_loop_after(&engine->loop, &engine->kill, GRACE_NS, on_kill, engine);
}

/* All agents have started their ranks, or one has not. */
static void on_reported(void *arg, const char *why)
{
    (void)arg;
    dm_launch_parent_say(why);
}

/* They have found nothing wrong, or the job would have ended. */
static void on_report_due(void *arg)
{
    (void)arg;
    dm_launch_parent_say(NULL);
}

/* ---- the whole ---- */

static void start_engine(struct engine *engine, char **argv)
{
    pid_t parent = getpid();

    engine->pid = fork();
    if (engine->pid != 0)
        return;
    /* When we are killed, so is the engine, whose helpers then end the job. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    sigprocmask(SIG_SETMASK, &engine->mask, NULL);
    execv(argv[0], argv);
    dm_log_error("cannot start %s: %s", argv[0], strerror(errno));
    _exit(126);
}

/* Says what happened and returns the exit status: the engine's own, if it has one. */
static int conclude(const struct engine *engine)
{
    int signo = WIFSIGNALED(engine->status) ? WTERMSIG(engine->status) : 0;
    int code = signo != 0 ? 128 + signo : WEXITSTATUS(engine->status);

    if (engine->is_timed_out)
        return TIMEOUT_STATUS;
    if (engine->signo != 0) {
        dm_log_error("mpiexec got signal %d (%s); the job is ended", engine->signo,
                     strsignal(engine->signo));
        return 128 + engine->signo;
    }
    if (engine->has_no_host)
        return ENGINE_GAVE_UP;
    if (signo != 0 && !engine->is_killed)
        dm_log_error(
            "the process manager (%s, process %d) was killed by signal %d (%s)%s; the job is ended",
            engine->name, (int)engine->pid, signo, strsignal(signo),
            signo == SIGPIPE ? ": nobody reads the job's output any more" : "");
    else if (engine->helper_signo != 0 && !engine->is_killed)
        dm_log_error(
            "a helper of the process manager on this host was killed by signal %d (%s), and "
            "with it all ranks of this host; the job is ended",
            engine->helper_signo, strsignal(engine->helper_signo));
    else if (code == ENGINE_GAVE_UP && !engine->is_killed)
        dm_log_info("the process manager (%s) gave up: a host, or the connection to it, is gone; "
                    "the job is ended",
                    engine->name);
    /* It may not have seen what became of the ranks. */
    if (code == 0 && engine->helper_signo != 0)
        return 128 + engine->helper_signo;
    return code;
}

/* Servers for those that we start: of names, and of their reports when somebody waits for them. */
static void serve_agents(struct engine *engine, const struct dm_launch_options *options,
                         const struct dm_launch_place *place)
{
    static struct dm_launch_server name_server;
    static struct dm_launch_names names;
    static struct dm_launch_reports reports;
    int n = 0;

    if (dm_launch_names_keeper(options->nameserver) == NULL)
        dm_launch_name_server_start(&name_server, &engine->loop, &names);
    for (int host = 0; host < place->n_hosts; host++)
        n += dm_launch_place_is_used(place, host);
    if (dm_launch_parent_open() &&
        !dm_launch_reports_open(&reports, &engine->loop, n, on_reported, NULL))
        dm_log_warn("mpiexec: agents cannot report their start: %s", strerror(errno));
}

int dm_launch_engine_run(const struct dm_launch_options *options,
                         const struct dm_launch_place *place)
{
    static struct engine engine;
    static struct dm_launch_list argv;
    int status;

    if (!dm_launch_engine_command(options, place, &argv))
        return 127;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    engine.signals.arg = &engine;
    engine.signals.child = on_engine_child;
    engine.signals.end = on_engine_end;
    engine.signals.pass = on_engine_pass;
    engine.name = argv.list[0];
    engine.seconds = options->timeout;
    if (!dm_launch_loop_open(&engine.loop) ||
        !dm_launch_signals_open(&engine.signals, &engine.loop, &engine.mask)) {
        dm_log_error("mpiexec: %s", strerror(errno));
        return 1;
    }
    serve_agents(&engine, options, place);
    if (options->timeout > 0)
        dm_launch_loop_after(&engine.loop, &engine.timeout, (uint64_t)options->timeout * 1000000000,
                             on_engine_timeout, &engine);
    start_engine(&engine, argv.list);
    if (engine.pid < 0) {
        dm_log_error("cannot start %s: %s", argv.list[0], strerror(errno));
        return 1;
    }
    dm_launch_loop_after(&engine.loop, &engine.look, LOOK_NS, on_look, &engine);
    dm_launch_loop_after(&engine.loop, &engine.report, REPORT_NS, on_report_due, &engine);
    dm_launch_loop_run(&engine.loop);
    dm_launch_loop_close(&engine.loop);
    status = conclude(&engine);
    dm_launch_parent_say(status == 0 ? NULL
                                     : "the processes on other hosts could not be started, or "
                                       "ended at once; the messages of mpiexec say why");
    return status;
}
