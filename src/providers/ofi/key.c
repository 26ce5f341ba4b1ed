/*
 * Memory contexts: index and generation. Freed indices are reused in order of
 * freeing, with a new generation; an index whose generations are used up is
 * retired, so no context ever comes back. Index 0 is not used. ia->lock is held
 * in all functions.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <string.h>

/* So many indices rest before the oldest is used again. */
enum { REUSE_AFTER = 1024, GROW = 64, INDEX_N = DM_OFI_KEY_INDEX + 1, LAST_GEN = 0xffff };
enum { GEN_SHIFT = 16 };

static uint32_t index_of(uint32_t key)
{
    return key & DM_OFI_KEY_INDEX;
}

static bool grow(struct dm_ofi_ia *ia)
{
    uint32_t n = ia->n_regions == 0 ? GROW : ia->n_regions * 2;
    struct dm_ofi_region *regions;
    uint32_t *free_keys;

    regions = realloc(ia->regions, n * sizeof(*regions));
    if (regions == NULL)
        return false;
    memset(regions + ia->n_regions, 0, (n - ia->n_regions) * sizeof(*regions));
    ia->regions = regions;
    free_keys = malloc(n * sizeof(*free_keys));
    if (free_keys == NULL)
        return false;
    for (uint32_t i = 0; i < ia->n_free_keys; i++)
        free_keys[i] = ia->free_keys[(ia->free_head + i) % ia->n_regions];
    free(ia->free_keys);
    ia->free_keys = free_keys;
    ia->free_head = 0;
    ia->n_regions = n;
    return true;
}

/* An unused index; false when all are taken. */
static bool index_get(struct dm_ofi_ia *ia, uint32_t *index_p)
{
    if (ia->n_regions_used == 0)
        ia->n_regions_used = 1;
    if (ia->n_free_keys < REUSE_AFTER && ia->n_regions_used < INDEX_N &&
        (ia->n_regions_used < ia->n_regions || grow(ia))) {
        *index_p = ia->n_regions_used++;
        return true;
    }
    if (ia->n_free_keys == 0)
        return false;
    *index_p = ia->free_keys[ia->free_head];
    ia->free_head = (ia->free_head + 1) % ia->n_regions;
    ia->n_free_keys--;
    return true;
}

uint32_t dm_ofi_key_new(struct dm_pia *pia)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;
    struct dm_ofi_region *region;
    uint32_t index;

    if (!index_get(ia, &index))
        return 0;
    region = &ia->regions[index];
    region->last_key = ((region->last_key >> GEN_SHIFT) + 1) << GEN_SHIFT | index;
    return region->last_key;
}

bool dm_ofi_key_open(struct dm_ofi_ia *ia, const struct dm_ofi_region *want)
{
    struct dm_ofi_region *region = &ia->regions[index_of(want->key)];
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
    region->is_told = false;
    if (access == 0)
        return true;
    memcpy(&at, &want->addr, sizeof(at));
    /* Only who is told can know it. */
    token = want->only != NULL ? dm_ofi_ep_token(ia, want->only) : dm_ofi_pz_token(ia, want->pz);
    if (fi_mr_reg(ia->domain, at, want->len, access, 0, token << 32 | want->key, 0, &region->mr,
                  NULL) == 0)
        return true;
    region->mr = NULL;
    region->key = 0;
    return false;
}

struct dm_ofi_region *dm_ofi_key_region(struct dm_ofi_ia *ia, uint32_t key)
{
    uint32_t index = index_of(key);

    return key != 0 && index < ia->n_regions_used && ia->regions[index].key == key
               ? &ia->regions[index]
               : NULL;
}

void dm_ofi_key_hide(struct dm_ofi_ia *ia, uint32_t key)
{
    struct dm_ofi_region *region = &ia->regions[index_of(key)];

    if (region->key != key)
        return;
    region->key = 0;
    if (region->is_told)
        dm_ofi_far_tell_gone(ia, region);
    region->is_told = false;
}

void dm_ofi_key_shut(struct dm_ofi_ia *ia, uint32_t key)
{
    struct dm_ofi_region *region = &ia->regions[index_of(key)];

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
    ia->free_keys[(ia->free_head + ia->n_free_keys) % ia->n_regions] = index_of(key);
    ia->n_free_keys++;
}

void dm_ofi_keys_close(struct dm_ofi_ia *ia)
{
    free(ia->regions);
    free(ia->free_keys);
    ia->regions = NULL;
    ia->free_keys = NULL;
    ia->n_regions = 0;
    ia->n_regions_used = 0;
    ia->n_free_keys = 0;
}
