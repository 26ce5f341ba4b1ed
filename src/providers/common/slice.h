/*
 * The scheduling of a provider's own thread.
 */
#ifndef DM_PROVIDERS_COMMON_SLICE_H
#define DM_PROVIDERS_COMMON_SLICE_H

/* Ask for a short time slice, so that the calling thread, which works little,
 * runs soon after it wakes even when the consumers' threads spin on all cores.
 * An older kernel ignores or refuses it. */
void dm_thread_short_slice(void);

#endif
