/*
 * Which launcher has started this process, and how to speak to it.
 *
 * Launchers inherit each other's variables: Hydra inside a Slurm job, Open MPI's
 * mpirun inside Hydra. What only the innermost one can have set decides.
 */
#include "pmi/pmi_impl.h"

#include <stdio.h>
#include <string.h>

#include "util/cfg.h"
#include "util/err.h"
#include "util/host.h"

static bool is_set(const char *var)
{
    const char *value = dm_cfg_env(var);

    return value != NULL && *value != '\0';
}

const char *dm_pmi_node_name(void)
{
    const char *node = dm_cfg_env("SLURMD_NODENAME");
    const char *host = dm_host_name();
    size_t len = strcspn(host, ".");

    if (node == NULL || (strcspn(node, ".") == len && strncmp(node, host, len) == 0))
        return NULL;
    return node;
}

/* PMI_FD of Slurm. Hydra sets no PMI_JOBID, but may have inherited it. */
static bool is_slurm_fd(void)
{
    return is_set("PMI_FD") && is_set("PMI_JOBID") && !is_set("MPI_LOCALNRANKS");
}

/* An outer launcher's PMI_FD for one process, and inside it a PMIx launcher. */
static bool is_pmix_inside(void)
{
    const char *size = dm_cfg_env("PMI_SIZE");

    return is_set("OMPI_COMM_WORLD_SIZE") && size != NULL && strcmp(size, "1") == 0;
}

static bool is_pmix_offered(void)
{
    return is_set("PMIX_RANK") && is_set("PMIX_NAMESPACE");
}

static int choose_set(const struct dm_pmi_proto **proto_p, char *why, size_t len)
{
    static const char *const names[] = {"auto", "pmi1", "pmi2", "pmix"};
    int set = dm_cfg()->pmi;

    snprintf(why, len, "DATUM_PMI is %s", names[set]);
    if (set == DM_PMI_PMIX) {
        char note[256];

        if (!is_pmix_offered())
            return DM_FAIL(DM_ELAUNCH,
                           "DATUM_PMI is pmix, but no PMIx launcher has started this process: "
                           "PMIX_RANK and PMIX_NAMESPACE are not set");
        if (!dm_pmi_pmix_probe(note, sizeof(note)))
            return DM_FAIL(DM_ELAUNCH, "DATUM_PMI is pmix, but %s", note);
        *proto_p = dm_pmi_pmix();
        return DM_OK;
    }
    if (!dm_pmi_fd_is_offered())
        return DM_FAIL(DM_ELAUNCH,
                       "DATUM_PMI is %s, but no such launcher has started this process: "
                       "neither PMI_FD nor PMI_PORT is set",
                       names[set]);
    *proto_p = set == DM_PMI_V1 ? dm_pmi_v1() : dm_pmi_v2();
    return DM_OK;
}

int dm_pmi_choose(const struct dm_pmi_proto **proto_p, char *why, size_t len)
{
    char note[256] = "";

    *proto_p = NULL;
    if (dm_cfg()->pmi != DM_PMI_AUTO)
        return choose_set(proto_p, why, len);
    if (dm_pmi_fd_is_offered() && !(is_pmix_offered() && is_pmix_inside())) {
        *proto_p = is_slurm_fd() ? dm_pmi_v2() : dm_pmi_v1();
        snprintf(why, len, "%s",
                 is_slurm_fd()      ? "PMI_FD and PMI_JOBID are set"
                 : is_set("PMI_FD") ? "PMI_FD is set"
                                    : "PMI_PORT is set");
        return DM_OK;
    }
    if (is_pmix_offered() && dm_pmi_pmix_probe(note, sizeof(note))) {
        *proto_p = dm_pmi_pmix();
        snprintf(why, len, "PMIX_NAMESPACE is %s", dm_cfg_env("PMIX_NAMESPACE"));
        return DM_OK;
    }
    snprintf(why, len, "no launcher in the environment");
    return dm_pmi_check_alone(note);
}
