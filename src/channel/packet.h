/*
 * Packets: their header, their types, and how they are handed to the layers above.
 */
#ifndef DM_CHANNEL_PACKET_H
#define DM_CHANNEL_PACKET_H

#include <stddef.h>
#include <stdint.h>

#define DM_PKT_VERSION 1
#define DM_PKT_MAX     32 /* bytes of the longest packet header */

/*
 * Every packet starts with this; the header is hdr_len bytes in all (at most DM_PKT_MAX, a
 * multiple of 8) and data_len bytes of payload follow it in the pipe.
 */
struct dm_pkt {
    uint8_t type;    /* enum dm_pkt_type */
    uint8_t version; /* DM_PKT_VERSION */
    uint8_t hdr_len;
    uint8_t flags; /* meaning belongs to the type */
    uint32_t data_len;
};

/* One number space; each layer defines the structs of its own types. */
enum dm_pkt_type {
    DM_PKT_NONE,
    /* src/mpi/pt2pt */
    DM_PKT_EAGER,      /* envelope and data */
    DM_PKT_EAGER_SYNC, /* the same, wants an ACK when matched */
    DM_PKT_ACK,
    DM_PKT_RTS,    /* envelope of a rendezvous, with address and keys */
    DM_PKT_CTS,    /* the receiver wants the data through the pipe, or where it says */
    DM_PKT_DATA,   /* rendezvous data through the pipe */
    DM_PKT_FIN,    /* the receiver has read the data, or the sender has written them */
    DM_PKT_HELP,   /* the sender could write a part of the data */
    DM_PKT_CANCEL, /* withdraw an unmatched send */
    DM_PKT_CANCEL_ACK,
    DM_PKT_PART_INIT,      /* MPI_Psend_init looks for its MPI_Precv_init */
    DM_PKT_PART_PAIR,      /* found */
    DM_PKT_FLOW,           /* every message has to be a rendezvous, or need not any more */
    DM_PKT_DEADLOCK_QUERY, /* do you wait, too, and for whom? */
    DM_PKT_DEADLOCK_REPLY, /* I do, and so do all of them */
    /* src/onesided */
    DM_PKT_RMA_FIRST,
    DM_PKT_RMA_LAST = DM_PKT_RMA_FIRST + 31,
    /* src/mpi/coll and others */
    DM_PKT_USER_FIRST,
    DM_PKT_COLL_WAKE = DM_PKT_USER_FIRST, /* empty: look at the shared memory again */
    /* src/mpi/process */
    DM_PKT_PORT_REQUEST, /* wants to connect at a port */
    DM_PKT_PORT_ANSWER,  /* is welcome there, or is not */
    DM_PKT_PORT_END,     /* has come, or has given up */
    /* src/io */
    DM_PKT_FILE_ADD,   /* add to a word of a file */
    DM_PKT_FILE_ADDED, /* what was there */
    DM_PKT_FILE_TURN,  /* the receiver's turn at the lock of a file has come */
    /* src/channel (zero_copy.h) */
    DM_PKT_SOURCE,  /* a packet's header, and where its payload is to be read */
    DM_PKT_TAKEN,   /* has been read, so far */
    DM_PKT_PAYLOAD, /* the rest */
    DM_PKT_RAIL,    /* a rail of the sender's that has come (rails.h) */
    DM_PKT_N = 64
};

/*
 * Where the payload goes of a packet that did not arrive in one piece: write is
 * called with consecutive pieces (offset from the payload's start), then done. place: memory for all of
 * it, or NULL. Where payload is read by RDMA it is read to there, and write gets NULL in the place of data.
 */
struct dm_chan_sink {
    void *arg;
    char *place;
    void (*write)(void *arg, size_t offset, const void *data, size_t len);
    void (*done)(void *arg);
};

/*
 * A packet's header has arrived. Handlers and done callbacks may send, but must not make progress.
 * avail bytes of its payload are at data, in place and valid during the call. When avail ==
 * pkt->data_len the handler takes all of it itself; otherwise it fills *sink, and the channel feeds
 * the payload there from its first byte.
 */
typedef void (*dm_pkt_handler)(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                               size_t avail, struct dm_chan_sink *sink);

#endif
