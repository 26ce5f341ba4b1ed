/*
 * The client of MPICH's Hydra: hello, facts about the job, key-value pairs.
 *
 * One request is out at a time and its answer is read at once, so whatever is
 * read belongs to the last request. Values are escaped, and cut into parts that
 * the launcher takes: the first letter of a part says whether another one
 * follows, in a key with a number behind it.
 */
#include "pmi/pmi_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmi/pmi_map.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"
#include "util/strbuf.h"

#define PART_LAST '0'
#define PART_MORE '1'

/* Enough for the shortest limits that anybody has. */
#define KEY_LEN_MIN 32
#define VAL_LEN_MIN 64

#define SIZE_LIMIT (1 << 24)

static uint64_t answer_timeout(void)
{
    uint64_t timeout = dm_cfg()->timeout;

    return timeout == 0 || timeout == DM_CFG_AUTO ? 30 * 1000000 : timeout;
}

/* Reads the answer to the last request; it must be the command cmd. */
static int answer(struct dm_pmi *pmi, const char *cmd, uint64_t timeout, const char **line_p)
{
    char got[64] = "";
    int err = dm_pmi_wire_recv(&pmi->wire, timeout, line_p);

    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_field(*line_p, "cmd", got, sizeof(got)) || strcmp(got, cmd) != 0)
        return DM_FAIL(DM_ELAUNCH, "the process manager answered '%.100s' instead of cmd=%s",
                       *line_p, cmd);
    return DM_OK;
}

/* True when the line says rc=0 or has no rc at all. */
static bool is_success(const char *line)
{
    char text[16];
    int rc;

    if (dm_pmi_wire_number(line, "rc", &rc))
        return rc == 0;
    return !dm_pmi_wire_field(line, "rc", text, sizeof(text));
}

/* Reads a variable that must be a number in min..max. */
static int env_number(const char *var, int min, int max, int *num_p)
{
    const char *text = dm_cfg_env(var);
    char *end;
    long num;

    if (text == NULL)
        return DM_FAIL(DM_ELAUNCH, "the launcher has set PMI_FD but not %s", var);
    errno = 0;
    num = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || num < min || num > max)
        return DM_FAIL(DM_ELAUNCH, "%s is '%s', but must be a number from %d to %d", var, text, min,
                       max);
    *num_p = (int)num;
    return DM_OK;
}

bool dm_pmi_has_launcher(void)
{
    const char *fd = dm_cfg_env("PMI_FD");
    const char *size = dm_cfg_env("PMI_SIZE");

    if (dm_cfg_env("PMI_PORT") != NULL)
        return true;
    if (fd == NULL)
        return false;
    /* The descriptor of a job of one does not reach the children of its rank: they are alone. */
    if (size != NULL && strcmp(size, "1") == 0 && fcntl((int)strtol(fd, NULL, 10), F_GETFD) < 0)
        return false;
    return true;
}

/* ---- hello ---- */

static int open_fd(struct dm_pmi *pmi)
{
    int fd = -1;
    int err = env_number("PMI_SIZE", 1, SIZE_LIMIT, &pmi->job.size);

    if (err == DM_OK)
        err = env_number("PMI_RANK", 0, pmi->job.size - 1, &pmi->job.rank);
    if (err == DM_OK)
        err = env_number("PMI_FD", 0, INT32_MAX, &fd);
    if (err != DM_OK)
        return err;
    if (fcntl(fd, F_GETFD) < 0)
        return DM_FAIL(
            DM_ELAUNCH,
            "PMI_FD is %d and PMI_SIZE is %d, but this descriptor is not open: either a "
            "program between mpiexec and this one has closed it, or this one was started "
            "by another MPI program (then unset PMI_FD and PMI_SIZE for it)",
            fd, pmi->job.size);
    dm_pmi_wire_init(&pmi->wire, fd);
    return DM_OK;
}

static int dial(const char *host, const char *port, int *fd_p)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, port, &hints, &list);
    int saved = 0;
    int fd = -1;

    if (rc != 0)
        return DM_FAIL(DM_ELAUNCH, "the process manager's host '%s' (PMI_PORT): %s", host,
                       gai_strerror(rc));
    for (struct addrinfo *ai = list; ai != NULL && fd < 0; ai = ai->ai_next) {
        fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol);
        if (fd >= 0 && connect(fd, ai->ai_addr, ai->ai_addrlen) != 0) {
            saved = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0)
        return DM_FAIL(DM_ELAUNCH, "connecting to the process manager at %s:%s (PMI_PORT): %s",
                       host, port, strerror(saved));
    *fd_p = fd;
    return DM_OK;
}

/* The launcher tells rank and size in lines "cmd=set size=4". */
static int recv_set(struct dm_pmi *pmi, const char *name, int *num_p)
{
    const char *line;
    int err = answer(pmi, "set", answer_timeout(), &line);

    if (err == DM_OK && !dm_pmi_wire_number(line, name, num_p))
        err =
            DM_FAIL(DM_ELAUNCH, "the process manager sent '%.100s' instead of the %s", line, name);
    return err;
}

static int open_port(struct dm_pmi *pmi)
{
    const char *port = dm_cfg_env("PMI_PORT");
    const char *id = dm_cfg_env("PMI_ID");
    const char *colon = strrchr(port, ':');
    char host[256];
    const char *line;
    int debug;
    int fd = -1;
    int err;

    if (colon == NULL || (size_t)(colon - port) >= sizeof(host))
        return DM_FAIL(DM_ELAUNCH, "PMI_PORT is '%s', but must be HOST:PORT", port);
    memcpy(host, port, (size_t)(colon - port));
    host[colon - port] = '\0';
    err = dial(host, colon + 1, &fd);
    if (err != DM_OK)
        return err;
    dm_pmi_wire_init(&pmi->wire, fd);
    err = dm_pmi_wire_send(&pmi->wire, "cmd=initack pmiid=%s", id != NULL ? id : "0");
    if (err == DM_OK)
        err = answer(pmi, "initack", answer_timeout(), &line);
    if (err == DM_OK && !is_success(line))
        err = DM_FAIL(DM_ELAUNCH, "the process manager does not know PMI_ID %s", id);
    if (err == DM_OK)
        err = recv_set(pmi, "size", &pmi->job.size);
    if (err == DM_OK)
        err = recv_set(pmi, "rank", &pmi->job.rank);
    if (err == DM_OK)
        err = recv_set(pmi, "debug", &debug);
    if (err == DM_OK && (pmi->job.size < 1 || pmi->job.size > SIZE_LIMIT || pmi->job.rank < 0 ||
                         pmi->job.rank >= pmi->job.size))
        err = DM_FAIL(DM_ELAUNCH, "the process manager says rank %d of %d", pmi->job.rank,
                      pmi->job.size);
    return err;
}

static int hello(struct dm_pmi *pmi)
{
    const char *line;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=init pmi_version=1 pmi_subversion=1");

    if (err == DM_OK)
        err = answer(pmi, "response_to_init", answer_timeout(), &line);
    if (err == DM_OK && !is_success(line))
        err =
            DM_FAIL(DM_ELAUNCH, "the process manager does not speak PMI version 1: '%.100s'", line);
    return err;
}

/* ---- facts about the job ---- */

static int ask(struct dm_pmi *pmi, const char *request, const char *cmd, const char **line_p)
{
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=%s", request);

    return err == DM_OK ? answer(pmi, cmd, answer_timeout(), line_p) : err;
}

static int learn_limits(struct dm_pmi *pmi)
{
    const char *line;
    int err = ask(pmi, "get_maxes", "maxes", &line);

    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_number(line, "keylen_max", &pmi->key_max) ||
        !dm_pmi_wire_number(line, "vallen_max", &pmi->val_max) || pmi->key_max < KEY_LEN_MIN ||
        pmi->val_max < VAL_LEN_MIN)
        return DM_FAIL(DM_ELAUNCH, "the process manager's limits are too small: '%.100s'", line);
    if (pmi->val_max > DM_PMI_LINE_MAX / 2)
        pmi->val_max = DM_PMI_LINE_MAX / 2;
    return DM_OK;
}

static int learn_job(struct dm_pmi *pmi)
{
    const char *line;
    int err = ask(pmi, "get_appnum", "appnum", &line);

    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_number(line, "appnum", &pmi->job.appnum))
        pmi->job.appnum = -1;
    err = ask(pmi, "get_universe_size", "universe_size", &line);
    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_number(line, "size", &pmi->job.universe_size) || pmi->job.universe_size < 1)
        pmi->job.universe_size = -1;
    err = ask(pmi, "get_my_kvsname", "my_kvsname", &line);
    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_field(line, "kvsname", pmi->name, sizeof(pmi->name)) || pmi->name[0] == '\0')
        return DM_FAIL(DM_ELAUNCH, "the process manager gave no name for the job: '%.100s'", line);
    return DM_OK;
}

/* ---- key-value pairs ---- */

static int put_raw(struct dm_pmi *pmi, const char *key, const char *val)
{
    const char *line;
    int err =
        dm_pmi_wire_send(&pmi->wire, "cmd=put kvsname=%s key=%s value=%s", pmi->name, key, val);

    if (err == DM_OK)
        err = answer(pmi, "put_result", answer_timeout(), &line);
    if (err == DM_OK && !is_success(line))
        err = DM_FAIL(DM_ELAUNCH, "the process manager refused the key %s: '%.100s'", key, line);
    return err;
}

/* Fetches a value as the launcher has it; *is_there_p is false when there is none. */
static int get_raw(struct dm_pmi *pmi, const char *key, char *buf, size_t len, bool *is_there_p)
{
    const char *line;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=get kvsname=%s key=%s", pmi->name, key);

    if (err == DM_OK)
        err = answer(pmi, "get_result", answer_timeout(), &line);
    if (err != DM_OK)
        return err;
    *is_there_p = is_success(line);
    if (*is_there_p && !dm_pmi_wire_field(line, "value", buf, len))
        return DM_FAIL(DM_ELAUNCH, "the process manager sent no usable value of %s: '%.100s'", key,
                       line);
    return DM_OK;
}

/* The name of a part: the key itself, then key/1, key/2 ... */
static int part_name(struct dm_pmi *pmi, const char *key, int part, char *name, size_t len)
{
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, name, len < (size_t)pmi->key_max ? len : (size_t)pmi->key_max);
    dm_strbuf_add(&sb, key);
    if (part > 0)
        dm_strbuf_addf(&sb, "/%d", part);
    if (sb.is_short || sb.len == 0 || strpbrk(key, " =\n") != NULL)
        return DM_FAIL(DM_EINTERN, "key '%s' cannot be used with this process manager", key);
    return DM_OK;
}

int dm_pmi_client_put(struct dm_pmi *pmi, const char *key, const char *val)
{
    char escaped[DM_KV_VAL_MAX * 3 + 1];
    char part[DM_PMI_LINE_MAX / 2];
    char name[DM_PMI_NAME_MAX];
    size_t room = (size_t)pmi->val_max - 2; /* the mark and the NUL */
    size_t pos = 0;
    size_t left;
    int n = 0;

    if (!dm_pmi_wire_escape(val, escaped, sizeof(escaped)))
        return DM_FAIL(DM_EINTERN, "value of %s is longer than %d bytes", key, DM_KV_VAL_MAX);
    left = strlen(escaped);
    do {
        size_t len = left < room ? left : room;
        int err = part_name(pmi, key, n++, name, sizeof(name));

        part[0] = len < left ? PART_MORE : PART_LAST;
        memcpy(part + 1, escaped + pos, len);
        part[1 + len] = '\0';
        if (err == DM_OK)
            err = put_raw(pmi, name, part);
        if (err != DM_OK)
            return err;
        pos += len;
        left -= len;
    } while (left > 0);
    return DM_OK;
}

int dm_pmi_client_get(struct dm_pmi *pmi, const char *key, char *buf, size_t len)
{
    char escaped[DM_KV_VAL_MAX * 3 + 1];
    char part[DM_PMI_LINE_MAX / 2];
    char name[DM_PMI_NAME_MAX];
    struct dm_strbuf sb;
    int n = 0;

    dm_strbuf_init(&sb, escaped, sizeof(escaped));
    do {
        bool is_there = false;
        int err = part_name(pmi, key, n++, name, sizeof(name));

        if (err == DM_OK)
            err = get_raw(pmi, name, part, sizeof(part), &is_there);
        if (err != DM_OK)
            return err;
        if (!is_there)
            return DM_FAIL(DM_ELAUNCH, "no process has published the key %s", name);
        if ((part[0] != PART_LAST && part[0] != PART_MORE) || !dm_strbuf_add(&sb, part + 1))
            return DM_FAIL(DM_ELAUNCH, "the value of %s is damaged: '%.100s'", name, part);
    } while (part[0] == PART_MORE);
    if (!dm_pmi_wire_unescape(escaped))
        return DM_FAIL(DM_ELAUNCH, "the value of %s is damaged: '%.100s'", key, escaped);
    if (strlen(escaped) >= len)
        return DM_FAIL(DM_EINTERN, "value of %s is longer than %zu bytes", key, len);
    memcpy(buf, escaped, strlen(escaped) + 1);
    return DM_OK;
}

int dm_pmi_client_barrier(struct dm_pmi *pmi)
{
    const char *line;
    int err = dm_pmi_wire_send(&pmi->wire, "cmd=barrier_in");

    if (err == DM_OK)
        err = answer(pmi, "barrier_out", DM_PMI_FOREVER, &line);
    if (err == DM_OK && !is_success(line))
        err = DM_FAIL(DM_ELAUNCH, "the process manager's barrier failed: '%.100s'", line);
    return err;
}

int dm_pmi_client_finalize(struct dm_pmi *pmi)
{
    const char *line;

    return ask(pmi, "finalize", "finalize_ack", &line);
}

/* ---- who is where ---- */

int dm_pmi_client_put_host(struct dm_pmi *pmi)
{
    char key[32];

    snprintf(key, sizeof(key), "host-%d", pmi->job.rank);
    return dm_pmi_client_put(pmi, key, pmi->host);
}

int dm_pmi_client_get_host(struct dm_pmi *pmi, int rank, char *host, size_t len)
{
    char key[32];

    snprintf(key, sizeof(key), "host-%d", rank);
    return dm_pmi_client_get(pmi, key, host, len);
}

/* Without a mapping of the launcher: everybody tells everybody the host name. */
static int map_by_names(struct dm_pmi *pmi)
{
    char host[DM_PMI_NAME_MAX];
    int err = dm_pmi_client_put_host(pmi);

    if (err == DM_OK)
        err = dm_pmi_client_barrier(pmi);
    pmi->n_fences++;
    pmi->hosts = calloc((size_t)pmi->job.size, sizeof(*pmi->hosts));
    if (err == DM_OK && pmi->hosts == NULL)
        err = DM_FAIL(DM_ENOMEM, "host names of %d processes", pmi->job.size);
    for (int i = 0; i < pmi->job.size && err == DM_OK; i++) {
        err = dm_pmi_client_get_host(pmi, i, host, sizeof(host));
        if (err != DM_OK)
            break;
        pmi->hosts[i] = strdup(host);
        if (pmi->hosts[i] == NULL)
            err = DM_FAIL(DM_ENOMEM, "host names of %d processes", pmi->job.size);
        /* Quadratic in the number of hosts only: ranks of a host mostly follow each other. */
        pmi->node_of[i] = i;
        for (int j = i - 1; j >= 0 && err == DM_OK; j--) {
            if (strcmp(pmi->hosts[j], host) == 0) {
                pmi->node_of[i] = pmi->node_of[j];
                break;
            }
        }
    }
    if (err == DM_OK && !dm_pmi_map_compact(pmi->node_of, pmi->job.size))
        err = DM_FAIL(DM_ENOMEM, "hosts of %d processes", pmi->job.size);
    return err;
}

static int learn_map(struct dm_pmi *pmi)
{
    char text[DM_PMI_LINE_MAX / 2];
    bool is_there = false;
    int err;

    pmi->node_of = calloc((size_t)pmi->job.size, sizeof(*pmi->node_of));
    if (pmi->node_of == NULL)
        return DM_FAIL(DM_ENOMEM, "hosts of %d processes", pmi->job.size);
    err = get_raw(pmi, "PMI_process_mapping", text, sizeof(text), &is_there);
    if (err != DM_OK)
        return err;
    if (is_there && dm_pmi_map_parse(text, pmi->node_of, pmi->job.size))
        return DM_OK;
    DM_TRACE(PMI, "no process mapping, host names decide");
    return map_by_names(pmi);
}

int dm_pmi_client_init(struct dm_pmi *pmi)
{
    int err = dm_cfg_env("PMI_FD") != NULL ? open_fd(pmi) : open_port(pmi);

    if (err == DM_OK)
        err = hello(pmi);
    if (err != DM_OK)
        return err;
    /* What this process starts must neither speak to the launcher nor keep the line open. */
    fcntl(pmi->wire.fd, F_SETFD, FD_CLOEXEC);
    err = learn_limits(pmi);
    if (err == DM_OK)
        err = learn_job(pmi);
    if (err == DM_OK)
        err = learn_map(pmi);
    return err;
}
