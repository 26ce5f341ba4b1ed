/*
 * A provider's own thread: its start and scheduling.
 */
#ifndef DM_PROVIDERS_COMMON_SLICE_H
#define DM_PROVIDERS_COMMON_SLICE_H

#include "providers/common/ia.h"

/* Run ia's progress thread, run(ia); the consumer's signals are not for it. False: it cannot be. */
bool dm_prov_thread_start(struct dm_pia *ia, void *(*run)(void *ia));
/* Ask for a short time slice, so that the calling thread, which works little,
 * runs soon after it wakes even when the consumers' threads spin on all cores.
 * An older kernel ignores or refuses it. */
void dm_thread_short_slice(void);

#endif
