/* test: layers=util,pmi timeout=20 */
/* Without a launcher: a job of one, or an error when there should be more. */
#include "pmi/pmi.h"

#include <stdlib.h>
#include <unistd.h>

#include "test.h"
#include "util/cfg.h"
#include "util/err.h"

static const char *const launcher_vars[] = {
    "PMI_FD",
    "PMI_PORT",
    "PMI_ID",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "ALPS_APP_PE",
    "OMPI_COMM_WORLD_SIZE",
    "SLURM_NTASKS",
    "SLURM_STEP_ID",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_STEP_NUM_TASKS",
    "JSM_NAMESPACE_SIZE",
    "PMIX_NAMESPACE",
    "PMI_JOBID",
};

static void clear_env(void)
{
    for (size_t i = 0; i < sizeof(launcher_vars) / sizeof(launcher_vars[0]); i++)
        unsetenv(launcher_vars[i]);
}

/* Sets "A=1 B=2" on a clean environment. */
static void set_env(const char *text)
{
    char copy[256];

    clear_env();
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *pair = strtok(copy, " "); pair != NULL; pair = strtok(NULL, " ")) {
        char *eq = strchr(pair, '=');

        *eq = '\0';
        setenv(pair, eq + 1, 1);
    }
}

static void is_alone(const char *env)
{
    struct dm_pmi *pmi = NULL;
    int err;

    set_env(env);
    err = dm_pmi_open(&pmi);
    if (err != DM_OK)
        printf("    env '%s': %s\n", env, dm_err_detail());
    CHECK_EQ(err, DM_OK);
    if (err != DM_OK)
        return;
    CHECK_EQ(dm_pmi_job(pmi)->size, 1);
    CHECK_EQ(dm_pmi_job(pmi)->rank, 0);
    CHECK_EQ(dm_pmi_job(pmi)->is_singleton, 1);
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
}

static void is_refused(const char *env, const char *text)
{
    struct dm_pmi *pmi = NULL;

    set_env(env);
    CHECK_EQ(dm_pmi_open(&pmi), DM_ELAUNCH);
    if (strstr(dm_err_detail(), text) == NULL)
        printf("    env '%s': %s\n", env, dm_err_detail());
    CHECK(strstr(dm_err_detail(), text) != NULL);
}

static void pairs_of_one(void)
{
    struct dm_pmi *pmi = NULL;
    struct dm_kv_ops kv;
    char val[8];

    clear_env();
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    kv = dm_pmi_kv(pmi);
    CHECK_EQ(kv.get(kv.arg, "a", val, sizeof(val)), DM_ELAUNCH);
    CHECK_EQ(kv.put(kv.arg, "a", "one"), DM_OK);
    CHECK_EQ(kv.put(kv.arg, "b", "x y"), DM_OK);
    CHECK_EQ(kv.put(kv.arg, "a", "two"), DM_OK);
    CHECK_EQ(kv.fence(kv.arg), DM_OK);
    CHECK_EQ(dm_pmi_barrier(pmi), DM_OK);
    CHECK_EQ(kv.get(kv.arg, "a", val, sizeof(val)), DM_OK);
    CHECK_STR(val, "two");
    CHECK_EQ(kv.get(kv.arg, "b", val, sizeof(val)), DM_OK);
    CHECK_STR(val, "x y");
    CHECK_EQ(kv.put(kv.arg, "a", "too long"), DM_OK);
    CHECK_EQ(kv.get(kv.arg, "a", val, sizeof(val)), DM_EINTERN);
    CHECK_EQ(dm_pmi_job(pmi)->n_local, 1);
    CHECK_EQ(dm_pmi_job(pmi)->node_of[0], 0);
    CHECK(dm_pmi_job(pmi)->name[0] != '\0');
    CHECK(dm_pmi_host_of(pmi, 0)[0] != '?');
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
}

int main(void)
{
    CHECK_EQ(dm_cfg_load(true), DM_OK);
    pairs_of_one();
    is_alone("");
    is_alone("PMI_SIZE=1");
    is_alone("PMI_SIZE=1 PMI_RANK=0 PMI_FD=97");
    is_alone("OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0");
    is_alone("SLURM_NTASKS=4");
    is_alone("SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1");
    is_alone("MPI_LOCALNRANKS=1");
    is_refused("PMI_SIZE=2", "PMI_SIZE is 2");
    is_refused("PMI_SIZE=2 PMI_RANK=0", "mpiexec");
    is_refused("OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=1", "Open MPI's mpirun");
    is_refused("PMIX_RANK=0", "PMIX_RANK is 0");
    is_refused("SLURM_NTASKS=4 SLURM_STEP_ID=0", "SLURM_NTASKS is 4");
    is_refused("SLURM_STEP_NUM_TASKS=4 SLURM_STEP_ID=0", "srun --mpi=pmi2");
    is_refused("MPI_LOCALNRANKS=3", "MPI_LOCALNRANKS is 3");
    is_refused("MV2_COMM_WORLD_SIZE=2", "mpirun_rsh");
    is_refused("ALPS_APP_PE=0", "ALPS_APP_PE");
    is_refused("PMI_SIZE=x", "PMI_SIZE is x");
    is_refused("PMI_FD=97 PMI_RANK=0 PMI_SIZE=2", "not open");
    is_refused("PMI_FD=97", "not PMI_SIZE");
    is_refused("PMI_FD=x PMI_RANK=0 PMI_SIZE=2", "PMI_FD is 'x'");
    is_refused("PMI_FD=97 PMI_RANK=2 PMI_SIZE=2", "PMI_RANK is '2'");
    is_refused("PMI_FD=97 PMI_RANK=0 PMI_SIZE=0", "PMI_SIZE is '0'");
    is_refused("PMI_FD=97 PMI_RANK=0 PMI_SIZE=-4", "PMI_SIZE is '-4'");
    is_refused("PMI_FD=97 PMI_RANK=0 PMI_SIZE=99999999", "PMI_SIZE is");
    is_refused("PMI_FD=97 PMI_SIZE=2", "not PMI_RANK");
    is_refused("PMI_PORT=nocolon PMI_ID=0", "HOST:PORT");
    is_refused("PMI_PORT=127.0.0.1:1 PMI_ID=0", "127.0.0.1:1");
    clear_env();
    return test_result();
}
