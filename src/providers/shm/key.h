/*
 * The table of memory keys: entries for LMRs and for bound RMRs.
 */
#ifndef DM_PROVIDERS_SHM_KEY_H
#define DM_PROVIDERS_SHM_KEY_H

#include "providers/shm/shm.h"

/* All want ia->lock held. */

/* Reserve an entry; the key by which it will be known, 0 when all are taken.
 * Until it is published nobody reaches anything by that key. */
uint32_t dm_shm_key_new(struct dm_pia *ia);
/* Fill in a reserved entry (all of want but serial and key) and let peers use
 * it. base_serial 0: the entry is its own base. */
void dm_shm_key_publish(struct dm_shm_ia *ia, uint32_t key, const struct dm_shm_key *want);
/* Let no new operation begin with it; its serial. An operation under way ends
 * before dm_shm_quiesce() returns. */
uint64_t dm_shm_key_hide(struct dm_shm_ia *ia, uint32_t key);
/* The serial of a published entry. */
uint64_t dm_shm_key_serial(struct dm_shm_ia *ia, uint32_t key);
/* Give back an entry that is hidden or was never published. */
void dm_shm_key_free(struct dm_pia *ia, uint32_t key);
void dm_shm_keys_close(struct dm_shm_ia *ia);

#endif
