/*
 * A few more bytes over a new connection, for an acceptor that has missed what came first.
 *
 * Soft-iWARP's kernel driver loses the news of data that arrive between its answer to a request
 * and its taking the socket over: the acceptor hears of nothing then, nor that it is connected,
 * until more data come. So the connector sends more, a few times: writes into the memory that
 * measuring overwrites, which need no receive.
 */
#ifndef DM_DAPL_ADAPT_CONN_PROD_H
#define DM_DAPL_ADAPT_CONN_PROD_H

#include <stdint.h>

struct dm_link;

/* A link has come up: it will be prodded if its provider is one of iWARP and this end connected. */
void dm_prod_begin(struct dm_link *link);
/* A look at a link that is up, from the timers; returns how many things happened. */
int dm_prod_timer(struct dm_link *link, uint64_t now);

#endif
