/*
 * A connection to one peer process: the pipe's endpoint with its two rings, and
 * an endpoint for bulk RDMA.
 *
 * A ring is n_slots slots of `stride` bytes. A record lies at the END of its slot:
 * data first, the last 8 bytes of the slot are the footer. Data starts on a cache
 * line, so that up to 56 bytes and the footer are one line. The footer's tag is
 * the lap number, so that it never equals what an earlier lap left there, with
 * its fastest changing byte last: a provider that places the last byte last is enough.
 * With DATUM_EAGER=basic the footers are words in an array of their own behind the mirror, each
 * written after its data. With send/receive the same records land in posted buffers, at the slot's start,
 * and their footers are copied to an array of their own when the completion is seen.
 *
 * What the server's thread and the main thread share (links' states, notes) is
 * guarded by dm_adapt.lock; the pipe itself belongs to the main thread.
 */
#ifndef DM_DAPL_ADAPT_CONN_H
#define DM_DAPL_ADAPT_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/dapl_adapt.h"
#include "dapl_adapt/ia.h"
#include "dapl_adapt/mem.h"
#include "util/list.h"
#include "util/port.h"

#define DM_HELLO_MAGIC   0x44544d31u /* "DTM1" */
#define DM_HELLO_VERSION 1
#define DM_TX_REFS       8 /* registrations that writes in flight may hold */
#define DM_TX_RESERVE    2 /* requests kept for credit messages */

/* The pipe and the RDMA link beside it are on one rail; further RDMA links on the others. */
enum dm_link_kind {
    DM_LINK_PIPE,
    DM_LINK_RDMA,
    DM_LINK_EXTRA, /* by rail: the number that it has at the lower rank */
    DM_LINK_N = DM_LINK_EXTRA + DM_RAILS_MAX
};
#define DM_LANES (DM_LINK_N - DM_LINK_RDMA)

enum dm_link_state {
    DM_LINK_IDLE,
    DM_LINK_CLOSING,    /* broken; its endpoint is not gone yet */
    DM_LINK_CONNECTING, /* own attempt under way, or waiting for the next one */
    DM_LINK_ACCEPTING,  /* the peer's attempt accepted, not yet established */
    DM_LINK_UP,
    DM_LINK_LOST
};

enum dm_hello_kind { DM_HELLO_CONNECT = 1, DM_HELLO_ACCEPT, DM_HELLO_REJECT };

enum dm_reject {
    DM_REJECT_NONE,
    DM_REJECT_CROSSED, /* both connected at once and the other one's attempt counts */
    DM_REJECT_AGAIN,   /* not now */
    DM_REJECT_STRANGER,
    DM_REJECT_MISMATCH, /* ring geometry or version differ */
    DM_REJECT_NOMEM,
    DM_REJECT_LOST
};

/* Private data of a connection request, its acceptance or rejection: at most 56 bytes. */
struct dm_hello {
    uint32_t magic;
    uint32_t job; /* hash of the job's name */
    uint32_t rank;
    uint8_t version;
    uint8_t kind; /* enum dm_hello_kind */
    uint8_t link; /* enum dm_link_kind */
    union {
        uint8_t reject;   /* enum dm_reject, */
        uint8_t reads_in; /* or reads of the peer's that this end has places for; 0: any */
    };
    uint8_t sendrecv; /* wants records by send/receive; in the answer: decided */
    uint8_t rail;     /* the sender's number of this rail */
    uint16_t n_slots;
    uint32_t slot_size;
    uint32_t ctx; /* key of the sender's region */
    uint32_t probe_ctx;
    uint64_t addr;  /* the region */
    uint64_t probe; /* plain memory to measure reads with, DM_PROBE_LEN bytes */
    /* counted since the processes met; epoch: how many times the pipe has moved */
    uint32_t arrived;    /* records of the peer that are here, without a gap */
    uint16_t unconsumed; /* of them */
    uint16_t epoch;
};
_Static_assert(sizeof(struct dm_hello) <= 56, "private data of a request is 56 bytes");

/* What happened to a link, from whoever saw it to the main thread. */
enum dm_note {
    DM_NOTE_UP = 1,
    DM_NOTE_REFUSED = 2, /* own attempt failed */
    DM_NOTE_LOST = 4,
    DM_NOTE_DROPPED = 8, /* the superseded endpoint may be freed */
    DM_NOTE_BROKEN = 16, /* the peer has given this connection up and makes it anew */
    DM_NOTE_ASKED = 32   /* a request for the main thread */
};

struct dm_conn;

struct dm_link {
    DAT_EP_HANDLE ep;
    DAT_EP_HANDLE dropped; /* own attempt that lost against the peer's */
    enum dm_link_state state;
    enum dm_link_kind kind;
    bool is_active;      /* we connected */
    bool may_post;       /* the connector, or its first message is here (iWARP's rule) */
    bool is_ended;       /* its end was seen; while closing: of `dropped` */
    bool is_due;         /* counted in n_signalled: the connector's first message */
    bool is_told;        /* the main thread knows that it is up */
    bool has_spoken;     /* the connector's first message has come before that */
    _Atomic uint8_t gen; /* of endpoints; completions of earlier ones do not count */
    struct dm_conn *conn;
    struct dm_list note; /* in dm_adapt.notes while n_notes is not 0 */
    unsigned notes;
    int event;              /* DAT event number of the last failure */
    struct dm_hello answer; /* what the peer said last */
    DAT_CR_HANDLE cr;       /* request that waits for the main thread, */
    struct dm_ia *cr_ia;    /* on this rail, */
    struct dm_hello asked;  /* with these words */
    /* connecting */
    struct dm_list wait; /* in dm_adapt.connecting */
    uint64_t deadline;
    uint64_t next_try; /* 0: an attempt is under way */
    unsigned n_tries;
};

struct dm_tx {
    char *foot;   /* footer of the next slot, in the mirror */
    uint64_t tag; /* in place: << 40 */
    DAT_EP_HANDLE ep;
    uint64_t delta; /* remote address minus mirror address */
    DAT_LMR_CONTEXT lctx;
    DAT_RMR_CONTEXT rctx;
    uint32_t room; /* records that may go before looking around again; 0: not ready */
    uint32_t until_signal;
    uint32_t n_posted; /* records */
    uint32_t max;      /* bytes of a record */
    uint32_t most;     /* what is longer goes in pieces */
    uint32_t piece;    /* of so many bytes */
    uint32_t stride;
    uint32_t reserved; /* bytes before the footer of the reserved record */
    uint32_t n_slots;
    uint32_t slot;
    bool is_other; /* not one write for a record: is_send, or DATUM_EAGER=basic */
    bool is_send;
    bool is_blocked; /* somebody was told to wait */
    bool is_lost;
    bool is_serial;  /* as its rail */
    bool is_kept;    /* all records stay whole in the mirror until credited */
    uint32_t cookie; /* all but kind and number */
    /* colder */
    uint32_t lap;
    uint32_t n_redo;     /* of the last records, to be sent again on this rail */
    uint32_t n_sig;      /* completions that are coming */
    uint32_t n_extra;    /* posts that are not records */
    uint32_t n_before;   /* records that went over earlier rails */
    uint64_t len_sent;   /* bytes of records over this one, */
    uint64_t len_direct; /* and of all, those that were sent from the program's memory */
    uint64_t heads;      /* basic: the peer's words for our records */
    uint32_t sq_done;    /* records and extras known complete */
    uint32_t sq_size;
    uint32_t sig_every;
    uint32_t direct; /* post that sent from the caller's memory last */
    uint32_t hole;   /* the record that it sent: not whole in the mirror */
    bool has_direct; /* it is not known complete */
    bool has_hole;
    int n_refs;
    struct dm_mr *refs[DM_TX_REFS];
};

struct dm_rx {
    _Atomic uint64_t *foot; /* where the next footer appears */
    uint64_t tag;
    const char *data; /* unread bytes of the record in front */
    uint32_t left;
    uint32_t n_consumed;  /* records; its low 16 bits are the credit we give */
    uint32_t n_credited;  /* told to the peer */
    uint32_t peer_credit; /* what the peer told last, 16 bits */
    uint32_t n_slots;
    uint32_t slot;
    uint32_t stride;
    uint32_t foot_step; /* bytes from one footer to the next */
    uint32_t due;       /* owing so many asks for a credit message */
    bool is_apart;      /* footers are not in the slots: is_recv, or DATUM_EAGER=basic */
    bool is_recv;
    uint64_t len_got; /* bytes of records */
    /* colder */
    uint32_t lap;
    char *ring;
    DAT_EP_HANDLE ep;        /* send/receive: that has the buffers */
    uint32_t arrive;         /* slot of the next completion */
    _Atomic uint64_t *foots; /* send/receive: the array of footers */
};

#define DM_CREDITS_OUT 256

/* First page of a connection's region. */
struct dm_ctl {
    _Atomic uint64_t credit; /* written by the peer */
    _Atomic uint64_t asleep; /* written by the peer: it wants a knock behind the next record */
    char pad[DM_CACHE_LINE - 16];
    uint64_t first[DM_CACHE_LINE / 8];   /* first message of the RDMA link */
    uint64_t credit_out[DM_CREDITS_OUT]; /* sources of writes to the peer's `credit` */
    _Atomic uint64_t bye;                /* written by the peer when it leaves for good */
    uint64_t knock[2];                   /* the peer's knock, and the source of ours */
};

/* A posted piece of a transfer, from these addresses on. */
struct dm_part {
    struct dm_rdma *rdma; /* NULL: done */
    uint64_t local;
    uint64_t remote;
};

#define DM_LANE_REQS 64

/* RDMA over one link: what waits and what is posted. */
struct dm_lane {
    struct dm_ia *ia;
    int peer_rail;
    int rq_used;
    int rq_size;
    int n_reads;           /* outstanding, */
    int max_reads;         /* at most so many */
    uint32_t head;         /* number of the next part */
    uint32_t tail;         /* of the oldest that is not done */
    struct dm_part *parts; /* DM_LANE_REQS places */
    struct dm_rdma *queue_head;
    struct dm_rdma *queue_tail;
    uint64_t rest_until; /* broken: not tried again before */
    double speed;        /* bytes per nanosecond of a large transfer's share; 0: not known */
};

struct dm_conn {
    struct dm_tx tx;
    struct dm_rx rx DM_ALIGNED(64);
    struct dm_adapt *adapt;
    struct dm_conn *next_made; /* in dm_adapt.all; fixed */
    struct dm_ctl *ctl;
    uint64_t ctl_remote;
    int proc;
    int active;      /* index in dm_adapt.active, -1 */
    bool is_up;      /* the pipe is established; in dm_adapt.active */
    bool is_failed;  /* `failed` was called, or need not be */
    bool is_dying;   /* lost; unread records are still delivered */
    bool tell_ready; /* the writable call is due */
    bool has_card;
    bool is_asked; /* connecting was asked for */
    bool is_armed; /* the peer knocks when it has written to our ring */
    /* moving to another rail */
    bool is_moving;          /* between rails: the pipe's link is not there */
    bool is_counted;         /* in the counts of its rail */
    uint16_t epoch;          /* shared with the server's thread */
    uint16_t wanted;         /* the peer's epoch, when it is ahead, */
    struct dm_ia *wanted_ia; /* and where it asked */
    uint32_t told;           /* n_consumed in the last hello */
    uint32_t heard;          /* the peer's: records that it has consumed for certain */
    uint32_t written;        /* what it had written of that when we looked last */
    uint32_t looked;         /* our records when we looked at all that is unread, */
    uint32_t stale;          /* which was up to this one, */
    bool has_stale;          /* and some of it is unread still */
    uint32_t n_moves;
    uint32_t n_flaps; /* since it was up for long */
    uint64_t up_since;
    uint64_t move_until;  /* then the loss is final */
    uint64_t close_until; /* then endpoints are freed without waiting for their end */
    uint64_t broke_at;
    const char *cause;                /* what broke, */
    const struct dm_ia *broken;       /* where; NULL: the peer knows */
    int next_rail;                    /* place in `rails`, tried first */
    const char *causes[DM_RAILS_MAX]; /* why each rail does not do, by place in `rails` */
    uint8_t n_refused[DM_RAILS_MAX];  /* times that nobody listened */
    struct dm_ia *ia;
    int peer_rail;
    struct dm_region region;
    /* rings, agreed with the peer: at most what the settings say (ring.c) */
    uint32_t n_slots;
    uint32_t slot_size;
    uint32_t stride;
    struct dm_link link[DM_LINK_N];
    /* rails that both have, in order of preference: mine and theirs */
    int n_rails;
    int rail;
    uint8_t rails[DM_RAILS_MAX][2];
    struct dm_card *card;
    int err;       /* what `failed` is told */
    char why[400]; /* text of the loss */
    /* RDMA */
    struct dm_lane lane[DM_LANES]; /* of link[DM_LINK_RDMA] and following */
    int sq_size;                   /* requests of the pipe */
    int rq_size;                   /* and of each lane at most */
    int is_sendrecv;               /* decided when the pipe is accepted */
    uint64_t probe;
    uint32_t probe_ctx;
};

/* Cookies: the low three bits say what completed, then 21 bits of whom, 8 of the endpoint's gen. */
enum dm_cookie_kind {
    DM_COOKIE_TX,    /* post number; certain to come */
    DM_COOKIE_QUIET, /* the same, comes only on failure */
    DM_COOKIE_RECV,  /* slot */
    DM_COOKIE_FIRST, /* link << 16: its first message received */
    DM_COOKIE_REQ,   /* link << 16: a request that nobody waits for */
    DM_COOKIE_RDMA,  /* link << 16 | place in the lane's parts */
    DM_COOKIE_PROBE, /* link << 16, | DM_COOKIE_READ: a measurement */
    DM_COOKIE_KNOCK  /* of the pipe: a record is in the ring */
};
#define DM_COOKIE_READ 1 /* of REQ and PROBE */

static inline uint32_t dm_cookie_base(const struct dm_link *link)
{
    uint32_t gen = atomic_load_explicit(&link->gen, memory_order_relaxed);

    return gen << 24 | (uint32_t)link->conn->proc << 3;
}
static inline DAT_DTO_COOKIE dm_cookie(enum dm_cookie_kind kind, const struct dm_link *link,
                                       uint32_t number)
{
    DAT_DTO_COOKIE c;

    c.as_64 = (uint64_t)number << 32 | dm_cookie_base(link) | (uint64_t)kind;
    return c;
}

static inline struct dm_link *dm_link_of(struct dm_conn *conn, const struct dm_lane *lane)
{
    return &conn->link[DM_LINK_RDMA + (lane - conn->lane)];
}
static inline struct dm_lane *dm_lane_of(struct dm_link *link)
{
    return &link->conn->lane[link->kind - DM_LINK_RDMA];
}

/* ---- the connection machine (conn.c: main thread; conn_listen.c: either) ---- */

/* Set up the table of peers. */
int dm_conn_init_all(struct dm_adapt *adapt);
/*
 * The object of a peer, made by the first call; NULL when out of memory (reported). Lock held, or
 * none but the main thread runs.
 */
struct dm_conn *dm_conn_make(struct dm_adapt *adapt, int proc);
/* End all connections and free them; the servers have stopped. (conn_close.c) */
void dm_conn_free_all(struct dm_adapt *adapt);
/* Start own attempts of a link. Main thread. */
int dm_conn_start(struct dm_conn *conn, enum dm_link_kind kind);
/* Handle notes and timers; returns how many things happened. Main thread. */
int dm_conn_progress(struct dm_adapt *adapt);
/* Only notes; also from within completions. */
int dm_conn_notes(struct dm_adapt *adapt);
/* This connection is lost for good. text is static. Main thread. */
void dm_conn_lose(struct dm_conn *conn, const char *text);
/* Are both links there and allowed to post? */
bool dm_conn_is_complete(const struct dm_conn *conn);
/* Create region (first time) and a fresh endpoint for a link. Lock held. */
int dm_conn_prepare(struct dm_conn *conn, struct dm_link *link, struct dm_ia *ia);
/* Fill own side of a hello. Lock held. */
void dm_conn_hello(struct dm_conn *conn, enum dm_link_kind link, enum dm_hello_kind kind,
                   struct dm_hello *hello_p);

/* One event of a cm_evd, by whichever thread has it; takes the lock. */
void dm_conn_event(struct dm_ia *ia, const DAT_EVENT *event);
/* Leave a note for the main thread; lock held. */
void dm_conn_note(struct dm_link *link, enum dm_note note);
/* Start and stop the server's thread of a rail. */
int dm_conn_serve(struct dm_ia *ia);
void dm_conn_unserve(struct dm_ia *ia);
/* Is this the thread of a server? */
bool dm_conn_is_server(void);
/*
 * May the peer's request take the place of our own attempt? When both connect at
 * once the higher rank's attempt counts. (conn_ondemand.c)
 */
enum dm_reject dm_conn_cross(const struct dm_link *link, int my_rank);
/* Answer a request that was left for the main thread. Lock held. (conn_listen.c) */
void dm_conn_answer(struct dm_link *link);
/* Refuse it. Lock held. (conn_listen.c) */
void dm_conn_turn_away(struct dm_link *link);
/* What an event that ended an attempt means. */
const char *dm_conn_event_text(int event);
/* Not in the counts of its rail any more. */
void dm_conn_count_out(struct dm_conn *conn);
/* Memory for the connector's first message over a link: nobody looks at it. (conn_listen.c) */
void dm_link_first(const struct dm_link *link, DAT_LMR_TRIPLET *lmr_p);
/* Notes that are not handled yet are of no interest. Lock held. */
void dm_conn_forget_notes(struct dm_link *link);
/* Free an endpoint, if there is one. */
void dm_conn_free_ep(DAT_EP_HANDLE *ep);
/* Break its connection off; an event will tell. */
void dm_conn_cut(struct dm_link *link);

/* ---- moving to another rail (conn_move.c, main thread) ---- */

/* Would a broken connection be made again? Fixed from the time there is a pipe. */
bool dm_conn_can_move(const struct dm_conn *conn);
/* Its rail broke: move, or lose it when that cannot be. text is static. */
void dm_conn_break(struct dm_conn *conn, const char *text);
/* The same for a rail beside the pipe's, whose transfers have to come to an end first. */
void dm_conn_break_beside(struct dm_conn *conn, const struct dm_ia *ia, const char *text);
/* What the end of a connection means that nobody has asked for. */
const char *dm_conn_gone_text(const struct dm_conn *conn);
/* The peer wants the connection anew, in its epoch `wanted`. */
void dm_conn_follow(struct dm_conn *conn);
/* A look at a moving connection; returns how many things happened. */
int dm_move_timer(struct dm_conn *conn, uint64_t now);
/* An attempt of a moving connection ended. why: NULL, or the peer's word that is final. */
void dm_move_refused(struct dm_conn *conn, int event, const char *why);
/* The pipe is there again: on another rail, or the same. */
int dm_move_done(struct dm_conn *conn);
/* How long an attempt may take, microseconds. */
uint64_t dm_move_attempt_us(const struct dm_conn *conn);
/* The place in `rails` of a rail of ours, -1: it is not common. */
int dm_conn_rail_of(const struct dm_conn *conn, const struct dm_ia *ia);

#endif
