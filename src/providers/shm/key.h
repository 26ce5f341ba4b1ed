/*
 * The table of memory keys: entries for LMRs and for bound RMRs.
 */
#ifndef DM_PROVIDERS_SHM_KEY_H
#define DM_PROVIDERS_SHM_KEY_H

#include "providers/shm/ep.h"

/* All want ia->lock held. */

/* Fill in a reserved entry (all of want but serial and key) and let peers use
 * it. base_serial 0: the entry is its own base. */
void dm_shm_key_publish(struct dm_shm_ia *ia, uint32_t key, const struct dm_shm_key *want);
/* Let no new operation begin with it; its serial. An operation under way ends
 * before dm_shm_quiesce() returns. */
uint64_t dm_shm_key_hide(struct dm_shm_ia *ia, uint32_t key);
/* The serial of a published entry. */
uint64_t dm_shm_key_serial(struct dm_shm_ia *ia, uint32_t key);
void dm_shm_keys_close(struct dm_shm_ia *ia);

/* May the peer of this endpoint use the entry of our table by this key? */
static inline bool dm_shm_key_is_allowed(const struct dm_shm_ep *ep, const struct dm_shm_key *entry,
                                         uint32_t key)
{
    const struct dm_shm_seg *seg = &((const struct dm_shm_ia *)ep->ep.obj.ia)->seg;

    return atomic_load(&entry->serial) != 0 && entry->key == key && entry->pz == ep->pz_id &&
           (entry->only == 0 || entry->only == DM_SHM_ONLY(dm_shm_seg_offset(seg, ep->sh)));
}

#endif
