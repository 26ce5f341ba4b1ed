/*
 * A key-value space: texts by name, in the order in which they came.
 */
#ifndef DM_TOOLS_MPIEXEC_KVS_H
#define DM_TOOLS_MPIEXEC_KVS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/hash.h"

struct dm_launch_pair {
    char *key;
    char *value;
    struct dm_launch_pair *next_same; /* another key with the same hash */
    bool is_fetched;                  /* no rank of this node has put it */
};

struct dm_launch_kvs {
    struct dm_hash by_hash;
    struct dm_launch_pair **pairs; /* n_pairs of them */
    size_t n_pairs;
    size_t max_pairs;
};

void dm_launch_kvs_init(struct dm_launch_kvs *kvs);
void dm_launch_kvs_fini(struct dm_launch_kvs *kvs);
/* Copies both; a key that is there gets the new value. False: no memory. */
bool dm_launch_kvs_put(struct dm_launch_kvs *kvs, const char *key, const char *value);
/* The value, NULL: there is none. Valid until the next put of this key. */
const char *dm_launch_kvs_get(const struct dm_launch_kvs *kvs, const char *key);

#endif
