/*
 * What goes over a socket: greetings until both sides know of each other, then frames.
 * Little-endian; a peer of the other kind is found by the magic.
 *
 * Each greeting (net/handshake.h) is a struct dm_tcp_handshake and data_len bytes of private data.
 *
 * Then frames, a struct dm_tcp_head and len bytes each. A request with much data goes in several
 * frames, all but the last with DM_TCP_MORE; acknowledgements, read responses and other control
 * frames may stand between them, other requests may not.
 */
#ifndef DM_PROVIDERS_TCP_WIRE_H
#define DM_PROVIDERS_TCP_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "providers/net/handshake.h"

#define DM_TCP_MAGIC   0x50434144u
#define DM_TCP_VERSION 2u

struct dm_tcp_handshake {
    uint32_t magic;
    uint16_t version;
    uint8_t type;
    uint8_t status;
    uint16_t tag; /* of the frames to who sends this */
    uint16_t data_len;
    uint32_t n_recvs;   /* receives that wait for messages */
    uint64_t qual;      /* REQUEST: for whom; HANDOFF: where to ask */
    uint64_t own_qual;  /* REQUEST: of the sender */
    uint32_t is_shared; /* the sender's receives are */
    uint8_t addr[28];   /* the sender's sockaddr */
};

enum dm_tcp_type {
    DM_TCP_WRITE,       /* key, va; value: bytes of the request from here on */
    DM_TCP_WRITE_IMMED, /* the same, uses a receive at its end; value: immediate data */
    DM_TCP_SEND,        /* va: bytes of the message */
    DM_TCP_SEND_INVAL,  /* the same; value: the context to invalidate */
    DM_TCP_READ,        /* key, va; value: bytes */
    DM_TCP_FETCH_ADD,   /* key, va; two operands follow */
    DM_TCP_CMP_SWAP,    /* up to here requests, which are numbered from 1 and acknowledged */
    DM_TCP_READ_DATA,   /* answers the oldest read */
    DM_TCP_ATOMIC_DATA, /* answers the oldest atomic; the old value follows */
    DM_TCP_ACK,        /* nothing but what every header says; va: a question, or the answer to it */
    DM_TCP_CHECK,      /* a write to key, va of value bytes will follow, when there is a receive */
    DM_TCP_RECV_ASK,   /* a message of va bytes wants a receive of a shared queue */
    DM_TCP_RECV_GRANT, /* value 0: it is there; 1: refused */
    DM_TCP_DISCONNECT, /* orderly, the last frame */
    DM_TCP_TERMINATE,  /* after an error, the last frame; value: enum dm_tcp_nak */
    DM_TCP_N
};

/* What is wrong. */
enum dm_tcp_nak {
    DM_NAK_NONE,     /* something of the sender's own */
    DM_NAK_ACCESS,   /* the memory that the first request names that is not acknowledged */
    DM_NAK_RESPONDER /* the receive for it */
};

/* Flags of a header. */
enum {
    DM_TCP_MORE = 1,     /* of the same request or answer follows */
    DM_TCP_ACK_ME = 2,   /* the sender waits for the acknowledgement */
    DM_TCP_SOLICITED = 4 /* of a message */
};

struct dm_tcp_head {
    uint8_t type;
    uint8_t flags;
    uint16_t tag;
    uint32_t len; /* bytes that follow */
    uint64_t va;
    uint32_t key;
    uint32_t value;
    uint32_t n_acked;   /* requests of the peer's carried out, in all */
    uint32_t n_granted; /* receives that the peer may use, in all */
};

enum {
    DM_TCP_OPERANDS_LEN = 16,
    DM_TCP_OLD_LEN = 8,
    DM_TCP_PIECE_MAX = 1 << 20, /* bytes of a frame */
    DM_TCP_READS_MAX = 64       /* that wait for answers */
};

/* Can this have come from a peer that knows the protocol? Says nothing of keys and addresses. */
bool dm_tcp_handshake_is_valid(const struct dm_tcp_handshake *handshake);
bool dm_tcp_head_is_valid(const struct dm_tcp_head *head, uint16_t tag);

#endif
