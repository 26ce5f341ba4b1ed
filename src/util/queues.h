/*
 * For debuggers that show the queues of messages of a process: where in its memory they are. libmpi has such a
 * table (MPIR_datum_queues); the library that a debugger loads (src/mqs) reads it, and with it everything else,
 * out of the process. So one file alone knows the structures, and no debugging information is needed.
 */
#ifndef DM_UTIL_QUEUES_H
#define DM_UTIL_QUEUES_H

#include <stddef.h>
#include <stdint.h>

#define DM_QUEUES_MAGIC   UINT32_C(0x7571746d)
#define DM_QUEUES_VERSION 2 /* changes with whatever is below, or the meaning of it */

/* Offsets of members in the structures of the library; in the comments: their types, if not 4 bytes. */
enum dm_queues_at {
    DM_AT_HANDLES_SLOTS, /* of a table of handles: pointer to pointers to objects, or odd numbers */
    DM_AT_HANDLES_N,     /* slots */
    DM_AT_HANDLES_BUILTIN, /* pointers to DM_HANDLE_N_BUILTIN objects, or NULL */
    DM_AT_COMM_CTX,
    DM_AT_COMM_CTX_SEND,
    DM_AT_COMM_RANK,
    DM_AT_COMM_SIZE,
    DM_AT_COMM_GROUP,  /* pointer */
    DM_AT_COMM_REMOTE, /* pointer, or NULL */
    DM_AT_COMM_NAME,   /* text */
    DM_AT_GROUP_SIZE,
    DM_AT_GROUP_PROCS,      /* pointer to ints, NULL: the identity */
    DM_AT_MATCH_ONLY,       /* pointer to a node, or NULL */
    DM_AT_MATCH_ONLY_UNEXP, /* the same */
    DM_AT_MATCH_POSTED,     /* table */
    DM_AT_MATCH_UNEXP,      /* table */
    DM_AT_TABLE_BUCKETS,    /* pointer to pointers to nodes */
    DM_AT_TABLE_N_BUCKETS,
    DM_AT_NODE_CHAIN, /* pointer */
    DM_AT_NODE_NEXT,  /* pointer */
    DM_AT_NODE_CTX,
    DM_AT_NODE_SOURCE,
    DM_AT_NODE_TAG,
    DM_AT_REQ_KIND,
    DM_AT_REQ_COMM, /* pointer */
    DM_AT_REQ_NODE,
    DM_AT_REQ_BUF, /* pointer */
    DM_AT_REQ_LEN, /* 8 bytes */
    DM_AT_REQ_PROC,
    DM_AT_REQ_IS_ACTIVE,  /* 1 byte */
    DM_AT_REQ_IS_COUNTED, /* 1 byte: it is a send */
    DM_AT_REQ_ACTIVE,     /* list: next, then previous */
    DM_AT_REQ_MSG_LEN,    /* 8 bytes */
    DM_AT_REQ_SOURCE,     /* of its status */
    DM_AT_REQ_TAG,
    DM_AT_REQ_SEND, /* what is queued */
    DM_AT_UNEXP_PROC,
    DM_AT_UNEXP_LEN,  /* 8 bytes */
    DM_AT_UNEXP_DATA, /* pointer */
    DM_N_AT
};

/* The same of the channel. */
enum dm_queues_chan_at {
    DM_AT_CHAN_ALL,   /* pointer to a peer */
    DM_AT_PEER_NEXT,  /* pointer to a peer */
    DM_AT_PEER_QUEUE, /* pointer to what is queued first */
    DM_AT_SEND_NEXT,  /* pointer */
    DM_AT_SEND_DONE,  /* pointer to a function */
    DM_N_CHAN_AT
};

/* An offset of a member whose size is checked. */
#define DM_AT(type, member, size)                                                                  \
    ((uint32_t)(offsetof(type, member) +                                                           \
                0 * sizeof(char[sizeof(((type *)0)->member) == (size) ? 1 : -1])))

struct dm_queues {
    uint32_t magic;
    uint32_t version;
    const void *comms;        /* table of handles */
    const void *match;        /* posted receives and unexpected messages */
    const void *active;       /* head of a list of requests that await something of a peer */
    const void *chan_p;       /* where the pointer to the channel is */
    const uint32_t *chan_at;  /* DM_N_CHAN_AT offsets */
    void (*eager_done)(void); /* what a queued message has in DM_AT_SEND_DONE */
    uint32_t n_builtin;       /* objects that have no slot */
    uint32_t kind_send;       /* DM_AT_REQ_KIND of sends */
    uint32_t kind_persistent; /* and of persistent requests */
    uint32_t name_len;        /* of a communicator, with its null */
    uint32_t at[DM_N_AT];
};
_Static_assert(sizeof(struct dm_queues) ==
                   8 + 6 * sizeof(void *) + 4 * (4 + DM_N_AT) + 4 * (DM_N_AT % 2),
               "as src/mqs reads it");

#endif
