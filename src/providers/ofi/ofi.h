/*
 * The DAT provider over libfabric's connected endpoints: private state of one
 * process.
 *
 * Locks: ia->pia.lock guards everything, the fabric's calls included (they are
 * asked for without locks of their own); no call sleeps while it is held. Only
 * the queue of events is outside of it. Consumers' polls, waiting threads and
 * the progress thread drive the fabric, whoever has the lock.
 *
 * Completions come through done() of the request's context, with the lock held
 * and from dm_ofi_progress() alone. There an endpoint must not be closed: what
 * ends a connection from within calls dm_ofi_conn_fail(), and the rest is done
 * after the queue of completions has been read.
 *
 * ia_params, "key=value key=value":
 *   prov=tcp       libfabric's provider
 *   if=NAME        network interface; else a sensible one is chosen
 *   family=4       IPv4 (or 6) only
 *   progress=auto  a thread works when no consumer polls; manual: there is
 *                  none, the consumer has to poll; thread: it works always
 *   timeout=20     seconds of silence after which a connection breaks
 */
#ifndef DM_PROVIDERS_OFI_OFI_H
#define DM_PROVIDERS_OFI_OFI_H

#include <net/if.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "providers/common/common.h"
#include "providers/ofi/msg/wire.h"

enum dm_ofi_mode { DM_OFI_AUTO, DM_OFI_MANUAL, DM_OFI_THREAD };

/* What happened to a request of the fabric. */
struct dm_ofi_done {
    int err; /* 0, or FI_E... */
    uint64_t flags;
    size_t len;    /* of a receive */
    uint64_t data; /* of a receive with FI_REMOTE_CQ_DATA */
};

/* The context of every request to the fabric: the first member of whatever
 * waits for it. After fi_close() of the endpoint all that was outstanding is
 * still reported, as FI_ECANCELED. */
struct dm_ofi_ctx {
    struct fi_context2 fi; /* the fabric's, where it wants one */
    void (*done)(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done);
};

struct dm_ofi_ep;
struct dm_ofi_listener;

struct dm_ofi_ia {
    struct dm_pia pia;
    struct dm_list link; /* in dm_ofi_state.ias */
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    char prov[32];
    char iface[IF_NAMESIZE];
    bool is_split; /* 8 last bytes are a part of their own: the fabric's
                    * memory is filled by a processor, in order */
    enum dm_ofi_mode mode;
    uint64_t timeout_ns;
    uint64_t secret;      /* of tokens */
    uint32_t n_sinks;     /* made so far */
    uint32_t n_numbers;   /* of the table below */
    uint32_t last_number; /* the place given last, and a count of them */
    uint32_t number_gen;
    int sock_hint;
    struct dm_ofi_conn **by; /* connections by number */
    struct dm_list conns;    /* all */
    struct dm_list ending;   /* those to be closed after the round */
    struct dm_list listeners;
    bool is_in_round;   /* completions are being read */
    int n_moving;       /* connections in DM_CONN_MOVING */
    int n_setup;        /* connections that are being set up, or ended */
    bool is_short_told; /* that this process is short of ports or descriptors */
    /* progress.c */
    _Atomic uint32_t n_polls; /* by consumers */
    _Atomic uint32_t n_leads; /* sleeps on the descriptors by who waits */
    pthread_t poller;         /* who did the last */
    uint32_t n_polls_seen;    /* by who slept last on the descriptors */
    _Atomic uint32_t word;    /* futex of the thread */
    _Atomic bool is_napping;  /* the thread, for more than a moment */
    _Atomic bool has_agents;
    int cq_fd;
    int eq_fd;
    int kick_fd;         /* wakes the thread... */
    int lead_fd;         /* ...and who waits in dm_ofi_sleep() on the descriptors */
    uint64_t stay_until; /* of who sleeps on the descriptors: stay() */
    uint32_t stay_skips, stay_most;
    _Atomic bool is_stopping;
    _Atomic uint64_t next_timer;
    /* Memory contexts, and requests that are not in use. */
    struct dm_ofi_region *regions;
    uint32_t n_regions;
    uint32_t n_regions_used;
    uint32_t *free_keys; /* a ring of indices */
    uint32_t n_free_keys;
    uint32_t free_head;
    struct dm_list ops;
    struct dm_list op_chunks;
    char *excess;           /* where what is too long for a receive goes; mapped */
    struct dm_list waiting; /* endpoints with requests that the fabric had no
                             * room for: struct dm_ofi_ep, link_waiting */
    /* Attributes that ia_query shows. */
    DAT_NAMED_ATTR attrs[16];
    char attr_text[4][48];
};

enum dm_ofi_conn_state {
    DM_CONN_CALLING,  /* fi_connect is under way */
    DM_CONN_ASKED,    /* request sent, no answer yet */
    DM_CONN_MOVING,   /* to be called somewhere else */
    DM_CONN_EMBRYO,   /* accepted, no request yet */
    DM_CONN_CR,       /* request given to the consumer */
    DM_CONN_ACCEPTED, /* answered, no confirmation yet */
    DM_CONN_UP,
    DM_CONN_LEAVING, /* our last words are on their way */
    DM_CONN_OVER     /* only to be closed: on ia->ending */
};

/* A message of the handshake, under way. */
struct dm_ofi_packet {
    struct dm_ofi_ctx ctx;
    struct dm_ofi_conn *conn;
    struct dm_ofi_hello hello;
};

/* A connection: one fid_ep, from the call to the end. */
struct dm_ofi_conn {
    struct dm_list link; /* in ia->conns or ia->ending */
    struct dm_ofi_ia *ia;
    enum dm_ofi_conn_state state;
    struct fid_ep *fid;
    struct dm_ofi_ep *ep; /* NULL: none yet, or none any more */
    struct dm_sp *sp;     /* of a request */
    struct dm_cr *cr;
    uint32_t number;      /* ours, in ia->by */
    uint32_t peer_number; /* how the peer knows it: in notes to it */
    bool is_peer_shared;  /* its receives are: a message asks for one first */
    uint64_t peer_mail;   /* address and key of the peer's mailbox */
    uint64_t peer_mail_key;
    uint64_t deadline;    /* of the handshake, or of the last words */
    int sock;             /* the fabric's socket, -1: not known */
    uint64_t check;       /* when to look at it again */
    uint64_t stuck_since; /* nothing of what was sent has been confirmed, 0: it has */
    bool was_up;
    bool said_bye;               /* the peer did */
    bool said_broken;            /* the peer has found an error */
    bool is_blamed;              /* an error of ours; else it was the peer's */
    bool is_blaming;             /* we have found one of the peer's */
    bool is_shut;                /* the fabric says that it is over */
    DAT_EVENT_NUMBER last_event; /* what the consumer will get, 0: nothing */
    DAT_COUNT last_len;          /* private data of it */
    uint64_t leave_by;           /* when last words have had their time */
    uint32_t notes_due;          /* bits 1 << kind, to be sent when there is room */
    uint32_t n_candidate;        /* places tried for the qualifier */
    uint32_t n_moves;            /* to other qualifiers */
    struct sockaddr_storage to;
    DAT_CONN_QUAL qual;
    uint8_t *request; /* private data, for another try */
    DAT_COUNT request_len;
    /* Messages are sent only when the peer has a receive for them: without, the
     * fabric would hold back everything behind them. */
    uint32_t n_messages;   /* sent in all */
    uint32_t n_peer_recvs; /* receives that the peer has told of, in all */
    uint32_t n_arrived;    /* messages in all, */
    uint32_t n_told;       /* and our receives of which the peer knows */
    /* What is longer than the shortest of the other side's receives asks first. */
    uint64_t peer_floor;
    uint64_t floor;      /* the shortest of ours, or less, */
    uint64_t floor_told; /* and what the peer knows of it */
    uint32_t n_floor;    /* receives of this length with the fabric; 0: look again */
    bool is_peer_asking; /* since it was told */
    /* Mail, see dm_ofi_mail_send(). */
    struct fid_mr *mail_mr;
    uint64_t mail_key;
    struct dm_ofi_mail *mailbox; /* what the peer writes to */
    struct dm_ofi_mail *outbox;  /* copies of what goes behind data; NULL: none yet */
    uint32_t n_mail_sent;
    uint32_t n_mail_acked;
    uint32_t n_mail_read;
    uint32_t n_mail_told;
    struct dm_ofi_ctx note_ctx; /* of notes and mails; nobody waits for them */
    /* Memory of untracked writes is the fabric's until something behind them is over. */
    bool is_lent;
    bool is_fenced; /* and it is on its way */
    struct dm_ofi_ctx fence_ctx;
};

/* A port of ours; service points share it. */
struct dm_ofi_listener {
    struct dm_list link;
    struct fid_pep *pep;
    uint16_t port;
    int n_refs;
    uint64_t close_at; /* when there are none */
    struct dm_ofi_ia *ia;
};

/* A service point's place: the port, and the name by which other processes of
 * this host see that the qualifier is taken. */
struct dm_ofi_place {
    struct dm_ofi_listener *listener;
    int name_fd;
};

/* ---- part of the endpoint files: ep.c, recv.c, rdma.c, dto.c, srq.c ---- */

/* What a memory context stands for; see key.c. */
struct dm_ofi_region {
    uint32_t key; /* 0: nothing now */
    uint32_t last_key;
    struct dm_pz *pz;
    struct dm_ofi_ep *only; /* the endpoint that serves it, NULL: any */
    uint64_t va;
    uint64_t len;
    uint64_t addr;
    uint32_t priv;
    struct fid_mr *mr; /* NULL: not for peers */
    bool is_told;      /* a peer has asked for it */
    bool is_window;    /* of an RMR */
};

struct dm_ofi_srq {
    struct dm_srq srq;
    struct dm_list recvs; /* available: struct dm_ofi_op */
    uint32_t n_available;
    uint32_t n_taken; /* by endpoints, and not completed */
    bool is_low_armed;
};

struct dm_ofi_ep {
    struct dm_ep ep;
    struct dm_ofi_conn *conn; /* from connect or accept until the end */
    bool is_waiting;          /* in ia->waiting */
    bool is_handed;           /* receives go to conn->fid now */
    bool is_ack_due;          /* the peer waits to hear of a message of its */
    bool is_failing;          /* a request has failed: none goes out any more */
    struct dm_list link_waiting;
    /* Requests; see dto.h. */
    struct dm_list sent;  /* with the fabric, or over, in the order of posting */
    struct dm_list queue; /* behind them */
    uint32_t n_used;      /* slots of requests that are not over */
    uint32_t n_quiet;     /* those that only a later request will give back */
    bool is_loud;         /* which has to be the next one */
    uint32_t n_reads;     /* sent ones that bring data */
    uint32_t n_row;       /* reads sent since there was none */
    uint32_t n_signalled; /* completions */
    uint32_t last_id;     /* of a request that is answered by mail */
    /* Receives. */
    struct dm_list recvs;      /* with the fabric, in the order of posting */
    struct dm_list recv_queue; /* behind them */
    uint32_t n_handed;
    uint32_t n_recv_posted;
    struct dm_ofi_srq *srq; /* ep.srq */
    uint32_t n_taken;       /* receives of it for messages, not dequeued: in all */
    struct dm_list asked;   /* messages that wait for one: struct dm_ofi_letter */
    struct dm_ofi_far *far; /* what is known of the peer's regions, see far.c */
    uint32_t n_gone_due;    /* such that are gone, to be confirmed */
    uint32_t n_gone_asked;  /* and of ours, to be confirmed by the peer */
    uint64_t immed_len;     /* of the next write with immediate data, if it is long */
    struct dm_list mails;   /* answers that wait for room: struct dm_ofi_letter */
    bool is_soft_armed;
    DAT_COUNT hard; /* watermark */
};

static inline struct dm_ofi_ia *dm_ofi_ia_of(struct dm_ofi_ep *ep)
{
    return (struct dm_ofi_ia *)ep->ep.obj.ia;
}

/* ---- init.c, ia.c, if.c ---- */

/* The upper half of the fabric's 64-bit keys: of a zone's memory, of the mailboxes, of
 * what only one endpoint may use. Peers learn whole keys, by asking (far.c). */
uint32_t dm_ofi_pz_token(const struct dm_ofi_ia *ia, const struct dm_pz *pz);
uint32_t dm_ofi_mail_token(const struct dm_ofi_ia *ia);
uint32_t dm_ofi_ep_token(const struct dm_ofi_ia *ia, const struct dm_ofi_ep *ep);
/* Choose the interface, or take the one that is asked for: its name and
 * address. want may be NULL, family AF_UNSPEC. DM_OK, DM_ECONFIG: there is
 * none, DM_ENOMEM. */
int dm_ofi_if_choose(const char *want, int family, char *name, struct sockaddr_storage *addr);
/* Tell the user of the provider of this name why there is none. */
void dm_ofi_if_explain(const char *name, const char *want, int family);
/* Have libfabric set itself up for this fabric, fast; load.c. */
void dm_ofi_load(const char *prov);
/* Open what the parameters ask for; closed by dm_ofi_fabric_close(). */
DAT_RETURN dm_ofi_fabric_open(struct dm_ofi_ia *ia);
void dm_ofi_fabric_close(struct dm_ofi_ia *ia);

/* ---- progress.c ---- */

/* Drive the fabric: read completions and events, run what is due. ia->lock is
 * held. Returns the number of things that came. */
int dm_ofi_progress(struct dm_ofi_ia *ia);
/* Let the thread look again, at has_agents and timers too; any context. */
void dm_ofi_kick(struct dm_pia *pia);
void dm_ofi_wake_thread(struct dm_ofi_ia *ia);
/* Read completions alone, and leave connections that have failed for later. */
int dm_ofi_read_cq(struct dm_ofi_ia *ia);
bool dm_ofi_progress_start(struct dm_ofi_ia *ia);
void dm_ofi_progress_stop(struct dm_ofi_ia *ia);
/* The hooks of struct dm_pia_ops; without the lock. */
void dm_ofi_poll(struct dm_pia *pia);
int dm_ofi_sleep(struct dm_pia *pia, struct dm_evd_ring *ring, uint32_t value, uint64_t deadline);

/* ---- conn.c; ia->lock is held ---- */

/* End a connection with this event for the consumer (0: none), soon, when the
 * round is over. Tells the peer nothing. May be called from done(), and twice:
 * the first one counts. */
void dm_ofi_conn_fail(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event);
/* The same after an error that we have found in what the peer asked for, or it
 * in what we did: tell it (DM_NOTE_BROKEN), so that it sees DISCONNECTED. */
void dm_ofi_conn_break(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event);
/* The last request of an endpoint with ep.is_draining has completed. */
void dm_ofi_ep_drained(struct dm_ofi_ep *ep);
/* Drive for a moment; the lock is held all the time. */
void dm_ofi_pump(struct dm_ofi_ia *ia);
/* Close the endpoint's connection now, with BYE, without an event. Not from
 * done(). Afterwards ep->conn is NULL. */
void dm_ofi_ep_hang_up(struct dm_ofi_ep *ep);
/* Send a note: 32 bits that need no receive of the peer. False: no room now,
 * for notes that are not repeated (DM_NOTE_MAIL). */
bool dm_ofi_note_send(struct dm_ofi_conn *conn, enum dm_ofi_note kind, uint32_t value);
/* The data word of a note to the peer, for fi_writedata and the like. */
uint64_t dm_ofi_note_word(const struct dm_ofi_conn *conn, enum dm_ofi_note kind, uint32_t value);
/* The endpoint has more receives with the fabric, or less: tell the peer when
 * it knows of too few. */
void dm_ofi_conn_grant(struct dm_ofi_conn *conn);
/* Tell the peer how short our receives may be, if that is news to it; recv.c. */
void dm_ofi_ep_tell_floor(struct dm_ofi_ep *ep);
/* Tell the peer that all its messages so far are there. */
void dm_ofi_conn_taken(struct dm_ofi_conn *conn);
/* Write a message to the peer's mailbox: dm_ofi_mail_arrived() there. False:
 * no room now. */
bool dm_ofi_mail_send(struct dm_ofi_conn *conn, const struct dm_ofi_mail *mail);
/* The same in one request of the fabric with data that are placed before it, in the (at most
 * two) stretches of remote; they are lent to the fabric. */
bool dm_ofi_mail_send_behind(struct dm_ofi_conn *conn, const struct dm_ofi_mail *mail,
                             const struct iovec *data, const struct fi_rma_iov *remote,
                             size_t n_remote);

/* ---- what conn.c, cm.c and progress.c call in the endpoint files; ia->lock
 * is held ---- */

/* The handshake is past its own receives: hand those of the endpoint to
 * conn->fid. Passive side: before ACCEPT is sent; active: before READY is. */
void dm_ofi_ep_hand_over(struct dm_ofi_ep *ep);
/* The connection is up, state is CONNECTED, or the peer has new receives:
 * requests may be sent now. */
void dm_ofi_ep_up(struct dm_ofi_ep *ep);
/* conn->fid is closed and its completions have been read; ep->conn is NULL:
 * complete everything that is left, requests and receives, as flushed. The
 * connection event, if any, is added after this. */
void dm_ofi_ep_flush(struct dm_ofi_ep *ep);
/* Go on with what waits for room in the fabric (ia->waiting). */
void dm_ofi_ep_push_all(struct dm_ofi_ia *ia);
/* The peer has found an error in the first request that is under way. */
void dm_ofi_ep_blamed(struct dm_ofi_ep *ep);
/* The peer has so many of our messages. */
void dm_ofi_ep_taken(struct dm_ofi_ep *ep, uint32_t n);
/* A mail, of an established connection. */
void dm_ofi_mail_arrived(struct dm_ofi_conn *conn, const struct dm_ofi_mail *mail);

/* ---- conn.c, cm.c and cm_passive.c, among themselves; ia->lock is held ---- */

/* A connection without a fid_ep yet. NULL: out of memory. */
struct dm_ofi_conn *dm_ofi_conn_new(struct dm_ofi_ia *ia, enum dm_ofi_conn_state state);
/* Give it a fid_ep, enabled, with a receive for the next message of the
 * handshake. info: of the request, or NULL for a call. False: it cannot be. */
bool dm_ofi_conn_open(struct dm_ofi_conn *conn, struct fi_info *info);
/* Close the fid_ep alone, for another try. */
void dm_ofi_conn_close_fid(struct dm_ofi_conn *conn);
/* Send a message of the handshake. False: it cannot be. */
bool dm_ofi_hello_send(struct dm_ofi_conn *conn, enum dm_ofi_hello_type type, uint32_t status,
                       DAT_CONN_QUAL qual, const void *data, uint32_t len);
/* Post the receive of the next message of the handshake. */
bool dm_ofi_hello_expect(struct dm_ofi_conn *conn);
/* Take over what the peer said of itself. */
void dm_ofi_conn_meet(struct dm_ofi_conn *conn, const struct dm_ofi_hello *hello);
/* The connection is up; len bytes are in the endpoint's private data. */
void dm_ofi_conn_up(struct dm_ofi_conn *conn, DAT_COUNT len);
/* Look after the network below it from now on. */
void dm_ofi_conn_watch(struct dm_ofi_conn *conn);
/* An orderly end: tell the peer, then this event. */
void dm_ofi_conn_bye(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event);
/* The last word has been said already: wait for the peer to close, a while. */
void dm_ofi_conn_part(struct dm_ofi_conn *conn);
/* The same for all, without events, waiting for a moment. */
void dm_ofi_conns_bye(struct dm_ofi_ia *ia);
/* Call those who are to be called somewhere else; outside of a round. */
void dm_ofi_cm_move(struct dm_ofi_ia *ia);
/* The deadline of the handshake has come. */
void dm_ofi_cm_timeout(struct dm_ofi_conn *conn);
/* Set the deadline, and have it looked at in time. */
void dm_ofi_conn_timer(struct dm_ofi_conn *conn, uint64_t deadline);
/* Close what has been put on ia->ending; the round is over. */
void dm_ofi_conns_end(struct dm_ofi_ia *ia);
/* Run what is due; sets ia->next_timer. */
void dm_ofi_conns_timers(struct dm_ofi_ia *ia, uint64_t now);
/* Look at the timers then at the latest. */
void dm_ofi_timer_at(struct dm_ofi_ia *ia, uint64_t when);
/* Close ports that nobody has used for a while; when to look again. */
uint64_t dm_ofi_listeners_timers(struct dm_ofi_ia *ia, uint64_t now);
/* Close everything; the thread has ended. */
void dm_ofi_conns_close(struct dm_ofi_ia *ia);
/* A remote write with a data word has come. */
void dm_ofi_note_arrived(struct dm_ofi_ia *ia, uint64_t word);
/* What the fabric says of connections. */
void dm_ofi_cm_connected(struct dm_ofi_conn *conn);
void dm_ofi_cm_shutdown(struct dm_ofi_conn *conn);
/* err: FI_E... */
void dm_ofi_cm_error(struct dm_ofi_conn *conn, int err);
/* Somebody calls at the passive endpoint fid: info is taken over. */
void dm_ofi_cm_request(struct dm_ofi_ia *ia, const struct fid *fid, struct fi_info *info,
                       const void *data, size_t len);
/* A message of the handshake has come. */
void dm_ofi_cm_hello(struct dm_ofi_conn *conn, const struct dm_ofi_hello *hello);
void dm_ofi_cm_asked(struct dm_ofi_conn *conn, const struct dm_ofi_hello *hello);
/* The port of the n-th try to find a qualifier, 0: there are no more. */
uint16_t dm_ofi_qual_port(DAT_CONN_QUAL qual, uint32_t n);
/* Bytes of an address of its family. */
socklen_t dm_ofi_addr_len(const struct sockaddr *addr);
void dm_ofi_addr_set_port(struct sockaddr_storage *addr, uint16_t port);

/* In a forked child: let go of the names that the parent has. */
void dm_ofi_sp_leave(const struct dm_sp *sp);

/* ---- fork.c ---- */

/* An instance that forked children have to let go of. */
bool dm_ofi_fork_add(struct dm_ofi_ia *ia);
void dm_ofi_fork_del(struct dm_ofi_ia *ia);

#endif
