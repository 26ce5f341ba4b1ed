/*
 * Sending without a copy: the kernel gets the pages of long data instead of their bytes, through a
 * pipe. Who receives within the host then copies them from the sender's memory itself; an adapter
 * reads them there. ia->lock is held in all functions.
 *
 * The pages are read until the peer has everything. So a request is over for its memory when the
 * peer has acknowledged it, not when it is sent (dm_tcp_op.is_pinned).
 */
#ifndef DM_PROVIDERS_TCP_TRANSPORT_SPLICE_H
#define DM_PROVIDERS_TCP_TRANSPORT_SPLICE_H

#include "providers/tcp/conn.h"

/* A pipe: idle in ia->pipes, or a connection's as long as bytes of it are inside. */
struct dm_tcp_pipe {
    struct dm_list link;
    int from;
    int to;
    uint32_t size;     /* bytes that go in at most, */
    uint32_t n_inside; /* and that are */
};

/* How it went. */
enum dm_tcp_spliced {
    DM_SPLICED,      /* some bytes, or all */
    DM_SPLICE_FULL,  /* the socket takes none now */
    DM_SPLICE_COPY,  /* not with this memory or this kernel: copy the rest */
    DM_SPLICE_BROKEN /* the socket is of no use any more */
};

/* May the data of such a frame go without a copy? */
bool dm_tcp_splice_fits(const struct dm_tcp_head *head);
/* The frame under way: put pages in the connection's pipe if it is empty, behind out.kept_head if nothing of that
 * has gone, and give the socket what is inside; *sent_p bytes have gone. */
enum dm_tcp_spliced dm_tcp_splice(struct dm_tcp_conn *conn, uint32_t *sent_p);
/* A connection has no use for it any more; what is inside is dropped. */
void dm_tcp_pipe_put(struct dm_tcp_ia *ia, struct dm_tcp_pipe *pipe);
/* Close those that are idle. */
void dm_tcp_pipes_close(struct dm_tcp_ia *ia);

#endif
