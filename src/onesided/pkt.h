/*
 * Packets of one-sided communication: what travels between origin and target on the pipe.
 */
#ifndef DM_ONESIDED_PKT_H
#define DM_ONESIDED_PKT_H

#include "mpi/core/core.h"

enum dm_rma_pkt {
    DM_PKT_RMA_ACC = DM_PKT_RMA_FIRST, /* combine data into the target's memory */
    DM_PKT_RMA_GET,                    /* send me this range */
    DM_PKT_RMA_REPLY,                  /* the data of a get, or what was there before */
    DM_PKT_RMA_SYNC,                   /* acknowledge everything sent before */
    DM_PKT_RMA_SYNC_ACK,
    DM_PKT_RMA_POST,
    DM_PKT_RMA_COMPLETE,
    DM_PKT_RMA_LOCK,
    DM_PKT_RMA_LOCK_GRANT,
    DM_PKT_RMA_UNLOCK,
    DM_PKT_RMA_FENCE, /* between the first processes of hosts; mode: which round */
    DM_PKT_RMA_WAKE   /* the words that the receiver waits for have changed */
};

/* Notices between windows: everything but data. */
struct dm_pkt_rma_note {
    struct dm_pkt pkt;
    int32_t win;    /* the window's handle at the receiver */
    int32_t source; /* the sender's rank in the window */
    int32_t mode;   /* of a lock; in a SYNC_ACK enum dm_err of the packets before */
    int32_t from;   /* the window's handle at the sender */
};

/*
 * Accumulate. n_runs 0: the payload is elements of `basic` for offset. Otherwise the payload
 * starts with n_runs run records, the last one first, then the data of the runs in order.
 * Flags: with FETCH one more record comes before them, whose offset is the id to be
 * echoed in the reply; NO_OP brings no data. With SWAP there is one run of one element, and the
 * data are the new value and the one to compare with. With ACK, which has no runs, everything
 * up to this packet is acknowledged.
 */
enum { DM_RMA_FETCH = 1, DM_RMA_SWAP = 2, DM_RMA_ACK = 4 };
struct dm_pkt_rma_acc {
    struct dm_pkt pkt;
    int32_t win;
    int32_t op;
    uint64_t offset; /* bytes from the start of the target's part */
    int32_t basic;
    union {
        uint32_t n_runs;
        int32_t from; /* with ACK: the window's handle at the sender */
    };
};
struct dm_rma_run {
    uint64_t offset;
    uint32_t n;
    int32_t basic;
};

struct dm_pkt_rma_get {
    struct dm_pkt pkt;
    int32_t win;
    uint32_t len;
    uint64_t offset;
    uint64_t id; /* of the transfer at the origin, echoed in the reply */
};
/* Flags of a reply: the range is not memory of the window; no data. */
enum { DM_RMA_REFUSED = 1 };
struct dm_pkt_rma_reply {
    struct dm_pkt pkt;
    uint64_t id;
};

_Static_assert(sizeof(struct dm_pkt_rma_note) <= DM_PKT_MAX, "packet header too long");
_Static_assert(sizeof(struct dm_pkt_rma_acc) <= DM_PKT_MAX, "packet header too long");
_Static_assert(sizeof(struct dm_pkt_rma_get) <= DM_PKT_MAX, "packet header too long");
_Static_assert(sizeof(struct dm_rma_run) == 16, "run record is sent as it is");

/* Payload bytes of one accumulate packet at most: fits a default ring record, applied in place. */
#define DM_RMA_ACC_BYTES 8192
#define DM_RMA_ACC_RUNS  64

/*
 * Flags of a LOCK or UNLOCK: the word in the target's rank slot is the lock; a shared holder does not
 * wait for those in the queue (lock.h).
 */
enum { DM_RMA_BY_WORD = 0x100, DM_RMA_VISIT = 0x200 };

#endif
