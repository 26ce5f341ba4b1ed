/*
 * Requests that only the target's thread can carry out (or begin). ia->lock is held.
 */
#ifndef DM_PROVIDERS_SHM_EXT_H
#define DM_PROVIDERS_SHM_EXT_H

#include "providers/shm/conn.h"
#include "providers/shm/rdma.h"
#include "providers/shm/wire.h"

/* Is this one? */
bool dm_shm_ext_is_remote(const struct dm_shm_op *op);
/* Ask the target for it. */
void dm_shm_ext_request(struct dm_shm_ep *ep, const struct dm_shm_op *op);
/* The answer. True: the request is over, with res filled in; false: it goes on. */
bool dm_shm_ext_response(struct dm_shm_ep *ep, struct dm_shm_op *op, const struct dm_shm_ctrl *msg,
                         struct dm_shm_result *res);
/* The target: carry out an ATOMIC or INVALIDATE request. */
void dm_shm_ext_atomic(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg);
void dm_shm_ext_invalidate(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg);

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

#endif
