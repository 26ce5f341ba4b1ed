/*
 * A connection of the process to itself over one rail, with queues of its own: for probes, and for
 * what has to go through the provider though it is one's own memory. Between single calls of
 * DAT others may be in the provider (serial.h).
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_LOOPBACK_H
#define DM_DAPL_ADAPT_PROVIDER_LOOPBACK_H

#include "dapl_adapt/provider/ia.h"

struct dm_loopback {
    struct dm_ia *ia;
    DAT_EVD_HANDLE cm_evd;
    DAT_EVD_HANDLE dto_evd; /* both ends' completions */
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;
    DAT_EP_HANDLE out;
    DAT_EP_HANDLE in;
    int n_up;
    int n_pending; /* ends that have called or accepted and not heard how that went */
    int n_posted;  /* by who opened it: what dm_loopback_next has still to give before the end */
    uint64_t nonce;
    struct dm_desc desc; /* of the request under way, */
    struct dm_desc recv; /* and of the receive */
};

/* False: no connection came about in that time. dm_loopback_close has to follow in any case; twice is no harm. */
bool dm_loopback_open(struct dm_loopback *loop, struct dm_ia *ia, uint64_t limit_ns);
void dm_loopback_close(struct dm_loopback *loop);
/* The next completion; false: there is none. */
bool dm_loopback_next(struct dm_loopback *loop, DAT_EVENT *event);

#endif
