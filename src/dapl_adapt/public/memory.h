/*
 * Registered memory.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_MEMORY_H
#define DM_DAPL_ADAPT_PUBLIC_MEMORY_H

#include "dapl_adapt/public/types.h"
#include <stdbool.h>
#include <stddef.h>

#include "dapl_adapt/public/types.h"

/*
 * Register [addr, addr+len) for local and remote reading and writing, from the cache
 * when it covers the range. *mr_p holds a reference. DM_EAGAIN when the provider is out of
 * registrations and nothing can be evicted: use copies instead.
 */
int dm_adapt_reg(struct dm_adapt *adapt, void *addr, size_t len, struct dm_mr **mr_p);
/* Drop the reference; the registration may stay cached. */
void dm_adapt_unreg(struct dm_adapt *adapt, struct dm_mr *mr);
/*
 * Allocate zeroed, registered memory that peers can reach in the fastest way the provider has (mapped,
 * on the same host), out of a segment that mr_p tells; aligned to its length, at most to a page. For
 * MPI_Win_allocate and the like. When the provider refuses to register it, *mr_p has no keys
 * (dm_adapt_is_registered()): use copies. DM_ENOMEM, DM_ESYS.
 */
int dm_adapt_mem_alloc(struct dm_adapt *adapt, size_t len, void **ptr_p, struct dm_mr **mr_p);
void dm_adapt_mem_free(struct dm_adapt *adapt, void *ptr);
/*
 * The same for the program, which gives it back when it likes: whatever it holds then, or false: this is no
 * such memory. Not zeroed. What has not come back goes with dm_adapt_close.
 */
int dm_adapt_mem_lend(struct dm_adapt *adapt, size_t len, void **ptr_p);
bool dm_adapt_mem_take_back(struct dm_adapt *adapt, void *ptr);
bool dm_adapt_is_registered(const struct dm_mr *mr);
/*
 * Does a provider reach peers on this host by mapping memory files? If none does, nobody else
 * shall.
 */
bool dm_adapt_can_map(const struct dm_adapt *adapt);
/*
 * The memory file behind memory of dm_adapt_mem_alloc: its descriptor, the address of its first byte, and its length. False: there is none, or no provider reaches peers on this host by mapping
 * such files, so nobody else shall either.
 */
bool dm_adapt_mem_file(const struct dm_adapt *adapt, const struct dm_mr *mr, int *fd_p,
                       uintptr_t *start_p, size_t *len_p);
/* The keys that peers use with addresses inside mr. */
void dm_adapt_rkey(const struct dm_mr *mr, struct dm_rkey *rkey_p);

#endif
