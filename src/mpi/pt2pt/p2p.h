/*
 * Inside point-to-point: the state, and what its files offer each other.
 */
#ifndef DM_MPI_PT2PT_P2P_H
#define DM_MPI_PT2PT_P2P_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"
#include "mpi/pt2pt/flow.h"
#include "mpi/pt2pt/match.h"
#include "mpi/pt2pt/pkt.h"
#include "mpi/pt2pt/pt2pt.h"
#include "mpi/pt2pt/req.h"
#include "mpi/pt2pt/unexp.h"
#include "util/list.h"
#include "util/pool.h"
#include "util/port.h"

_Static_assert(DM_MATCH_ANY_SOURCE == MPI_ANY_SOURCE, "matching knows MPI's wildcards");
_Static_assert(DM_MATCH_ANY_TAG == MPI_ANY_TAG, "matching knows MPI's wildcards");

/* A nonblocking send that was over at once and left no request (cancel.c). */
struct dm_p2p_sent {
    struct dm_mkey key;
    uint32_t id;
    int proc;
};
#define DM_P2P_N_SENT 1024 /* the last ones can be cancelled */

/* What DATUM_STATS says: messages sent, and the packets that rendezvous took. */
struct dm_p2p_counts {
    uint64_t n_eager;
    uint64_t n_rts;
    uint64_t n_cts;
    uint64_t n_fin;
    uint64_t n_fin_chained; /* of them behind a write (DATUM_FIN) */
    uint64_t n_data;
    uint64_t n_split; /* messages of which both sides moved a part, at the receiver */
};

/* The only global of point-to-point (start.c). */
struct dm_p2p {
    struct dm_match match;
    struct dm_pool reqs;
    struct dm_pool unexps;
    struct dm_p2p_buffers buffers;
    struct dm_list active;   /* requests that await something of a peer */
    struct dm_list arriving; /* unexpected messages whose data are coming */
    size_t eager_limit;      /* for any peer, */
    bool is_eager_by_peer;   /* and more for some of them */
    size_t eager_below;      /* no need to look further: eager_limit + 1, or 0 */
    struct dm_list tallies;
    struct dm_p2p_flow flow;
    unsigned n_blocking;          /* MPI_Send so far */
    int n_lost;                   /* peers */
    int n_reads;                  /* rendezvous that this process fetches */
    int n_offers;                 /* rendezvous that others are to fetch from this process */
    struct dm_list splits;        /* of them, those of split that wait for their turn, */
    struct dm_p2p_req *splitting; /* and the one whose turn it is */
    struct dm_p2p_counts counts;
    int n_sends;                            /* sends that nobody may be waiting for */
    uint32_t send_id;                       /* last given */
    struct dm_p2p_sent sent[DM_P2P_N_SENT]; /* by id */
    struct dm_list recalls;                 /* cancelled sends without an answer yet */
    struct dm_list recalled;         /* requests that stand for handles of sends that were over */
    struct dm_list probed;           /* messages of matched probes that are not received yet */
    struct dm_list deferred_cancels; /* CANCEL packets to answer in MPI_Finalize (cancel.c) */
    bool is_leaving;                 /* it is in MPI_Finalize */
    bool is_tallied;                 /* there are tallies */
    /* attached buffers (bsend.c): the process's, or NULL, and all */
    struct dm_bsend *bsend;
    struct dm_list bsends;
};
extern struct dm_p2p dm_p2p;

/* ---- req.c ---- */

/* Record that a process is gone. */
int dm_p2p_fail_lost(int proc);
/* The library cannot go on. */
DM_NORETURN void dm_p2p_fatal(const char *what);

/* ---- send.c ---- */

/* The blocking and the nonblocking send; ctx is that of the messages. */
int dm_p2p_send_on(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                   struct dm_comm *comm, uint32_t ctx, enum dm_send_mode mode);
int dm_p2p_isend_on(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                    struct dm_comm *comm, uint32_t ctx, enum dm_send_mode mode,
                    struct dm_req **req_p);
/* What a queued eager message calls when it has gone. */
void dm_p2p_eager_sent(struct dm_chan_send *send, int err);
/* If this is a queued eager message, let it be a rendezvous. */
void dm_p2p_send_as_rndv(struct dm_chan_send *send);
/* Start a prepared request to r->proc under key. */
void dm_p2p_send_start(struct dm_p2p_req *r, const struct dm_mkey *key, enum dm_send_mode mode);
/* The same at once, without awaiting anything. DM_EAGAIN: nothing was done. */
int dm_p2p_send_now(struct dm_p2p_req *r, const struct dm_mkey *key, enum dm_send_mode mode);

/* The number of a message that can be cancelled. */
static inline uint32_t dm_p2p_next_id(void)
{
    /* never 0 */
    return dm_p2p.send_id += 1 + (dm_p2p.send_id == UINT32_MAX);
}

/* ---- account.c ---- */

void dm_p2p_account_start(void);
/* Add to the account of a wait: a request, and a message that is to come. */
void dm_p2p_account_req(struct dm_wait_account *account, const struct dm_req *req);
void dm_p2p_account_recv(struct dm_wait_account *account, const struct dm_comm *comm,
                         const struct dm_mkey *key);
/* Do no data move here that a request is waiting for, of this process or of a peer? */
bool dm_p2p_is_quiet(void);

/* ---- deadlock.c ---- */

void dm_p2p_deadlock_start(void);
void dm_p2p_deadlock_stop(void);

/* ---- cancel.c ---- */

void dm_p2p_cancel_start(void); /* register the packet handlers */
/*
 * Ask the receiver to forget the message of a send, which may be complete: the request
 * is pending until the answer comes.
 */
int dm_p2p_cancel_send(struct dm_req *req);
/* The same for the handle of a send that was over at once. */
int dm_p2p_cancel_done(int handle);
/* The request of such a handle since then, else NULL. */
struct dm_req *dm_p2p_recalled(int handle);
/* No answers will come from this process. */
void dm_p2p_cancel_lost(int proc);
/*
 * The connection with a process of another job has come to its end: it may have said that before it could answer.
 * is_free: its number will be another's, so that what it has asked for is not answered.
 */
void dm_p2p_cancel_gone(int proc, bool is_free);
/*
 * MPI_Finalize: give up the sends that nobody receives, when their receivers get here, too. To be
 * called again for what is sent later.
 */
void dm_p2p_cancel_rest(void);

/* ---- recv.c ---- */

int dm_p2p_recv_on(void *buf, size_t count, struct dm_type *type, int source, int tag,
                   struct dm_comm *comm, uint32_t ctx, MPI_Status *status);
int dm_p2p_irecv_on(void *buf, size_t count, struct dm_type *type, int source, int tag,
                    struct dm_comm *comm, uint32_t ctx, struct dm_req **req_p);
/* Match a prepared request or post it. */
void dm_p2p_recv_start(struct dm_p2p_req *r, int source, int tag, uint32_t ctx);
/* The same with a key of one's own, from one process. */
void dm_p2p_recv_key(struct dm_p2p_req *r, int proc, const struct dm_mkey *key);
/* Give a message (no longer queued) to a receive. */
void dm_p2p_recv_unexp(struct dm_p2p_req *r, struct dm_p2p_unexp *u);
/* Withdraw a posted receive, which ends with err. */
void dm_p2p_recv_withdraw(struct dm_p2p_req *r, int err);
/* Copy the status of a finished receive, but for MPI_ERROR. */
static inline void dm_p2p_status(const struct dm_req *req, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->count_lo = req->status.count_lo;
    status->count_hi_and_cancelled = req->status.count_hi_and_cancelled;
    status->MPI_SOURCE = req->status.MPI_SOURCE;
    status->MPI_TAG = req->status.MPI_TAG;
}

/* ---- eager.c, rndv.c, rndv_proto.c ---- */

void dm_p2p_eager_start(void);       /* register the packet handlers, */
void dm_p2p_eager_tally(bool is_on); /* those that tally what arrives, or those that do not */
void dm_p2p_rndv_start(void);
/* len bytes at offset of a message arrive: to the buffer, as far as there is space. */
void dm_p2p_place(struct dm_p2p_req *r, size_t offset, const void *data, size_t len);
/* All that was kept of an unexpected message, a second copy. */
void dm_p2p_place_unexp(struct dm_p2p_req *r, const struct dm_p2p_unexp *u);
/* Envelope and length of the message that a receive got. */
void dm_p2p_matched(struct dm_p2p_req *r, int proc, const struct dm_mkey *key, size_t len);
/* Tell the sender of a synchronous message that it is matched. */
void dm_p2p_ack(int proc, uint64_t sreq);
/* Get the data of a rendezvous. */
void dm_p2p_rndv_recv(struct dm_p2p_req *r, const struct dm_p2p_unexp *u);
/* Send the request to send. */
void dm_p2p_rndv_send(struct dm_p2p_req *r, const struct dm_mkey *key);
/* Let a queued eager message be a request to send instead. */
void dm_p2p_rndv_instead(struct dm_p2p_req *r);
/* A receive that is timed (r->rndv.select) has got len bytes; 0: it failed. */
void dm_p2p_rndv_measured(struct dm_p2p_req *r, size_t len);
/* Packed bytes of a send's data, from offset on. */
void dm_p2p_pack(const struct dm_p2p_req *r, size_t offset, void *dst, size_t len);
/* The same, for dm_chan_send.read. */
void dm_p2p_read(struct dm_chan_send *send, size_t offset, void *dst, size_t len);

/* ---- tally.c ---- */

/* A send is started; a message of len bytes has arrived. */
void dm_p2p_tally_sent(const struct dm_p2p_req *r);
void dm_p2p_tally_arrived(const struct dm_mkey *key, size_t len);
void dm_p2p_tally_stop(void);

/* ---- probe.c ---- */

/* Forget the messages that were not received. */
void dm_p2p_probe_stop(void);

/* ---- part.c ---- */

void dm_p2p_part_start(void); /* register the packet handlers */
void dm_p2p_part_stop(void);
/* Nothing comes from this process any more, nothing goes there. */
void dm_p2p_part_lost(int proc);

/* ---- bsend.c ---- */

/* MPI_Bsend; *r_p: the send, with a reference for the caller, NULL: there is none. */
int dm_p2p_bsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                 struct dm_comm *comm, struct dm_p2p_req **r_p);
/* Wait until nothing is left in any attached buffer. */
void dm_p2p_bsend_flush_all(void);
/* Forget them; nothing is left in them. */
void dm_p2p_bsend_stop(void);
/* Is it the send of a buffered message that a flush waits for? It is watched then. */
bool dm_p2p_bsend_is_flushed(const struct dm_p2p_req *r);

#endif
