/*
 * Driving the fabric. ia->lock is held.
 */
#ifndef DM_PROVIDERS_OFI_PROGRESS_H
#define DM_PROVIDERS_OFI_PROGRESS_H

#include "providers/ofi/ia.h"

/* Read completions alone, and leave connections that have failed for later. */
int dm_ofi_read_cq(struct dm_ofi_ia *ia);
/* Read what the fabric says of connections, and end those that have failed. */
int dm_ofi_read_eq(struct dm_ofi_ia *ia);

#endif
