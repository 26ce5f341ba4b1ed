/*
 * mpiexec: starts the ranks of a job and is their process manager. On one host it does so itself;
 * on several, an engine (MPICH's Hydra, or Slurm's srun) starts mpiexec --agent on each.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "config.h"
#include "tools/install_paths.h"
#include "tools/mpiexec/agent.h"
#include "tools/mpiexec/engine.h"
#include "tools/mpiexec/local.h"
#include "tools/mpiexec/options.h"
#include "tools/mpiexec/placement.h"
#include "tools/mpiexec/usage.h"
#include "tools/out.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

enum { USAGE_STATUS = 2 };

/* Programs may not see that a terminal is behind what they write to; bars of progress want to know
 * how wide it is. */
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

/* A rank takes some descriptors here. It gets the limit that was. */
static void raise_fd_limit(struct rlimit *old)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, old) != 0)
        return;
    limit = *old;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
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

/* Has each program hosts of its own? */
static bool have_own_hosts(const struct dm_launch_options *options)
{
    for (size_t i = 0; i < options->n_apps; i++)
        if (options->apps[i].hosts == NULL)
            return false;
    return true;
}

/*
 * Programs without hosts of their own run on those of the job, which are named for it, or given by a
 * resource manager, or else those of the other programs, or else this one. False: reported.
 */
static bool find_hosts(struct dm_launch_place *place, const struct dm_launch_options *options)
{
    const char *file =
        options->hostfile != NULL ? options->hostfile : dm_cfg_env("HYDRA_HOST_FILE");

    if (options->hosts != NULL)
        return dm_launch_place_hosts(place, options->hosts);
    if (file != NULL && *file != '\0')
        return dm_launch_place_hostfile(place, file);
    if (!have_own_hosts(options) &&
        (options->launcher == NULL || strcmp(options->launcher, "fork") != 0) &&
        !dm_launch_place_resources(place))
        return false;
    if (place->n_hosts == 0 && !dm_launch_place_programs(place, options))
        return false;
    return place->n_hosts > 0 || dm_launch_place_hosts(place, "localhost");
}

/* Are all ranks on the host that we are on? */
static bool is_local(const struct dm_launch_place *place)
{
    for (int rank = 1; rank < place->n_ranks; rank++)
        if (place->host_of[rank] != place->host_of[0])
            return false;
    return dm_launch_place_is_here(place->hosts[place->host_of[0]].name);
}

/* Is there the rank that gets the input? */
static bool has_reader(const struct dm_launch_options *options, const struct dm_launch_place *place)
{
    if (options->stdin_rank < place->n_ranks)
        return true;
    dm_log_error("mpiexec: -stdin is '%d', but the job has only %d rank%s, from 0",
                 options->stdin_rank, place->n_ranks, place->n_ranks == 1 ? "" : "s");
    return false;
}

static int run_job(const struct dm_launch_options *options, const struct rlimit *files)
{
    struct dm_launch_place place = {0};
    int status = USAGE_STATUS;

    if (find_hosts(&place, options) && dm_launch_place_ranks(&place, options) &&
        has_reader(options, &place))
        status = is_local(&place) ? dm_launch_local_run(options, &place, files)
                                  : dm_launch_engine_run(options, &place);
    dm_launch_place_free(&place);
    return status;
}

static int print_help(const struct dm_launch_options *options)
{
    if (options->wants_version)
        printf("Datum %s\n", DM_VERSION);
    else
        fputs(dm_launch_usage, stdout);
    return dm_out_end("mpiexec", 0);
}

int main(int argc, char **argv)
{
    struct dm_launch_options options;
    struct rlimit files = {0};
    int status;

    open_standard();
    /* A SIGCHLD that is ignored, as some parents leave it, would take statuses away. */
    signal(SIGCHLD, SIG_DFL);
    raise_fd_limit(&files);
    if (argc == 2 && strcmp(argv[1], "--agent") == 0)
        return dm_launch_agent_run(&files);
    if (argc < 2) {
        fputs("datum: error: mpiexec: no program is named; mpiexec -help lists the options\n",
              stderr);
        return USAGE_STATUS;
    }
    if (dm_launch_options_parse(&options, argv) != DM_OK) {
        status = USAGE_STATUS;
    } else if (options.wants_help || options.wants_version) {
        status = print_help(&options);
    } else {
        dm_install_set_library_path();
        dm_install_set_dat_conf();
        export_terminal();
        status = run_job(&options, &files);
    }
    dm_launch_options_free(&options);
    return status;
}
