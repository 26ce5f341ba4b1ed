/*
 * Connections, and the protocol of large messages to a peer.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_PEER_H
#define DM_DAPL_ADAPT_PUBLIC_PEER_H

#include "dapl_adapt/public/types.h"
#include <stdbool.h>
#include <stddef.h>

#include "util/rndv.h"

/* The connection object of a process other than oneself, made at first use; NULL: out of memory. */
struct dm_conn *dm_adapt_conn(struct dm_adapt *adapt, int proc);
/* Start connecting if that has not happened yet (on demand); returns at once. */
int dm_adapt_connect(struct dm_conn *conn);
/* Why the connection is lost, "" while it is not. */
const char *dm_adapt_lost_why(const struct dm_conn *conn);
/*
 * The protocol that a large message to this peer is offered with: what DATUM_RNDV says, or instead
 * of auto read or, if a tuning file wants it, pipe. Both are measured at the first call on a rail
 * (under a millisecond).
 */
enum dm_rndv dm_adapt_rndv(struct dm_conn *conn);
struct dm_rndv_select;

/*
 * How len bytes that the peer offers to be read are to come: read or pipe, whichever is faster now,
 * or what dm_adapt_rndv says. When *select_p is set, dm_adapt_rndv_end has to follow,
 * with the protocol they came by and how many of them (0: it failed). Where ranks outnumber cores, read if the
 * long message before this one was another peer's.
 */
enum dm_rndv dm_adapt_rndv_begin(struct dm_conn *conn, size_t len,
                                 struct dm_rndv_select **select_p);
/*
 * The same while this process offers such messages, too, so that both processors have one to copy. agreed: what the
 * peer, who decides, says that it does (dm_adapt_rndv_in_exchange); auto: this process decides. Where ranks outnumber
 * cores, read.
 */
enum dm_rndv dm_adapt_rndv_exchange(struct dm_conn *conn, size_t len, enum dm_rndv agreed,
                                    struct dm_rndv_select **select_p);
/* Which it is at the moment: read or pipe; auto: the choice is not between these. */
enum dm_rndv dm_adapt_rndv_in_exchange(const struct dm_conn *conn, size_t len);
void dm_adapt_rndv_end(struct dm_rndv_select *select, enum dm_rndv proto, size_t len);
/*
 * With DATUM_RNDV=auto: are len bytes, which the peer offers to be read, there sooner when it writes
 * one part while this process reads the other? It polls until that time of dm_clock_ns; 0: it does not. So
 * it is between processes of one host, each with a core: whoever posts a transfer copies it there.
 */
bool dm_adapt_rndv_may_split(const struct dm_conn *conn, size_t len, uint64_t polls_until);

#endif
