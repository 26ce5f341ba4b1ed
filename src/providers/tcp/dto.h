/*
 * Requests and receives on their way. ia->lock is held in all functions.
 *
 * A request takes a slot until it is over: a suppressed one when all of it is with the kernel,
 * others when the peer has carried them out and acknowledged that, or answered.
 */
#ifndef DM_PROVIDERS_TCP_DTO_H
#define DM_PROVIDERS_TCP_DTO_H

#include "providers/tcp/conn.h"

struct dm_tcp_op {
    struct dm_net_op base;
    uint32_t number; /* how the peer counts it */
    bool has_slot;
    bool is_sent;     /* all of it; its memory is needed for an answer, or while it is pinned */
    bool is_pinned;   /* until the peer has acknowledged it */
    bool is_answered; /* a read or atomic operation */
    bool is_recv_due; /* a write with immediate data that is begun without a receive */
    uint32_t n_vec;
    struct iovec *vec; /* its memory, when it is begun */
    struct iovec few_vec[DM_NET_OP_SEGS];
};

/* ---- transport/op.c ---- */

/* Find the memory of the segments that its first len bytes are in; empty ones are left out. False:
 * the endpoint may not use one of them so. Sets base.len to that of all. */
bool dm_tcp_op_resolve(struct dm_tcp_ep *ep, struct dm_tcp_op *op, uint64_t len, uint32_t priv);
/* The memory of n bytes from pos on, at most max pieces of it; the number of pieces. */
uint32_t dm_tcp_op_part(const struct dm_tcp_op *op, uint64_t pos, uint64_t n, struct iovec *vec,
                        uint32_t max);

/* ---- dto.c ---- */

/* The first of the queue, begun, if it can go now and has something for the peer; NULL: none. */
struct dm_tcp_op *dm_tcp_dto_next(struct dm_tcp_ep *ep);
/* Has it a receive of the peer's, if it needs one now? It has failed if that is refused. */
bool dm_tcp_dto_has_recv(struct dm_tcp_ep *ep, struct dm_tcp_op *op);
/* All of it is with the kernel. */
void dm_tcp_dto_sent(struct dm_tcp_ep *ep, struct dm_tcp_op *op);
/* The peer has carried out n requests in all. False: it cannot have. */
bool dm_tcp_dto_acked(struct dm_tcp_ep *ep, uint32_t n);
/* The oldest read (or atomic operation) without an answer; NULL: there is none. */
struct dm_tcp_op *dm_tcp_dto_oldest(struct dm_tcp_ep *ep, bool is_atomic);
/* It has been answered. */
void dm_tcp_dto_answered(struct dm_tcp_ep *ep, struct dm_tcp_op *op,
                         DAT_DTO_COMPLETION_STATUS status);
/* The peer has found an error in the first request that is not acknowledged. */
void dm_tcp_dto_nak(struct dm_tcp_ep *ep, DAT_DTO_COMPLETION_STATUS status);
/* The connection is over: complete all as flushed. */
void dm_tcp_dto_flush(struct dm_tcp_ep *ep);
/* Is nothing under way that the consumer waits for? */
bool dm_tcp_dto_is_idle(const struct dm_tcp_ep *ep);
/* Is a request at work in the region? */
bool dm_tcp_dto_is_using(const struct dm_tcp_ep *ep, uint32_t key);
/* Ask for the acknowledgement of all that are under way. */
void dm_tcp_dto_recall(struct dm_tcp_ep *ep);
/* Does one wait to be, for nothing but space? */
bool dm_tcp_dto_is_waiting(const struct dm_tcp_ep *ep, uint32_t key);

#endif
