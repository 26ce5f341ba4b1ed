/*
 * The ranks of one host, from their start until nothing of them is left. Their orphans become our
 * children (PR_SET_CHILD_SUBREAPER), so that they can be found.
 */
#include "tools/mpiexec/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mpiexec/binding.h"
#include "tools/mpiexec/guard.h"
#include "tools/mpiexec/input.h"
#include "tools/mpiexec/jobs.h"
#include "tools/mpiexec/output.h"
#include "tools/mpiexec/report.h"
#include "tools/mpiexec/session.h"
#include "tools/mpiexec/spawn.h"
#include "tools/mpiexec/spawn_request.h"
#include "util/arena.h"
#include "util/log.h"

/* What is killed and does not go is left to the system after this time. */
#define KILL_NS UINT64_C(2000000000)

enum { WRONG_OPTION_STATUS = 2 };

/* ---- starting ---- */

static bool make_ranks(struct dm_launch_node *node)
{
    const struct dm_launch_place *place = node->place;
    int n = 0;

    for (int rank = 0; rank < place->n_ranks; rank++)
        n += place->host_of[rank] == node->host;
    node->ranks = calloc((size_t)n + 1, sizeof(*node->ranks));
    if (node->ranks == NULL) {
        dm_log_error("mpiexec: no memory for %d ranks", n);
        return false;
    }
    for (int rank = 0; rank < place->n_ranks; rank++) {
        struct dm_launch_rank *own = &node->ranks[node->n_ranks];

        if (place->host_of[rank] != node->host)
            continue;
        own->node = node;
        own->rank = rank;
        own->app = place->app_of[rank];
        own->is_closed = true;
        own->watch.fd = own->streams[0].watch.fd = own->streams[1].watch.fd = -1;
        node->n_ranks++;
    }
    return true;
}

/* A number that is free here is free in the ranks: kept by a descriptor that they do not inherit.
 */
static bool reserve_number(struct dm_launch_node *node)
{
    node->pmi_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return node->pmi_fd >= 0;
}

/* A socket between us and the rank; none with -pmi-port. False: reported. */
static bool open_connection(struct dm_launch_rank *rank, struct dm_launch_child *child)
{
    int fds[2];

    child->pmi_from = -1;
    child->pmi_to = rank->node->pmi_fd;
    if (rank->node->port_fd >= 0)
        return true;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        dm_log_error("mpiexec: no connection to rank %d: %s%s", rank->rank, strerror(errno),
                     errno == EMFILE ? "; raise the limit of open files (ulimit -Hn)" : "");
        return false;
    }
    child->pmi_from = fds[1];
    return dm_launch_pmi_serve(rank, fds[0]);
}

static void close_child(struct dm_launch_child *child)
{
    for (int i = 0; i < 3; i++)
        if (child->fds[i] >= 0)
            close(child->fds[i]);
    if (child->pmi_from >= 0)
        close(child->pmi_from);
}

/* -report-bindings */
static void print_binding(const struct dm_launch_rank *rank)
{
    char cpus[256] = "";

    if (!rank->node->kin.is_spawned)
        dm_launch_binding_print((int)(rank - rank->node->ranks), cpus, sizeof(cpus));
    dm_log_info("mpiexec: rank %d on host %s is %s%s", rank->rank, rank->node->host_name,
                cpus[0] != '\0' ? "bound to processors " : "not bound", cpus);
}

/* 0, or the exit status that the job ends with; reported. */
static int start_rank(struct dm_launch_rank *rank, struct dm_launch_program *program)
{
    struct dm_launch_node *node = rank->node;
    struct dm_launch_child child = {.program = program,
                                    .fds = {-1, -1, -1},
                                    .pmi_from = -1,
                                    .arena = node->arena_fd,
                                    .mask = &node->mask,
                                    .files = &node->files,
                                    .parent = node->pid};
    int status = 1;

    child.fds[0] = dm_launch_input_open(rank);
    child.cores = node->kin.is_spawned ? NULL : dm_launch_binding_of((int)(rank - node->ranks));
    dm_launch_program_identify(program, rank);
    if (child.fds[0] >= 0 && dm_launch_output_open(rank, STDOUT_FILENO, &child.fds[1]) &&
        dm_launch_output_open(rank, STDERR_FILENO, &child.fds[2]) &&
        open_connection(rank, &child)) {
        rank->pid = dm_launch_spawn(&child, &status);
        if (rank->pid > 0)
            status = 0;
        else
            snprintf(node->why, sizeof(node->why), "%.300s cannot be started on host %.60s: %s%s",
                     program->path, node->host_name, strerror(errno),
                     errno == ENOENT   ? " (the interpreter that its first line names)"
                     : errno == EAGAIN ? "; the table of processes is full (ulimit -u)"
                                       : "");
    }
    close_child(&child);
    if (status != 0) {
        rank->pid = 0;
        return status;
    }
    rank->was = rank->pid;
    node->n_running++;
    if (node->options->is_verbose)
        dm_log_info("mpiexec: rank %d on host %s is process %d", rank->rank, node->host_name,
                    (int)rank->pid);
    if (node->options->map.is_printed)
        print_binding(rank);
    return 0;
}

/* Runs in the session of the ranks, see session.h; sets status. */
static void start_ranks(void *arg)
{
    struct dm_launch_node *node = arg;
    struct dm_launch_program *programs = calloc(node->options->n_apps, sizeof(*programs));
    int status = programs != NULL ? 0 : 1;

    for (int i = 0; i < node->n_ranks && status == 0; i++) {
        struct dm_launch_program *program = &programs[node->ranks[i].app];

        if (program->env == NULL)
            status = dm_launch_program_find(program, node, &node->options->apps[node->ranks[i].app],
                                            node->why, sizeof(node->why));
    }
    for (int i = 0; i < node->n_ranks && status == 0; i++)
        status = start_rank(&node->ranks[i], &programs[node->ranks[i].app]);
    for (size_t i = 0; programs != NULL && i < node->options->n_apps; i++)
        dm_launch_program_free(&programs[i]);
    free(programs);
    node->status = status;
}

/* Ranks of one host share memory. Those of a job that is started later have none in common with the others. */
static void start_with_arena(struct dm_launch_node *node)
{
    if (node->n_ranks > 1)
        node->arena_fd = dm_arena_make(node->n_ranks, node->arena_text, sizeof(node->arena_text));
    if (node->arena_fd < 0)
        snprintf(node->arena_text, sizeof(node->arena_text), "%s", DM_ARENA_NONE);
    dm_launch_session_run(start_ranks, node);
    if (node->arena_fd >= 0)
        close(node->arena_fd); /* it lives as long as they do */
    node->arena_fd = -1;
}

/* Those of a job that is started later are not bound. False: reported. */
static bool bind_ranks(struct dm_launch_node *node)
{
    if (node->kin.is_spawned ||
        dm_launch_binding_check(node->options, node->n_ranks, node->host_name))
        return true;
    node->status = WRONG_OPTION_STATUS;
    return false;
}

bool dm_launch_node_start(struct dm_launch_node *node)
{
    char mapping[1024];

    node->pid = getpid();
    node->status = 1;
    node->port_fd = node->port_watch.fd = node->pmi_fd = node->arena_fd = -1;
    if (dm_launch_place_mapping(node->place, mapping, sizeof(mapping)))
        dm_launch_kvs_put(&node->kvs, "PMI_process_mapping", mapping);
    if (make_ranks(node) && reserve_number(node) && bind_ranks(node) &&
        (!node->options->is_by_port || dm_launch_pmi_listen(node)))
        start_with_arena(node);
    if (node->status == 0) {
        if (!node->kin.is_spawned)
            dm_launch_input_start(node);
        return true;
    }
    dm_launch_node_kill(node);
    return false;
}

/* ---- ending ---- */

void dm_launch_node_signal(struct dm_launch_node *node, int signo)
{
    /* Nobody in the ranks' session could let them go on, so the system keeps SIGTSTP from them. */
    if (signo == SIGTSTP)
        signo = SIGSTOP;
    for (int i = 0; i < node->n_ranks; i++) {
        pid_t was = node->ranks[i].was;

        /* It asks us for a report; for ranks it is if they want it. */
        if (was > 0 && (signo != SIGUSR1 || !dm_launch_report_is_fatal(was, signo)))
            kill(-was, signo); /* its group may outlive it */
    }
    if (node->kin.mpiexec > 0) /* which must live to end its ranks */
        kill(node->kin.mpiexec, signo == SIGKILL ? SIGTERM : signo);
}

/* Kills our children that are no ranks: what ranks have left behind. How many there are. */
static int kill_orphans(void)
{
    char path[64];
    int n = 0, pid;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "re");
    if (f == NULL)
        return 0;
    while (fscanf(f, "%d", &pid) == 1) {
        if (dm_launch_guard_is(pid))
            continue;
        n++;
        kill(pid, SIGKILL);
    }
    fclose(f);
    return n;
}

static void node_end(struct dm_launch_node *node)
{
    for (int i = 0; i < node->n_ranks; i++) {
        node->ranks[i].closed.at = 0;
        dm_launch_output_drain(&node->ranks[i]);
        dm_launch_pmi_close(&node->ranks[i]);
    }
    if (!node->kin.is_over)
        dm_launch_jobs_over(node);
}

static void on_kill_late(void *arg)
{
    node_end(arg);
}

/* May a rank still live in a process that it has left behind? Then its connection is open. Or is
 * there one whose end is not judged? */
static bool node_is_open(const struct dm_launch_node *node)
{
    for (int i = 0; i < node->n_ranks; i++) {
        const struct dm_launch_rank *rank = &node->ranks[i];

        if (rank->is_undecided || (rank->has_spoken && !rank->has_finalized && !rank->is_closed))
            return true;
    }
    return false;
}

void dm_launch_node_check(struct dm_launch_node *node)
{
    if (node->kin.is_over || node->n_running > 0 || (!node->is_ending && node_is_open(node)))
        return;
    if (!node->is_ending)
        dm_launch_node_signal(node, SIGKILL);
    node->is_ending = true;
    /* They may be ranks of other jobs, or what these have started. */
    if (!dm_launch_jobs_is_last(node) || kill_orphans() == 0)
        node_end(node);
    else if (node->kill.at == 0)
        dm_launch_loop_after(node->loop, &node->kill, KILL_NS, on_kill_late, node);
}

void dm_launch_node_kill(struct dm_launch_node *node)
{
    node->is_ending = true;
    dm_launch_node_signal(node, SIGKILL);
    if (node->n_running > 0)
        dm_launch_loop_after(node->loop, &node->kill, KILL_NS, on_kill_late, node);
    dm_launch_node_check(node);
}

struct dm_launch_rank *dm_launch_node_rank_of(struct dm_launch_node *node, pid_t pid)
{
    for (int i = 0; i < node->n_ranks; i++)
        if (node->ranks[i].pid == pid)
            return &node->ranks[i];
    return NULL;
}

void dm_launch_node_note_end(struct dm_launch_rank *rank, int status)
{
    rank->has_ended = true;
    rank->status = status;
    rank->pid = 0;
    rank->node->n_running--;
    dm_launch_pmi_drain(rank);
}

/* Of several that have ended, one that a signal has killed is the cause. */
void dm_launch_node_judge(struct dm_launch_rank *const *ended, int n)
{
    for (int i = 0; i < n; i++)
        if (WIFSIGNALED(ended[i]->status))
            dm_launch_verdict_look(ended[i]);
    for (int i = 0; i < n; i++)
        if (!WIFSIGNALED(ended[i]->status))
            dm_launch_verdict_look(ended[i]);
}

void dm_launch_node_free(struct dm_launch_node *node)
{
    dm_launch_loop_forget(node->loop, &node->kill);
    for (int i = 0; i < node->n_ranks; i++) {
        struct dm_launch_rank *rank = &node->ranks[i];

        dm_launch_loop_forget(node->loop, &rank->closed);
        if (rank->request != NULL)
            dm_launch_request_free(rank->request);
        free(rank->request);
        free(rank->ties);
        free(rank->wire);
    }
    free(node->ranks);
    if (node->pmi_fd >= 0)
        close(node->pmi_fd);
    dm_launch_kvs_fini(&node->kvs);
}
