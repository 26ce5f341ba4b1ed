/*
 * Driving the fabric. ia->lock is held.
 */
#ifndef DM_PROVIDERS_OFI_PROGRESS_H
#define DM_PROVIDERS_OFI_PROGRESS_H

#include "providers/ofi/ia.h"

/* Read completions and events, run what is due. The number of things that came. */
int dm_ofi_progress(struct dm_ofi_ia *ia);
/* The same; without is_thorough completions alone. */
int dm_ofi_progress_round(struct dm_ofi_ia *ia, bool is_thorough);
/* Read completions alone, and leave connections that have failed for later. */
int dm_ofi_read_cq(struct dm_ofi_ia *ia);

#endif
