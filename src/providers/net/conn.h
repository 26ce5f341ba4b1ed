/*
 * Connections of providers over networks, from connect or accept to the end. ia->lock is held in
 * all functions.
 */
#ifndef DM_PROVIDERS_NET_CONN_H
#define DM_PROVIDERS_NET_CONN_H

#include "providers/common/sp.h"
#include "providers/net/ep.h"

enum dm_net_conn_state {
    DM_CONN_CONNECTING, /* connect is under way */
    DM_CONN_REQUESTED,  /* request sent, no answer yet */
    DM_CONN_REDIRECTED, /* to connect somewhere else */
    DM_CONN_HALF_OPEN,  /* accepted, no request yet */
    DM_CONN_CR,         /* request given to the consumer */
    DM_CONN_ACCEPTED,   /* answered, no confirmation yet */
    DM_CONN_UP,
    DM_CONN_LINGERING, /* the last words are on their way to the peer */
    DM_CONN_CLOSED     /* only to be freed: on net->ending */
};

/* What the active side needs to try again, at another port or qualifier. */
struct dm_net_active {
    struct sockaddr_storage to;
    DAT_CONN_QUAL qual;
    uint32_t n_ports_tried; /* for the qualifier */
    uint32_t n_redirects;
    uint8_t *request; /* private data; malloc */
    DAT_COUNT request_len;
};

/* Messages are sent only when the peer has a receive for them. */
struct dm_net_credits {
    bool is_peer_shared;   /* its receives are: a message asks for one first */
    uint32_t n_sent;       /* messages, in all */
    uint32_t n_peer_recvs; /* receives that the peer has granted, in all */
    uint32_t n_arrived;    /* messages in all, */
    uint32_t n_granted;    /* and our receives of which the peer knows */
    uint32_t most_recvs;   /* of ours that have waited at a time */
};

/* Why and how the connection ends. */
struct dm_net_conn_end {
    DAT_EVENT_NUMBER event;  /* what the consumer will get, 0: nothing */
    DAT_COUNT event_len;     /* private data of it */
    uint64_t linger_until;   /* for the peer to close */
    bool is_peer_terminated; /* the peer has found an error: */
    bool is_nak_received;    /* in a request of ours; else in its own memory */
    bool is_nak_sent;        /* we have found one in a request of the peer's */
};

/* First member of a provider's connection. */
struct dm_net_conn {
    struct dm_list link; /* in net->conns or net->ending */
    struct dm_net *net;
    enum dm_net_conn_state state;
    int sock;             /* below it, -1: not known */
    struct dm_net_ep *ep; /* NULL: none yet, or none any more */
    struct dm_sp *sp;     /* of a request */
    struct dm_cr *cr;
    uint64_t deadline;    /* of the handshake, or of lingering */
    uint64_t check_at;    /* when to look at the network below it again */
    uint64_t stuck_since; /* nothing of what was sent has been acknowledged, 0: it has */
    bool was_up;
    struct dm_net_active active;
    struct dm_net_credits credits;
    struct dm_net_conn_end end;
};

/* What a message of the handshake says, beside what is the transport's. */
struct dm_net_greeting {
    enum dm_net_handshake_type type;
    uint32_t status;
    DAT_CONN_QUAL qual;     /* REQUEST: for whom; HANDOFF: where to ask */
    DAT_CONN_QUAL own_qual; /* REQUEST: of the sender */
    const void *addr;       /* the sender's sockaddr... */
    size_t addr_len;        /* ...in so many bytes */
    uint32_t data_len;
    const void *data;
};

/* ---- conn.c ---- */

/* A connection without a socket yet. NULL: out of memory. */
struct dm_net_conn *dm_net_conn_new(struct dm_net *net, enum dm_net_conn_state state);
/* The same for who has connected to us: it may stay half open so long. */
struct dm_net_conn *dm_net_conn_half_open(struct dm_net *net);
/* The connection is up; len bytes are in the endpoint's private data. */
void dm_net_conn_up(struct dm_net_conn *conn, DAT_COUNT len);
/* Look after the network below it from now on, if its socket is known; watch: which has those options. */
void dm_net_conn_keepalive_start(struct dm_net_conn *conn);
void dm_net_conn_watch(struct dm_net_conn *conn);
/* Set the deadline, and have it looked at in time. */
void dm_net_conn_timer(struct dm_net_conn *conn, uint64_t deadline);
/* Run what is due; sets net->next_timer. */
void dm_net_conns_timers(struct dm_net *net, uint64_t now);

/* ---- end.c ---- */

/* End a connection with this event for the consumer (0: none), soon, when the round is over. Sends
 * the peer nothing. May be called twice: the first one counts. */
void dm_net_conn_fail(struct dm_net_conn *conn, DAT_EVENT_NUMBER event);
/* The same after an error that we have found in what the peer asked for, or in what we did: tell
 * the peer, who sees DISCONNECTED. */
void dm_net_conn_terminate(struct dm_net_conn *conn, DAT_EVENT_NUMBER event);
/* The same of an error in what the peer asked for: a NAK. */
void dm_net_conn_nak(struct dm_net_conn *conn);
/* An orderly end, then this event. */
void dm_net_conn_disconnect(struct dm_net_conn *conn, DAT_EVENT_NUMBER event);
/* The peer has been answered, and is to close: wait for that, a while. */
void dm_net_conn_linger(struct dm_net_conn *conn);
/* Disconnect all, without events, waiting for a moment. */
void dm_net_conns_disconnect(struct dm_pia *ia);
/* Close what has been put on net->ending; not within a round. */
void dm_net_conns_end(struct dm_net *net);
/* Close everything; the thread has ended. */
void dm_net_conns_close(struct dm_net *net);

/* ---- cm.c, cm_passive.c ---- */

/* The active side's socket is connected: send the request. */
void dm_net_cm_connected(struct dm_net_conn *conn);
/* Nobody listens there: connect to the next port; none left: not the consumer's rejection. */
void dm_net_cm_connect_next(struct dm_net_conn *conn);
/* The same after the round, as the socket is to be closed. */
void dm_net_cm_next_port(struct dm_net_conn *conn);
/* This process may open no more descriptors: say so, once. */
void dm_net_cm_no_descriptor(struct dm_net *net);
/* Nothing can be reached at this address, by this errno. */
void dm_net_cm_unreachable(struct dm_net_conn *conn, int err);
/* The peer has closed, or the socket is broken. */
void dm_net_cm_shutdown(struct dm_net_conn *conn);
/* The deadline has come. */
void dm_net_cm_timeout(struct dm_net_conn *conn);
/* A message of the handshake has come; it is valid. False: it has no place now. */
bool dm_net_cm_handshake(struct dm_net_conn *conn, const struct dm_net_greeting *greeting);
/* It is a request. */
void dm_net_cm_request(struct dm_net_conn *conn, const struct dm_net_greeting *greeting);
/* Connect those who are redirected; outside of a round. */
void dm_net_cm_redirect(struct dm_net *net);

/* The provider's operations. */
DAT_RETURN dm_net_ep_connect(struct dm_ep *ep, const struct dm_connect *how);
void dm_net_ep_disconnect(struct dm_ep *ep);
DAT_RETURN dm_net_cm_listen(struct dm_sp *sp);
DAT_RETURN dm_net_cm_listen_any(struct dm_sp *sp);
void dm_net_cm_unlisten(struct dm_sp *sp);
void dm_net_cm_accept(struct dm_ep *ep, void *conn, DAT_COUNT len, const void *data);
void dm_net_cm_reject(void *conn, bool is_by_consumer, DAT_COUNT len, const void *data);
bool dm_net_cm_is_listening(struct dm_pia *ia, DAT_CONN_QUAL qual);
void dm_net_cm_handoff(void *conn, DAT_CONN_QUAL qual);

#endif
