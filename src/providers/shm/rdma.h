/*
 * Executing requests, between the files that do it.
 */
#ifndef DM_PROVIDERS_SHM_RDMA_H
#define DM_PROVIDERS_SHM_RDMA_H

#include <sys/uio.h>

#include "providers/shm/shm.h"

enum dm_shm_exec {
    DM_EXEC_DONE,    /* over: see the result */
    DM_EXEC_NO_RECV, /* the peer has posted no receive */
    DM_EXEC_LOCK,    /* only with ia->lock */
    DM_EXEC_MAP,     /* a region of the peer is being mapped */
    DM_EXEC_STAGE,   /* the peer has to help copying */
    DM_EXEC_DOWN,    /* the connection is ending */
};

struct dm_shm_result {
    DAT_DTO_COMPLETION_STATUS status;
    uint64_t len;
    bool is_poke;     /* the peer must run a CNO agent */
    bool is_overflow; /* the peer's event ring was full */
};

/* Carry out a request if that is possible at once. */
enum dm_shm_exec dm_shm_exec(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                             struct dm_shm_result *res);
/* The peer's receive that a request will use. */
struct dm_shm_taken {
    const struct dm_shm_recv *recv; /* cookie and segments; valid until it is done */
    uint32_t number;                /* in the order of posting; not of a shared queue */
    struct dm_evd_ring *ring;       /* for its completion; known when it is ours */
};

/* How the receive ends. */
struct dm_shm_arrival {
    DAT_DTO_COMPLETION_STATUS status;
    DAT_DTOS operation;
    uint64_t len;
    uint32_t number; /* DAT_EVENT_NUMBER, 0: DAT_DTO_COMPLETION_EVENT */
    DAT_RMR_CONTEXT rmr_context;
    uint64_t ext;   /* event_extension_data[0]... */
    uint64_t extra; /* ...and [1] */
    bool is_quiet;  /* nobody is woken */
};

/* The receive of the peer that the next request to need one uses; of a shared
 * queue it is ours from now on. False: there is none. The busy word is even. */
bool dm_shm_recv_peek(struct dm_shm_ep *ep, struct dm_shm_taken *t);
/* Make the one that was found ours. The busy word is odd, and has been since
 * the check that the link is up. False: look again (DM_EXEC_NO_RECV). */
bool dm_shm_recv_take(struct dm_shm_ep *ep, struct dm_shm_taken *t);
/* The request is over: report the completion of the receive that was taken to
 * the peer. The busy word is still odd. Sets is_poke and is_overflow of res,
 * and its status if the peer's ring was full. */
void dm_shm_recv_done(struct dm_shm_ep *ep, const struct dm_shm_taken *t,
                      const struct dm_shm_arrival *how, struct dm_shm_result *res);
/* Check the local segments; their memory in vec, the total in *len_p. */
bool dm_shm_local_check(const struct dm_shm_key *keys, uint32_t pz, const struct dm_shm_op *op,
                        struct iovec *vec, uint64_t *len_p);
/* Start the next chunk of the staged transfer at the queue's head. False: it
 * has failed, with res filled in. */
bool dm_shm_stage_step(struct dm_shm_ep *ep, struct dm_shm_op *op, struct dm_shm_result *res);
/* Is this a request that only the target's thread can carry out (or begin)?
 * Then ask it to; the answer: true: the request is over, with res filled in,
 * false: it goes on. */
bool dm_shm_is_remote(const struct dm_shm_op *op);
void dm_shm_remote_ask(struct dm_shm_ep *ep, const struct dm_shm_op *op);
struct dm_shm_msg;
bool dm_shm_remote_answer(struct dm_shm_ep *ep, struct dm_shm_op *op, const struct dm_shm_msg *msg,
                          struct dm_shm_result *res);
/* The request at the queue's head is over; drops it and breaks the connection
 * if it has failed. True if the connection still stands. */
bool dm_shm_finish_head(struct dm_shm_ep *ep, const struct dm_shm_result *res);

/* Does the receive, if successful, end without waking anybody? */
static inline bool dm_shm_recv_is_quiet(const struct dm_shm_ep *ep, const struct dm_shm_taken *t,
                                        const struct dm_shm_op *op)
{
    uint32_t notify = ep->peer_sh->recv_notify;

    return ((notify & DAT_COMPLETION_SOLICITED_WAIT_FLAG) != 0 &&
            (op->dto.flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) == 0) ||
           (notify & t->recv->flags & DAT_COMPLETION_UNSIGNALLED_FLAG) != 0;
}

/* Carry out an atomic operation; the word as it was before. */
static inline uint64_t dm_shm_atomic(enum dm_dto_kind kind, void *at, const uint64_t *operand)
{
    _Atomic uint64_t *word = at;
    uint64_t old = operand[0];

    if (kind == DM_OP_FETCH_ADD)
        return atomic_fetch_add(word, old);
    (void)atomic_compare_exchange_strong(word, &old, operand[1]);
    return old;
}

/* How a successful send arrives. */
static inline struct dm_shm_arrival dm_shm_arrival_of(const struct dm_shm_op *op)
{
    struct dm_shm_arrival how = {.operation = DAT_DTO_RECEIVE};

    if (dm_unlikely(op->dto.kind == DM_OP_SEND_INVALIDATE)) {
        how.operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
        how.rmr_context = op->dto.invalidate;
    }
    return how;
}

/* May the peer of this endpoint use the entry of our table by this key? */
static inline bool dm_shm_key_serves(const struct dm_shm_ep *ep, const struct dm_shm_key *entry,
                                     uint32_t key)
{
    const struct dm_shm_seg *seg = &((const struct dm_shm_ia *)ep->ep.obj.ia)->seg;

    return atomic_load(&entry->serial) != 0 && entry->key == key && entry->pz == ep->pz_id &&
           (entry->only == 0 || entry->only == DM_SHM_ONLY(dm_shm_seg_offset(seg, ep->sh)));
}

static inline void dm_shm_busy_begin(struct dm_shm_ep *ep)
{
    atomic_store_explicit(&ep->sh->busy, ++ep->busy, memory_order_relaxed);
    /* The barrier in hardware is up to who takes something away. */
    atomic_signal_fence(memory_order_seq_cst);
    if (dm_unlikely(ep->need_fence))
        atomic_thread_fence(memory_order_seq_cst);
}

static inline void dm_shm_busy_end(struct dm_shm_ep *ep)
{
    atomic_store_explicit(&ep->sh->busy, ++ep->busy, memory_order_release);
}

static inline bool dm_shm_is_up(const struct dm_shm_ep *ep)
{
    return atomic_load_explicit(&ep->peer_sh->link, memory_order_relaxed) == DM_LINK_UP;
}

#endif
