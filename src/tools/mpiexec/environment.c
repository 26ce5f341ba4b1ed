/*
 * Environments. Variables of launchers around us would confuse a rank: they are left out.
 */
#include "tools/mpiexec/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/mpiexec/binding.h"
#include "util/arena.h"

/* Of whoever started us. */
static const char *const foreign[] = {
    "PMI_FD",
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_PORT",
    "PMI_ID",
    "PMI_JOBID",
    "PMI_SPAWNED",
    "PMI_DEBUG",
    "HYDI_CONTROL_FD",
    "HYDRA_CONTROL_FD",
    "PMIX_RANK",
    "PMIX_NAMESPACE",
    "DATUM_AGENT",
    "DATUM_AGENT_HOSTS",
    "DATUM_AGENT_REPORT",
    "DATUM_NAMES",
    "DATUM_PARENT_PAIRS",
    "DATUM_PARENT_FD",
    DM_ARENA_ENV,
    "MPI_LOCALNRANKS",
    "MPI_LOCALNCORES",
    "MPI_LOCALRANKID",
    "MPICH_INTERFACE_HOSTNAME",
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
};

static bool has_name(const char *text, const char *name, size_t len)
{
    return strncmp(text, name, len) == 0 && text[len] == '=';
}

static bool is_foreign(const char *text)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (has_name(text, foreign[i], strlen(foreign[i])))
            return true;
    return false;
}

const char *dm_launch_env_get(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; *env != NULL; env++)
        if (has_name(*env, name, len))
            return *env + len + 1;
    return NULL;
}

/* Is the variable among names, separated by commas? */
static bool is_listed(const char *text, const char *names)
{
    size_t len = strcspn(text, "=");

    while (names != NULL && *names != '\0') {
        size_t name_len = strcspn(names, ",");

        if (name_len == len && strncmp(text, names, len) == 0)
            return true;
        names += name_len + (names[name_len] == ',');
    }
    return false;
}

/* Sets a variable, for the last time; frees text when there is no memory. */
static bool env_set(struct dm_launch_list *env, char *text)
{
    size_t len = strcspn(text, "=");

    for (size_t i = 0; i < env->n; i++)
        if (has_name(env->list[i], text, len)) {
            free(env->list[i]);
            env->list[i] = text;
            return true;
        }
    if (dm_launch_list_add(env, text))
        return true;
    free(text);
    return false;
}

static bool env_add(struct dm_launch_list *env, const char *text)
{
    char *copy = strdup(text);

    return copy != NULL && env_set(env, copy);
}

static bool env_has(const struct dm_launch_list *env, const char *name)
{
    for (size_t i = 0; i < env->n; i++)
        if (has_name(env->list[i], name, strlen(name)))
            return true;
    return false;
}

/* Fortran's output is to come when it is written, as at a terminal: Hydra sets this, too. */
static bool add_fortran(struct dm_launch_list *env)
{
    static const char name[] = "GFORTRAN_UNBUFFERED_PRECONNECTED";
    char *text;

    return env_has(env, name) || (asprintf(&text, "%s=y", name) >= 0 && env_set(env, text));
}

static bool add_ours(struct dm_launch_list *env, const struct dm_launch_node *node)
{
    int n_cores = node->kin.is_spawned ? 0 : dm_launch_binding_cores(node->n_ranks);
    char *text;
    bool is_good = asprintf(&text, "MPI_LOCALNRANKS=%d", node->n_ranks) >= 0 && env_set(env, text);

    /* So that a rank need not ask all others what they are bound to. */
    if (is_good && n_cores > 0)
        is_good = asprintf(&text, "MPI_LOCALNCORES=%d", n_cores) >= 0 && env_set(env, text);
    if (is_good && node->port_fd < 0)
        is_good = asprintf(&text, "PMI_SIZE=%d", node->place->n_ranks) >= 0 && env_set(env, text);
    if (is_good)
        is_good = asprintf(&text, DM_ARENA_ENV "=%s", node->arena_text) >= 0 && env_set(env, text);
    if (is_good && (node->kin.is_spawned || node->kin.has_parent))
        is_good = env_add(env, "PMI_SPAWNED=1");
    if (is_good && node->upstream.lookup != NULL)
        is_good = asprintf(&text, "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=%s", node->host_name) >= 0 &&
                  env_set(env, text);
    /* The engine has passed on the one of the first host. */
    if (is_good && node->upstream.lookup != NULL && env_has(env, "SLURMD_NODENAME"))
        is_good = asprintf(&text, "SLURMD_NODENAME=%s", node->host_name) >= 0 && env_set(env, text);
    return is_good;
}

/* What is passed on of ours, as the job's options or the program's own say. */
static bool add_passed(struct dm_launch_list *env, const struct dm_launch_env *all,
                       const struct dm_launch_env *own)
{
    const struct dm_launch_env *say = own->pass != DM_LAUNCH_PASS_UNSET ? own : all;

    for (char **at = environ; *at != NULL; at++) {
        char *copy;

        if (is_foreign(*at) || (say->pass == DM_LAUNCH_PASS_NONE && !is_listed(*at, say->names)))
            continue;
        copy = strdup(*at); /* nothing is there twice: no search */
        if (copy == NULL || !dm_launch_list_add(env, copy)) {
            free(copy);
            return false;
        }
    }
    return true;
}

char **dm_launch_env_make(const struct dm_launch_node *node, const struct dm_launch_app *app,
                          int n_own)
{
    const struct dm_launch_env *all = &node->options->env;
    struct dm_launch_list env = {0};
    bool is_good = add_passed(&env, all, &app->env);
    char **list;

    for (size_t i = 0; i < all->sets.n && is_good; i++)
        is_good = env_add(&env, all->sets.list[i]);
    for (size_t i = 0; i < app->env.sets.n && is_good; i++)
        is_good = env_add(&env, app->env.sets.list[i]);
    is_good = is_good && add_fortran(&env) && add_ours(&env, node);
    list = is_good ? calloc((size_t)n_own + env.n + 1, sizeof(char *)) : NULL;
    for (size_t i = 0; i < env.n; i++) {
        if (list != NULL)
            list[(size_t)n_own + i] = env.list[i];
        else
            free(env.list[i]);
    }
    free(env.list);
    return list;
}

void dm_launch_env_free(char **env, int n_own)
{
    for (size_t i = (size_t)n_own; env != NULL && env[i] != NULL; i++)
        free(env[i]);
    free(env);
}
