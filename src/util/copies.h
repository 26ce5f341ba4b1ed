/*
 * Copies that a request has in the place of the program's buffers. Who makes them and who has the request share this.
 */
#ifndef DM_UTIL_COPIES_H
#define DM_UTIL_COPIES_H

#include <stdint.h>

/* The functions get the copies themselves; they must not call MPI. */
struct dm_copies {
    void (*start)(
        struct dm_copies *copies); /* a persistent request starts: take what is in the buffers */
    void (*end)(
        struct dm_copies *copies); /* it is complete: give back what was changed; may come again */
    void (*drop)(struct dm_copies *copies); /* nobody needs them any more */
    uintptr_t space[7];                     /* for who has the request */
};

#endif
