/*
 * Memory contexts: index and generation. Freed indices are reused in order of
 * freeing, with a new generation; an index whose generations are used up is
 * retired, so no context ever comes back. Index 0 is not used. ia->lock is held
 * in all functions.
 */
#include "providers/ofi/key.h"

#include <stdlib.h>
#include <string.h>

#include "providers/ofi/rkey.h"

/* So many indices rest before the oldest is used again. */
enum { REUSE_AFTER = 1024, GROW = 64, INDEX_N = DM_OFI_KEY_INDEX + 1, LAST_GEN = 0xffff };
enum { GEN_SHIFT = 16 };

static uint32_t ofi_key_index(uint32_t key)
{
    return key & DM_OFI_KEY_INDEX;
}

static bool keys_grow(struct dm_ofi_ia *ia)
{
    uint32_t n = ia->keys.n == 0 ? GROW : ia->keys.n * 2;
    struct dm_ofi_region *regions;
    uint32_t *free_keys;

    regions = realloc(ia->keys.regions, n * sizeof(*regions));
    if (regions == NULL)
        return false;
    memset(regions + ia->keys.n, 0, (n - ia->keys.n) * sizeof(*regions));
    ia->keys.regions = regions;
    free_keys = malloc(n * sizeof(*free_keys));
    if (free_keys == NULL)
        return false;
    for (uint32_t i = 0; i < ia->keys.n_free; i++)
        free_keys[i] = ia->keys.free[(ia->keys.free_head + i) % ia->keys.n];
    free(ia->keys.free);
    ia->keys.free = free_keys;
    ia->keys.free_head = 0;
    ia->keys.n = n;
    return true;
}

/* An unused index; false when all are taken. */
static bool ofi_index_take(struct dm_ofi_ia *ia, uint32_t *index_p)
{
    if (ia->keys.n_used == 0)
        ia->keys.n_used = 1;
    if (ia->keys.n_free < REUSE_AFTER && ia->keys.n_used < INDEX_N &&
        (ia->keys.n_used < ia->keys.n || keys_grow(ia))) {
        *index_p = ia->keys.n_used++;
        return true;
    }
    if (ia->keys.n_free == 0)
        return false;
    *index_p = ia->keys.free[ia->keys.free_head];
    ia->keys.free_head = (ia->keys.free_head + 1) % ia->keys.n;
    ia->keys.n_free--;
    return true;
}

uint32_t dm_ofi_key_new(struct dm_pia *pia)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;
    struct dm_ofi_region *region;
    uint32_t index;

    if (!ofi_index_take(ia, &index))
        return 0;
    region = &ia->keys.regions[index];
    region->last_key = ((region->last_key >> GEN_SHIFT) + 1) << GEN_SHIFT | index;
    return region->last_key;
}

bool dm_ofi_key_open(struct dm_ofi_ia *ia, const struct dm_ofi_region *want)
{
    struct dm_ofi_region *region = &ia->keys.regions[ofi_key_index(want->key)];
    uint64_t access = 0;
    uint64_t token;
    void *at;

    if ((want->priv & DAT_MEM_PRIV_REMOTE_READ_FLAG) != 0)
        access |= FI_REMOTE_READ;
    if ((want->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) != 0)
        access |= FI_REMOTE_WRITE;
    *region = *want;
    region->last_key = want->key;
    region->mr = NULL;
    region->is_reported = false;
    if (access == 0)
        return true;
    memcpy(&at, &want->addr, sizeof(at));
    /* Only who is reported can know it. */
    token = want->only != NULL ? dm_ofi_ep_token(ia, want->only) : dm_ofi_pz_token(ia, want->pz);
    if (fi_mr_reg(ia->fabric.domain, at, want->len, access, 0, token << 32 | want->key, 0,
                  &region->mr, NULL) == 0)
        return true;
    region->mr = NULL;
    region->key = 0;
    return false;
}

struct dm_ofi_region *dm_ofi_key_region(struct dm_ofi_ia *ia, uint32_t key)
{
    uint32_t index = ofi_key_index(key);

    return key != 0 && index < ia->keys.n_used && ia->keys.regions[index].key == key
               ? &ia->keys.regions[index]
               : NULL;
}

void dm_ofi_key_hide(struct dm_ofi_ia *ia, uint32_t key)
{
    struct dm_ofi_region *region = &ia->keys.regions[ofi_key_index(key)];

    if (region->key != key)
        return;
    region->key = 0;
    if (region->is_reported)
        dm_ofi_rkey_invalidate(ia, region);
    region->is_reported = false;
}

void dm_ofi_key_shut(struct dm_ofi_ia *ia, uint32_t key)
{
    struct dm_ofi_region *region = &ia->keys.regions[ofi_key_index(key)];

    dm_ofi_key_hide(ia, key);
    if (region->mr != NULL)
        fi_close(&region->mr->fid);
    region->mr = NULL;
}

void dm_ofi_key_free(struct dm_pia *pia, uint32_t key)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;

    if (key >> GEN_SHIFT == LAST_GEN)
        return;
    ia->keys.free[(ia->keys.free_head + ia->keys.n_free) % ia->keys.n] = ofi_key_index(key);
    ia->keys.n_free++;
}

void dm_ofi_keys_close(struct dm_ofi_ia *ia)
{
    free(ia->keys.regions);
    free(ia->keys.free);
    ia->keys.regions = NULL;
    ia->keys.free = NULL;
    ia->keys.n = 0;
    ia->keys.n_used = 0;
    ia->keys.n_free = 0;
}
