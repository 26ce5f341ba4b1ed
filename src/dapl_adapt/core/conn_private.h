/*
 * Private data of connection requests, their acceptance and rejection.
 */
#ifndef DM_DAPL_ADAPT_CORE_CONN_PRIVATE_H
#define DM_DAPL_ADAPT_CORE_CONN_PRIVATE_H

#include <stdint.h>

#define DM_PRIVATE_MAGIC   0x44544d31u /* "DTM1" */
#define DM_PRIVATE_VERSION 1

enum dm_private_kind { DM_PRIVATE_CONNECT = 1, DM_PRIVATE_ACCEPT, DM_PRIVATE_REJECT };

enum dm_reject {
    DM_REJECT_NONE,
    DM_REJECT_CROSSED, /* both connected at once and the other one's attempt counts */
    DM_REJECT_AGAIN,   /* not now */
    DM_REJECT_UNKNOWN,
    DM_REJECT_MISMATCH, /* ring geometry or version differ */
    DM_REJECT_NOMEM,
    DM_REJECT_LOST
};

/* Private data of a connection request, its acceptance or rejection: at most 56 bytes. */
struct dm_conn_private {
    uint32_t magic;
    uint32_t job; /* hash of the job's name */
    uint32_t rank;
    uint8_t version;
    uint8_t kind; /* enum dm_private_kind */
    uint8_t link; /* enum dm_link_kind */
    union {
        uint8_t reject;   /* enum dm_reject, */
        uint8_t reads_in; /* or reads of the peer's that this end has places for; 0: any */
    };
    uint8_t sendrecv; /* wants records by send/receive; in the answer: decided */
    uint8_t rail;     /* the sender's number of this rail */
    uint16_t n_slots;
    uint32_t slot_size;
    uint32_t ctx; /* key of the sender's region */
    uint32_t probe_ctx;
    uint64_t addr;  /* the region */
    uint64_t probe; /* plain memory to measure reads with, DM_PROBE_LEN bytes */
    /* counted since the processes met; epoch: how many times the pipe has moved */
    uint32_t arrived;    /* records of the peer that are here, without a gap */
    uint16_t unconsumed; /* of them */
    uint16_t epoch;
};

_Static_assert(sizeof(struct dm_conn_private) <= 56, "private data of a request is 56 bytes");

#endif
