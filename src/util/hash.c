/*
 * Hash table with linear probing, at most three quarters full.
 * Invariant: between the home slot of a key and the slot that it is in there is
 * no empty slot; deleting moves later entries back, so there are no tombstones.
 */
#include "util/hash.h"

#include <stdlib.h>

#include "util/err.h"

#define MIN_SLOTS 16

void dm_hash_init(struct dm_hash *hash)
{
    hash->slots = NULL;
    hash->n_slots = 0;
    hash->n_used = 0;
}

void dm_hash_fini(struct dm_hash *hash)
{
    free(hash->slots);
    dm_hash_init(hash);
}

/* Home slot: the upper bits of a product mix well even for keys in steps. */
static size_t hash_home(const struct dm_hash *hash, uint64_t key)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(key >> 32) & (hash->n_slots - 1);
}

/* The slot of key, or the empty slot where it belongs. */
static size_t hash_find_slot(const struct dm_hash *hash, uint64_t key)
{
    size_t i = hash_home(hash, key);

    while (hash->slots[i].val != NULL && hash->slots[i].key != key)
        i = (i + 1) & (hash->n_slots - 1);
    return i;
}

static int hash_grow(struct dm_hash *hash)
{
    struct dm_hash old = *hash;
    size_t n_slots = old.n_slots > 0 ? old.n_slots * 2 : MIN_SLOTS;
    struct dm_hash_slot *slots = calloc(n_slots, sizeof(*slots));

    if (slots == NULL)
        return DM_FAIL(DM_ENOMEM, "hash table of %zu slots", n_slots);
    hash->slots = slots;
    hash->n_slots = n_slots;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slots[i].val != NULL)
            hash->slots[hash_find_slot(hash, old.slots[i].key)] = old.slots[i];
    free(old.slots);
    return DM_OK;
}

int dm_hash_put(struct dm_hash *hash, uint64_t key, void *val)
{
    size_t i;

    if ((hash->n_used + 1) * 4 > hash->n_slots * 3) {
        int err = hash_grow(hash);

        if (err != DM_OK)
            return err;
    }
    i = hash_find_slot(hash, key);
    if (hash->slots[i].val == NULL)
        hash->n_used++;
    hash->slots[i].key = key;
    hash->slots[i].val = val;
    return DM_OK;
}

void *dm_hash_get(const struct dm_hash *hash, uint64_t key)
{
    if (hash->n_used == 0)
        return NULL;
    return hash->slots[hash_find_slot(hash, key)].val;
}

void *dm_hash_del(struct dm_hash *hash, uint64_t key)
{
    size_t mask = hash->n_slots - 1;
    size_t hole;
    void *val;

    if (hash->n_used == 0)
        return NULL;
    hole = hash_find_slot(hash, key);
    val = hash->slots[hole].val;
    if (val == NULL)
        return NULL;
    for (size_t i = (hole + 1) & mask; hash->slots[i].val != NULL; i = (i + 1) & mask) {
        size_t home = hash_home(hash, hash->slots[i].key);

        /* It may move back unless its home lies between the hole and itself. */
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            hash->slots[hole] = hash->slots[i];
            hole = i;
        }
    }
    hash->slots[hole].val = NULL;
    hash->n_used--;
    return val;
}

void *dm_hash_next(const struct dm_hash *hash, size_t *pos_p, uint64_t *key_p)
{
    while (*pos_p < hash->n_slots) {
        const struct dm_hash_slot *slot = &hash->slots[(*pos_p)++];

        if (slot->val != NULL) {
            *key_p = slot->key;
            return slot->val;
        }
    }
    return NULL;
}
