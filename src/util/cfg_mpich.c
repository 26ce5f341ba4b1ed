/*
 * Settings from MPICH's variables: a table of what means the same.
 */
#include "util/cfg_mpich.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/cfg.h"

#define N_WORDS 5

/* A variable, the setting that it stands for, and pairs of their values; without pairs it is a number. */
struct mpich_var {
    const char *name;
    const char *setting;
    const char *prefix; /* put before the value: settings that are lists */
    const char *words[N_WORDS][2];
};

#define YES_IS(word)                                                                               \
    {                                                                                              \
        {"1", word}, {"yes", word}, {"true", word},                                                \
        {                                                                                          \
            "on", word                                                                             \
        }                                                                                          \
    }
#define COLL(NAME, name, ...)                                                                      \
    {                                                                                              \
        "MPIR_CVAR_" NAME "_INTRA_ALGORITHM", "DATUM_COLL", name "=",                              \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* clang-format off */
static const struct mpich_var mpich_vars[] = {
    {"MPIR_CVAR_ASYNC_PROGRESS", "DATUM_PROGRESS", "", YES_IS("thread")},
    {"MPICH_ASYNC_PROGRESS", "DATUM_PROGRESS", "", YES_IS("thread")},
    {"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "DATUM_EAGER_LIMIT", "", {{NULL}}},
    {"MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE", "DATUM_EAGER_LIMIT", "", {{NULL}}},
    COLL("BARRIER", "barrier", {"dissemination", "dissemination"}),
    COLL("BCAST", "bcast", {"binomial", "binomial"},
         {"scatter_recursive_doubling_allgather", "scatter"}, {"scatter_ring_allgather", "scatter"}),
    COLL("GATHER", "gather", {"binomial", "binomial"}),
    COLL("SCATTER", "scatter", {"binomial", "binomial"}),
    COLL("ALLGATHER", "allgather", {"recursive_doubling", "doubling"}, {"brucks", "bruck"},
         {"ring", "ring"}),
    COLL("ALLGATHERV", "allgatherv", {"brucks", "bruck"}, {"ring", "ring"}),
    COLL("ALLTOALL", "alltoall", {"brucks", "bruck"}, {"pairwise", "pairwise"},
         {"pairwise_sendrecv_replace", "pairwise"}, {"scattered", "linear"}),
    COLL("ALLTOALLV", "alltoallv", {"scattered", "linear"},
         {"pairwise_sendrecv_replace", "pairwise"}),
    COLL("REDUCE", "reduce", {"binomial", "binomial"}, {"reduce_scatter_gather", "halving"}),
    COLL("ALLREDUCE", "allreduce", {"recursive_doubling", "doubling"}, {"tree", "tree"},
         {"reduce_scatter_allgather", "halving"}),
    COLL("REDUCE_SCATTER", "reduce_scatter", {"pairwise", "pairwise"},
         {"noncommutative", "ordered"}),
    COLL("SCAN", "scan", {"recursive_doubling", "doubling"}),
    COLL("EXSCAN", "exscan", {"recursive_doubling", "doubling"}),
};
/* clang-format on */

#define N_VARS (sizeof(mpich_vars) / sizeof(mpich_vars[0]))

/* The word of ours for a value of MPICH's, NULL: there is none. */
static const char *mpich_word(const struct mpich_var *var, const char *value)
{
    if (var->words[0][0] == NULL)
        return *value >= '0' && *value <= '9' ? value : NULL; /* -1 is MPICH's own default */
    for (int i = 0; i < N_WORDS && var->words[i][0] != NULL; i++)
        if (strcasecmp(var->words[i][0], value) == 0)
            return var->words[i][1];
    return NULL;
}

/* Values that leave things as they are. */
static bool mpich_is_neutral(const char *value)
{
    static const char *const words[] = {"", "auto", "nb", "smp", "-1", "0", "no", "false", "off"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasecmp(words[i], value) == 0)
            return true;
    return false;
}

void dm_cfg_mpich_ignored(void (*say)(const char *name, const char *value))
{
    for (size_t i = 0; i < N_VARS; i++) {
        const char *value = dm_cfg_env(mpich_vars[i].name);

        if (value != NULL && !mpich_is_neutral(value) && mpich_word(&mpich_vars[i], value) == NULL)
            say(mpich_vars[i].name, value);
    }
}

const char *dm_cfg_mpich(const char *name, char *text)
{
    const char *from = NULL;
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < N_VARS; i++) {
        const struct mpich_var *var = &mpich_vars[i];
        const char *value = strcmp(var->setting, name) == 0 ? dm_cfg_env(var->name) : NULL;
        const char *word = value != NULL && *value != '\0' ? mpich_word(var, value) : NULL;

        if (word == NULL || (len > 0 && var->prefix[0] == '\0'))
            continue; /* of two that mean the same the first counts */
        len += (size_t)snprintf(text + len, DM_CFG_MPICH_MAX - len, "%s%s%s", len > 0 ? "," : "",
                                var->prefix, word);
        if (len >= DM_CFG_MPICH_MAX)
            return NULL;
        from = from == NULL ? var->name : from;
    }
    return from;
}
