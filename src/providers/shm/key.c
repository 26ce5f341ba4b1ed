/*
 * The table of memory keys in our segment: which entries are used, and how
 * memory is shown to peers and taken away from them.
 *
 * A key is found by index. Freed indices are reused in order of freeing, with
 * a new generation, so that a stale key is noticed. An index whose generations
 * are used up is never used again: no key ever comes back. That ends after 2^32
 * keys of one instance, when registering fails. ia->lock is held in all
 * functions.
 */
#include "providers/shm/key.h"

#include <stdlib.h>

/* So many indices rest before the oldest is used again. */
enum { REUSE_AFTER = 1024, LAST_GEN = 0xffff };

struct dm_shm_free_key {
    struct dm_list link;
    uint32_t index;
};

/* An unused index, 0 when all are taken; 0 itself is never used. */
static uint32_t shm_key_index(struct dm_shm_ia *ia)
{
    struct dm_shm_free_key *free_key;
    uint32_t index;

    if (ia->n_free_keys < REUSE_AFTER && ia->n_keys_used + 1 < DM_SHM_N_KEYS)
        return ++ia->n_keys_used;
    if (dm_list_is_empty(&ia->free_keys))
        return 0;
    ia->n_free_keys--;
    free_key = dm_container_of(ia->free_keys.next, struct dm_shm_free_key, link);
    index = free_key->index;
    dm_list_del(&free_key->link);
    free(free_key);
    return index;
}

uint32_t dm_shm_key_new(struct dm_pia *pia)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;
    uint32_t index = shm_key_index(ia);
    struct dm_shm_key *entry;

    if (index == 0)
        return 0;
    entry = &ia->seg.hdr->keys[index];
    entry->key = ((entry->key >> 16) + 1) << 16 | index;
    return entry->key;
}

void dm_shm_key_publish(struct dm_shm_ia *ia, uint32_t key, const struct dm_shm_key *want)
{
    struct dm_shm_key *entry = &ia->seg.hdr->keys[key & DM_SHM_KEY_IDX];
    const uint32_t all = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    uint64_t serial = ++ia->last_serial;

    entry->va = want->va;
    entry->len = want->len;
    entry->addr = want->addr;
    entry->priv = want->priv;
    if ((want->priv & all) == all)
        entry->priv |= (uint32_t)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
    entry->pz = want->pz;
    entry->only = want->only;
    entry->file = want->file;
    entry->base_key = want->base_key;
    entry->base_serial = want->base_serial != 0 ? want->base_serial : serial;
    atomic_store_explicit(&entry->serial, serial, memory_order_release);
}

uint64_t dm_shm_key_hide(struct dm_shm_ia *ia, uint32_t key)
{
    return atomic_exchange(&ia->seg.hdr->keys[key & DM_SHM_KEY_IDX].serial, 0);
}

uint64_t dm_shm_key_serial(struct dm_shm_ia *ia, uint32_t key)
{
    return atomic_load_explicit(&ia->seg.hdr->keys[key & DM_SHM_KEY_IDX].serial,
                                memory_order_relaxed);
}

void dm_shm_key_free(struct dm_pia *pia, uint32_t key)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;
    struct dm_shm_free_key *free_key;

    if (key >> 16 == LAST_GEN)
        return;
    free_key = malloc(sizeof(*free_key));
    if (free_key == NULL)
        return; /* the index is lost, not reused */
    free_key->index = key & DM_SHM_KEY_IDX;
    dm_list_add_tail(&ia->free_keys, &free_key->link);
    ia->n_free_keys++;
}

void dm_shm_keys_close(struct dm_shm_ia *ia)
{
    while (!dm_list_is_empty(&ia->free_keys)) {
        struct dm_shm_free_key *free_key =
            dm_container_of(ia->free_keys.next, struct dm_shm_free_key, link);

        dm_list_del(&free_key->link);
        free(free_key);
    }
}
