/*
 * Connections: one socket each, from connect or accept to the end. ia->lock is held in all
 * functions.
 */
#ifndef DM_PROVIDERS_TCP_CONN_H
#define DM_PROVIDERS_TCP_CONN_H

#include <sys/uio.h>

#include "providers/net/conn.h"
#include "providers/tcp/ep.h"
#include "providers/tcp/wire.h"

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

/* A read of the peer's that is to be answered, or has been (out.pinned). */
struct dm_tcp_answer {
    struct dm_list link;
    bool is_pinned;    /* the kernel has had pages of it; */
    uint64_t question; /* that the peer answers when it has all of it, 0: not asked */
    const char *from;
    uint32_t key;
    uint32_t left;
};

/* What waits in ctrl for others to go with it (transport/hold.c). */
struct dm_tcp_hold {
    uint64_t since;     /* 0: nothing does; else it is in link_held */
    uint32_t round;     /* the last in which a request was posted, */
    uint32_t n_burst;   /* and how many were since */
    bool is_after_read; /* the last one was short, and the first after a read; */
    bool is_guess;      /* it is held as one may follow */
    uint8_t n_wrong;    /* times that none did for long */
    uint32_t n_right;   /* in a row it was followed before the next round */
};

struct dm_tcp_out {
    bool is_blocked;   /* the socket was full */
    bool is_armed;     /* and epoll tells when it is not */
    bool is_ack_due;   /* the peer waits for it, or for credits */
    bool is_grant_due; /* there are credits that the peer does not know of */
    uint8_t n_late;    /* rounds in which a request may carry either first: link_late */
    bool is_talking;   /* a request has begun since data came last; */
    bool has_talked;   /* and one had when they came */
    bool is_answer;    /* the frame is one (or was): answers and requests take turns */
    bool is_pushing;
    bool is_last_due;              /* there is a last frame, when answers are sent */
    bool is_piece;                 /* a frame is under way: */
    bool is_pinned;                /* the kernel gets its pages, not copies of them, */
    struct dm_tcp_pipe *pipe;      /* through this; NULL: not yet */
    struct dm_tcp_heads *heads;    /* those of such frames (transport/heads.h); NULL: none yet */
    struct dm_tcp_head *kept_head; /* this one's; NULL: it goes before the pages */
    uint32_t n_head;               /* bytes of its header that are sent */
    uint32_t left;                 /* of its data that are not */
    struct dm_tcp_head head;
    struct dm_tcp_head last; /* frame */
    struct dm_tcp_op *op;    /* whose data these are; NULL: */
    struct dm_list answers;  /* those of the first of these */
    uint32_t n_answers;
    struct dm_list pinned; /* those whose memory the peer may still read */
    uint64_t question;     /* the last */
    struct dm_tcp_hold hold;
    char *ctrl;       /* whole frames, to be sent before another begins; malloc */
    uint32_t ctrl_at; /* sent so far */
    uint32_t ctrl_len;
    uint32_t ctrl_size;
};

struct dm_tcp_conn {
    struct dm_net_conn base;
    enum dm_tcp_source source;
    struct dm_list link_blocked;
    struct dm_list link_late;
    struct dm_list link_held;
    uint16_t own_tag;
    uint16_t peer_tag;
    uint32_t segment;    /* bytes that come at once at most */
    bool is_broken;      /* the socket is of no use any more */
    bool has_pinned;     /* pages have gone to the socket */
    enum dm_tcp_nak nak; /* that we have sent */
    struct dm_tcp_out out;
    struct dm_tcp_in in;
};

static inline struct dm_tcp_ia *dm_tcp_conn_ia(const struct dm_tcp_conn *conn)
{
    return (struct dm_tcp_ia *)conn->base.net;
}

static inline struct dm_tcp_ep *dm_tcp_conn_ep(const struct dm_tcp_conn *conn)
{
    return (struct dm_tcp_ep *)conn->base.ep;
}

/* Options of a socket that connects, or listens; it works without them. */
void dm_tcp_set_options(const struct dm_tcp_ia *ia, int fd);
/* Give it a socket that was accepted (-1: make one, with our address). False: errno says why. */
bool dm_tcp_conn_open(struct dm_tcp_conn *conn, int fd);
/* Have epoll tell when the socket can be written to, or not. */
void dm_tcp_conn_arm(struct dm_tcp_conn *conn, bool is_out);
/* connect() has ended with this error, or 0. */
void dm_tcp_conn_connected(struct dm_tcp_conn *conn, int err);
/* The peer has closed, or the socket is broken. */
void dm_tcp_conn_shutdown(struct dm_tcp_conn *conn);
/* Somebody has connected to a listener. */
void dm_tcp_conn_incoming(struct dm_tcp_ia *ia, int fd);
/* A greeting has come; it is valid. */
void dm_tcp_conn_greeted(struct dm_tcp_conn *conn, const struct dm_tcp_greeting *greeting);
/* A request of the peer's is wrong. */
void dm_tcp_conn_nak(struct dm_tcp_conn *conn, enum dm_tcp_nak nak);

#endif
