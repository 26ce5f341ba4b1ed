/*
 * Datagrams in the place of records: what a process sends first to another one of its job on this host goes
 * to a box that the other has for all (util/datagram.h). So a peer to which little is sent costs neither
 * endpoints nor a ring. The pipe is connected for what is longer, or when a peer has had many.
 *
 * Order. Datagrams are numbered. Before its first record a process writes how many it has sent to the
 * peer's control words; the peer reads no record before it has read so many datagrams. All of them were in
 * its box before that word.
 */
#ifndef DM_DAPL_ADAPT_CORE_DATAGRAM_H
#define DM_DAPL_ADAPT_CORE_DATAGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/datagram.h"
#include "util/list.h"

struct dm_conn;

/* One that has come, in order of numbers. */
struct dm_datagram_in {
    struct dm_datagram_in *next;
    uint32_t number;
    uint32_t len;
    uint64_t data[];
};

/* Of a connection: the receiving side. */
struct dm_rx_datagrams {
    struct dm_datagram_in *in;
    struct dm_datagram_in *last; /* of them, if there are any */
    uint32_t n_read;
    struct dm_list unread; /* in that of dm_datagram_poll */
};

/* And the sending side. */
struct dm_tx_datagrams {
    void *box;                /* the peer's; NULL: not looked for yet */
    struct dm_datagram *slot; /* of it, for the next one, */
    uint32_t cap;             /* and what that takes, or is to take */
    uint32_t n_sent;
    uint32_t n_full;        /* times that the box was full, */
    uint32_t n_looks;       /* and looks for a slot then */
    bool is_over;           /* no more are sent */
    bool is_count_due;      /* before the first record */
    struct dm_list blocked; /* in that of dm_datagram_poll */
};

/* Of the process. */
struct dm_datagram_poll {
    bool is_on;
    struct dm_datagrams way;
    struct dm_list unread;  /* connections with some that were not read */
    struct dm_list blocked; /* and those that wait for a slot */
    uint64_t n_sent;
    struct dm_conn *watched; /* of whom it was asked last whether it has died */
};

static inline bool dm_datagram_is_due(const struct dm_datagram_poll *poll)
{
    return poll->is_on && (atomic_load_explicit(poll->way.due, memory_order_relaxed) != 0 ||
                           !dm_list_is_empty(&poll->unread));
}

#endif
