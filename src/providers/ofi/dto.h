/*
 * Requests and receives on their way through the fabric. ia->lock is held in all functions.
 *
 * A request takes a slot. It is signalled when the fabric reports its end; a
 * suppressed write that is small is not: its slot comes back with the
 * next signalled request, as everything of an endpoint ends in order.
 */
#ifndef DM_PROVIDERS_OFI_DTO_H
#define DM_PROVIDERS_OFI_DTO_H

#include "providers/ofi/conn.h"

enum { DM_OFI_EXCESS_LEN = 1 << 26 };

struct dm_ofi_op {
    struct dm_net_op base;
    struct dm_ofi_ctx ctx;
    struct dm_ofi_ep *ep;   /* NULL: gone, nobody waits for it any more */
    bool is_done;           /* but something before it is not */
    bool is_posted;         /* all of it */
    bool is_counted;        /* in n_reads */
    bool is_requested;      /* the peer has been asked for a receive, an atomic, data */
    bool is_granted;        /* and the receive is there */
    bool is_bad;            /* a receive: some of its segments are */
    uint32_t id;            /* of what the peer is asked for; of a message: its number */
    bool needs_ack;         /* a message: the peer acknowledges it */
    uint32_t n_pending;     /* completions of the fabric, answers and acks that are to come */
    uint32_t n_unsignalled; /* slots that come back with it */
    struct fid_mr **sinks;  /* of a read that the peer writes to; malloc */
    uint32_t n_sinks;
    char *bounce;   /* for segments beyond what the fabric takes; malloc */
    uint64_t space; /* of a receive: bytes in good segments */
};

/* ---- transport/op.c ---- */

void dm_ofi_op_free(struct dm_ofi_op *op);
/* Have ia->excess: memory that is used by errors alone. */
bool dm_ofi_excess_map(struct dm_ofi_ia *ia);
void dm_ofi_excess_unmap(struct dm_ofi_ia *ia);

/* ---- dto.c ---- */

/* Go on with the queue. */
void dm_ofi_dto_push(struct dm_ofi_ep *ep);
/* The fabric has forgotten the endpoint: complete all as flushed. */
void dm_ofi_dto_flush(struct dm_ofi_ep *ep);
/* A request is over; complete what is at the head. */
void dm_ofi_op_finish(struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status);
/* The peer does not want a request of the queue: it fails when it would go. */
void dm_ofi_op_refuse(struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status);
/* The request that waits for an answer with this id. */
struct dm_ofi_op *dm_ofi_op_find(struct dm_ofi_ep *ep, uint32_t id);
/* Is a request at work in the region? */
bool dm_ofi_dto_is_using(const struct dm_ofi_ep *ep, uint32_t key);
/* The peer has found an error in the first request that is under way. */
void dm_ofi_dto_nak(struct dm_ofi_ep *ep);
/* The peer has received n messages of ours in all. */
void dm_ofi_dto_ack(struct dm_ofi_ep *ep, uint32_t n);

#endif
