/*
 * PMI-1: MPICH's Hydra, and others that speak like it.
 *
 * Hydra is asked all questions after the hello in one go, which costs one wait;
 * Slurm's server of this protocol ends the job when it reads two lines at once.
 */
#include "pmi/pmi_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "pmi/pmi_map.h"
#include "util/cfg.h"
#include "util/err.h"

/* Enough for the shortest limits that anybody has. */
#define KEY_LEN_MIN 32
#define VAL_LEN_MIN 64

#define SIZE_LIMIT (1 << 24)

static int v1_answer(struct dm_pmi *pmi, const char *cmd, const char **line_p)
{
    return dm_pmi_fd_answer(pmi, cmd, dm_pmi_client_timeout(pmi), line_p);
}

/* ---- hello ---- */

/* The launcher tells rank and size in lines "cmd=set size=4". */
static int v1_recv_set(struct dm_pmi *pmi, const char *name, int *num_p)
{
    const char *line;
    int err = v1_answer(pmi, "set", &line);

    if (err == DM_OK && !dm_pmi_wire_number(line, name, num_p))
        err =
            DM_FAIL(DM_ELAUNCH, "the process manager sent '%.100s' instead of the %s", line, name);
    return err;
}

static int v1_open_port(struct dm_pmi *pmi)
{
    const char *id = dm_cfg_env("PMI_ID");
    const char *line;
    int debug;
    int err = dm_pmi_fd_dial(pmi, dm_cfg_env("PMI_PORT"));

    if (err == DM_OK)
        err = dm_pmi_wire_send(&pmi->wire, "cmd=initack pmiid=%s", id != NULL ? id : "0");
    if (err == DM_OK)
        err = v1_answer(pmi, "initack", &line);
    if (err == DM_OK && !dm_pmi_fd_is_success(line))
        err = DM_FAIL(DM_ELAUNCH, "the process manager does not know PMI_ID %s",
                      id != NULL ? id : "0");
    if (err == DM_OK)
        err = v1_recv_set(pmi, "size", &pmi->job.size);
    if (err == DM_OK)
        err = v1_recv_set(pmi, "rank", &pmi->job.rank);
    if (err == DM_OK)
        err = v1_recv_set(pmi, "debug", &debug);
    if (err == DM_OK && (pmi->job.size < 1 || pmi->job.size > SIZE_LIMIT || pmi->job.rank < 0 ||
                         pmi->job.rank >= pmi->job.size))
        err = DM_FAIL(DM_ELAUNCH, "the process manager says rank %d of %d", pmi->job.rank,
                      pmi->job.size);
    return err;
}

static int v1_learn_limits(struct dm_pmi *pmi)
{
    const char *line;
    int err = v1_answer(pmi, "maxes", &line);

    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_number(line, "keylen_max", &pmi->key_max) ||
        !dm_pmi_wire_number(line, "vallen_max", &pmi->val_max) || pmi->key_max < KEY_LEN_MIN ||
        pmi->val_max < VAL_LEN_MIN)
        return DM_FAIL(DM_ELAUNCH, "the process manager's limits are too small: '%.100s'", line);
    if (pmi->val_max > DM_PMI_VAL_MAX)
        pmi->val_max = DM_PMI_VAL_MAX;
    return DM_OK;
}

static int v1_learn_appnum(struct dm_pmi *pmi)
{
    const char *line;
    int err = v1_answer(pmi, "appnum", &line);

    if (err == DM_OK && !dm_pmi_wire_number(line, "appnum", &pmi->job.appnum))
        pmi->job.appnum = -1;
    return err;
}

static int v1_learn_universe(struct dm_pmi *pmi)
{
    const char *line;
    int err = v1_answer(pmi, "universe_size", &line);

    if (err == DM_OK &&
        (!dm_pmi_wire_number(line, "size", &pmi->job.universe_size) || pmi->job.universe_size < 1))
        pmi->job.universe_size = -1;
    return err;
}

static int v1_learn_name(struct dm_pmi *pmi)
{
    const char *line;
    int err = v1_answer(pmi, "my_kvsname", &line);

    if (err == DM_OK &&
        (!dm_pmi_wire_field(line, "kvsname", pmi->name, sizeof(pmi->name)) || pmi->name[0] == 0))
        err = DM_FAIL(DM_ELAUNCH, "the process manager gave no name for the job: '%.100s'", line);
    return err;
}

/* What is asked at the start, and who reads the answer. */
static const struct question {
    const char *request;
    int (*learn)(struct dm_pmi *pmi);
} questions[] = {
    {"get_maxes", v1_learn_limits},
    {"get_appnum", v1_learn_appnum},
    {"get_universe_size", v1_learn_universe},
    {"get_my_kvsname", v1_learn_name},
};
enum { N_QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

/* All at once and one wait, or, for launchers that lose what comes in one go, one by one. */
static int v1_ask_all(struct dm_pmi *pmi, bool at_once)
{
    int err = DM_OK;

    for (int i = 0; i < N_QUESTIONS && err == DM_OK; i++) {
        err = dm_pmi_wire_add(&pmi->wire, "cmd=%s", questions[i].request);
        if (err == DM_OK && !at_once)
            err = dm_pmi_wire_flush(&pmi->wire);
        if (err == DM_OK && !at_once)
            err = questions[i].learn(pmi);
    }
    if (err == DM_OK && at_once)
        err = dm_pmi_wire_flush(&pmi->wire);
    for (int i = 0; at_once && i < N_QUESTIONS && err == DM_OK; i++)
        err = questions[i].learn(pmi);
    return err;
}

static int v1_init(struct dm_pmi *pmi)
{
    /* Hydra, and nobody else's descriptor with Hydra's variables inherited. */
    bool is_hydra = dm_cfg_env("MPI_LOCALNRANKS") != NULL && dm_cfg_env("PMI_JOBID") == NULL;
    int err = dm_cfg_env("PMI_FD") != NULL ? dm_pmi_fd_open(pmi) : v1_open_port(pmi);
    const char *line;

    if (err == DM_OK)
        err = dm_pmi_wire_send(&pmi->wire, "cmd=init pmi_version=1 pmi_subversion=1");
    if (err == DM_OK)
        err = v1_answer(pmi, "response_to_init", &line);
    if (err == DM_OK && !dm_pmi_fd_is_success(line))
        err =
            DM_FAIL(DM_ELAUNCH, "the process manager does not speak PMI version 1: '%.100s'", line);
    if (err != DM_OK)
        return err;
    /* What this process starts must neither speak to the launcher nor keep the line open. */
    fcntl(pmi->wire.fd, F_SETFD, FD_CLOEXEC);
    pmi->takes_many = is_hydra;
    return v1_ask_all(pmi, is_hydra);
}

/* ---- key-value pairs ---- */

static int v1_put(struct dm_pmi *pmi, const char *key, const char *val)
{
    const char *line;
    int err =
        dm_pmi_wire_send(&pmi->wire, "cmd=put kvsname=%s key=%s value=%s", pmi->name, key, val);

    if (err == DM_OK)
        err = v1_answer(pmi, "put_result", &line);
    if (err == DM_OK && !dm_pmi_fd_is_success(line))
        err = DM_FAIL(DM_ELAUNCH, "the process manager refused the key %s: '%.100s'", key, line);
    return err;
}

static int v1_get(struct dm_pmi *pmi, int rank, const char *key, char *buf, size_t len,
                  bool *is_there_p)
{
    const char *line;
    int err;

    (void)rank;
    *is_there_p = dm_pmi_singleton_take(pmi, key, buf, len);
    if (*is_there_p)
        return DM_OK;
    err = dm_pmi_wire_send(&pmi->wire, "cmd=get kvsname=%s key=%s", pmi->name, key);
    if (err == DM_OK)
        err = v1_answer(pmi, "get_result", &line);
    if (err != DM_OK)
        return err;
    *is_there_p = dm_pmi_fd_is_success(line);
    if (*is_there_p && !dm_pmi_wire_field(line, "value", buf, len))
        return DM_FAIL(DM_ELAUNCH, "the process manager sent no usable value of %s: '%.100s'", key,
                       line);
    return DM_OK;
}

/* What is not there, or no value, is for v1_get() to report. */
static int v1_ahead(struct dm_pmi *pmi, const char *const *keys, int n)
{
    char val[DM_PMI_VAL_MAX];
    const char *line;
    int err = DM_OK;

    if (!pmi->takes_many)
        return DM_OK;
    for (int i = 0; i < n && err == DM_OK; i++)
        err = dm_pmi_wire_add(&pmi->wire, "cmd=get kvsname=%s key=%s", pmi->name, keys[i]);
    if (err == DM_OK)
        err = dm_pmi_wire_flush(&pmi->wire);
    for (int i = 0; i < n && err == DM_OK; i++) {
        err = v1_answer(pmi, "get_result", &line);
        if (err == DM_OK && dm_pmi_fd_is_success(line) &&
            dm_pmi_wire_field(line, "value", val, sizeof(val)))
            err = dm_pmi_singleton_put(pmi, keys[i], val);
    }
    return err;
}

static int v1_map(struct dm_pmi *pmi, bool *is_known_p)
{
    char text[DM_PMI_VAL_MAX];
    bool is_there = false;
    int err = v1_get(pmi, -1, "PMI_process_mapping", text, sizeof(text), &is_there);

    *is_known_p = err == DM_OK && is_there && dm_pmi_map_parse(text, pmi->node_of, pmi->job.size);
    return err;
}

static int v1_fence_start(struct dm_pmi *pmi)
{
    return dm_pmi_wire_send(&pmi->wire, "cmd=barrier_in");
}

static int v1_fence_end(struct dm_pmi *pmi)
{
    const char *line;
    int err = dm_pmi_fd_answer(pmi, "barrier_out", DM_PMI_FOREVER, &line);

    if (err == DM_OK && !dm_pmi_fd_is_success(line))
        err = DM_FAIL(DM_ELAUNCH, "the process manager's barrier failed: '%.100s'", line);
    return err;
}

static int v1_fence(struct dm_pmi *pmi)
{
    int err = v1_fence_start(pmi);

    return err == DM_OK ? v1_fence_end(pmi) : err;
}

/* ---- names ---- */

static int v1_name_op(struct dm_pmi *pmi, enum dm_pmi_name what, const char *service,
                      const char *port, char *answer, size_t len)
{
    static const char *const names[] = {"publish", "unpublish", "lookup"};
    bool has_port = what == DM_PMI_PUBLISH;
    char result[32];
    const char *line;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=%s_name service=%s%s%s", names[what], service,
                               has_port ? " port=" : "", has_port ? port : "");

    snprintf(result, sizeof(result), "%s_result", names[what]);
    if (err == DM_OK)
        err = v1_answer(pmi, result, &line);
    if (err != DM_OK)
        return err;
    if (!dm_pmi_fd_is_success(line))
        return what == DM_PMI_LOOKUP
                   ? DM_FAIL(DM_ERR_NAME, "no such name is published: %s", service)
                   : DM_FAIL(DM_ERR_SERVICE, "the name %s is %s", service,
                             has_port ? "published already" : "not published by this job");
    if (what == DM_PMI_LOOKUP && !dm_pmi_wire_field(line, "port", answer, len))
        return DM_FAIL(DM_ELAUNCH, "the process manager sent no port of %s", service);
    return DM_OK;
}

/* ---- the end ---- */

static int v1_finalize(struct dm_pmi *pmi)
{
    const char *line;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=finalize");

    return err == DM_OK ? v1_answer(pmi, "finalize_ack", &line) : err;
}

static void v1_abort(struct dm_pmi *pmi, int code, const char *text)
{
    (void)text;
    dm_pmi_wire_send(&pmi->wire, "cmd=abort exitcode=%d", code & 0xff);
}

const struct dm_pmi_proto *dm_pmi_v1(void)
{
    static const struct dm_pmi_proto proto = {
        .name = "PMI-1",
        .init = v1_init,
        .map = v1_map,
        .put = v1_put,
        .get = v1_get,
        .ahead = v1_ahead,
        .fence = v1_fence,
        .fence_start = v1_fence_start,
        .fence_end = v1_fence_end,
        .finalize = v1_finalize,
        .name_op = v1_name_op,
        .abort = v1_abort,
    };

    return &proto;
}
