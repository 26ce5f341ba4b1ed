/*
 * Things that tools may want to be informed of when they happen (MPI-4.0 section 15.3.8). They are raised
 * at points that are slow anyway: one load and a test while nobody wants them.
 */
#ifndef DM_MPI_CORE_EVENT_H
#define DM_MPI_CORE_EVENT_H

#include <stdbool.h>
#include <stdatomic.h>
#include <stdint.h>

#include "util/port.h"

enum dm_event_kind {
    DM_EVENT_UNEXPECTED, /* a message has come before its receive: source, tag, bytes */
    DM_EVENT_RNDV,       /* a send has begun as a rendezvous: destination, tag, bytes */
    DM_EVENT_COLL_OVER,  /* a nonblocking or persistent collective is over: error class */
    DM_EVENT_LIMITED, /* a process may send no more than requests to send: process, bytes kept here */
    DM_EVENT_LOST,    /* a process is lost: its number */
    DM_EVENT_LONG_WAIT, /* a call waits for long: microseconds so far */
    DM_EVENT_N
};

/* An event; of those without a communicator ctx is DM_EVENT_NO_CTX. What the rest means depends on the kind. */
struct dm_event {
    enum dm_event_kind kind;
    uint32_t ctx; /* of messages that come on its communicator */
    int first;
    int second;
    uint64_t number;
};
#define DM_EVENT_NO_CTX UINT32_MAX

struct dm_event_state {
    _Atomic unsigned
        wanted; /* bits of enum dm_event_kind; 0: fn is not called. Any thread may change it */
    void (*fn)(const struct dm_event *event);
};
extern struct dm_event_state dm_event_state;

static inline unsigned dm_event_wanted(void)
{
    return atomic_load_explicit(&dm_event_state.wanted, memory_order_acquire);
}

/* Something has happened, inside the global lock. */
static inline void dm_event_raise(enum dm_event_kind kind, uint32_t ctx, int first, int second,
                                  uint64_t number)
{
    if (dm_unlikely(dm_event_wanted() >> kind & 1))
        dm_event_state.fn(&(struct dm_event){kind, ctx, first, second, number});
}

#endif
