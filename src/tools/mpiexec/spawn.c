/*
 * A rank shares our memory until it executes its program, so that nothing is copied, and we learn
 * why it could not.
 */
#include "tools/mpiexec/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mpiexec/environment.h"
#include "tools/mpiexec/guard.h"
#include "tools/mpiexec/session.h"
#include "util/cfg.h"
#include "util/search.h"

/* What is a rank's own: PMI_RANK, MPI_LOCALRANKID, and PMI_ID or PMI_FD. */
enum { OWN_VARIABLES = 3, OWN_LEN = 48 };

static char own_text[OWN_VARIABLES][OWN_LEN];

/* ---- the program ---- */

/* In the directories that a spawn names, then as a shell does. */
static int find_in_path(struct dm_launch_program *program, const struct dm_launch_app *app)
{
    const char *dirs = dm_launch_env_get(program->env + OWN_VARIABLES, "PATH");
    const char *name = app->argv[0];

    if (app->path != NULL && *name != '/' &&
        dm_search_dirs(program->wdir, app->path, name, program->path) == 0)
        return 0;
    if (dirs == NULL)
        dirs = dm_cfg_env("PATH");
    return dm_search_program(program->wdir, dirs, name, program->path);
}

static int status_of_errno(int err)
{
    return err == ENOENT || err == ENOTDIR || err == ENAMETOOLONG ? 127 : 126;
}

int dm_launch_program_find(struct dm_launch_program *program, const struct dm_launch_node *node,
                           const struct dm_launch_app *app, char *why, size_t len)
{
    int err;

    memset(program, 0, sizeof(*program));
    program->argv = app->argv;
    program->env = dm_launch_env_make(node, app, OWN_VARIABLES);
    if (program->env == NULL) {
        snprintf(why, len, "no memory for the environment");
        return 1;
    }
    if (app->wdir != NULL) {
        program->wdir = realpath(app->wdir, NULL);
        if (program->wdir == NULL || dm_search_try(program->wdir) != EISDIR) {
            snprintf(why, len, "there is no directory %.300s (-wdir) on host %.60s", app->wdir,
                     node->host_name);
            return 1;
        }
    }
    err = find_in_path(program, app);
    if (err == 0)
        return 0;
    snprintf(why, len, "%.300s cannot be started on host %.60s: %s%s", app->argv[0],
             node->host_name, strerror(err),
             err == ENOENT && strchr(app->argv[0], '/') == NULL ? " in PATH" : "");
    return status_of_errno(err);
}

void dm_launch_program_identify(struct dm_launch_program *program,
                                const struct dm_launch_rank *rank)
{
    const struct dm_launch_node *node = rank->node;

    snprintf(own_text[0], OWN_LEN, "PMI_RANK=%d", rank->rank);
    snprintf(own_text[1], OWN_LEN, "MPI_LOCALRANKID=%d", (int)(rank - node->ranks));
    if (node->port_fd >= 0) {
        snprintf(own_text[0], OWN_LEN, "PMI_PORT=127.0.0.1:%d", node->port);
        snprintf(own_text[2], OWN_LEN, "PMI_ID=%d", rank->rank);
    } else {
        snprintf(own_text[2], OWN_LEN, "PMI_FD=%d", node->pmi_fd);
    }
    for (int i = 0; i < OWN_VARIABLES; i++)
        program->env[i] = own_text[i];
}

void dm_launch_program_free(struct dm_launch_program *program)
{
    dm_launch_env_free(program->env, OWN_VARIABLES);
    free(program->wdir);
    memset(program, 0, sizeof(*program));
}

/* ---- the process ---- */

/* A file without an interpreter that executes it is for the shell, as everywhere. */
static void run_by_shell(const struct dm_launch_program *program)
{
    size_t n = 0;

    while (program->argv[n] != NULL)
        n++;
    char *argv[n + 2];

    argv[0] = program->argv[0];
    argv[1] = (char *)program->path;
    for (size_t i = 1; i <= n; i++)
        argv[i + 1] = program->argv[i];
    execve(_PATH_BSHELL, argv, program->env);
}

/* In the child, which has our memory: only what is on its stack may change. */
static void become_rank(const struct dm_launch_child *child)
{
    const struct dm_launch_program *program = child->program;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != child->parent)
        _exit(1);
    dm_launch_guard_add_self();
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (child->fds[fd] >= 0 && dup2(child->fds[fd], fd) < 0)
            return;
    if (child->pmi_from >= 0 && dup2(child->pmi_from, child->pmi_to) < 0)
        return;
    if (child->arena >= 0 && fcntl(child->arena, F_SETFD, 0) != 0)
        return;
    if (program->wdir != NULL && chdir(program->wdir) != 0)
        return;
    if (child->cores != NULL)
        sched_setaffinity(0, sizeof(*child->cores), child->cores);
    setrlimit(RLIMIT_NOFILE, child->files);
    sigprocmask(SIG_SETMASK, child->mask, NULL);
    execve(program->path, program->argv, program->env);
    if (errno == ENOEXEC)
        run_by_shell(program);
}

struct attempt {
    const struct dm_launch_child *child;
    volatile int err; /* why the program was not executed, 0: it was */
};

static int attempt_run(void *arg)
{
    struct attempt *attempt = arg;

    become_rank(attempt->child);
    attempt->err = errno;
    return 127;
}

pid_t dm_launch_spawn(const struct dm_launch_child *child, int *status_p)
{
    struct attempt attempt = {.child = child};
    pid_t pid = dm_launch_session_child(attempt_run, &attempt, child->parent);

    if (pid > 0 && attempt.err == 0)
        return pid;
    /* It is waited for with the other children. */
    if (pid > 0)
        errno = attempt.err;
    /* The file is there: what is not is the interpreter that it names. */
    *status_p = pid < 0 ? 1 : 126;
    return -1;
}
