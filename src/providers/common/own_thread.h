/*
 * A provider's own thread: its start.
 */
#ifndef DM_PROVIDERS_COMMON_OWN_THREAD_H
#define DM_PROVIDERS_COMMON_OWN_THREAD_H

#include "providers/common/ia.h"

/* Run ia's progress thread, run(ia); the consumer's signals are not for it. False: it cannot be. */
bool dm_prov_thread_start(struct dm_pia *ia, void *(*run)(void *ia));

#endif
