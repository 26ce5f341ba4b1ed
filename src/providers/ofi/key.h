/*
 * The table of memory contexts. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_KEY_H
#define DM_PROVIDERS_OFI_KEY_H

#include "providers/ofi/ep.h"

/* What a memory context stands for. */
struct dm_ofi_region {
    uint32_t key; /* 0: nothing now */
    uint32_t last_key;
    struct dm_pz *pz;
    struct dm_ofi_ep *only; /* the endpoint that serves it, NULL: any */
    uint64_t va;
    uint64_t len;
    uint64_t addr;
    uint32_t priv;
    struct fid_mr *mr; /* NULL: not for peers */
    bool is_reported;  /* a peer has asked for it */
    bool is_window;    /* of an RMR */
};

/* Let a reserved context stand for this, for peers too if there are remote privileges. False:
 * the fabric does not want it. */
bool dm_ofi_key_open(struct dm_ofi_ia *ia, const struct dm_ofi_region *want);
/* What an open context stands for, whoever may use it; NULL: nothing. */
struct dm_ofi_region *dm_ofi_key_region(struct dm_ofi_ia *ia, uint32_t key);
/* No new request uses it from now on; it is invalidated at peers. */
void dm_ofi_key_hide(struct dm_ofi_ia *ia, uint32_t key);
/* The same, and requests under way must not either. */
void dm_ofi_key_shut(struct dm_ofi_ia *ia, uint32_t key);
void dm_ofi_keys_close(struct dm_ofi_ia *ia);

enum { DM_OFI_KEY_INDEX = 0xffff };
/* The fabric's keys of sinks have index 0, which no memory context has, and a number. */
enum { DM_OFI_SINK_SHIFT = 16, DM_OFI_SINK_MASK = 0xffff };

/* What the context stands for, if this endpoint may use it so: any of the
 * privileges, all of the bytes. NULL: it may not. */
static inline const struct dm_ofi_region *dm_ofi_key_find(const struct dm_ofi_ia *ia,
                                                          const struct dm_ofi_ep *ep, uint32_t key,
                                                          uint64_t va, uint64_t len, uint32_t priv)
{
    uint32_t index = key & DM_OFI_KEY_INDEX;
    const struct dm_ofi_region *region;

    if (index >= ia->keys.n_used || key == 0)
        return NULL;
    region = &ia->keys.regions[index];
    if (region->key != key || region->pz != ep->ep.pz || (region->priv & priv) == 0 ||
        (region->only != NULL && region->only != ep) || va - region->va > region->len ||
        len > region->len - (va - region->va))
        return NULL;
    return region;
}

#endif
