/*
 * Control messages between the progress threads of two instances.
 *
 * To shake hands the side that connects sends a REQUEST and gets an answer, then it confirms in the
 * other's segment. Where the qualifier names a segment that can be opened (near.h) they write into each
 * other's inbox (inbox.h), else the one opens a SOCK_SEQPACKET socket to where the other
 * listens, and closes it in the end. What they say later goes through
 * control rings in each other's segments (ctrl_ring.h); the one doorbell of an instance gets
 * notifications, with the receiver's id of the connection.
 *
 * What is trusted. The kernel says which process of which user has sent a message, or is at the
 * other end; processes of other users are refused. Nothing that comes is trusted: any
 * bytes, with any descriptors, in any order end their connection at worst. The
 * peer's segment must be sealed against shrinking, and every offset, size and
 * count in it is checked when it is used. A peer that we are connected with
 * has our own segment mapped, as we have its, and the files behind regions
 * that it registered for sharing: that it changes what was just checked, or
 * truncates such a file, is not defended against (a process of the same user
 * could use ptrace as well).
 */
#ifndef DM_PROVIDERS_SHM_WIRE_H
#define DM_PROVIDERS_SHM_WIRE_H

#include "providers/common/ep.h"
#include "providers/shm/transport/seg.h"

enum dm_shm_ctrl_type {
    DM_CTRL_NONE,
    DM_CTRL_REQUEST,      /* connect: with the segment's fd and private data */
    DM_CTRL_ACCEPT,       /* same, the answer */
    DM_CTRL_REJECT,       /* status 1: by the consumer; with private data */
    DM_CTRL_DEATH,        /* the instance id, a peer of yours, seems to be gone */
    DM_CTRL_DISCONNECT,   /* orderly disconnect */
    DM_CTRL_BROKEN,       /* disconnect after an error that the sender detected */
    DM_CTRL_NOTIFY,       /* look again: receives were posted, or an agent must run */
    DM_CTRL_MAP,          /* want to map region serial, key */
    DM_CTRL_MAP_FD,       /* answer, with fd if status is 1 */
    DM_CTRL_UNMAP,        /* region serial is gone */
    DM_CTRL_STAGE,        /* copy between my staging buffer and your memory */
    DM_CTRL_STAGED,       /* done, status 0; else a DAT_DTO_COMPLETION_STATUS; also the answer
                           * to ATOMIC (the old value in size) and INVALIDATE */
    DM_CTRL_OVERFLOW,     /* your event ring was full */
    DM_CTRL_ATOMIC,       /* status: what to do to the word at key, va */
    DM_CTRL_INVALIDATE,   /* take the context key away */
    DM_CTRL_HANDOFF,      /* answer to a request: redirected to service point qual */
    DM_CTRL_DOORBELL,     /* look at your control ring */
    DM_CTRL_CONFIRM_LOST, /* connected, but your event ring for connections was full */
    DM_CTRL_CONFIRM,      /* connected: what says so without a socket */
    DM_CTRL_GONE,         /* the one you have answered does not wait any more */
    DM_CTRL_APART,        /* your segment cannot be opened here: come with a socket */
};

enum { DM_STAGE_READ = 1, DM_STAGE_LOCAL_KEY = 2 };

struct dm_shm_ctrl {
    uint32_t type;
    uint32_t status; /* also: STAGE's DM_STAGE_* */
    uint32_t key;
    uint32_t len; /* STAGE: bytes to copy */
    uint64_t id;  /* segment */
    uint64_t
        conn; /* REQUEST, ACCEPT: the sender's id of the connection; at a doorbell: the receiver's */
    uint64_t ep; /* offset of the sender's struct dm_shm_link_ep */
    uint64_t qual;
    uint64_t serial;
    uint64_t va;
    uint64_t offset;
    uint64_t size;
    uint32_t owner;
    uint32_t version;
    uint32_t data_len;
    uint32_t addr; /* IPv4 of the sender, network order */
    uint8_t data[DM_PRIVATE_MAX];
};

/*
 * The link word of an endpoint that is not down: its state, and of which connection, by its side's id. The
 * peer of an earlier one may not know yet that it has ended, when its memory is another endpoint's already.
 */
static inline uint64_t dm_shm_link_word(uint64_t conn_id, enum dm_shm_link state)
{
    return (conn_id & ~UINT64_C(3)) | (uint64_t)state;
}

/* What lies in a slot of an inbox (inbox.h). */
struct dm_shm_letter {
    uint64_t to;        /* the receiver's id of the connection; of a request: 0 */
    DAT_CONN_QUAL qual; /* of a request: where to */
    int32_t pid;        /* whose segment is where */
    int32_t fd;
    uint32_t reply; /* of a request: the slot for the answer */
    struct dm_shm_ctrl msg;
};

#endif
