/*
 * PMI-2: Slurm's plugin mpi/pmi2, and others that speak like it.
 *
 * The first line is one of PMI-1 and names the version; from its answer on,
 * messages are texts "cmd=name;key=value;..." with their length in front. This
 * protocol knows no exit code of an abort: Slurm's srun says 137 then.
 */
#include "pmi/pmi_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmi/pmi_map.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

/* The protocol's limits. */
#define KEY_MAX 64
#define VAL_MAX 1024

/* Reads the answer to cmd; it must say that all went well. */
static int v2_answer(struct dm_pmi *pmi, const char *cmd, uint64_t timeout, const char **line_p)
{
    char name[64];
    int err;

    snprintf(name, sizeof(name), "%s-response", cmd);
    err = dm_pmi_fd_answer(pmi, name, timeout, line_p);
    if (err == DM_OK && !dm_pmi_fd_is_success(*line_p))
        err = DM_FAIL(DM_ELAUNCH, "the process manager refused the request %s: '%.100s'", cmd,
                      *line_p);
    return err;
}

static int v2_ask(struct dm_pmi *pmi, const char *cmd, uint64_t timeout)
{
    const char *line;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=%s;", cmd);

    return err == DM_OK ? v2_answer(pmi, cmd, timeout, &line) : err;
}

/* The value in an answer that may say found=FALSE. */
static int v2_take_value(const char *line, const char *key, char *buf, size_t len, bool *is_there_p)
{
    char found[16] = "";

    *is_there_p =
        dm_pmi_wire_field(line, "found", found, sizeof(found)) && strcmp(found, "TRUE") == 0;
    if (!*is_there_p && strcmp(found, "FALSE") != 0)
        return DM_FAIL(DM_ELAUNCH, "the process manager does not say whether there is %s: '%.100s'",
                       key, line);
    if (*is_there_p && !dm_pmi_wire_field(line, "value", buf, len))
        return DM_FAIL(DM_ELAUNCH, "the process manager sent no usable value of %s: '%.100s'", key,
                       line);
    return DM_OK;
}

/* ---- hello ---- */

static int pmi2_init(struct dm_pmi *pmi)
{
    const char *line;
    int version = 0;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=init pmi_version=2 pmi_subversion=0");

    if (err == DM_OK)
        err = dm_pmi_fd_answer(pmi, "response_to_init", dm_pmi_client_timeout(pmi), &line);
    if (err == DM_OK && (!dm_pmi_fd_is_success(line) ||
                         !dm_pmi_wire_number(line, "pmi_version", &version) || version != 2))
        err =
            DM_FAIL(DM_ELAUNCH, "the process manager does not speak PMI version 2: '%.100s'", line);
    return err;
}

static int v2_full_init(struct dm_pmi *pmi)
{
    const char *id = dm_cfg_env("PMI_JOBID");
    const char *line;
    int rank = -1;
    int size = -1;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=fullinit;pmijobid=%s;pmirank=%d;threaded=FALSE;",
                               id != NULL ? id : "", pmi->job.rank);

    if (err == DM_OK)
        err = v2_answer(pmi, "fullinit", dm_pmi_client_timeout(pmi), &line);
    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_number(line, "rank", &rank) || !dm_pmi_wire_number(line, "size", &size) ||
        rank != pmi->job.rank || size != pmi->job.size)
        return DM_FAIL(DM_ELAUNCH,
                       "PMI_RANK and PMI_SIZE say rank %d of %d, but the process manager says "
                       "'%.100s'",
                       pmi->job.rank, pmi->job.size, line);
    if (!dm_pmi_wire_number(line, "appnum", &pmi->job.appnum) || pmi->job.appnum < 0)
        pmi->job.appnum = -1;
    return DM_OK;
}

/* An attribute of the job. */
static int v2_get_attribute(struct dm_pmi *pmi, const char *key, char *buf, size_t len,
                            bool *is_there_p)
{
    const char *line;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=info-getjobattr;key=%s;", key);

    if (err == DM_OK)
        err = v2_answer(pmi, "info-getjobattr", dm_pmi_client_timeout(pmi), &line);
    return err == DM_OK ? v2_take_value(line, key, buf, len, is_there_p) : err;
}

/* The job's name and the size of the universe. */
static int v2_learn_job(struct dm_pmi *pmi)
{
    const char *line;
    char text[64];
    bool is_there;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=job-getid;");

    if (err == DM_OK)
        err = v2_answer(pmi, "job-getid", dm_pmi_client_timeout(pmi), &line);
    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_field(line, "jobid", pmi->name, sizeof(pmi->name)) || pmi->name[0] == '\0')
        return DM_FAIL(DM_ELAUNCH, "the process manager gave no name for the job: '%.100s'", line);
    err = v2_get_attribute(pmi, "universeSize", text, sizeof(text), &is_there);
    pmi->job.universe_size = -1;
    if (err == DM_OK && is_there && strtol(text, NULL, 10) > 0)
        pmi->job.universe_size = (int)strtol(text, NULL, 10);
    return err;
}

static int v2_init(struct dm_pmi *pmi)
{
    int err;

    if (dm_cfg_env("PMI_FD") == NULL)
        return DM_FAIL(DM_ELAUNCH, "PMI-2 needs the descriptor PMI_FD; with PMI_PORT it is not "
                                   "spoken");
    err = dm_pmi_fd_open(pmi);
    if (err == DM_OK)
        err = pmi2_init(pmi);
    if (err != DM_OK)
        return err;
    fcntl(pmi->wire.fd, F_SETFD, FD_CLOEXEC);
    pmi->wire.is_framed = true;
    pmi->key_max = KEY_MAX;
    pmi->val_max = VAL_MAX;
    err = v2_full_init(pmi);
    return err == DM_OK ? v2_learn_job(pmi) : err;
}

static int v2_map(struct dm_pmi *pmi, bool *is_known_p)
{
    char text[DM_PMI_VAL_MAX];
    bool is_there = false;
    int err = v2_get_attribute(pmi, "PMI_process_mapping", text, sizeof(text), &is_there);

    *is_known_p = err == DM_OK && is_there && dm_pmi_map_parse(text, pmi->node_of, pmi->job.size);
    return err;
}

/* ---- key-value pairs ---- */

static int v2_put(struct dm_pmi *pmi, const char *key, const char *val)
{
    const char *line;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=kvs-put;key=%s;value=%s;", key, val);

    return err == DM_OK ? v2_answer(pmi, "kvs-put", dm_pmi_client_timeout(pmi), &line) : err;
}

static int v2_get(struct dm_pmi *pmi, int rank, const char *key, char *buf, size_t len,
                  bool *is_there_p)
{
    const char *line;
    int err =
        dm_pmi_wire_send(&pmi->wire, "cmd=kvs-get;jobid=%s;srcid=%d;key=%s;", pmi->name, rank, key);

    if (err == DM_OK)
        err = v2_answer(pmi, "kvs-get", dm_pmi_client_timeout(pmi), &line);
    return err == DM_OK ? v2_take_value(line, key, buf, len, is_there_p) : err;
}

static int v2_fence_start(struct dm_pmi *pmi)
{
    return dm_pmi_wire_send(&pmi->wire, "cmd=kvs-fence;");
}

static int v2_fence_end(struct dm_pmi *pmi)
{
    const char *line;

    return v2_answer(pmi, "kvs-fence", DM_PMI_FOREVER, &line);
}

static int v2_fence(struct dm_pmi *pmi)
{
    return v2_ask(pmi, "kvs-fence", DM_PMI_FOREVER);
}

/* ---- names ---- */

static int v2_name_op(struct dm_pmi *pmi, enum dm_pmi_name what, const char *service,
                      const char *port, char *answer, size_t len)
{
    static const char *const names[] = {"name-publish", "name-unpublish", "name-lookup"};
    bool has_port = what == DM_PMI_PUBLISH;
    char result[64];
    const char *line;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=%s;name=%s;%s%s%s", names[what], service,
                               has_port ? "port=" : "", has_port ? port : "", has_port ? ";" : "");

    snprintf(result, sizeof(result), "%s-response", names[what]);
    if (err == DM_OK)
        err = dm_pmi_fd_answer(pmi, result, dm_pmi_client_timeout(pmi), &line);
    if (err != DM_OK)
        return err;
    if (!dm_pmi_fd_is_success(line) ||
        (what == DM_PMI_LOOKUP && (!dm_pmi_wire_field(line, "value", answer, len) &&
                                   !dm_pmi_wire_field(line, "port", answer, len))))
        return what == DM_PMI_LOOKUP
                   ? DM_FAIL(DM_ERR_NAME, "no such name is published: %s", service)
                   : DM_FAIL(DM_ERR_SERVICE, "the name %s is %s", service,
                             has_port ? "published already" : "not published by this job");
    return DM_OK;
}

/* ---- the end ---- */

static int v2_finalize(struct dm_pmi *pmi)
{
    return v2_ask(pmi, "finalize", dm_pmi_client_timeout(pmi));
}

static void v2_abort(struct dm_pmi *pmi, int code, const char *text)
{
    (void)text; /* it has been printed */
    dm_pmi_wire_send(&pmi->wire, "cmd=abort;isworld=TRUE;msg=exit code %d;", code & 0xff);
}

const struct dm_pmi_proto *dm_pmi_v2(void)
{
    static const struct dm_pmi_proto proto = {
        .name = "PMI-2",
        .init = v2_init,
        .map = v2_map,
        .put = v2_put,
        .get = v2_get,
        .fence = v2_fence,
        .fence_start = v2_fence_start,
        .fence_end = v2_fence_end,
        .finalize = v2_finalize,
        .name_op = v2_name_op,
        .abort = v2_abort,
    };

    return &proto;
}
