/*
 * The table of memory contexts. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_KEY_H
#define DM_PROVIDERS_TCP_KEY_H

#include <string.h>

#include "providers/tcp/ep.h"

/* What a memory context stands for. */
struct dm_tcp_region {
    uint32_t key; /* 0: nothing now */
    uint32_t last_key;
    struct dm_pz *pz;
    struct dm_tcp_ep *only; /* the endpoint that serves it, NULL: any */
    uint64_t va;
    uint64_t len;
    uint64_t addr;
    uint32_t priv;
    bool is_window; /* of an RMR */
};

enum { DM_TCP_KEY_INDEX = 0xffff };

/* Let a reserved context stand for this. */
void dm_tcp_key_open(struct dm_tcp_ia *ia, const struct dm_tcp_region *want);
/* Does it stand for something? */
bool dm_tcp_key_is_open(const struct dm_tcp_ia *ia, uint32_t key);
/* Does it stand for a window that this endpoint serves? */
bool dm_tcp_key_is_window(const struct dm_tcp_ep *ep, uint32_t key);
/* It stands for nothing from now on; requests under way may still be in it. */
void dm_tcp_key_hide(struct dm_tcp_ia *ia, uint32_t key);
/* Is the context used by a request under way? */
bool dm_tcp_key_is_used(const struct dm_tcp_ia *ia, const struct dm_pz *pz, uint32_t key);
/* Wait until it is not; false: somebody stands still. */
bool dm_tcp_key_wait(struct dm_tcp_ia *ia, const struct dm_pz *pz, uint32_t key);
void dm_tcp_keys_close(struct dm_tcp_ia *ia);

/* Where the bytes are, if this endpoint may use them so: any of the privileges. NULL: it may
 * not. */
static inline char *dm_tcp_key_find(const struct dm_tcp_ep *ep, uint32_t key, uint64_t va,
                                    uint64_t len, uint32_t priv)
{
    const struct dm_tcp_keys *keys = &dm_tcp_ia_of(ep)->keys;
    uint32_t index = key & DM_TCP_KEY_INDEX;
    const struct dm_tcp_region *region;
    uint64_t at;
    char *mem;

    if (index >= keys->n_used || key == 0)
        return NULL;
    region = &keys->regions[index];
    if (region->key != key || region->pz != ep->ep.pz || (region->priv & priv) == 0 ||
        (region->only != NULL && region->only != ep) || va - region->va > region->len ||
        len > region->len - (va - region->va))
        return NULL;
    at = region->addr + (va - region->va);
    memcpy(&mem, &at, sizeof(mem));
    return mem;
}

#endif
