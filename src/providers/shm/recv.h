/*
 * Receives: our own queue, and taking those of the peer.
 */
#ifndef DM_PROVIDERS_SHM_RECV_H
#define DM_PROVIDERS_SHM_RECV_H

#include "providers/shm/rdma.h"

/* The peer's receive that a request will use. */
struct dm_shm_target_recv {
    const struct dm_shm_recv *recv; /* cookie and segments; valid until it is done */
    uint32_t number;                /* in the order of posting; not of a shared queue */
    struct dm_evd_ring *ring;       /* for its completion; known when it is ours */
};

/* The completion of the peer's receive. */
struct dm_shm_recv_cqe {
    DAT_DTO_COMPLETION_STATUS status;
    DAT_DTOS operation;
    uint64_t len;
    uint32_t number; /* DAT_EVENT_NUMBER, 0: DAT_DTO_COMPLETION_EVENT */
    DAT_RMR_CONTEXT rmr_context;
    uint64_t ext;   /* event_extension_data[0]... */
    uint64_t extra; /* ...and [1] */
    bool is_quiet;  /* nobody is woken */
};

/* ---- ours; ia->lock is held ---- */

/* Make the receive queue for the attributes; false when out of memory. */
bool dm_shm_recv_alloc(struct dm_shm_ep *ep);
/* Complete what is posted as flushed. */
void dm_shm_recv_flush(struct dm_shm_ep *ep);
/* Complete one receive as flushed. */
void dm_shm_recv_flush_one(struct dm_shm_ep *ep, uint64_t cookie);
/* The peer, which signs as owner, has died: if it had taken a receive and not
 * reported it, complete that as flushed. Before its claims are invalidated. */
void dm_shm_recv_recover(struct dm_shm_ep *ep, uint32_t owner);
/* From now on intents of the peer are about the endpoint's present event ring. */
void dm_shm_recv_intent_clear(struct dm_shm_ep *ep);

/* ---- the peer's ---- */

/* The receive of the peer that the next request to need one uses; of a shared
 * queue it is ours from now on. False: there is none. The busy word is even. */
bool dm_shm_recv_peek(struct dm_shm_ep *ep, struct dm_shm_target_recv *t);
/* Make the one that was found ours. The busy word is odd, and has been since
 * the check that the link is up. False: look again (DM_EXEC_NO_RECV). */
bool dm_shm_recv_take(struct dm_shm_ep *ep, struct dm_shm_target_recv *t);
/* The request is over: report the completion of the receive that was taken to
 * the peer. The busy word is still odd. Sets is_notify and is_overflow of res,
 * and its status if the peer's ring was full. */
void dm_shm_recv_done(struct dm_shm_ep *ep, const struct dm_shm_target_recv *t,
                      const struct dm_shm_recv_cqe *how, struct dm_shm_result *res);

/* Does the receive, if successful, end without waking anybody? */
static inline bool dm_shm_recv_is_quiet(const struct dm_shm_ep *ep,
                                        const struct dm_shm_target_recv *t,
                                        const struct dm_shm_op *op)
{
    uint32_t notify = ep->peer_sh->recv_notify;

    return ((notify & DAT_COMPLETION_SOLICITED_WAIT_FLAG) != 0 &&
            (op->dto.flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) == 0) ||
           (notify & t->recv->flags & DAT_COMPLETION_UNSIGNALLED_FLAG) != 0;
}

/* The completion that a successful send makes. */
static inline struct dm_shm_recv_cqe dm_shm_recv_cqe_of(const struct dm_shm_op *op)
{
    struct dm_shm_recv_cqe how = {.operation = DAT_DTO_RECEIVE};

    if (dm_unlikely(op->dto.kind == DM_OP_SEND_INVALIDATE)) {
        how.operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
        how.rmr_context = op->dto.invalidate;
    }
    return how;
}

#endif
