/*
 * Connections: one fid_ep each, from fi_connect or fi_accept to the end. ia->lock is held in all
 * functions.
 */
#ifndef DM_PROVIDERS_OFI_CONN_H
#define DM_PROVIDERS_OFI_CONN_H

#include "providers/ofi/ep.h"
#include "providers/ofi/wire.h"

enum dm_ofi_conn_state {
    DM_CONN_CONNECTING, /* fi_connect is under way */
    DM_CONN_REQUESTED,  /* request sent, no answer yet */
    DM_CONN_REDIRECTED, /* to connect somewhere else */
    DM_CONN_HALF_OPEN,  /* accepted, no request yet */
    DM_CONN_CR,         /* request given to the consumer */
    DM_CONN_ACCEPTED,   /* answered, no confirmation yet */
    DM_CONN_UP,
    DM_CONN_LINGERING, /* a disconnect, terminate or reject is on its way to the peer */
    DM_CONN_CLOSED     /* only to be freed: on ia->ending */
};

/* Looking after the network below a connection. */
struct dm_ofi_keepalive {
    int sock;             /* the fabric's socket, -1: not known */
    uint64_t check_at;    /* when to look at it again */
    uint64_t stuck_since; /* nothing of what was sent has been acknowledged, 0: it has */
};

/* What the active side needs to try again, at another port or qualifier. */
struct dm_ofi_active {
    struct sockaddr_storage to;
    DAT_CONN_QUAL qual;
    uint32_t n_ports_tried; /* for the qualifier */
    uint32_t n_redirects;
    uint8_t *request; /* private data; malloc */
    DAT_COUNT request_len;
};

/* Messages are sent only when the peer has a receive for them: without, the
 * fabric would hold back everything behind them. */
struct dm_ofi_credits {
    bool is_peer_shared;   /* its receives are: a message asks for one first */
    uint32_t n_sent;       /* messages, in all */
    uint32_t n_peer_recvs; /* receives that the peer has granted, in all */
    uint32_t n_arrived;    /* messages in all, */
    uint32_t n_granted;    /* and our receives of which the peer knows */
};

/* What is longer than the shortest of the other side's receives asks first. */
struct dm_ofi_min_recv {
    uint64_t peer;
    uint64_t own;        /* the shortest of ours, or less, */
    uint64_t reported;   /* and what the peer knows of it */
    uint32_t n;          /* receives of this length with the fabric; 0: look again */
    bool is_peer_asking; /* since it was reported */
};

/* Control messages, see ctrl.h. */
struct dm_ofi_ctrl_link {
    struct fid_mr *mr;
    uint64_t key;
    uint64_t peer_addr; /* address and key of the peer's ring */
    uint64_t peer_key;
    struct dm_ofi_ctrl *ring;   /* what the peer writes to */
    struct dm_ofi_ctrl *copies; /* of what goes behind data; NULL: none yet */
    uint32_t n_sent;
    uint32_t n_acked;
    uint32_t n_read;
    uint32_t n_reported;
};

/* Writes whose end the fabric does not report: it may still read their memory. An empty write
 * behind them that is reported shows that they are done (lmr.c). */
struct dm_ofi_unsignalled {
    bool is_any;
    bool is_flushing; /* the empty write is on its way */
    struct dm_ofi_ctx ctx;
};

/* Why and how the connection ends. */
struct dm_ofi_conn_end {
    DAT_EVENT_NUMBER event;  /* what the consumer will get, 0: nothing */
    DAT_COUNT event_len;     /* private data of it */
    uint64_t linger_until;   /* for the peer to close */
    bool is_peer_terminated; /* the peer has found an error: */
    bool is_nak_received;    /* in a request of ours; else in its own memory */
    bool is_nak_sent;        /* we have found one in a request of the peer's */
};

struct dm_ofi_conn {
    struct dm_list link; /* in ia->conns or ia->ending */
    struct dm_ofi_ia *ia;
    enum dm_ofi_conn_state state;
    struct fid_ep *fid;
    struct dm_ofi_ep *ep; /* NULL: none yet, or none any more */
    struct dm_sp *sp;     /* of a request */
    struct dm_cr *cr;
    uint32_t number;      /* ours, in ia->numbers */
    uint32_t peer_number; /* how the peer knows it: in CQ data to it */
    uint64_t deadline;    /* of the handshake, or of lingering */
    bool was_up;
    bool is_shutdown;             /* FI_SHUTDOWN has come */
    uint32_t cqdata_due;          /* bits 1 << kind, to be sent when there is space */
    struct dm_ofi_ctx cqdata_ctx; /* of CQ data and control messages; nobody waits for them */
    struct dm_ofi_keepalive keepalive;
    struct dm_ofi_active active;
    struct dm_ofi_credits credits;
    struct dm_ofi_min_recv min_recv;
    struct dm_ofi_ctrl_link ctrl;
    struct dm_ofi_unsignalled unsignalled;
    struct dm_ofi_conn_end end;
};

/* A connection without a fid_ep yet. NULL: out of memory. */
struct dm_ofi_conn *dm_ofi_conn_new(struct dm_ofi_ia *ia, enum dm_ofi_conn_state state);
/* Give it a fid_ep, enabled, with a receive for the next message of the
 * handshake. info: of the request, or NULL for the active side. False: it cannot be. */
bool dm_ofi_conn_open(struct dm_ofi_conn *conn, struct fi_info *info);
/* Close the fid_ep alone, for another try. */
void dm_ofi_conn_close_fid(struct dm_ofi_conn *conn);
/* The one with this number; NULL: it is gone. */
struct dm_ofi_conn *dm_ofi_conn_by_number(struct dm_ofi_ia *ia, uint32_t number);
/* Take over what the peer's handshake says of it. */
void dm_ofi_conn_peer_set(struct dm_ofi_conn *conn, const struct dm_ofi_handshake *handshake);
/* The connection is up; len bytes are in the endpoint's private data. */
void dm_ofi_conn_up(struct dm_ofi_conn *conn, DAT_COUNT len);
/* Look after the network below it from now on. */
void dm_ofi_conn_keepalive_start(struct dm_ofi_conn *conn);

/* ---- the end ---- */

/* End a connection with this event for the consumer (0: none), soon, when the
 * round is over. Sends the peer nothing. May be called from done(), and twice:
 * the first one counts. */
void dm_ofi_conn_fail(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event);
/* The same after an error that we have found in what the peer asked for, or it
 * in what we did: send it (DM_CQDATA_TERMINATE), so that it sees DISCONNECTED. */
void dm_ofi_conn_terminate(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event);
/* An orderly end: DM_CQDATA_DISCONNECT, then this event. */
void dm_ofi_conn_disconnect(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event);
/* The peer has been answered, and is to close: wait for that, a while. */
void dm_ofi_conn_linger(struct dm_ofi_conn *conn);
/* Disconnect all, without events, waiting for a moment. */
void dm_ofi_conns_disconnect(struct dm_ofi_ia *ia);
/* Close what has been put on ia->ending; not within a round. */
void dm_ofi_conns_end(struct dm_ofi_ia *ia);
/* Close everything; the thread has ended. */
void dm_ofi_conns_close(struct dm_ofi_ia *ia);

/* ---- timers ---- */

/* Set the deadline, and have it looked at in time. */
void dm_ofi_conn_timer(struct dm_ofi_conn *conn, uint64_t deadline);
/* Run what is due; sets ia->net.next_timer. */
void dm_ofi_conns_timers(struct dm_ofi_ia *ia, uint64_t now);

#endif
