/*
 * Driving the fabric. ia->lock is held unless a function says otherwise.
 */
#ifndef DM_PROVIDERS_OFI_PROGRESS_H
#define DM_PROVIDERS_OFI_PROGRESS_H

#include "providers/ofi/ia.h"

bool dm_ofi_progress_start(struct dm_ofi_ia *ia);
void dm_ofi_progress_stop(struct dm_ofi_ia *ia);
/* Read completions and events, run what is due. The number of things that came. */
int dm_ofi_progress(struct dm_ofi_ia *ia);
/* The same; without is_thorough completions alone. */
int dm_ofi_progress_round(struct dm_ofi_ia *ia, bool is_thorough);
/* Drive, and wait for at most a millisecond; the lock is held all the time. */
void dm_ofi_progress_wait(struct dm_ofi_ia *ia);
/* Read completions alone, and leave connections that have failed for later. */
int dm_ofi_read_cq(struct dm_ofi_ia *ia);
/* Drive the instance until something is over for a region, seconds at most; false: it is not. */
typedef bool dm_ofi_is_over(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key);
bool dm_ofi_wait_over(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key,
                      dm_ofi_is_over *is_over);

/* ---- progress.c, sleep.c and thread.c, among themselves ---- */

/* Without a thread, agents of CNOs run in whoever drives; the lock is not held. */
void dm_ofi_run_agents(struct dm_ofi_ia *ia);
/* Have the thread look again; any context. */
void dm_ofi_wake_thread(struct dm_ofi_ia *ia);
void dm_ofi_eventfd_signal(int fd);
/* May we sleep on the descriptors? */
bool dm_ofi_can_sleep(struct dm_ofi_ia *ia);
/* Sleep on the descriptors and one of our own; 0, ETIMEDOUT or EINTR. The lock is not held. */
int dm_ofi_sleep_on(struct dm_ofi_ia *ia, int own_fd, uint64_t deadline);

static inline uint64_t dm_ofi_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
