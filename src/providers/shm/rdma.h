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
enum dm_shm_exec dm_shm_exec(struct dm_sep *ep, const struct dm_shm_op *op, bool is_locked,
                             struct dm_shm_result *res);
/* Take the peer's oldest receive and report its completion to it; the
 * endpoint's busy word is odd. */
void dm_shm_recv_done(struct dm_sep *ep, DAT_DTO_COMPLETION_STATUS status, uint64_t len,
                      struct dm_shm_result *res);
/* The peer's oldest receive; NULL if there is none. */
const struct dm_shm_recv *dm_shm_recv_head(struct dm_sep *ep);
/* Check the local segments; their memory in vec, the total in *len_p. */
bool dm_shm_local_check(const struct dm_shm_key *keys, uint32_t pz, const struct dm_shm_op *op,
                        struct iovec *vec, uint64_t *len_p);
/* Start the next chunk of the staged transfer at the queue's head. False: it
 * has failed, with res filled in. */
bool dm_shm_stage_step(struct dm_sep *ep, struct dm_shm_op *op, struct dm_shm_result *res);
/* The request at the queue's head is over; drops it and breaks the connection
 * if it has failed. True if the connection still stands. */
bool dm_shm_finish_head(struct dm_sep *ep, const struct dm_shm_result *res);

static inline void dm_shm_busy_begin(struct dm_sep *ep)
{
    atomic_store_explicit(&ep->sh->busy, ++ep->busy, memory_order_relaxed);
    /* The barrier in hardware is up to who takes something away. */
    atomic_signal_fence(memory_order_seq_cst);
    if (dm_unlikely(ep->need_fence))
        atomic_thread_fence(memory_order_seq_cst);
}

static inline void dm_shm_busy_end(struct dm_sep *ep)
{
    atomic_store_explicit(&ep->sh->busy, ++ep->busy, memory_order_release);
}

static inline bool dm_shm_is_up(const struct dm_sep *ep)
{
    return atomic_load_explicit(&ep->peer_sh->link, memory_order_relaxed) == DM_LINK_UP;
}

#endif
