/*
 * A job of one: what a process is that nobody launched. Before it believes that,
 * it looks whether some launcher says that there are more of its kind.
 */
#include "pmi/pmi_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/host.h"

/* What a variable of a launcher says. */
enum says {
    SAYS_SIZE,  /* the number of processes */
    SAYS_MEMBER /* only that this is one of several; its absence says nothing */
};

struct launcher {
    const char *var;
    enum says says;
    const char *name;
    const char *only_with; /* counts only when this one is set, too */
    const char *remedy;
};

#define USE_MPIEXEC "start the program with Datum's mpiexec"
#define USE_SRUN    "say srun --mpi=pmi2 or --mpi=pmix, or start it with Datum's mpiexec inside salloc"

static const struct launcher launchers[] = {
    {"PMI_SIZE", SAYS_SIZE, "a PMI process manager", NULL, USE_MPIEXEC},
    {"OMPI_COMM_WORLD_SIZE", SAYS_SIZE, "Open MPI's mpirun", NULL, USE_MPIEXEC},
    {"MV2_COMM_WORLD_SIZE", SAYS_SIZE, "MVAPICH2's mpirun_rsh", NULL, USE_MPIEXEC},
    {"JSM_NAMESPACE_SIZE", SAYS_SIZE, "jsrun", NULL, USE_MPIEXEC},
    {"SLURM_STEP_NUM_TASKS", SAYS_SIZE, "Slurm's srun", "SLURM_STEP_ID", USE_SRUN},
    {"SLURM_NTASKS", SAYS_SIZE, "Slurm's srun", "SLURM_STEP_ID", USE_SRUN},
    {"MPI_LOCALNRANKS", SAYS_SIZE, "an MPI launcher", NULL, USE_MPIEXEC},
    {"PMIX_RANK", SAYS_MEMBER, "a PMIx launcher", NULL, USE_MPIEXEC},
    {"ALPS_APP_PE", SAYS_MEMBER, "ALPS aprun", NULL, USE_MPIEXEC},
};

#define N_LAUNCHERS (sizeof(launchers) / sizeof(launchers[0]))

static int fail_launcher(const struct launcher *launcher, const char *value, const char *note)
{
    return DM_FAIL(DM_ELAUNCH,
                   "%s is %s: %s started this process as one of several, but there is no way to "
                   "find the others (%s%sneither PMI_FD nor PMIX_NAMESPACE helps); %s, or unset %s "
                   "to run it alone",
                   launcher->var, value, launcher->name, note, note[0] != '\0' ? "; " : "",
                   launcher->remedy, launcher->var);
}

int dm_pmi_check_alone(const char *note)
{
    /* A launcher that says how many there are, and says one, is believed. */
    bool is_one = false;

    for (size_t i = 0; i < N_LAUNCHERS; i++) {
        const struct launcher *launcher = &launchers[i];
        const char *value = dm_cfg_env(launcher->var);

        if (value == NULL || *value == '\0')
            continue;
        if (launcher->only_with != NULL && dm_cfg_env(launcher->only_with) == NULL)
            continue;
        if (launcher->says == SAYS_SIZE && strcmp(value, "1") == 0)
            is_one = true;
        else if (launcher->says == SAYS_SIZE || !is_one)
            return fail_launcher(launcher, value, note);
        /* A step of one task lives in an allocation of many. */
        if (is_one && launcher->only_with != NULL)
            break;
    }
    return DM_OK;
}

int dm_pmi_singleton_init(struct dm_pmi *pmi)
{
    pmi->node_of = calloc(1, sizeof(*pmi->node_of));
    if (pmi->node_of == NULL)
        return DM_FAIL(DM_ENOMEM, "job of one");
    snprintf(pmi->name, sizeof(pmi->name), "single_%.200s_%d_%llx", pmi->host, (int)pmi->pid,
             (unsigned long long)dm_clock_ns());
    pmi->wire.fd = -1;
    pmi->key_max = 64; /* as for our mpiexec, which a job that we spawn has */
    pmi->val_max = 1024;
    pmi->job.rank = 0;
    pmi->job.size = 1;
    pmi->job.is_singleton = 1;
    return DM_OK;
}

struct pair {
    struct dm_list link;
    char *val;
    char key[];
};

static struct pair *find_pair(struct dm_pmi *pmi, const char *key)
{
    dm_list_for_each (it, &pmi->pairs) {
        struct pair *pair = dm_container_of(it, struct pair, link);

        if (strcmp(pair->key, key) == 0)
            return pair;
    }
    return NULL;
}

int dm_pmi_singleton_put(struct dm_pmi *pmi, const char *key, const char *val)
{
    struct pair *pair = find_pair(pmi, key);
    char *copy = strdup(val);

    if (copy == NULL)
        return DM_FAIL(DM_ENOMEM, "key %s", key);
    if (pair != NULL) {
        free(pair->val);
        pair->val = copy;
        return DM_OK;
    }
    pair = malloc(sizeof(*pair) + strlen(key) + 1);
    if (pair == NULL) {
        free(copy);
        return DM_FAIL(DM_ENOMEM, "key %s", key);
    }
    pair->val = copy;
    memcpy(pair->key, key, strlen(key) + 1);
    dm_list_add_tail(&pmi->pairs, &pair->link);
    return DM_OK;
}

int dm_pmi_singleton_get(struct dm_pmi *pmi, const char *key, char *buf, size_t len)
{
    struct pair *pair = find_pair(pmi, key);

    if (pair == NULL)
        return DM_FAIL(DM_ELAUNCH, "no process has published the key %s", key);
    if (strlen(pair->val) >= len)
        return DM_FAIL(DM_EINTERN, "value of %s is longer than %zu bytes", key, len);
    memcpy(buf, pair->val, strlen(pair->val) + 1);
    return DM_OK;
}

static void pmi_pair_free(struct pair *pair)
{
    dm_list_del(&pair->link);
    free(pair->val);
    free(pair);
}

bool dm_pmi_singleton_take(struct dm_pmi *pmi, const char *key, char *buf, size_t len)
{
    struct pair *pair = find_pair(pmi, key);
    bool is_good = pair != NULL && strlen(pair->val) < len;

    if (is_good)
        memcpy(buf, pair->val, strlen(pair->val) + 1);
    if (pair != NULL)
        pmi_pair_free(pair);
    return is_good;
}

void dm_pmi_singleton_fini(struct dm_pmi *pmi)
{
    dm_list_for_each_safe (it, tmp, &pmi->pairs)
        pmi_pair_free(dm_container_of(it, struct pair, link));
}
