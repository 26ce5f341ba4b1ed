/*
 * A link: one endpoint of a connection, and how it is being connected.
 */
#ifndef DM_DAPL_ADAPT_CORE_LINK_H
#define DM_DAPL_ADAPT_CORE_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/core/conn_private.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/public/types.h"
#include "util/list.h"

struct dm_conn;
struct dm_ia;

/* The pipe and the RDMA link beside it are on one rail; further RDMA links on the others. */
enum dm_link_kind {
    DM_LINK_PIPE,
    DM_LINK_RDMA,
    DM_LINK_EXTRA, /* by rail: the number that it has at the lower process */
    DM_LINK_N = DM_LINK_EXTRA + DM_RAILS_MAX
};

#define DM_RDMAQS (DM_LINK_N - DM_LINK_RDMA)

enum dm_link_state {
    DM_LINK_IDLE,
    DM_LINK_CLOSING,    /* broken; its endpoint is not gone yet */
    DM_LINK_CONNECTING, /* own attempt under way, or waiting for the next one */
    DM_LINK_ACCEPTING,  /* the peer's attempt accepted, not yet established */
    DM_LINK_UP,
    DM_LINK_LOST
};

/* What happened to a link, from whoever saw it to the main thread. */
enum dm_note {
    DM_NOTE_UP = 1,
    DM_NOTE_REFUSED = 2, /* own attempt failed */
    DM_NOTE_LOST = 4,
    DM_NOTE_DROPPED = 8, /* the superseded endpoint may be freed */
    DM_NOTE_BROKEN = 16, /* the peer has given this connection up and makes it anew */
    DM_NOTE_ASKED = 32,  /* a request for the main thread */
    DM_NOTE_GONE = 64    /* the peer has closed this connection in order */
};

struct dm_link {
    DAT_EP_HANDLE ep;
    DAT_EP_HANDLE dropped; /* own attempt that lost against the peer's */
    enum dm_link_state state;
    enum dm_link_kind kind;
    bool is_active;      /* we connected */
    bool may_post;       /* the connector, or its first message is here (iWARP's rule) */
    bool is_ended;       /* its end was seen; while closing: of `dropped` */
    bool is_due;         /* counted in n_signalled: the connector's first message */
    bool is_reported;    /* the main thread knows that it is up */
    bool has_spoken;     /* the connector's first message has come before that */
    _Atomic uint8_t gen; /* of endpoints; completions of earlier ones do not count */
    struct dm_conn *conn;
    struct dm_list note; /* in dm_adapt.notes while n_notes is not 0 */
    unsigned notes;
    DAT_LMR_TRIPLET first;         /* of the receive for the connector's first message */
    int event;                     /* DAT event number of the last failure */
    struct dm_conn_private answer; /* what the peer said last */
    DAT_CR_HANDLE cr;              /* request that waits for the main thread, */
    struct dm_ia *cr_ia;           /* on this rail, */
    struct dm_conn_private asked;  /* with these words */
    /* connecting */
    struct dm_list wait; /* in dm_adapt.connecting */
    uint64_t deadline;
    uint64_t next_try; /* 0: an attempt is under way */
    unsigned n_tries;
};

#endif
