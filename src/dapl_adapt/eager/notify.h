/*
 * Notifications: waking a peer that sleeps, and being woken.
 */
#ifndef DM_DAPL_ADAPT_EAGER_NOTIFY_H
#define DM_DAPL_ADAPT_EAGER_NOTIFY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/region_layout.h"
#include "util/port.h"

/*
 * Have the peer wake us when it writes to our ring: it notifies us once, by a message. False:
 * nothing will wake us. The look at the ring must follow.
 */
bool dm_eager_arm(struct dm_conn *conn);
/* Notify a peer that is asleep. */
void dm_eager_notify_asleep(struct dm_conn *conn);

/* After whatever the peer may be waiting for. */
static inline void dm_eager_notify(struct dm_conn *conn)
{
    if (dm_unlikely(atomic_load_explicit(&conn->ctl->asleep, memory_order_relaxed) != 0))
        dm_eager_notify_asleep(conn);
}

#endif
