/*
 * The key-value space of a job.
 */
#include "tools/mpiexec/kvs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

void dm_launch_kvs_init(struct dm_launch_kvs *kvs)
{
    memset(kvs, 0, sizeof(*kvs));
    dm_hash_init(&kvs->by_hash);
}

void dm_launch_kvs_fini(struct dm_launch_kvs *kvs)
{
    for (size_t i = 0; i < kvs->n_pairs; i++) {
        free(kvs->pairs[i]->key);
        free(kvs->pairs[i]->value);
        free(kvs->pairs[i]);
    }
    free(kvs->pairs);
    dm_hash_fini(&kvs->by_hash);
    dm_launch_kvs_init(kvs);
}

static struct dm_launch_pair *kvs_find(const struct dm_launch_kvs *kvs, const char *key)
{
    struct dm_launch_pair *pair = dm_hash_get(&kvs->by_hash, dm_hash_text(DM_HASH_TEXT, key));

    while (pair != NULL && strcmp(pair->key, key) != 0)
        pair = pair->next_same;
    return pair;
}

const char *dm_launch_kvs_get(const struct dm_launch_kvs *kvs, const char *key)
{
    const struct dm_launch_pair *pair = kvs_find(kvs, key);

    return pair != NULL ? pair->value : NULL;
}

static bool kvs_has_space(struct dm_launch_kvs *kvs)
{
    size_t max = kvs->max_pairs > 0 ? 2 * kvs->max_pairs : 64;
    struct dm_launch_pair **new;

    if (kvs->n_pairs < kvs->max_pairs)
        return true;
    new = realloc(kvs->pairs, max * sizeof(struct dm_launch_pair *));
    if (new == NULL)
        return false;
    kvs->pairs = new;
    kvs->max_pairs = max;
    return true;
}

static bool add_pair(struct dm_launch_kvs *kvs, const char *key, char *value)
{
    uint64_t hash = dm_hash_text(DM_HASH_TEXT, key);
    struct dm_launch_pair *pair = calloc(1, sizeof(*pair));

    if (pair != NULL)
        pair->key = strdup(key);
    if (pair == NULL || pair->key == NULL || !kvs_has_space(kvs)) {
        if (pair != NULL)
            free(pair->key);
        free(pair);
        return false;
    }
    pair->value = value;
    pair->next_same = dm_hash_get(&kvs->by_hash, hash);
    if (dm_hash_put(&kvs->by_hash, hash, pair) != 0) {
        free(pair->key);
        free(pair);
        return false;
    }
    kvs->pairs[kvs->n_pairs++] = pair;
    return true;
}

bool dm_launch_kvs_put(struct dm_launch_kvs *kvs, const char *key, const char *value)
{
    struct dm_launch_pair *pair = kvs_find(kvs, key);
    char *copy = strdup(value);

    if (copy == NULL)
        return false;
    if (pair != NULL) {
        free(pair->value);
        pair->value = copy;
        return true;
    }
    if (add_pair(kvs, key, copy))
        return true;
    free(copy);
    return false;
}
