/*
 * The face of the launch layer: opening, closing, ending a job.
 *
 * While a client is open, leaving the process without closing it is an error
 * that ends the job: exit() is seen here and reported with rank and status;
 * harder ends (a signal, _exit) are seen by the launcher.
 */
#include "pmi/pmi.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "pmi/pmi_impl.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/host.h"
#include "util/log.h"

/* How long to wait for the launcher to kill us after we asked it to. */
#define ABORT_WAIT_MS 3000
/* How long to wait for it to read our last words. */
#define OUTPUT_WAIT_MS 300
/* How long to wait for it to notice itself that a process has died; our mpiexec does for sure. */
#define END_WAIT_MS     200
#define OUR_END_WAIT_MS 1000

static struct {
    struct dm_pmi *open; /* the client that is open, for pmi_leave() */
    bool has_leave;      /* pmi_note_exit() is registered */
    bool is_leaving;     /* exit() was called */
    int exit_status;     /* with this */
} state;

static bool pmi_is_client(const struct dm_pmi *pmi)
{
    return pmi->proto != NULL;
}

/* Waits until the launcher has read what we wrote: it drops the rest when it ends a job. */
static void pmi_let_read(int fd)
{
    struct timespec pause = {.tv_nsec = 1000000};
    int left = 0;

    for (int i = 0; i < OUTPUT_WAIT_MS; i++) {
        struct stat st;

        if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))
            return;
        if (ioctl(fd, FIONREAD, &left) != 0 || left == 0)
            return;
        nanosleep(&pause, NULL);
    }
}

/* Asks the launcher to end the job and waits for that to hit us, too. */
static void pmi_ask_for_abort(struct dm_pmi *pmi, int code, const char *text)
{
    struct pollfd pfd = {.fd = pmi->wire.fd};

    pmi_let_read(STDOUT_FILENO);
    pmi_let_read(STDERR_FILENO);
    pmi->proto->abort(pmi, code & 0xff, text != NULL ? text : "");
    poll(&pfd, 1, ABORT_WAIT_MS); /* nothing but the end of the launcher ends it */
}

/* Runs at exit(status). What runs after it, destructors of the program's objects, may call
 * MPI_Finalize yet. */
static void pmi_note_exit(int status, void *arg)
{
    (void)arg;
    state.is_leaving = true;
    state.exit_status = status;
}

/* Runs when all destructors of the program have: it leaves without MPI_Finalize. */
__attribute__((destructor)) static void pmi_leave(void)
{
    struct dm_pmi *pmi = state.open;
    int status = state.exit_status;

    if (!state.is_leaving || pmi == NULL || !pmi_is_client(pmi) || pmi->pid != getpid())
        return;
    state.open = NULL;
    if (pmi->job.size == 1) {
        pmi->proto->finalize(pmi);
        return;
    }
    dm_log_error("process %d called exit(%d) before MPI_Finalize; the job is ended", (int)pmi->pid,
                 status & 0xff);
    fflush(NULL);
    pmi_ask_for_abort(pmi, (status & 0xff) != 0 ? status : 1, "exit before MPI_Finalize");
}

/*
 * A proxy of Hydra that is killed leaves its ranks behind, and since these have inherited
 * its connections, Hydra does not notice. Without a shell in between we end with it.
 */
static void pmi_end_with_proxy(void)
{
    pid_t parent = getppid();
    char path[64];
    char name[32] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)parent);
    f = fopen(path, "re");
    if (f == NULL)
        return;
    if (fgets(name, sizeof(name), f) != NULL && strcmp(name, "hydra_pmi_proxy\n") == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            raise(SIGKILL);
    }
    fclose(f);
}

/* As Hydra, Slurm and our mpiexec say it. */
static bool is_spawned(void)
{
    const char *text = dm_cfg_env("PMI_SPAWNED");

    return text != NULL && strcmp(text, "1") == 0;
}

/* Counts hosts and the ranks of this one; publishes who we are when others need it. */
static int job_layout(struct dm_pmi *pmi)
{
    struct dm_pmi_job *job = &pmi->job;

    job->name = pmi->name;
    job->node_of = pmi->node_of;
    for (int i = 0; i < job->size; i++) {
        if (pmi->node_of[i] >= pmi->n_nodes)
            pmi->n_nodes = pmi->node_of[i] + 1;
        if (pmi->node_of[i] != pmi->node_of[job->rank])
            continue;
        if (i < job->rank)
            job->local_rank++;
        job->n_local++;
    }
    if (dm_cfg_env("MPI_LOCALNCORES") != NULL)
        job->n_cores = atoi(dm_cfg_env("MPI_LOCALNCORES"));
    dm_log_identity(job->rank, pmi->host);
    if (!pmi_is_client(pmi))
        return DM_OK;
    job->is_spawned = is_spawned();
    pmi_end_with_proxy();
    return pmi->n_nodes > 1 && pmi->n_fences == 0 ? dm_pmi_client_put_host(pmi) : DM_OK;
}

/* Says once per job which way was taken. */
static void pmi_explain(const struct dm_pmi *pmi, const char *why)
{
    const char *name = pmi->proto != NULL ? pmi->proto->name : "none";

    DM_TRACE(PMI, "launcher %s, %s, rank %d of %d, %d nodes", name, why, pmi->job.rank,
             pmi->job.size, pmi->n_nodes);
    if (dm_cfg()->explain && pmi->job.rank == 0)
        dm_log_info("launcher: %s (%s), %d process%s on %d host%s", name, why, pmi->job.size,
                    pmi->job.size > 1 ? "es" : "", pmi->n_nodes, pmi->n_nodes > 1 ? "s" : "");
}

static void pmi_free_client(struct dm_pmi *pmi)
{
    if (pmi->wire.fd >= 0)
        close(pmi->wire.fd);
    if (pmi->spawned_fd >= 0)
        close(pmi->spawned_fd);
    dm_pmi_pmix_fini(pmi);
    dm_pmi_singleton_fini(pmi);
    for (int i = 0; pmi->hosts != NULL && i < pmi->job.size; i++)
        free(pmi->hosts[i]);
    free(pmi->hosts);
    free(pmi->node_of);
    free(pmi);
}

int dm_pmi_open(struct dm_pmi **pmi_p)
{
    /* Hydra's name of this host is the one that the user gave it. */
    const char *host = dm_cfg_env("MPIR_CVAR_CH3_INTERFACE_HOSTNAME");
    struct dm_pmi *pmi = calloc(1, sizeof(*pmi));
    char why[256] = "";
    int err;

    if (pmi == NULL)
        return DM_FAIL(DM_ENOMEM, "client of the process manager");
    pmi->wire.fd = pmi->spawned_fd = -1;
    pmi->pid = getpid();
    pmi->job.appnum = -1;
    pmi->job.universe_size = -1;
    dm_list_init(&pmi->pairs);
    snprintf(pmi->host, sizeof(pmi->host), "%s",
             host != NULL && *host != '\0' ? host : dm_host_name());
    err = dm_pmi_choose(&pmi->proto, why, sizeof(why));
    if (err == DM_OK)
        err = pmi->proto != NULL ? dm_pmi_client_init(pmi) : dm_pmi_singleton_init(pmi);
    if (err == DM_OK)
        err = job_layout(pmi);
    if (err == DM_OK)
        pmi_explain(pmi, why);
    if (err != DM_OK) {
        pmi_free_client(pmi);
        return err;
    }
    if (!state.has_leave)
        state.has_leave = on_exit(pmi_note_exit, NULL) == 0;
    state.open = pmi;
    *pmi_p = pmi;
    return DM_OK;
}

const struct dm_pmi_job *dm_pmi_job(const struct dm_pmi *pmi)
{
    return &pmi->job;
}

void dm_pmi_stats(const struct dm_pmi *pmi, struct dm_pmi_stats *stats_p)
{
    stats_p->n_msgs = pmi->wire.n_msgs;
    stats_p->n_bytes = pmi->wire.n_bytes;
    stats_p->n_fences = (uint64_t)pmi->n_fences;
}

const char *dm_pmi_clients(void)
{
    return dm_pmi_pmix_built();
}

/* ---- key-value operations ---- */

static int kv_put(void *arg, const char *key, const char *val)
{
    struct dm_pmi *pmi = arg;

    if (strlen(val) >= DM_KV_VAL_MAX)
        return DM_FAIL(DM_EINTERN, "value of %s is longer than %d bytes", key, DM_KV_VAL_MAX);
    return pmi_is_client(pmi) ? dm_pmi_client_put(pmi, key, val)
                              : dm_pmi_singleton_put(pmi, key, val);
}

static int kv_get(void *arg, const char *key, char *buf, size_t len)
{
    struct dm_pmi *pmi = arg;

    return pmi_is_client(pmi) ? dm_pmi_client_get(pmi, key, buf, len)
                              : dm_pmi_singleton_get(pmi, key, buf, len);
}

static int kv_ahead(void *arg, const char *const *keys, int n)
{
    struct dm_pmi *pmi = arg;

    return pmi_is_client(pmi) && pmi->proto->ahead != NULL ? pmi->proto->ahead(pmi, keys, n)
                                                           : DM_OK;
}

static int kv_fence(void *arg)
{
    return dm_pmi_barrier(arg);
}

struct dm_kv_ops dm_pmi_kv(struct dm_pmi *pmi)
{
    return (struct dm_kv_ops){
        .arg = pmi, .put = kv_put, .get = kv_get, .ahead = kv_ahead, .fence = kv_fence};
}

int dm_pmi_barrier(struct dm_pmi *pmi)
{
    int err;

    err = pmi_is_client(pmi) ? pmi->proto->fence(pmi) : DM_OK;
    pmi->n_fences++;
    return err;
}

int dm_pmi_fd(const struct dm_pmi *pmi)
{
    return pmi->wire.fd;
}

int dm_pmi_fence_start(struct dm_pmi *pmi)
{
    if (!pmi_is_client(pmi) || pmi->proto->fence_start == NULL)
        return DM_FAIL(DM_ENOTSUP, "this process manager has no barrier that does not wait");
    return pmi->proto->fence_start(pmi);
}

int dm_pmi_fence_end(struct dm_pmi *pmi)
{
    pmi->n_fences++;
    return pmi->proto->fence_end(pmi);
}

const char *dm_pmi_host_of(struct dm_pmi *pmi, int rank)
{
    char host[DM_PMI_NAME_MAX];

    if (rank < 0 || rank >= pmi->job.size)
        return "?";
    if (pmi->node_of[rank] == pmi->node_of[pmi->job.rank])
        return pmi->host;
    if (pmi->hosts == NULL)
        pmi->hosts = calloc((size_t)pmi->job.size, sizeof(*pmi->hosts));
    if (pmi->hosts == NULL)
        return "?";
    if (pmi->hosts[rank] == NULL && pmi->n_fences > 0 &&
        dm_pmi_client_get_host(pmi, rank, host, sizeof(host)) == DM_OK)
        pmi->hosts[rank] = strdup(host);
    return pmi->hosts[rank] != NULL ? pmi->hosts[rank] : "?";
}

/* ---- the end ---- */

void dm_pmi_peer_lost(struct dm_pmi *pmi)
{
    if (pmi == NULL || !pmi_is_client(pmi))
        return;
    poll(&(struct pollfd){.fd = pmi->wire.fd}, 1,
         dm_pmi_is_ours(pmi) ? OUR_END_WAIT_MS : END_WAIT_MS);
}

void dm_pmi_abort(struct dm_pmi *pmi, int code, const char *text)
{
    state.open = NULL;
    if (text != NULL)
        dm_log_error("%s", text);
    /* What the program has printed so far should be seen, unless that could block us. */
    if (ftrylockfile(stdout) == 0) {
        fflush(stdout);
        funlockfile(stdout);
    }
    if (pmi != NULL && pmi_is_client(pmi))
        pmi_ask_for_abort(pmi, code, text);
    _exit(code & 0xff);
}

bool dm_pmi_end(struct dm_pmi *pmi, int code)
{
    state.open = NULL;
    pmi_let_read(STDOUT_FILENO);
    pmi_let_read(STDERR_FILENO);
    if (!pmi_is_client(pmi) || pmi->proto == dm_pmi_v2())
        return false;
    pmi->proto->abort(pmi, code & 0xff, "");
    return true;
}

int dm_pmi_close(struct dm_pmi *pmi)
{
    int err = pmi_is_client(pmi) ? pmi->proto->finalize(pmi) : DM_OK;

    if (state.open == pmi)
        state.open = NULL;
    pmi_free_client(pmi);
    return err;
}
