/*
 * What is the same for all launchers: values of any length and characters, and
 * who is on which host.
 *
 * Values are escaped, and cut into parts that the launcher takes: the first
 * letter of a part says whether another one follows, in a key with a number
 * behind it.
 */
#include "pmi/pmi_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmi/pmi_map.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"
#include "util/strbuf.h"

/* How our mpiexec's names of key-value spaces begin. */
#define OUR_NAME "datum_"

#define PART_LAST '0'
#define PART_MORE '1'

uint64_t dm_pmi_client_timeout(const struct dm_pmi *pmi)
{
    enum { RANKS = 128 }; /* that all ask in one such time, on few cores */
    uint64_t timeout = dm_cfg()->timeout;

    if (timeout == 0 || timeout == DM_CFG_AUTO)
        timeout = 30 * 1000000;
    return timeout * (1 + (uint64_t)pmi->job.size / RANKS);
}

/* ---- key-value pairs ---- */

/* The name of a part: the key itself, then key/1, key/2 ... */
static int client_part_name(struct dm_pmi *pmi, const char *key, int part, char *name, size_t len)
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

int dm_pmi_client_parts(struct dm_pmi *pmi, const char *key, const char *val,
                        int (*fn)(void *arg, const char *key, const char *val), void *arg)
{
    char escaped[DM_KV_VAL_MAX * 3 + 1];
    char part[DM_PMI_VAL_MAX];
    char name[DM_PMI_NAME_MAX];
    size_t space = (size_t)pmi->val_max - 2; /* the mark and the NUL */
    size_t pos = 0;
    size_t left;
    int n = 0;

    if (!dm_pmi_wire_escape(val, escaped, sizeof(escaped)))
        return DM_FAIL(DM_EINTERN, "value of %s is longer than %d bytes", key, DM_KV_VAL_MAX);
    left = strlen(escaped);
    do {
        size_t len = left < space ? left : space;
        int err = client_part_name(pmi, key, n++, name, sizeof(name));

        part[0] = len < left ? PART_MORE : PART_LAST;
        memcpy(part + 1, escaped + pos, len);
        part[1 + len] = '\0';
        if (err == DM_OK)
            err = fn(arg, name, part);
        if (err != DM_OK)
            return err;
        pos += len;
        left -= len;
    } while (left > 0);
    return DM_OK;
}

static int client_put_part(void *arg, const char *key, const char *val)
{
    struct dm_pmi *pmi = arg;

    return pmi->proto->put(pmi, key, val);
}

int dm_pmi_client_put(struct dm_pmi *pmi, const char *key, const char *val)
{
    return dm_pmi_client_parts(pmi, key, val, client_put_part, pmi);
}

bool dm_pmi_is_ours(const struct dm_pmi *pmi)
{
    return strncmp(pmi->name, OUR_NAME, strlen(OUR_NAME)) == 0;
}

/* Who has published a key: by our convention the number that it ends with; -1: nobody knows. */
static int client_rank(const struct dm_pmi *pmi, const char *key)
{
    const char *dash = strrchr(key, '-');
    char *end;
    long rank;

    if (dash == NULL || dash[1] < '0' || dash[1] > '9')
        return -1;
    rank = strtol(dash + 1, &end, 10);
    return *end == '\0' && rank < pmi->job.size ? (int)rank : -1;
}

int dm_pmi_client_get(struct dm_pmi *pmi, const char *key, char *buf, size_t len)
{
    char escaped[DM_KV_VAL_MAX * 3 + 1];
    char part[DM_PMI_VAL_MAX];
    char name[DM_PMI_NAME_MAX];
    struct dm_strbuf sb;
    int rank = client_rank(pmi, key);
    int n = 0;

    dm_strbuf_init(&sb, escaped, sizeof(escaped));
    do {
        bool is_there = false;
        int err = client_part_name(pmi, key, n++, name, sizeof(name));

        if (err == DM_OK)
            err = pmi->proto->get(pmi, rank, name, part, sizeof(part), &is_there);
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
        err = pmi->proto->fence(pmi);
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

int dm_pmi_client_init(struct dm_pmi *pmi)
{
    bool is_known = false;
    int err = pmi->proto->init(pmi);

    if (err != DM_OK)
        return err;
    pmi->node_of = calloc((size_t)pmi->job.size, sizeof(*pmi->node_of));
    if (pmi->node_of == NULL)
        return DM_FAIL(DM_ENOMEM, "hosts of %d processes", pmi->job.size);
    err = pmi->proto->map(pmi, &is_known);
    if (err != DM_OK || is_known)
        return err;
    DM_TRACE(PMI, "no process mapping, host names decide");
    return map_by_names(pmi);
}
