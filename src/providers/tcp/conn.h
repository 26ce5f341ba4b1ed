/*
 * Connections: one socket each, from connect or accept to the end. ia->lock is held in all
 * functions.
 */
#ifndef DM_PROVIDERS_TCP_CONN_H
#define DM_PROVIDERS_TCP_CONN_H

#include <sys/uio.h>

#include "providers/tcp/ep.h"
#include "providers/tcp/wire.h"

enum dm_tcp_conn_state {
    DM_CONN_CONNECTING, /* connect is under way */
    DM_CONN_REQUESTED,  /* request sent, no answer yet */
    DM_CONN_REDIRECTED, /* to connect somewhere else */
    DM_CONN_HALF_OPEN,  /* accepted, no request yet */
    DM_CONN_CR,         /* request given to the consumer */
    DM_CONN_ACCEPTED,   /* answered, no confirmation yet */
    DM_CONN_UP,
    DM_CONN_LINGERING, /* the last words are on their way to the peer */
    DM_CONN_CLOSED     /* only to be freed: on ia->ending */
};

/* What epoll tells us of. */
enum dm_tcp_source { DM_SOURCE_CONN, DM_SOURCE_LISTENER };

struct dm_tcp_op;

/* What is being received. */
enum dm_tcp_phase { DM_IN_HANDSHAKE, DM_IN_FRAMES, DM_IN_DISCARD };

/* A greeting on its way. */
struct dm_tcp_greeting {
    struct dm_tcp_handshake handshake;
    uint8_t data[DM_PRIVATE_MAX];
};

struct dm_tcp_in {
    enum dm_tcp_phase phase;
    uint32_t n_part; /* bytes of a header or greeting that are there */
    uint32_t n_vec;  /* pieces of memory that the data of this frame go to, */
    uint32_t at;     /* the first that is not full, */
    uint64_t left;   /* and bytes to come; 0: a header is next */
    struct dm_tcp_head head;
    struct dm_tcp_greeting *greeting; /* NULL: not any more */
    struct dm_tcp_op *op;             /* the receive of a message under way, */
    struct dm_tcp_op *read;           /* and the read that is answered */
    uint64_t n_before;                /* bytes of a request before this frame */
    uint32_t n_done;                  /* requests carried out */
    uint32_t n_last;                  /* bytes that are placed after all others, */
    void *last_to;                    /* where, */
    uint64_t last;                    /* and what they are; or an old value, */
    uint64_t operands[2];             /* or operands */
    struct iovec vec[DM_IOV_MAX + 1];
};

/* A read of the peer's that is to be answered. */
struct dm_tcp_answer {
    struct dm_list link;
    const char *from;
    uint32_t key;
    uint32_t left;
};

struct dm_tcp_out {
    bool is_blocked; /* the socket was full */
    bool is_armed;   /* and epoll tells when it is not */
    bool is_ack_due; /* the peer waits for it, or for credits */
    bool is_answer;  /* the frame is one (or was): answers and requests take turns */
    bool is_pushing;
    bool is_last_due; /* there is a last frame, when answers are sent */
    bool is_piece;    /* a frame is under way: */
    uint32_t n_head;  /* bytes of its header that are sent */
    uint32_t left;    /* of its data that are not */
    struct dm_tcp_head head;
    struct dm_tcp_head last; /* frame */
    struct dm_tcp_op *op;    /* whose data these are; NULL: */
    struct dm_list answers;  /* those of the first of these */
    uint32_t n_answers;
    char *ctrl;       /* whole frames, to be sent before another begins; malloc */
    uint32_t ctrl_at; /* sent so far */
    uint32_t ctrl_len;
    uint32_t ctrl_size;
};

/* What the active side needs to try again, at another port or qualifier. */
struct dm_tcp_active {
    struct sockaddr_storage to;
    DAT_CONN_QUAL qual;
    uint32_t n_ports_tried; /* for the qualifier */
    uint32_t n_redirects;
    uint8_t *request; /* private data; malloc */
    DAT_COUNT request_len;
};

/* Messages are sent only when the peer has a receive for them. */
struct dm_tcp_credits {
    bool is_peer_shared;   /* its receives are: a message asks for one first */
    uint32_t n_sent;       /* messages, in all */
    uint32_t n_peer_recvs; /* receives that the peer has granted, in all */
    uint32_t n_arrived;    /* messages in all, */
    uint32_t n_granted;    /* and our receives of which the peer knows */
};

/* Why and how the connection ends. */
struct dm_tcp_conn_end {
    DAT_EVENT_NUMBER event;  /* what the consumer will get, 0: nothing */
    DAT_COUNT event_len;     /* private data of it */
    bool is_peer_terminated; /* the peer has found an error: */
    bool is_nak_received;    /* in a request of ours; else in its own memory */
    bool is_nak_sent;        /* we have found one in a request of the peer's */
};

struct dm_tcp_conn {
    enum dm_tcp_source source;
    enum dm_tcp_conn_state state;
    int fd;
    struct dm_list link; /* in ia->conns or ia->ending */
    struct dm_list link_up;
    struct dm_list link_blocked;
    struct dm_tcp_ia *ia;
    struct dm_tcp_ep *ep; /* NULL: none yet, or none any more */
    struct dm_sp *sp;     /* of a request */
    struct dm_cr *cr;
    uint64_t deadline;    /* of the handshake, or of lingering */
    uint64_t check_at;    /* when to look at the network below it again */
    uint64_t stuck_since; /* nothing of what was sent has been acknowledged, 0: it has */
    uint16_t own_tag;
    uint16_t peer_tag;
    bool was_up;
    bool is_broken; /* the socket is of no use any more */
    struct dm_tcp_active active;
    struct dm_tcp_credits credits;
    struct dm_tcp_conn_end end;
    struct dm_tcp_out out;
    struct dm_tcp_in in;
};

/* A connection without a socket yet. NULL: out of memory. */
struct dm_tcp_conn *dm_tcp_conn_new(struct dm_tcp_ia *ia, enum dm_tcp_conn_state state);
/* Give it a socket (-1: make one, with our address). False: errno says why. */
bool dm_tcp_conn_open(struct dm_tcp_conn *conn, int fd);
/* Close the socket alone, for another try. */
void dm_tcp_conn_close_fd(struct dm_tcp_conn *conn);
/* Have epoll tell when the socket can be written to, or not. */
void dm_tcp_conn_arm(struct dm_tcp_conn *conn, bool is_out);
/* Take over what the peer's greeting says of it. */
void dm_tcp_conn_peer_set(struct dm_tcp_conn *conn, const struct dm_tcp_handshake *handshake);
/* Look after the network below it from now on. */
void dm_tcp_conn_keepalive_start(struct dm_tcp_conn *conn);
/* The connection is up; len bytes are in the endpoint's private data. */
void dm_tcp_conn_up(struct dm_tcp_conn *conn, DAT_COUNT len);

/* ---- the end ---- */

/* End a connection with this event for the consumer (0: none), soon, when the round is over. Sends
 * the peer nothing. May be called twice: the first one counts. */
void dm_tcp_conn_fail(struct dm_tcp_conn *conn, DAT_EVENT_NUMBER event);
/* The same after an error that we have found in what the peer asked for, or in what we did: say so
 * in a last frame. */
void dm_tcp_conn_terminate(struct dm_tcp_conn *conn, DAT_EVENT_NUMBER event, enum dm_tcp_nak nak);
/* A request of the peer's is wrong. */
void dm_tcp_conn_nak(struct dm_tcp_conn *conn, enum dm_tcp_nak nak);
/* An orderly end, then this event. */
void dm_tcp_conn_disconnect(struct dm_tcp_conn *conn, DAT_EVENT_NUMBER event);
/* The peer has been answered, and is to close: wait for that, a while. */
void dm_tcp_conn_linger(struct dm_tcp_conn *conn);
/* Disconnect all, without events, waiting for a moment. */
void dm_tcp_conns_disconnect(struct dm_tcp_ia *ia);
/* Close what has been put on ia->ending; not within a round. */
void dm_tcp_conns_end(struct dm_tcp_ia *ia);
/* Close everything; the thread has ended. */
void dm_tcp_conns_close(struct dm_tcp_ia *ia);

/* ---- timers ---- */

/* Set the deadline, and have it looked at in time. */
void dm_tcp_conn_timer(struct dm_tcp_conn *conn, uint64_t deadline);
/* Run what is due; sets ia->net.next_timer. */
void dm_tcp_conns_timers(struct dm_tcp_ia *ia, uint64_t now);

#endif
