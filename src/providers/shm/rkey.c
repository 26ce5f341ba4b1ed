/*
 * Remote keys: where a region of the peer is, looked up in its key table and kept by the endpoint
 * (ep->rkeys). An entry is good as long as the table's entry has the same serial.
 */
#include "providers/shm/rkey.h"

#include <string.h>

#include "providers/shm/transport/map.h"
#include "providers/shm/transport/peer.h"

/* Where the region, or that of an RMR, is mapped here. Where we have to ask for its descriptor
 * process_vm serves until the answer comes, so that requests do not wait. */
static enum dm_shm_find rkey_map(struct dm_shm_ep *ep, uint32_t key, const struct dm_shm_key *base,
                                 struct dm_shm_rkey *f, bool is_locked)
{
    struct dm_shm_map *map;
    uint64_t offset;

    if (!is_locked)
        return DM_FIND_LOCK;
    map = dm_shm_map_find(ep->peer, base->base_serial);
    if (map == NULL)
        map = dm_shm_map_open(ep, base->base_key, base->base_serial);
    if (map == NULL) {
        dm_shm_map_request(ep, base->base_key, base->base_serial);
        return dm_shm_peer_can_cma(ep->peer) ? DM_FIND_OK : DM_FIND_MAP;
    }
    offset = f->addr - map->va;
    if (map->data != NULL && offset <= map->region_len && f->len <= map->region_len - offset)
        f->data = map->data + offset;
    f->key = key;
    return DM_FIND_OK;
}

/* Look the key up in the peer's table, and remember it. */
static enum dm_shm_find rkey_fill(struct dm_shm_ep *ep, uint32_t key, bool is_locked,
                                  struct dm_shm_rkey *f)
{
    const struct dm_shm_key *entry = &ep->peer->hdr->keys[key & DM_SHM_KEY_IDX];
    struct dm_shm_key seen;

    f->key = 0; /* never a valid key */
    f->entry = entry;
    f->serial = atomic_load_explicit(&entry->serial, memory_order_acquire);
    if (f->serial == 0 || entry->key != key)
        return DM_FIND_BAD;
    f->priv = entry->priv;
    f->va = entry->va;
    f->len = entry->len;
    f->addr = entry->addr;
    f->data = NULL;
    seen.pz = entry->pz;
    seen.only = entry->only;
    seen.base_key = entry->base_key;
    seen.base_serial = entry->base_serial;
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&entry->serial, memory_order_relaxed) != f->serial ||
        seen.pz != ep->peer_sh->pz || (seen.only != 0 && seen.only != ep->peer_only))
        return DM_FIND_BAD;
    if (seen.base_key != 0 && dm_shm_ia_of(ep)->copy == DM_COPY_AUTO)
        return rkey_map(ep, key, &seen, f, is_locked);
    f->key = key;
    return DM_FIND_OK;
}

enum dm_shm_find dm_shm_rkey_find(struct dm_shm_ep *ep, const DAT_RMR_TRIPLET *at, uint64_t len,
                                  uint32_t priv, bool is_locked, struct dm_shm_piece *piece)
{
    struct dm_shm_rkey *f = &ep->rkeys[at->rmr_context % DM_SHM_RKEYS];
    enum dm_shm_find found = DM_FIND_OK;
    uint64_t offset;

    if (f->key != at->rmr_context ||
        atomic_load_explicit(&f->entry->serial, memory_order_acquire) != f->serial)
        found = rkey_fill(ep, at->rmr_context, is_locked, f);
    if (found == DM_FIND_BAD)
        return DM_FIND_BAD;
    offset = at->virtual_address - f->va;
    if ((f->priv & priv) != priv || offset > f->len || len > f->len - offset)
        return DM_FIND_BAD;
    if (found != DM_FIND_OK)
        return found;
    if (f->data == NULL && !dm_shm_peer_can_cma(ep->peer))
        return DM_FIND_STAGE;
    piece->entry = f->entry;
    piece->serial = f->serial;
    piece->va = f->addr + offset;
    piece->len = len;
    piece->data = f->data != NULL ? f->data + offset : NULL;
    return DM_FIND_OK;
}

bool dm_shm_pieces_valid(const struct dm_shm_piece *piece, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load_explicit(&piece[i].entry->serial, memory_order_relaxed) != piece[i].serial)
            return false;
    return true;
}
