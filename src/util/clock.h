/*
 * Time: the monotonic clock, or that of a modelled network (virtual time).
 */
#ifndef DM_UTIL_CLOCK_H
#define DM_UTIL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/port.h"

/*
 * Virtual time, as a DAT provider keeps it: it passes only by what the network's model says, so the
 * time of a program's communication depends neither on the machine nor on its load. A provider that
 * has the named attribute "clock" with the value "virtual" fills this in when it is called as
 * dat_extension_op(ia, DM_CLOCK_OP, &source), with struct dm_clock_source source.
 */
#define DM_CLOCK_OP 0x44430001

struct dm_clock_source {
    void *arg;
    /*
     * Join the n processes of a job, of which this is number me. Returns when all have come: time
     * begins then, and from there on one process runs at a time. False: not all came in time.
     */
    bool (*begin)(void *arg, uint64_t job, int me, int n);
    /* Leave: from now on nothing that this process does takes virtual time. */
    void (*end)(void *arg);
    /* ns since begin, more than 0. Between begin and end only, as copied. */
    uint64_t (*now)(void *arg);
    /* The caller has copied so many bytes: let the time of that pass. */
    void (*copied)(void *arg, size_t len);
};

/* Take time from the source, which must live until the next call; NULL: real time goes on from there. */
void dm_clock_use(const struct dm_clock_source *source);

struct dm_clock_state {
    const struct dm_clock_source *source; /* NULL: the monotonic clock */
    uint64_t ahead; /* what time is ahead of it, once virtual time has ended; modulo 2^64 */
};

extern struct dm_clock_state dm_clock_state;

/* Is time virtual now? Then polling costs nothing, and sleeping is no use. */
static inline bool dm_clock_is_virtual(void)
{
    return dm_clock_state.source != NULL;
}

/* So many bytes have been copied by the library on their way: a cost where time is virtual. */
static inline void dm_clock_copied(size_t len)
{
    if (dm_unlikely(dm_clock_state.source != NULL))
        dm_clock_state.source->copied(dm_clock_state.source->arg, len);
}

/* Nanoseconds of CLOCK_MONOTONIC, or of virtual time. */
uint64_t dm_clock_ns(void);
/* The same in so many microseconds; UINT64_MAX, which never comes, when that is too far away. */
uint64_t dm_clock_after(uint64_t us);
/* Seconds of the same, for MPI_Wtime. */
double dm_clock_s(void);
/* Resolution of the clock in seconds, for MPI_Wtick. */
double dm_clock_tick(void);

#endif
