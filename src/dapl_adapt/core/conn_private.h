/*
 * Private data of connection requests, their acceptance and rejection.
 */
#ifndef DM_DAPL_ADAPT_CORE_CONN_PRIVATE_H
#define DM_DAPL_ADAPT_CORE_CONN_PRIVATE_H

#include <stdint.h>

#define DM_PRIVATE_MAGIC   0x4454u /* "DT" */
#define DM_PRIVATE_VERSION 3

enum dm_private_kind { DM_PRIVATE_CONNECT = 1, DM_PRIVATE_ACCEPT, DM_PRIVATE_REJECT };

enum dm_reject {
    DM_REJECT_NONE,
    DM_REJECT_CROSSED, /* both connected at once and the other one's attempt counts */
    DM_REJECT_AGAIN,   /* not now */
    DM_REJECT_UNKNOWN,
    DM_REJECT_MISMATCH, /* ring geometry or version differ */
    DM_REJECT_NOMEM,
    DM_REJECT_LOST,
    DM_REJECT_NOT_KNOWN, /* of another job, and nobody has told of it yet */
    DM_REJECT_PORT,      /* no such port */
    DM_REJECT_CLOSED     /* this connection has been closed in order */
};

/*
 * Private data of a connection request, its acceptance or rejection: at most 56 bytes.
 *
 * Two processes may be connected several times. Each numbers the instances, and tells the other
 * one's number, too, as soon as it knows it, so that what belongs to an earlier one is seen.
 */
struct dm_conn_private {
    unsigned magic : 16;
    unsigned version : 8;
    unsigned kind : 4;   /* enum dm_private_kind */
    unsigned link : 4;   /* enum dm_link_kind */
    unsigned rank : 20;  /* the sender's in its job */
    unsigned mine : 6;   /* its number of this instance */
    unsigned theirs : 6; /* and the receiver's, 0: not known */
    uint64_t job;        /* hash of the name of the sender's job */
    unsigned n_slots : 13;
    unsigned rail : 2;      /* the sender's number of this rail */
    unsigned sendrecv : 1;  /* wants records by send/receive; in the answer: decided */
    unsigned has_token : 1; /* `token` instead of the counts */
    unsigned reads_in : 8;  /* reads of the peer's that this end has places for; 0: any */
    unsigned reject : 4;    /* enum dm_reject */
    unsigned moves : 1;     /* the sender would go on over another rail */
    unsigned srq : 1;       /* its receives are shared: the tag names the sender */
    unsigned pending : 1;   /* it has a row of pending bits in the arena (pending.h) */
    uint32_t slot_size;
    uint32_t ctx; /* key of the sender's region */
    uint32_t probe_ctx;
    uint64_t addr;  /* the region */
    uint64_t probe; /* plain memory to measure reads with, DM_PROBE_LEN bytes */
    union {
        /* counted since the processes met; epoch: how many times the pipe has moved */
        struct {
            uint32_t arrived;    /* records of the peer that are here, without a gap */
            uint16_t unconsumed; /* of them */
            uint16_t epoch;
        };
        uint64_t token; /* of the receiver's port; the first request of all */
    };
};

_Static_assert(sizeof(struct dm_conn_private) <= 56, "private data of a request is 56 bytes");

#endif
