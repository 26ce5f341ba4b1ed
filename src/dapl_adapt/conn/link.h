/*
 * Links: endpoints, pending events, private data.
 */
#ifndef DM_DAPL_ADAPT_CONN_LINK_H
#define DM_DAPL_ADAPT_CONN_LINK_H

#include <stdbool.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/conn_private.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"

struct dm_adapt;

/* As it is now: the server's thread changes it, too. */
enum dm_link_state dm_link_state(const struct dm_link *link);
/* Free an endpoint, if there is one: at once, or later where that is safer (struct dm_deferred_eps). */
void dm_conn_free_ep(struct dm_adapt *adapt, DAT_EP_HANDLE *ep);
/* Free those whose time has come, or all; the main thread, after it has drained the queues. */
void dm_deferred_eps_free(struct dm_adapt *adapt, bool is_all);
/*
 * Microseconds for all attempts of a link, and for a peer to come: DATUM_TIMEOUT, and more where processes take
 * turns, since a peer answers when its turn on a core comes.
 */
uint64_t dm_connect_time_us(const struct dm_adapt *adapt);
/* Break its connection off; an event will tell. */
void dm_conn_cut(struct dm_link *link);
/* Leave a note for the main thread; lock held. */
void dm_conn_note(struct dm_link *link, enum dm_note note);
/* Wake it for its notes; after the lock, which it wants next, was released. */
void dm_conn_notes_wake(struct dm_adapt *adapt);
/* Notes that are not handled yet are of no interest. Lock held. */
void dm_conn_forget_notes(struct dm_link *link);
/* Memory for the connector's first message over a link: nobody looks at it. */
void dm_link_first(const struct dm_link *link, DAT_LMR_TRIPLET *lmr_p);
/* What an event that ended an attempt means. */
const char *dm_conn_event_text(int event);
/* The place in `rails` of a rail of ours, -1: it is not common. */
int dm_conn_rail_of(const struct dm_conn *conn, const struct dm_ia *ia);
/* Fill own side of the private data. Lock held. */
void dm_conn_private_fill(struct dm_conn *conn, enum dm_link_kind link, enum dm_private_kind kind,
                          struct dm_conn_private *priv_p);
/* Refuse a request. Lock held. */
void dm_conn_reject(struct dm_adapt *adapt, DAT_CR_HANDLE cr, enum dm_reject reason);
/* Refuse it. Lock held. */
void dm_conn_turn_away(struct dm_link *link);

#endif
