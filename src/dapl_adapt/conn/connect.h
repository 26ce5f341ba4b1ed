/*
 * Own attempts to connect. Main thread.
 */
#ifndef DM_DAPL_ADAPT_CONN_CONNECT_H
#define DM_DAPL_ADAPT_CONN_CONNECT_H

#include "dapl_adapt/core/link.h"
#include "dapl_adapt/public/peer.h"
#include <stdbool.h>
#include <stdint.h>

struct dm_conn;

struct dm_link;
/* Start own attempts of a link. Main thread. */
int dm_conn_start(struct dm_conn *conn, enum dm_link_kind kind);
/* An attempt was refused with that event, by a peer that has left or not; why: NULL, or the peer's word that is final. */
void dm_connect_rejected(struct dm_link *link, int event, bool has_left, const char *why);
/* What a refusal means. NULL: try again (or wait, when the peer's own attempt counts). */
const char *dm_connect_final_reject(const struct dm_link *link);
/* A look at a link that is being connected; returns how many things happened. */
int dm_connect_timer(struct dm_link *link, uint64_t now);

#endif
