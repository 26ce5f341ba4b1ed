/*
 * Datagrams in the place of records, see core/datagram.h. The main thread's.
 */
#ifndef DM_DAPL_ADAPT_EAGER_DATAGRAM_H
#define DM_DAPL_ADAPT_EAGER_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>

struct dm_adapt;
struct dm_conn;

/* Use them, if all the processes that connections are made to may have them; the rails are open. */
void dm_eager_datagrams_open(struct dm_adapt *adapt);
void dm_eager_datagrams_close(struct dm_adapt *adapt);

/* Before there is a pipe: a place for len bytes; NULL: none, now or at all. */
void *dm_eager_datagram_reserve(struct dm_conn *conn, size_t len);
void dm_eager_datagram_commit(struct dm_conn *conn, size_t len);
/* Will there be a place, so that connecting is no use? */
bool dm_eager_datagram_waits(const struct dm_conn *conn);
/* There is a pipe, to which the peer's first record comes. is_counted: both sides say how many datagrams
 * came before. */
void dm_eager_datagrams_end(struct dm_conn *conn, bool is_counted);
/* Say so, before anything else is posted. */
void dm_eager_datagrams_count(struct dm_conn *conn);

/* While dm_rx.has_datagrams: as dm_adapt_eager_peek() and _consume(). When peek takes that back the ring is
 * next. */
size_t dm_eager_datagram_peek(struct dm_conn *conn, const void **data_p);
void dm_eager_datagram_consume(struct dm_conn *conn, size_t len);

/* Take what has come, and call `input`; for how many connections. */
int dm_eager_datagrams_poll(struct dm_adapt *adapt);
/* Nothing has come for long: has one of the peers died? All that have no free slot, and another one each time. */
void dm_eager_datagrams_watch(struct dm_adapt *adapt);
/* Call `writable` for those that wait for a slot, if there is one. */
void dm_eager_datagrams_unblock(struct dm_adapt *adapt);

#endif
