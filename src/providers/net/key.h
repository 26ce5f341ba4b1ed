/*
 * The table of memory contexts of an instance. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_NET_KEY_H
#define DM_PROVIDERS_NET_KEY_H

#include <string.h>

#include "providers/common/rmr.h"
#include "providers/net/net.h"

/* What a memory context stands for. */
struct dm_net_region {
    uint32_t key; /* 0: nothing now */
    uint32_t last_key;
    struct dm_pz *pz;
    const struct dm_ep *only; /* the endpoint that serves it, NULL: any */
    uint64_t va;
    uint64_t len;
    uint64_t addr;
    uint32_t priv;
    bool is_window;   /* of an RMR */
    bool is_reported; /* a peer has asked for it */
    void *mr;         /* the transport's registration, NULL: none */
};

enum { DM_NET_KEY_INDEX = 0xffff };

/* Reserve a context; 0: there is none. And give it back. */
uint32_t dm_net_key_new(struct dm_pia *ia);
void dm_net_key_free(struct dm_pia *ia, uint32_t key);
/* Let a reserved context stand for this. False: the transport does not want it. */
bool dm_net_key_open(struct dm_net *net, const struct dm_net_region *want);
/* What an open context stands for, whoever may use it; NULL: nothing. */
struct dm_net_region *dm_net_key_region(struct dm_net *net, uint32_t key);
/* It stands for nothing from now on; requests under way may still be in it. */
void dm_net_key_hide(struct dm_net *net, uint32_t key);
/* Wait until none is; false: somebody stands still. */
bool dm_net_key_wait(struct dm_net *net, const struct dm_pz *pz, uint32_t key);
void dm_net_keys_close(struct dm_net *net);

/* ---- mem.c ---- */

/* How a bind went. */
enum dm_net_bound { DM_NET_BOUND, DM_NET_BIND_LATER, DM_NET_BIND_FAILED };

DAT_RETURN dm_net_lmr_register(struct dm_lmr *lmr, const struct dm_lmr_file *file,
                               const struct dm_lmr *from);
void dm_net_lmr_deregister(struct dm_lmr *lmr);
void dm_net_rmr_hide(struct dm_rmr *rmr);
void dm_net_rmr_shut(struct dm_rmr *rmr);
/* Carry out a bind; LATER: a peer is in the old window. */
enum dm_net_bound dm_net_rmr_exec(struct dm_ep *ep, struct dm_bind *bind,
                                  const DAT_LMR_TRIPLET *triplet);
/* The bind has completed, in whatever way. */
void dm_net_rmr_bound(struct dm_bind *bind);

/* ---- on the data path ---- */

/* The entry of a context that has been reserved. */
static inline struct dm_net_region *dm_net_key_entry(const struct dm_net *net, uint32_t key)
{
    return &net->keys.regions[key & DM_NET_KEY_INDEX];
}

/* May the endpoint serve the region? */
static inline bool dm_net_region_is_for(const struct dm_net_region *region, const struct dm_ep *ep)
{
    return region->pz == ep->pz && (region->only == NULL || region->only == ep);
}

/* What the context stands for, if this endpoint may use it so: any of the privileges, all of the
 * bytes. NULL: it may not. */
static inline const struct dm_net_region *dm_net_key_find(const struct dm_ep *ep, uint32_t key,
                                                          uint64_t va, uint64_t len, uint32_t priv)
{
    const struct dm_net *net = (const struct dm_net *)ep->obj.ia;
    const struct dm_net_region *region;

    if ((key & DM_NET_KEY_INDEX) >= net->keys.n_used || key == 0)
        return NULL;
    region = dm_net_key_entry(net, key);
    if (region->key != key || (region->priv & priv) == 0 || !dm_net_region_is_for(region, ep) ||
        va - region->va > region->len || len > region->len - (va - region->va))
        return NULL;
    return region;
}

/* Where the byte of this address is. */
static inline char *dm_net_region_at(const struct dm_net_region *region, uint64_t va)
{
    uint64_t at = region->addr + (va - region->va);
    char *mem;

    memcpy(&mem, &at, sizeof(mem));
    return mem;
}

/* The same as dm_net_key_find(): the first of the bytes. */
static inline char *dm_net_key_mem(const struct dm_ep *ep, uint32_t key, uint64_t va, uint64_t len,
                                   uint32_t priv)
{
    const struct dm_net_region *region = dm_net_key_find(ep, key, va, len, priv);

    return region != NULL ? dm_net_region_at(region, va) : NULL;
}

#endif
