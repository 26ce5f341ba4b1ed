/*
 * Memory contexts: index and generation. Freed indices are reused in order of
 * freeing, with a new generation; an index whose generations are used up is
 * retired, so no context ever comes back. Index 0 is not used. ia->lock is held
 * in all functions.
 */
#include "providers/net/key.h"

#include <stdlib.h>

/* So many indices rest before the oldest is used again. */
enum { REUSE_AFTER = 1024, GROW = 64, INDEX_N = DM_NET_KEY_INDEX + 1, LAST_GEN = 0xffff };
enum { GEN_SHIFT = 16 };

static bool net_keys_grow(struct dm_net_keys *keys)
{
    uint32_t n = keys->n == 0 ? GROW : keys->n * 2;
    struct dm_net_region *regions;
    uint32_t *free_keys;

    regions = realloc(keys->regions, n * sizeof(*regions));
    if (regions == NULL)
        return false;
    memset(regions + keys->n, 0, (n - keys->n) * sizeof(*regions));
    keys->regions = regions;
    free_keys = malloc(n * sizeof(*free_keys));
    if (free_keys == NULL)
        return false;
    for (uint32_t i = 0; i < keys->n_free; i++)
        free_keys[i] = keys->free[(keys->free_head + i) % keys->n];
    free(keys->free);
    keys->free = free_keys;
    keys->free_head = 0;
    keys->n = n;
    return true;
}

/* An unused index; false when all are taken. */
static bool net_index_take(struct dm_net_keys *keys, uint32_t *index_p)
{
    if (keys->n_used == 0)
        keys->n_used = 1;
    if (keys->n_free < REUSE_AFTER && keys->n_used < INDEX_N &&
        (keys->n_used < keys->n || net_keys_grow(keys))) {
        *index_p = keys->n_used++;
        return true;
    }
    if (keys->n_free == 0)
        return false;
    *index_p = keys->free[keys->free_head];
    keys->free_head = (keys->free_head + 1) % keys->n;
    keys->n_free--;
    return true;
}

uint32_t dm_net_key_new(struct dm_pia *pia)
{
    struct dm_net *net = (struct dm_net *)pia;
    struct dm_net_region *region;
    uint32_t index;

    if (!net_index_take(&net->keys, &index))
        return 0;
    region = &net->keys.regions[index];
    region->last_key = ((region->last_key >> GEN_SHIFT) + 1) << GEN_SHIFT | index;
    return region->last_key;
}

bool dm_net_key_open(struct dm_net *net, const struct dm_net_region *want)
{
    struct dm_net_region *region = dm_net_key_entry(net, want->key);

    *region = *want;
    region->last_key = want->key;
    if (net->ops->region_open == NULL || net->ops->region_open(net, region))
        return true;
    region->key = 0;
    return false;
}

struct dm_net_region *dm_net_key_region(struct dm_net *net, uint32_t key)
{
    if (key == 0 || (key & DM_NET_KEY_INDEX) >= net->keys.n_used ||
        dm_net_key_entry(net, key)->key != key)
        return NULL;
    return dm_net_key_entry(net, key);
}

void dm_net_key_hide(struct dm_net *net, uint32_t key)
{
    struct dm_net_region *region = dm_net_key_entry(net, key);

    if (region->key != key)
        return;
    region->key = 0;
    if (region->is_reported)
        net->ops->region_hidden(net, region);
    region->is_reported = false;
}

bool dm_net_key_wait(struct dm_net *net, const struct dm_pz *pz, uint32_t key)
{
    return dm_net_wait_over(net, pz, key, net->ops->region_is_left);
}

void dm_net_key_free(struct dm_pia *pia, uint32_t key)
{
    struct dm_net_keys *keys = &((struct dm_net *)pia)->keys;

    if (key >> GEN_SHIFT == LAST_GEN)
        return;
    keys->free[(keys->free_head + keys->n_free) % keys->n] = key & DM_NET_KEY_INDEX;
    keys->n_free++;
}

void dm_net_keys_close(struct dm_net *net)
{
    free(net->keys.regions);
    free(net->keys.free);
    net->keys = (struct dm_net_keys){0};
}
