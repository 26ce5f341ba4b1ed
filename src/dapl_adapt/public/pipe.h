/*
 * The eager path: an ordered byte pipe.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_PIPE_H
#define DM_DAPL_ADAPT_PUBLIC_PIPE_H

#include "dapl_adapt/public/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/*
 * Offer a gather list; *taken_p gets the bytes taken, from the front, 0 when there
 * is no credit or no connection yet (connecting is then started). The bytes taken
 * may be reused at once, except that large ones may be sent straight from the
 * caller's memory: they are still the library's until dm_adapt_eager_flushed.
 * DM_EPEER when the connection is lost.
 */
int dm_adapt_eager_put(struct dm_conn *conn, const struct iovec *iov, int n_iov, size_t *taken_p);
/*
 * True when every byte taken so far from the caller's own memory may be reused.
 * Providers that copy at once always say true; polling makes it true in the end.
 */
bool dm_adapt_eager_flushed(const struct dm_conn *conn);
/*
 * The fast way for a short record: a place of len bytes to write it to, or NULL
 * when there is no credit, no connection, or len is more than a slot takes. The
 * bytes become part of the pipe with dm_adapt_eager_commit, which must follow before
 * any other call on this connection; at most `len` of them, from the start.
 */
void *dm_adapt_eager_reserve(struct dm_conn *conn, size_t len);
int dm_adapt_eager_commit(struct dm_conn *conn, size_t len);
/* Is the pipe there, so that what it does not take now waits for the peer's reading alone? */
bool dm_adapt_eager_is_open(const struct dm_conn *conn);
/*
 * Messages that go without asking to peers of which nothing better is known, bytes: no rail's tuned
 * limit is less.
 */
size_t dm_adapt_eager_least(const struct dm_adapt *adapt);
/* Length of the pieces that much is best cut into; dm_adapt_eager_reserve takes it. */
size_t dm_adapt_eager_max(const struct dm_conn *conn);
/*
 * Messages up to this length are better copied through the pipe than announced to the peer
 * first; 0: no opinion. Known once the connection is up.
 */
size_t dm_adapt_eager_good(const struct dm_conn *conn);
/* Do processors move its data, by system calls, so that a packet costs no more than RDMA? */
bool dm_adapt_is_software(const struct dm_conn *conn);
/*
 * Unread bytes at the front of the pipe, contiguous and in place (0: none). They
 * stay valid until consumed.
 */
size_t dm_adapt_eager_peek(struct dm_conn *conn, const void **data_p);
/* Give back the first len bytes; credits return to the peer with reverse traffic. */
void dm_adapt_eager_consume(struct dm_conn *conn, size_t len);

#endif
