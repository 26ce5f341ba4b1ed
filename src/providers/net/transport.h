/*
 * What a provider over a network defines for the path of data, beside its struct dm_net_ops: a
 * library holds one provider, so these are called directly. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_NET_TRANSPORT_H
#define DM_PROVIDERS_NET_TRANSPORT_H

#include "providers/net/ep.h"

/* A request or receive of the provider's own kind. NULL: out of memory. */
struct dm_net_op *dm_transport_op_new(struct dm_net *net, const struct dm_dto *dto);
/* Carry out a request of a connected endpoint, which has a slot for it. */
DAT_RETURN dm_transport_post(struct dm_net_ep *ep, const struct dm_dto *dto);
/* The endpoint has one more receive, behind the others: one that has been posted, or one of its
 * shared queue for a message of the peer's. */
void dm_transport_recv_add(struct dm_net_ep *ep, struct dm_net_op *op);
/* Complete all receives as flushed. */
void dm_transport_recv_flush(struct dm_net_ep *ep);
/* Is the first receive long enough for a message? If not, it has failed. */
bool dm_transport_recv_fits(struct dm_net_ep *ep, uint64_t len);
/* Tell the peer that the receive that it has asked for by this number is there, or refused. */
void dm_transport_recv_answer(struct dm_net_ep *ep, uint64_t id, bool is_refused);

#endif
