/*
 * What goes over the network beside the consumer's data: the handshake, remote CQ
 * data and control messages. Little-endian; a peer of the other kind is found by the magic.
 *
 * fi_connect carries struct dm_ofi_connect_data; it is accepted when somebody listens
 * to the qualifier. Then, as messages on the new endpoint: REQUEST, ACCEPT or
 * REJECT, READY. After that messages are the consumer's alone; the provider
 * sends CQ data of an empty RDMA write, which takes no receive, and
 * control messages (an RDMA write to the peer's control ring, with CQ data).
 */
#ifndef DM_PROVIDERS_OFI_WIRE_H
#define DM_PROVIDERS_OFI_WIRE_H

#include <stdint.h>

#include "providers/common/ep.h"
#include "providers/net/handshake.h"

#define DM_OFI_MAGIC   0x4d544144u
#define DM_OFI_VERSION 1u

struct dm_ofi_connect_data {
    uint32_t magic;
    uint32_t version;
    uint64_t qual;
};

/* Only the first len bytes are sent. */
struct dm_ofi_handshake {
    uint32_t magic;
    uint32_t version;
    uint32_t type;
    uint32_t status;
    uint32_t number; /* the sender's connection: goes into CQ data to it */
    uint32_t max_reads;
    uint64_t qual;
    uint64_t ctrl; /* address and key of the sender's control ring */
    uint64_t ctrl_key;
    uint32_t is_split;  /* place last bytes last */
    uint32_t is_shared; /* the sender's receives are */
    uint32_t n_recvs;   /* receives that wait for messages... */
    uint32_t data_len;
    uint64_t min_recv; /* ...each of at least so many bytes */
    uint8_t addr[32];  /* the sender's sockaddr */
    uint8_t data[DM_PRIVATE_MAX];
};

/* What is sent as remote CQ data; kinds are below 16. */
enum dm_ofi_cqdata {
    DM_CQDATA_DISCONNECT, /* orderly disconnect */
    DM_CQDATA_TERMINATE,  /* disconnect after an error that the sender has found; value 1: in
                       * the first request of the peer's that is not over (a NAK) */
    DM_CQDATA_CTRL,       /* a control message is there; value: how many in all */
    DM_CQDATA_CTRL_ACK,   /* value: how many control messages have been read in all */
    DM_CQDATA_RECV_ACK,   /* value: how many messages have been received well in all */
    DM_CQDATA_CREDITS,    /* value: how many receives are granted in all */
    DM_CQDATA_N
};

/* The word: kind << 60 | number << 32 | value. */
#define DM_OFI_NUMBER_MAX 0x0fffffffu

enum { DM_OFI_CTRL_SLOTS = 32 };

/* Types of control messages: requests, responses and news. */
enum dm_ofi_ctrl_type {
    DM_CTRL_ATOMIC_REQ, /* key, va, value: add, or compare and swap */
    DM_CTRL_ATOMIC_RSP, /* status, value[0]: what was there */
    DM_CTRL_RECV_REQ,   /* a message of value[0] bytes waits for a receive of a
                          * shared queue, or asks whether its receive is long enough */
    DM_CTRL_RECV_RSP,   /* it is there; status: refused */
    DM_CTRL_KEY_REQ,    /* what does key stand for? */
    DM_CTRL_KEY_RSP,    /* status: for nothing; va, value: length, address, privileges */
    DM_CTRL_KEY_INVAL,  /* key stands for nothing any more */
    DM_CTRL_INVAL_ACK,  /* value[0] such are not used any more */
    DM_CTRL_IMMED_LEN,  /* value[0]: of the write whose message follows */
    DM_CTRL_MIN_RECV,   /* no receive was shorter than value[0] so far */
    DM_CTRL_READ_REQ, /* write what is at key, va to value: address, the fabric's key, length; len:
                          * and say so */
    DM_CTRL_READ_RSP  /* status: refused */
};

/* A request between the providers of two endpoints, such as an atomic
 * operation that is carried out by the target's processor. */
struct dm_ofi_ctrl {
    uint32_t type;
    uint32_t status;
    uint64_t id;
    uint64_t va;
    uint32_t key;
    uint32_t len;
    uint64_t value[3];
    uint64_t spare;
};

/* The data word of a message: what its receiver has to know. */
#define DM_OFI_WORD_SOLICITED  (UINT64_C(1) << 32)
#define DM_OFI_WORD_INVALIDATE (UINT64_C(2) << 32)
#define DM_OFI_WORD_IMMED      (UINT64_C(4) << 32)
#define DM_OFI_WORD_ACK        (UINT64_C(8) << 32) /* DM_CQDATA_RECV_ACK is expected */
/* Beside immediate data: the length of the write, the largest if there was a
 * control message about it. */
#define DM_OFI_WORD_LEN_SHIFT 36
#define DM_OFI_WORD_LEN_MAX   ((UINT64_C(1) << 28) - 1)

#endif
