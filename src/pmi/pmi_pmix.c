/*
 * PMIx: Open MPI's mpirun, Slurm's srun --mpi=pmix, and other launchers with a
 * PMIx server. libpmix is loaded when such a launcher is found, so programs run
 * without it; its header gives only types and constants.
 *
 * The library has a thread of its own from PMIx_Init to PMIx_Finalize.
 */
#include <dlfcn.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmi/pmi_impl.h"
#include "pmi/pmi_map.h"
#include "pmi/pmi_spawn.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

#define LIBRARY "libpmix.so.2"

#define SIZE_LIMIT (1 << 24)

/* Values that the server keeps may be long. */
#define KEY_MAX 64
#define VAL_MAX (DM_PMI_VAL_MAX - 1)

/* Up to here a fence carries all data to all nodes; beyond, they are fetched when used. */
#define COLLECT_MAX 1024

struct calls {
    pmix_status_t (*init)(pmix_proc_t *, pmix_info_t[], size_t);
    pmix_status_t (*finalize)(const pmix_info_t[], size_t);
    pmix_status_t (*abort)(int, const char[], pmix_proc_t[], size_t);
    pmix_status_t (*put)(pmix_scope_t, const char[], pmix_value_t *);
    pmix_status_t (*commit)(void);
    pmix_status_t (*fence)(const pmix_proc_t[], size_t, const pmix_info_t[], size_t);
    pmix_status_t (*get)(const pmix_proc_t *, const char[], const pmix_info_t[], size_t,
                         pmix_value_t **);
    pmix_status_t (*resolve_nodes)(const char *, char **);
    pmix_status_t (*resolve_peers)(const char *, const char *, pmix_proc_t **, size_t *);
    const char *(*error_string)(pmix_status_t);
    /* Not in every library. */
    pmix_status_t (*publish)(const pmix_info_t[], size_t);
    pmix_status_t (*unpublish)(char **, const pmix_info_t[], size_t);
    pmix_status_t (*lookup)(pmix_pdata_t[], size_t, const pmix_info_t[], size_t);
};

struct dm_pmi_pmix {
    struct calls calls;
    pmix_proc_t me;
};

/* ---- the library ---- */

static const char *pmix_library_name(void)
{
    const char *name = dm_cfg()->pmix_lib;

    return name[0] != '\0' ? name : LIBRARY;
}

static bool pmix_load(struct calls *calls, char *why, size_t len)
{
    const struct {
        const char *name;
        void **call_p;
    } table[] = {
        {"PMIx_Init", (void **)&calls->init},
        {"PMIx_Finalize", (void **)&calls->finalize},
        {"PMIx_Abort", (void **)&calls->abort},
        {"PMIx_Put", (void **)&calls->put},
        {"PMIx_Commit", (void **)&calls->commit},
        {"PMIx_Fence", (void **)&calls->fence},
        {"PMIx_Get", (void **)&calls->get},
        {"PMIx_Resolve_nodes", (void **)&calls->resolve_nodes},
        {"PMIx_Resolve_peers", (void **)&calls->resolve_peers},
        {"PMIx_Error_string", (void **)&calls->error_string},
    };
    /* Never unloaded: it has a thread, and handlers at exit. */
    void *lib = dlopen(pmix_library_name(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (lib == NULL) {
        snprintf(why, len, "PMIx cannot be used: %s (Debian: libpmix2; DATUM_PMIX_LIB names it)",
                 dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        *table[i].call_p = dlsym(lib, table[i].name);
        if (*table[i].call_p == NULL) {
            snprintf(why, len, "PMIx cannot be used: %s has no %s", pmix_library_name(),
                     table[i].name);
            dlclose(lib);
            return false;
        }
    }
    *(void **)&calls->publish = dlsym(lib, "PMIx_Publish");
    *(void **)&calls->unpublish = dlsym(lib, "PMIx_Unpublish");
    *(void **)&calls->lookup = dlsym(lib, "PMIx_Lookup");
    return true;
}

bool dm_pmi_pmix_probe(char *why, size_t len)
{
    struct calls calls;

    return pmix_load(&calls, why, len);
}

const char *dm_pmi_pmix_built(void)
{
    return "PMI-1, PMI-2, PMIx (" LIBRARY ")";
}

void dm_pmi_pmix_fini(struct dm_pmi *pmi)
{
    free(pmi->pmix);
    pmi->pmix = NULL;
}

static int pmix_fail(const struct dm_pmi *pmi, pmix_status_t rc, const char *what)
{
    return DM_FAIL(DM_ELAUNCH, "the PMIx launcher: %s: %s (%d)", what,
                   pmi->pmix->calls.error_string(rc), rc);
}

static void pmix_set_key(char *dst, const char *key)
{
    memset(dst, 0, PMIX_MAX_KEYLEN + 1);
    memcpy(dst, key, strlen(key) < PMIX_MAX_KEYLEN ? strlen(key) : PMIX_MAX_KEYLEN);
}

/* ---- reading ---- */

/* PMIx_Get of a rank's key, with a time limit. */
static pmix_status_t pmix_get_value(struct dm_pmi *pmi, pmix_rank_t rank, const char *key,
                                    pmix_value_t **value_p)
{
    pmix_info_t info;
    pmix_proc_t proc = pmi->pmix->me;

    memset(&info, 0, sizeof(info));
    pmix_set_key(info.key, PMIX_TIMEOUT);
    info.value.type = PMIX_INT;
    info.value.data.integer = (int)((dm_pmi_client_timeout(pmi) + 999999) / 1000000);
    proc.rank = rank;
    pmi->wire.n_msgs++;
    *value_p = NULL;
    return pmi->pmix->calls.get(&proc, key, &info, 1, value_p);
}

static bool pmix_to_number(const pmix_value_t *value, long long *num_p)
{
    switch (value->type) {
    case PMIX_INT:
        *num_p = value->data.integer;
        return true;
    case PMIX_INT32:
        *num_p = value->data.int32;
        return true;
    case PMIX_INT64:
        *num_p = value->data.int64;
        return true;
    case PMIX_UINT:
        *num_p = value->data.uint;
        return true;
    case PMIX_UINT16:
        *num_p = value->data.uint16;
        return true;
    case PMIX_UINT32:
        *num_p = value->data.uint32;
        return true;
    case PMIX_UINT64:
        *num_p = (long long)value->data.uint64;
        return true;
    case PMIX_SIZE:
        *num_p = (long long)value->data.size;
        return true;
    default:
        return false;
    }
}

/* A number that the launcher may or may not give. */
static int pmix_get_number(struct dm_pmi *pmi, pmix_rank_t rank, const char *key, int dflt)
{
    pmix_value_t *value;
    long long num = -1;

    if (pmix_get_value(pmi, rank, key, &value) != PMIX_SUCCESS || value == NULL)
        return dflt;
    if (!pmix_to_number(value, &num) || num < 0 || num > SIZE_LIMIT)
        num = dflt;
    if (value->type == PMIX_STRING)
        free(value->data.string);
    free(value);
    return (int)num;
}

static int pmix_init(struct dm_pmi *pmi)
{
    struct dm_pmi_pmix *pmix = calloc(1, sizeof(*pmix));
    char why[256];
    pmix_status_t rc;

    if (pmix == NULL)
        return DM_FAIL(DM_ENOMEM, "client of PMIx");
    pmi->pmix = pmix;
    if (!pmix_load(&pmix->calls, why, sizeof(why)))
        return DM_FAIL(DM_ELAUNCH, "%s", why);
    rc = pmix->calls.init(&pmix->me, NULL, 0);
    if (rc != PMIX_SUCCESS)
        return pmix_fail(pmi, rc, "connecting to its server (PMIx_Init)");
    pmi->wire.n_msgs++;
    pmi->key_max = KEY_MAX;
    pmi->val_max = VAL_MAX;
    snprintf(pmi->name, sizeof(pmi->name), "%s", pmix->me.nspace);
    pmi->job.size = pmix_get_number(pmi, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, -1);
    if (pmi->job.size < 1 || pmix->me.rank >= (pmix_rank_t)pmi->job.size) {
        long long rank = pmix->me.rank;
        int size = pmi->job.size;

        pmi->job.size = 0;
        return DM_FAIL(DM_ELAUNCH, "the PMIx launcher says rank %lld of %d", rank, size);
    }
    pmi->job.rank = (int)pmix->me.rank;
    pmi->job.appnum = pmix_get_number(pmi, pmix->me.rank, PMIX_APPNUM, -1);
    pmi->job.universe_size = pmix_get_number(pmi, PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, -1);
    /* Fewer slots than processes: the launcher was told to overload its hosts. */
    if (pmi->job.universe_size > 0 && pmi->job.universe_size < pmi->job.size)
        pmi->job.universe_size = pmi->job.size;
    return DM_OK;
}

/* ---- who is where ---- */

/* Marks the ranks of one node; returns how many these are, -1 when that cannot be. */
static int pmix_place_node(struct dm_pmi *pmi, const char *name, int node)
{
    pmix_proc_t *procs = NULL;
    size_t n_procs = 0;
    int n = 0;

    pmi->wire.n_msgs++;
    if (pmi->pmix->calls.resolve_peers(name, pmi->pmix->me.nspace, &procs, &n_procs) !=
        PMIX_SUCCESS)
        return -1;
    for (size_t i = 0; i < n_procs && n >= 0; i++) {
        if (procs[i].rank >= (pmix_rank_t)pmi->job.size || pmi->node_of[procs[i].rank] >= 0)
            n = -1;
        else
            pmi->node_of[procs[i].rank] = node;
        n += n >= 0;
    }
    free(procs);
    return n;
}

static int pmix_map(struct dm_pmi *pmi, bool *is_known_p)
{
    char *list = NULL;
    char *save = NULL;
    int n_placed = 0;
    int node = 0;

    *is_known_p = false;
    pmi->wire.n_msgs++;
    if (pmi->pmix->calls.resolve_nodes(pmi->pmix->me.nspace, &list) != PMIX_SUCCESS || list == NULL)
        return DM_OK;
    for (int i = 0; i < pmi->job.size; i++)
        pmi->node_of[i] = -1;
    for (char *name = strtok_r(list, ",", &save); name != NULL && n_placed >= 0;
         name = strtok_r(NULL, ",", &save)) {
        int n = pmix_place_node(pmi, name, node++);

        n_placed = n < 0 ? -1 : n_placed + n;
    }
    free(list);
    *is_known_p = n_placed == pmi->job.size && dm_pmi_map_compact(pmi->node_of, pmi->job.size);
    return DM_OK;
}

/* ---- key-value pairs ---- */

static int pmix_put(struct dm_pmi *pmi, const char *key, const char *val)
{
    pmix_value_t value;
    pmix_status_t rc;

    memset(&value, 0, sizeof(value));
    value.type = PMIX_STRING;
    value.data.string = (char *)val;
    pmi->wire.n_msgs++;
    pmi->wire.n_bytes += strlen(key) + strlen(val);
    rc = pmi->pmix->calls.put(PMIX_GLOBAL, key, &value);
    return rc == PMIX_SUCCESS ? DM_OK : pmix_fail(pmi, rc, key);
}

static int pmix_get(struct dm_pmi *pmi, int rank, const char *key, char *buf, size_t len,
                    bool *is_there_p)
{
    pmix_rank_t owner = rank >= 0 ? (pmix_rank_t)rank : PMIX_RANK_UNDEF;
    pmix_value_t *value;
    pmix_status_t rc = pmix_get_value(pmi, owner, key, &value);
    int err = DM_OK;

    *is_there_p = false;
    if (rc == PMIX_ERR_NOT_FOUND)
        return DM_OK;
    if (rc != PMIX_SUCCESS || value == NULL)
        return pmix_fail(pmi, rc, key);
    if (value->type != PMIX_STRING || value->data.string == NULL ||
        strlen(value->data.string) >= len) {
        err = DM_FAIL(DM_ELAUNCH, "the PMIx launcher sent no usable value of %s", key);
    } else {
        memcpy(buf, value->data.string, strlen(value->data.string) + 1);
        pmi->wire.n_bytes += strlen(key) + strlen(buf);
        *is_there_p = true;
    }
    if (value->type == PMIX_STRING)
        free(value->data.string);
    free(value);
    return err;
}

static int pmix_fence(struct dm_pmi *pmi)
{
    pmix_info_t info;
    pmix_status_t rc;

    memset(&info, 0, sizeof(info));
    pmix_set_key(info.key, PMIX_COLLECT_DATA);
    info.value.type = PMIX_BOOL;
    info.value.data.flag = pmi->job.size <= COLLECT_MAX;
    pmi->wire.n_msgs += 2;
    rc = pmi->pmix->calls.commit();
    if (rc != PMIX_SUCCESS)
        return pmix_fail(pmi, rc, "PMIx_Commit");
    rc = pmi->pmix->calls.fence(NULL, 0, &info, 1);
    return rc == PMIX_SUCCESS ? DM_OK : pmix_fail(pmi, rc, "PMIx_Fence");
}

/* ---- names ---- */

static pmix_status_t pmix_name_publish(const struct calls *calls, const char *service,
                                       const char *port)
{
    pmix_info_t info;

    memset(&info, 0, sizeof(info));
    pmix_set_key(info.key, service);
    info.value.type = PMIX_STRING;
    info.value.data.string = (char *)port;
    return calls->publish(&info, 1);
}

static pmix_status_t pmix_name_lookup(const struct calls *calls, const char *service, char *answer,
                                      size_t len)
{
    pmix_pdata_t data;
    pmix_status_t rc;

    memset(&data, 0, sizeof(data));
    pmix_set_key(data.key, service);
    rc = calls->lookup(&data, 1, NULL, 0);
    if (rc != PMIX_SUCCESS || data.value.type != PMIX_STRING || data.value.data.string == NULL)
        return rc != PMIX_SUCCESS ? rc : PMIX_ERR_NOT_FOUND;
    if (strlen(data.value.data.string) >= len)
        rc = PMIX_ERR_NOT_FOUND;
    else
        memcpy(answer, data.value.data.string, strlen(data.value.data.string) + 1);
    free(data.value.data.string);
    return rc;
}

/* Servers publish a name twice, and unpublish one that is not there, without a word. */
static bool pmix_name_is_there(const struct calls *calls, const char *service)
{
    char port[DM_PMI_SERVICE_MAX];

    return pmix_name_lookup(calls, service, port, sizeof(port)) == PMIX_SUCCESS;
}

static int pmix_name_op(struct dm_pmi *pmi, enum dm_pmi_name what, const char *service,
                        const char *port, char *answer, size_t len)
{
    const struct calls *calls = &pmi->pmix->calls;
    char *keys[] = {(char *)service, NULL};
    pmix_status_t rc;

    if (calls->publish == NULL || calls->unpublish == NULL || calls->lookup == NULL)
        return DM_FAIL(DM_ENOTSUP, "this PMIx library publishes no names");
    if (strlen(service) > PMIX_MAX_KEYLEN)
        return DM_FAIL(DM_ERR_SERVICE, "'%.40s' is too long for PMIx", service);
    pmi->wire.n_msgs++;
    if (what != DM_PMI_LOOKUP && pmix_name_is_there(calls, service) != (what == DM_PMI_UNPUBLISH))
        return DM_FAIL(DM_ERR_SERVICE, "the PMIx launcher: %s is %s", service,
                       what == DM_PMI_PUBLISH ? "published already" : "not published");
    if (what == DM_PMI_PUBLISH)
        rc = pmix_name_publish(calls, service, port);
    else if (what == DM_PMI_UNPUBLISH)
        rc = calls->unpublish(keys, NULL, 0);
    else
        rc = pmix_name_lookup(calls, service, answer, len);
    if (rc == PMIX_SUCCESS)
        return DM_OK;
    if (rc == PMIX_ERR_NOT_SUPPORTED)
        return DM_FAIL(DM_ENOTSUP, "the PMIx launcher publishes no names");
    return DM_FAIL(what == DM_PMI_LOOKUP ? DM_ERR_NAME : DM_ERR_SERVICE,
                   "the PMIx launcher: %s: %s (%d)", service, calls->error_string(rc), rc);
}

/* ---- the end ---- */

static int pmix_finalize(struct dm_pmi *pmi)
{
    pmix_status_t rc;

    pmi->wire.n_msgs++;
    rc = pmi->pmix->calls.finalize(NULL, 0);
    return rc == PMIX_SUCCESS ? DM_OK : pmix_fail(pmi, rc, "PMIx_Finalize");
}

static void pmix_abort(struct dm_pmi *pmi, int code, const char *text)
{
    pmix_status_t rc = pmi->pmix->calls.abort(code, text, NULL, 0);

    if (rc != PMIX_SUCCESS)
        DM_TRACE(PMI, "PMIx_Abort %s", pmi->pmix->calls.error_string(rc));
}

const struct dm_pmi_proto *dm_pmi_pmix(void)
{
    static const struct dm_pmi_proto proto = {
        .name = "PMIx",
        .init = pmix_init,
        .map = pmix_map,
        .put = pmix_put,
        .get = pmix_get,
        .fence = pmix_fence,
        .finalize = pmix_finalize,
        .name_op = pmix_name_op,
        .abort = pmix_abort,
    };

    return &proto;
}
