/*
 * A PMIx library for the tests of the client: one process and no server. What it
 * answers comes from the environment:
 *   FAKE_RANK, FAKE_SIZE   the process; FAKE_SIZE=text gives a text instead of a number
 *   FAKE_INIT, FAKE_FENCE, FAKE_FINALIZE   their status
 *   FAKE_NODES             "a,b", nothing: not known
 *   FAKE_PEERS             "a:0,2;b:1"
 *   FAKE_VALUE             number, long or lost: how the value of an address is spoilt
 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char key[64];
    char val[2048];
} pairs[16];
static int n_pairs;

static int number(const char *var, int dflt)
{
    const char *text = getenv(var);

    return text != NULL ? atoi(text) : dflt;
}

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t n_info)
{
    (void)info;
    (void)n_info;
    memset(proc, 0, sizeof(*proc));
    snprintf(proc->nspace, sizeof(proc->nspace), "fake");
    proc->rank = (pmix_rank_t)number("FAKE_RANK", 0);
    return number("FAKE_INIT", PMIX_SUCCESS);
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t n_info)
{
    (void)info;
    (void)n_info;
    return number("FAKE_FINALIZE", PMIX_SUCCESS);
}

pmix_status_t PMIx_Abort(int status, const char msg[], pmix_proc_t procs[], size_t n_procs)
{
    (void)procs;
    (void)n_procs;
    printf("abort %d: %s\n", status, msg);
    fflush(stdout);
    _Exit(77 + status);
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *val)
{
    (void)scope;
    if (n_pairs == 16 || val->type != PMIX_STRING)
        return PMIX_ERROR;
    snprintf(pairs[n_pairs].key, sizeof(pairs[0].key), "%s", key);
    snprintf(pairs[n_pairs++].val, sizeof(pairs[0].val), "%s", val->data.string);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Commit(void)
{
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[],
                         size_t n_info)
{
    (void)procs;
    (void)n_procs;
    if (n_info != 1 || strcmp(info[0].key, PMIX_COLLECT_DATA) != 0)
        return PMIX_ERR_BAD_PARAM;
    return number("FAKE_FENCE", PMIX_SUCCESS);
}

static pmix_status_t give_text(pmix_value_t *value, const char *text)
{
    value->type = PMIX_STRING;
    value->data.string = strdup(text);
    return PMIX_SUCCESS;
}

static pmix_status_t give_number(pmix_value_t *value, int num)
{
    value->type = PMIX_UINT32;
    value->data.uint32 = (uint32_t)num;
    return PMIX_SUCCESS;
}

static pmix_status_t give_addr(pmix_value_t *value, const char *text)
{
    const char *spoil = getenv("FAKE_VALUE");
    char big[8192];

    if (spoil == NULL)
        return give_text(value, text);
    if (strcmp(spoil, "number") == 0)
        return give_number(value, 7);
    if (strcmp(spoil, "lost") == 0)
        return PMIX_ERR_LOST_CONNECTION;
    memset(big, '0', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    return give_text(value, big);
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
                       size_t n_info, pmix_value_t **val_p)
{
    const char *size = getenv("FAKE_SIZE");
    pmix_value_t *value = calloc(1, sizeof(*value));
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;

    if (n_info != 1 || strcmp(info[0].key, PMIX_TIMEOUT) != 0)
        rc = PMIX_ERR_BAD_PARAM;
    else if (strcmp(key, PMIX_JOB_SIZE) == 0 && size != NULL && strcmp(size, "text") == 0)
        rc = give_text(value, "4");
    else if (strcmp(key, PMIX_JOB_SIZE) == 0 && proc->rank == PMIX_RANK_WILDCARD)
        rc = give_number(value, number("FAKE_SIZE", 1));
    else if (strcmp(key, PMIX_UNIV_SIZE) == 0)
        rc = give_number(value, 9);
    for (int i = 0; i < n_pairs; i++)
        if (strcmp(pairs[i].key, key) == 0)
            rc = give_addr(value, pairs[i].val);
    if (rc == PMIX_SUCCESS)
        *val_p = value;
    else
        free(value);
    return rc;
}

pmix_status_t PMIx_Resolve_nodes(const char nspace[], char **list_p)
{
    const char *nodes = getenv("FAKE_NODES");

    (void)nspace;
    if (nodes == NULL)
        return PMIX_ERR_NOT_FOUND;
    *list_p = strdup(nodes);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Resolve_peers(const char name[], const char nspace[], pmix_proc_t **procs_p,
                                 size_t *n_procs_p)
{
    const char *at = getenv("FAKE_PEERS");
    size_t len = strlen(name);

    (void)nspace;
    *n_procs_p = 0;
    *procs_p = calloc(16, sizeof(**procs_p));
    for (; at != NULL && *at != '\0'; at += strcspn(at, ";"), at += *at == ';') {
        if (strncmp(at, name, len) != 0 || at[len] != ':')
            continue;
        for (at += len; *at == ':' || *at == ',';)
            (*procs_p)[(*n_procs_p)++].rank = (pmix_rank_t)strtoul(at + 1, (char **)&at, 10);
        return PMIX_SUCCESS;
    }
    free(*procs_p);
    return PMIX_ERR_NOT_FOUND;
}

const char *PMIx_Error_string(pmix_status_t status)
{
    return status == PMIX_ERR_LOST_CONNECTION ? "LOST" : "SOME-ERROR";
}
