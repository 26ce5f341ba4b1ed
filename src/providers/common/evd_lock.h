/*
 * The lock of an event dispatcher where its consumer needs it: on the thread-safe line.
 */
#ifndef DM_PROVIDERS_COMMON_EVD_LOCK_H
#define DM_PROVIDERS_COMMON_EVD_LOCK_H

#include "providers/common/evd.h"
#include "providers/common/ia.h"

static inline void dm_evd_lock(struct dm_evd *evd)
{
    if (evd->obj.ia->is_threadsafe)
        pthread_mutex_lock(&evd->lock);
}

static inline void dm_evd_unlock(struct dm_evd *evd)
{
    if (evd->obj.ia->is_threadsafe)
        pthread_mutex_unlock(&evd->lock);
}

#endif
