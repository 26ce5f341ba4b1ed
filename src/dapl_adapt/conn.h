/*
 * A connection to one peer process: the pipe's endpoint with its two rings, and
 * an endpoint for bulk RDMA.
 *
 * A ring is n_slots slots of `stride` bytes. A record lies at the END of its slot:
 * data first, the last 8 bytes of the slot are the footer. Data starts on a cache
 * line, so that up to 56 bytes and the footer are one line. The footer's tag is
 * the lap number, so that it never equals what an earlier lap left there, with
 * its fastest changing byte last: a provider that places the last byte last is enough.
 * With send/receive the same records land in posted buffers, at the slot's start,
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

enum dm_link_kind { DM_LINK_PIPE, DM_LINK_RDMA, DM_LINK_N };

enum dm_link_state {
    DM_LINK_IDLE,
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
    uint8_t kind;     /* enum dm_hello_kind */
    uint8_t link;     /* enum dm_link_kind */
    uint8_t reject;   /* enum dm_reject */
    uint8_t sendrecv; /* wants records by send/receive; in the answer: decided */
    uint8_t rail;     /* the sender's number of this rail */
    uint16_t n_slots;
    uint32_t slot_size;
    uint32_t ctx; /* key of the sender's region */
    uint32_t probe_ctx;
    uint64_t addr;  /* the region */
    uint64_t probe; /* plain memory to measure reads with, DM_PROBE_LEN bytes */
};
_Static_assert(sizeof(struct dm_hello) <= 56, "private data of a request is 56 bytes");

/* What happened to a link, from whoever saw it to the main thread. */
enum dm_note {
    DM_NOTE_UP = 1,
    DM_NOTE_REFUSED = 2, /* own attempt failed */
    DM_NOTE_LOST = 4,
    DM_NOTE_DROPPED = 8 /* the superseded endpoint may be freed */
};

struct dm_conn;

struct dm_link {
    DAT_EP_HANDLE ep;
    DAT_EP_HANDLE dropped; /* own attempt that lost against the peer's */
    enum dm_link_state state;
    enum dm_link_kind kind;
    bool is_active; /* we connected */
    bool may_post;  /* the connector, or its first message is here (iWARP's rule) */
    struct dm_conn *conn;
    struct dm_list note; /* in dm_adapt.notes while n_notes is not 0 */
    unsigned notes;
    int event;              /* DAT event number of the last failure */
    struct dm_hello answer; /* what the peer said last */
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
    uint32_t stride;
    uint32_t reserved; /* bytes before the footer of the reserved record */
    uint32_t n_slots;
    uint32_t slot;
    bool is_send;
    bool is_blocked; /* somebody was told to wait */
    bool is_lost;
    /* colder */
    uint32_t lap;
    uint32_t n_extra; /* posts that are not records */
    uint32_t sq_done; /* records and extras known complete */
    uint32_t sq_size;
    uint32_t sig_every;
    uint32_t direct; /* post that sent from the caller's memory last */
    bool has_direct;
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
    bool is_recv;
    /* colder */
    uint32_t lap;
    char *ring;
    uint32_t arrive;         /* slot of the next completion */
    _Atomic uint64_t *foots; /* send/receive: the array of footers */
};

#define DM_CREDITS_OUT 256

/* First page of a connection's region. */
struct dm_ctl {
    _Atomic uint64_t credit; /* written by the peer */
    char pad[DM_CACHE_LINE - 8];
    uint64_t first[DM_CACHE_LINE / 8];   /* first message of the RDMA link */
    uint64_t credit_out[DM_CREDITS_OUT]; /* sources of writes to the peer's `credit` */
};

struct dm_conn {
    struct dm_tx tx;
    struct dm_rx rx DM_ALIGNED(64);
    struct dm_adapt *adapt;
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
    struct dm_ia *ia;
    int peer_rail;
    struct dm_region region;
    struct dm_link link[DM_LINK_N];
    /* rails that both have, in order of preference: mine and theirs */
    int n_rails;
    int rail;
    uint8_t rails[DM_RAILS_MAX][2];
    struct dm_card *card;
    int err;       /* what `failed` is told */
    char why[400]; /* text of the loss */
    /* RDMA */
    struct dm_rdma *queue_head;
    struct dm_rdma *queue_tail;
    int rq_used;
    int rq_size;     /* requests of the RDMA link */
    int sq_size;     /* of the pipe */
    int is_sendrecv; /* decided when the pipe is accepted */
    uint64_t probe;
    uint32_t probe_ctx;
};

/* Cookies: the low three bits say what completed. */
enum dm_cookie_kind {
    DM_COOKIE_TX,    /* proc and post number; certain to come */
    DM_COOKIE_QUIET, /* the same, comes only on failure */
    DM_COOKIE_RECV,  /* proc and slot */
    DM_COOKIE_FIRST, /* proc: first message on the RDMA link received */
    DM_COOKIE_REQ,   /* proc: a request of the RDMA link that nobody waits for */
    DM_COOKIE_RDMA,  /* pointer to struct dm_rdma */
    DM_COOKIE_PROBE  /* proc: a measurement */
};
static inline DAT_DTO_COOKIE dm_cookie(enum dm_cookie_kind kind, int proc, uint32_t number)
{
    DAT_DTO_COOKIE c;

    c.as_64 = (uint64_t)number << 32 | (uint64_t)(uint32_t)proc << 3 | (uint64_t)kind;
    return c;
}

/* ---- the connection machine (conn.c: main thread; conn_listen.c: either) ---- */

/* Set up the objects of all peers. */
int dm_conn_init_all(struct dm_adapt *adapt);
void dm_conn_free_all(struct dm_adapt *adapt);
/* Start own attempts of a link. Main thread. */
int dm_conn_start(struct dm_conn *conn, enum dm_link_kind kind);
/* Handle notes and timers; returns how many things happened. Main thread. */
int dm_conn_progress(struct dm_adapt *adapt);
/* Something on this connection failed: it is lost. text is static. Main thread. */
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
/*
 * May the peer's request take the place of our own attempt? When both connect at
 * once the higher rank's attempt counts. (conn_ondemand.c)
 */
enum dm_reject dm_conn_cross(const struct dm_link *link, int my_rank);

#endif
