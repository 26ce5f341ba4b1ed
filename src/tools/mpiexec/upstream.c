/*
 * Before a barrier an agent joins the new pairs of its ranks to values of the engine's space, under
 * names that end in its number; the first begins with their number, with a rank that waits there,
 * with one that will not come, and with the exit status so far. Others fetch them when they are asked for a key of such a rank.
 */
#include "tools/mpiexec/upstream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmi/pmi_wire.h"
#include "util/err.h"
#include "util/kv.h"
#include "util/log.h"

/* Of a joined value: signs that are escaped on the way make it longer, and it shall still be one.
 */
enum { PART_LEN = 900 };

static void block_name(char *name, size_t len, int fence, int part, int agent)
{
    snprintf(name, len, "b%d.%d-%d", fence, part, agent);
}

/* ---- publishing ---- */

static bool put_part(struct dm_launch_up *up, int part, const char *text, size_t len)
{
    struct dm_kv_ops kv = dm_pmi_kv(up->pmi);
    char name[64];
    char value[PART_LEN + 1];

    memcpy(value, text, len);
    value[len] = '\0';
    block_name(name, sizeof(name), up->n_fences, part, up->own);
    return kv.put(kv.arg, name, value) == DM_OK;
}

/* All new pairs, each behind a blank; *text_p is to be freed. */
static bool join_pairs(struct dm_launch_up *up, char **text_p)
{
    const struct dm_launch_kvs *kvs = &up->node->kvs;
    size_t len;
    FILE *f = open_memstream(text_p, &len);

    if (f == NULL)
        return false;
    for (size_t i = up->n_published; i < kvs->n_pairs; i++)
        if (!kvs->pairs[i]->is_fetched)
            fprintf(f, " %s=%s", kvs->pairs[i]->key, kvs->pairs[i]->value);
    return fclose(f) == 0;
}

static int waiting_rank(const struct dm_launch_node *node)
{
    for (int i = 0; i < node->n_ranks; i++)
        if (node->ranks[i].is_in_barrier)
            return node->ranks[i].rank;
    return -1;
}

static bool up_publish(struct dm_launch_up *up)
{
    const struct dm_launch_rank *missing = dm_launch_verdict_missing(up->node);
    char *pairs = NULL;
    char *text = NULL;
    bool is_good = join_pairs(up, &pairs);
    size_t len = 0;

    if (is_good) {
        int n_parts = (int)((strlen(pairs) + 80) / PART_LEN) + 1;

        is_good = asprintf(&text, "%d %d %d %d %" PRIu64 ";%s", n_parts, waiting_rank(up->node),
                           missing != NULL ? missing->rank : -1, up->node->status,
                           up->node->status_ms, pairs) >= 0;
        len = is_good ? strlen(text) : 0;
        for (int part = 0; part < n_parts && is_good; part++) {
            size_t at = (size_t)part * PART_LEN < len ? (size_t)part * PART_LEN : len;
            size_t n = len - at < PART_LEN ? len - at : PART_LEN;

            is_good = put_part(up, part, text + at, n);
        }
    }
    free(pairs);
    free(text);
    up->n_published = up->node->kvs.n_pairs;
    return is_good;
}

static void on_barrier_over(void *arg)
{
    struct dm_launch_up *up = arg;
    bool is_good = dm_pmi_fence_end(up->pmi) == DM_OK;

    dm_launch_loop_remove(up->loop, &up->watch);
    up->n_fences++;
    up->done(up->arg, is_good);
}

bool dm_launch_up_barrier(struct dm_launch_up *up, void (*done)(void *arg, bool is_good), void *arg)
{
    up->done = done;
    up->arg = arg;
    return up_publish(up) && dm_pmi_fence_start(up->pmi) == DM_OK &&
           dm_launch_loop_add(up->loop, &up->watch, dm_pmi_fd(up->pmi), false, on_barrier_over, up);
}

/* ---- fetching ---- */

/* Takes pairs "KEY=VALUE KEY=VALUE" into the space of this node. */
static void take_pairs(struct dm_launch_up *up, char *text)
{
    struct dm_launch_kvs *kvs = &up->node->kvs;
    char *rest = text;
    char *word;

    while ((word = strsep(&rest, " ")) != NULL) {
        char *value = strchr(word, '=');
        size_t n_before = kvs->n_pairs;

        if (value == NULL)
            continue;
        *value = '\0';
        if (dm_launch_kvs_put(kvs, word, value + 1) && kvs->n_pairs > n_before)
            kvs->pairs[kvs->n_pairs - 1]->is_fetched = true;
    }
}

static bool get_part(struct dm_launch_up *up, int fence, int part, int agent, char *value,
                     size_t len)
{
    struct dm_kv_ops kv = dm_pmi_kv(up->pmi);
    char name[64];

    block_name(name, sizeof(name), fence, part, agent);
    return kv.get(kv.arg, name, value, len) == DM_OK;
}

/* What an agent has published before a barrier. */
static bool fetch_fence(struct dm_launch_up *up, int agent, int fence)
{
    struct dm_launch_peer *peer = &up->peers[agent];
    char value[DM_KV_VAL_MAX];
    int n_parts = 0;
    size_t len = 0;
    char *text;
    FILE *f;

    if (!get_part(up, fence, 0, agent, value, sizeof(value)) ||
        sscanf(value, "%d %d %d %d %" SCNu64 ";", &n_parts, &peer->waiting, &peer->dead,
               &peer->status, &peer->status_ms) != 5)
        return false;
    f = open_memstream(&text, &len);
    if (f == NULL)
        return false;
    fputs(strchr(value, ';') + 1, f);
    for (int part = 1; part < n_parts; part++)
        if (get_part(up, fence, part, agent, value, sizeof(value)))
            fputs(value, f);
    fclose(f);
    take_pairs(up, text);
    free(text);
    return true;
}

static void fetch_agent(struct dm_launch_up *up, int agent)
{
    struct dm_launch_peer *peer = &up->peers[agent];

    while (agent != up->own && peer->n_fetched < up->n_fences &&
           fetch_fence(up, agent, peer->n_fetched))
        peer->n_fetched++;
}

/* The rank that a key ends with, -1: none. */
static int rank_of_key(const struct dm_launch_up *up, const char *key)
{
    const char *dash = strrchr(key, '-');
    char *end;
    long rank;

    if (dash == NULL || dash[1] < '0' || dash[1] > '9')
        return -1;
    rank = strtol(dash + 1, &end, 10);
    return *end == '\0' && rank < up->node->place->n_ranks ? (int)rank : -1;
}

const char *dm_launch_up_lookup(struct dm_launch_up *up, const char *key, bool *is_lost_p)
{
    int rank = rank_of_key(up, key);
    const char *value = NULL;

    *is_lost_p = false;
    if (rank >= 0) {
        int agent = up->agent_of[up->node->place->host_of[rank]];

        fetch_agent(up, agent);
        value = dm_launch_kvs_get(&up->node->kvs, key);
        *is_lost_p = value == NULL && up->peers[agent].dead >= 0;
    }
    /* A key of another form may be anybody's. */
    for (int agent = 0; rank < 0 && agent < up->n_agents && value == NULL; agent++) {
        fetch_agent(up, agent);
        value = dm_launch_kvs_get(&up->node->kvs, key);
    }
    return value;
}

int dm_launch_up_waiting(struct dm_launch_up *up)
{
    int waiting = -1;

    for (int agent = 0; agent < up->n_agents && waiting < 0; agent++) {
        fetch_agent(up, agent);
        if (agent != up->own)
            waiting = up->peers[agent].waiting;
    }
    return waiting;
}

int dm_launch_up_first_status(struct dm_launch_up *up)
{
    int status = up->node->status;
    uint64_t first = up->node->status_ms;

    for (int agent = 0; agent < up->n_agents; agent++) {
        const struct dm_launch_peer *peer = &up->peers[agent];

        fetch_agent(up, agent);
        if (agent != up->own && peer->status != 0 && peer->status_ms < first) {
            status = peer->status;
            first = peer->status_ms;
        }
    }
    return status;
}
