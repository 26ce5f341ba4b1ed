/*
 * How agents are started.
 */
#include "tools/mpiexec/engine_command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmi/pmi_wire.h"
#include "tools/mpiexec/agent.h"
#include "util/cfg.h"
#include "util/log.h"
#include "util/search.h"

static const char *const hydras[] = {"mpiexec.hydra", "mpiexec.mpich"};

/* ---- finding the engine ---- */

static bool is_own(const char *path)
{
    struct stat st;
    struct stat own;

    return stat(path, &st) == 0 && stat("/proc/self/exe", &own) == 0 && own.st_dev == st.st_dev &&
           own.st_ino == st.st_ino;
}

/* The path of a program, as a shell finds it, to be freed; NULL: there is none. */
static char *find_engine(const char *name)
{
    char path[PATH_MAX];

    return dm_search_program(NULL, dm_cfg_env("PATH"), name, path) == 0 ? strdup(path) : NULL;
}

static char *find_hydra(void)
{
    const char *named = dm_cfg_env("DATUM_HYDRA");
    char *path = NULL;

    if (named != NULL && *named != '\0') {
        path = find_engine(named);
        if (path != NULL && is_own(path)) {
            free(path);
            path = NULL;
        }
        if (path == NULL)
            dm_log_error(
                "DATUM_HYDRA is '%s', but there is no such program, or it is this mpiexec itself; "
                "it must name MPICH's mpiexec.hydra",
                named);
        return path;
    }
    for (size_t i = 0; i < sizeof(hydras) / sizeof(hydras[0]) && path == NULL; i++)
        path = find_engine(hydras[i]);
    return path;
}

/* ---- what agents must know ---- */

static bool export_args(const struct dm_launch_options *options)
{
    size_t len = 1;
    size_t at = 0;
    char *text;

    for (size_t i = 1; i < options->args.n; i++)
        len += options->args.list[i] != NULL ? 3 * strlen(options->args.list[i]) + 2 : 2;
    text = malloc(len);
    if (text == NULL)
        return false;
    text[0] = '\0';
    for (size_t i = 1; i < options->args.n; i++) {
        const char *word = options->args.list[i] != NULL ? options->args.list[i] : ":";

        if (i > 1)
            text[at++] = ' ';
        dm_pmi_wire_escape(word, text + at, len - at);
        at += strlen(text + at);
    }
    setenv(DM_LAUNCH_AGENT_ARGS, text, 1);
    free(text);
    return true;
}

static char *add_text(char *text, const char *more)
{
    char *new = NULL;

    if (text == NULL || asprintf(&new, "%s%s", text, more) < 0)
        new = NULL;
    free(text);
    return new;
}

/* Agents add those that programs have of their own, as we have done. */
static bool export_hosts(const struct dm_launch_place *place)
{
    char *text = strdup("");
    char word[320];

    for (int i = 0; i < place->n_common; i++) {
        snprintf(word, sizeof(word), place->hosts[i].slots > 0 ? "%s%s:%d" : "%s%s",
                 i > 0 ? "," : "", place->hosts[i].name, place->hosts[i].slots);
        text = add_text(text, word);
    }
    if (text == NULL)
        return false;
    setenv(DM_LAUNCH_AGENT_HOSTS, text, 1);
    free(text);
    return true;
}

/* ---- the command ---- */

/* The hosts that have ranks, with commas between; *n_p: how many. NULL: no memory. */
static char *used_hosts(const struct dm_launch_place *place, int *n_p)
{
    char *text = strdup("");

    *n_p = 0;
    for (int host = 0; host < place->n_hosts && text != NULL; host++) {
        if (!dm_launch_place_is_used(place, host))
            continue;
        if ((*n_p)++ > 0)
            text = add_text(text, ",");
        text = add_text(text, place->hosts[host].name);
    }
    return text;
}

static bool add_words(struct dm_launch_list *argv, const char *const *words)
{
    for (; *words != NULL; words++) {
        char *copy = strdup(*words);

        if (copy == NULL || !dm_launch_list_add(argv, copy))
            return false;
    }
    return true;
}

static bool hydra_command(struct dm_launch_list *argv, const char *path,
                          const struct dm_launch_options *options, const char *hosts, const char *n)
{
    const char *const launcher[] = {"-launcher", options->launcher, NULL};
    const char *const head[] = {path, NULL};
    const char *const stays[] = {"-disable-auto-cleanup", NULL};
    const char *const where[] = {"-hosts", hosts, "-ppn", "1", "-n", n, NULL};

    if (!add_words(argv, head) || (options->launcher != NULL && !add_words(argv, launcher)))
        return false;
    for (size_t i = 0; i < options->engine.n; i++)
        if (!dm_launch_list_add(argv, options->engine.list[i]))
            return false;
    return (!options->stays || add_words(argv, stays)) && add_words(argv, where);
}

static bool srun_command(struct dm_launch_list *argv, const char *path, const char *hosts,
                         const char *n)
{
    const char *const words[] = {path,
                                 "--mpi=pmi2",
                                 "--overlap",
                                 "--kill-on-bad-exit=1",
                                 "--export=ALL",
                                 "--ntasks-per-node=1",
                                 "-N",
                                 n,
                                 "-n",
                                 n,
                                 "-w",
                                 hosts,
                                 NULL};

    return add_words(argv, words);
}

bool dm_launch_engine_command(const struct dm_launch_options *options,
                              const struct dm_launch_place *place, struct dm_launch_list *argv)
{
    bool in_slurm = dm_cfg_env("SLURM_JOB_ID") != NULL;
    char *hydra = find_hydra();
    char *srun = hydra == NULL && in_slurm ? find_engine("srun") : NULL;
    char own[PATH_MAX] = "";
    const char *const agent[] = {own, "--agent", NULL};
    char number[16];
    bool is_good = false;
    int n;
    char *hosts = used_hosts(place, &n);

    snprintf(number, sizeof(number), "%d", n);
    if (hydra == NULL && srun == NULL && (dm_cfg_env("DATUM_HYDRA") == NULL))
        dm_log_error(
            "mpiexec.hydra, MPICH's process manager, is not in PATH; it starts mpiexec on other "
            "hosts; on Debian: apt-get install mpich; elsewhere name it in DATUM_HYDRA");
    if (readlink("/proc/self/exe", own, sizeof(own) - 1) > 0 && hosts != NULL &&
        export_args(options) && export_hosts(place)) {
        if (hydra != NULL &&
            in_slurm) /* --overlap of its srun: a step that spawns keeps its cores */
            setenv("SLURM_OVERLAP", "1", 0);
        if (hydra != NULL)
            is_good = hydra_command(argv, hydra, options, hosts, number);
        else if (srun != NULL)
            is_good = srun_command(argv, srun, hosts, number);
        is_good = is_good && add_words(argv, agent);
    }
    free(hosts);
    free(srun);
    free(hydra);
    return is_good;
}
