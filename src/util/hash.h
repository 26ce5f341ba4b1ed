/*
 * Hash table from 64-bit keys to pointers: open addressing, grows by doubling,
 * one allocation. Not locked.
 */
#ifndef DM_UTIL_HASH_H
#define DM_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a of a text, going on from h; DM_HASH_TEXT to begin with. It is no secret. */
#define DM_HASH_TEXT UINT64_C(14695981039346656037)
static inline uint64_t dm_hash_text(uint64_t h, const char *text)
{
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h;
}

struct dm_hash_slot {
    uint64_t key;
    void *val; /* NULL: the slot is empty */
};

struct dm_hash {
    struct dm_hash_slot *slots;
    size_t n_slots; /* 0 or a power of two */
    size_t n_used;
};

/* An empty table; allocates nothing. */
void dm_hash_init(struct dm_hash *hash);
/* Frees the table, not what its values point to. */
void dm_hash_fini(struct dm_hash *hash);
/* Set key to val (not NULL), replacing an earlier value: DM_OK or DM_ENOMEM. */
int dm_hash_put(struct dm_hash *hash, uint64_t key, void *val);
/* The value of key, NULL when there is none. */
void *dm_hash_get(const struct dm_hash *hash, uint64_t key);
/* Remove key and return its value, NULL when there was none. */
void *dm_hash_del(struct dm_hash *hash, uint64_t key);
/*
 * Walk: start with *pos_p 0, returns the next value (any order) and its key, or
 * NULL at the end. The table must not change meanwhile.
 */
void *dm_hash_next(const struct dm_hash *hash, size_t *pos_p, uint64_t *key_p);

#endif
