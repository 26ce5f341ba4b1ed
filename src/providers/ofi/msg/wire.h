/*
 * What goes over the network beside the consumer's data: the handshake, notes
 * and ctrl. Little-endian; a peer of the other kind is found by the magic.
 *
 * fi_connect carries struct dm_ofi_call; it is accepted when somebody listens
 * to the qualifier. Then, as messages on the new endpoint: REQUEST, ACCEPT or
 * REJECT, READY. After that messages are the consumer's alone; the provider
 * speaks by notes (data of an empty RDMA write, which takes no receive) and
 * ctrl (an RDMA write to the peer's ctrl_ring, with a note).
 */
#ifndef DM_PROVIDERS_OFI_MSG_WIRE_H
#define DM_PROVIDERS_OFI_MSG_WIRE_H

#include <stdint.h>

#include "providers/common/ep.h"

#define DM_OFI_MAGIC   0x4d544144u
#define DM_OFI_VERSION 1u

struct dm_ofi_call {
    uint32_t magic;
    uint32_t version;
    uint64_t qual;
};

enum dm_ofi_handshake_type {
    DM_HANDSHAKE_REQUEST,
    DM_HANDSHAKE_ACCEPT,
    DM_HANDSHAKE_REJECT, /* status 1: by the consumer */
    DM_HANDSHAKE_READY,
    DM_HANDSHAKE_HANDOFF /* instead of an answer: ask at qual */
};

/* Only the first len bytes are sent. */
struct dm_ofi_handshake {
    uint32_t magic;
    uint32_t version;
    uint32_t type;
    uint32_t status;
    uint32_t number; /* the sender's connection: goes into notes to it */
    uint32_t max_reads;
    uint64_t qual;
    uint64_t ctrl; /* address and key of the sender's ctrl_ring */
    uint64_t ctrl_key;
    uint32_t is_split;  /* place last bytes last */
    uint32_t is_shared; /* the sender's receives are */
    uint32_t n_recvs;   /* receives that wait for messages... */
    uint32_t data_len;
    uint64_t floor;   /* ...each of at least so many bytes */
    uint8_t addr[32]; /* the sender's sockaddr */
    uint8_t data[DM_PRIVATE_MAX];
};

/* The kinds of notes, below 16. */
enum dm_ofi_note {
    DM_NOTE_DISCONNECT, /* orderly disconnect */
    DM_NOTE_BROKEN,     /* disconnect after an error that the sender has found */
    DM_NOTE_CTRL,       /* there is ctrl; value: how many in all */
    DM_NOTE_READ,       /* value: how many control messages have been read in all */
    DM_NOTE_TAKEN,      /* value: how many messages have been received well in all */
    DM_NOTE_RECVS,      /* value: how many receives there have been in all */
    DM_NOTE_N
};

/* The data word: kind << 60 | number << 32 | value. */
#define DM_OFI_NUMBER_MAX 0x0fffffffu

enum { DM_OFI_CTRL_SLOTS = 32 };

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

#endif
