/*
 * The packets of point-to-point.
 *
 * Protocols. Eager: envelope and data in one packet. Eager-sync: the same, and an ACK when matched.
 * Rendezvous: RTS with envelope, length, what the sender offers, and its first bytes if
 * DATUM_RNDV_INLINE says so. Read: the RTS has the buffer's key; the receiver reads by RDMA and
 * sends FIN. Write: the CTS has the key of the receiver's buffer; the sender writes by RDMA and
 * sends FIN, or the write carries a value that the CTS has named. Split: the RTS has the sender's
 * key, the CTS the receiver's; the receiver reads the first part, the sender writes the rest and sends
 * FIN, and when the receiver has both it sends FIN, or, if a part failed, a bare CTS. Unless the sender waits,
 * the first CTS is an invitation; the sender sends HELP if it comes to see that, and gets its part by a
 * second CTS. Otherwise, or if a buffer cannot be registered: the receiver asks with a bare CTS and
 * gets DATA packets through the pipe straight into its buffer; zerocopy is the same, but the
 * channel reads what is in them (channel/zero_copy.h). FIN also says that nothing is wanted. CANCEL
 * asks for a message that may be unmatched to be forgotten, CANCEL_ACK says whether it was. FLOW
 * says whether all messages to its sender have to be a rendezvous (flow.c).
 */
#ifndef DM_MPI_PT2PT_PKT_H
#define DM_MPI_PT2PT_PKT_H

#include "channel/channel.h"
#include "mpi/pt2pt/match.h"

/* EAGER: 24 bytes, so that 8 bytes of data and a record's trailer share its cache line. */
struct dm_pkt_eager {
    struct dm_pkt pkt;
    struct dm_mkey key; /* source: rank of the sender in its group */
    uint32_t id;        /* of the message, for CANCEL; 0: cannot be cancelled */
};

/* EAGER_SYNC, RTS (with struct dm_p2p_rts as payload) */
struct dm_pkt_sync {
    struct dm_pkt pkt;
    struct dm_mkey key;
    uint32_t id;
    uint64_t sreq; /* the sender's request: comes back in ACK, CTS, FIN */
};

struct dm_p2p_rts {
    uint64_t len;
    uint64_t addr;
    struct dm_rkey key;
    uint16_t how;       /* a value of DATUM_RNDV; read, split: addr and key are good for it */
    uint16_t fetches;   /* how the sender has such messages come in an exchange: read, pipe, or 0 */
    uint32_t first_len; /* bytes of the message that follow in the packet */
    /* Until then the sender polls in the library, and could move a part; ns of the host's clock; 0: it may not. */
    uint64_t helps_until;
};

/* Payload of a CTS that is not for the pipe: where to write to. */
struct dm_p2p_cts {
    uint64_t addr;
    struct dm_rkey key;
    uint32_t has_value; /* no FIN packet: the write ends with this (dm_adapt_expect_value) */
    uint32_t value;
    uint32_t is_invitation; /* split: the receiver reads; the sender may offer to help */
    uint32_t unused;
    uint64_t part; /* split: the sender's part, the message from here on; 0: it has none */
};

/* ACK, FIN, HELP. pkt.flags of a FIN of split: the sender could not write its part. */
struct dm_pkt_answer {
    struct dm_pkt pkt;
    uint64_t sreq; /* FIN of the sender, HELP: the receiver's request */
};

struct dm_pkt_cancel {
    struct dm_pkt pkt;
    struct dm_mkey key;
    uint32_t id;
    uint64_t recall; /* comes back in CANCEL_ACK */
};

/* pkt.flags: type of the packet that was forgotten, 0: there was none */
struct dm_pkt_cancel_ack {
    struct dm_pkt pkt;
    uint64_t recall;
};

struct dm_pkt_cts {
    struct dm_pkt pkt;
    uint64_t sreq;
    uint64_t rreq;
    uint64_t want; /* bytes, from the front */
};

struct dm_pkt_data {
    struct dm_pkt pkt;
    uint64_t rreq;
    uint64_t offset;
};

/* Query: no data. Reply: lines about processes that wait, the replier's first. */
struct dm_pkt_deadlock {
    struct dm_pkt pkt;
    int32_t origin;  /* the process that looks, */
    uint32_t number; /* and for which time */
    int32_t least;   /* of the processes that the reply is about */
    uint32_t unused;
};

_Static_assert(sizeof(struct dm_pkt_deadlock) == 24, "packet layout");
_Static_assert(sizeof(struct dm_pkt_eager) == 24, "packet layout");
_Static_assert(sizeof(struct dm_pkt_sync) == 32, "packet layout");
_Static_assert(sizeof(struct dm_p2p_rts) == 48, "packet layout");
_Static_assert(sizeof(struct dm_p2p_cts) == 48, "packet layout");
_Static_assert(sizeof(struct dm_pkt_answer) == 16, "packet layout");
_Static_assert(sizeof(struct dm_pkt_cancel) == 32, "packet layout");
_Static_assert(sizeof(struct dm_pkt_cancel_ack) == 16, "packet layout");
_Static_assert(sizeof(struct dm_pkt_cts) == 32, "packet layout");
_Static_assert(sizeof(struct dm_pkt_data) == 24, "packet layout");

#endif
