/*
 * RMRs: windows onto registered memory that come and go with the requests of
 * an endpoint (uDAPL 2.0, "Remote Memory Region").
 *
 * What DAT leaves open is decided so: every bind gets a context of its own,
 * never used before, which becomes valid when the bind executes; the context
 * before it is dead by then. A bind that fails (a wrong LMR, protection zone,
 * range or privilege) completes with DAT_RMR_OPERATION_FAILED, leaves the old
 * binding alone and breaks the connection, as every failed request does.
 * Length 0 unbinds. A window of scope EP is served by the endpoint that it was
 * bound on, and lasts as long as its connection; one of scope PZ is served by
 * every endpoint of the protection zone, until it is bound anew, invalidated
 * or freed. An RMR with a bind under way cannot be freed.
 */
#ifndef DM_PROVIDERS_SHM_RMR_H
#define DM_PROVIDERS_SHM_RMR_H

#include "providers/shm/rdma.h"

struct dm_rmr {
    struct dm_obj obj;
    struct dm_pz *pz;
    DAT_RMR_SCOPE scope;
    int n_pending; /* binds that have not completed */
    /* What it is bound to. */
    uint32_t key; /* 0: to nothing */
    struct dm_lmr *lmr;
    struct dm_sep *ep; /* scope EP: who serves it */
    DAT_LMR_TRIPLET triplet;
    DAT_MEM_PRIV_FLAGS priv;
    DAT_VA_TYPE va_type;
};

/* A bind that has been posted. */
struct dm_shm_bind {
    struct dm_rmr *rmr;
    struct dm_lmr *lmr;
    uint32_t lmr_gen; /* to notice that it has been freed since */
    uint32_t key;     /* reserved; 0: unbind, or the key is in use now */
    DAT_MEM_PRIV_FLAGS priv;
    DAT_VA_TYPE va_type;
};

/* All want ia->lock held. */

/* Execute a bind; only with is_locked. */
enum dm_shm_exec dm_shm_rmr_exec(struct dm_sep *ep, const struct dm_shm_op *op, bool is_locked,
                                 struct dm_shm_result *res);
/* A bind has completed, in whatever way; frees op->bind. */
void dm_shm_rmr_bound(const struct dm_shm_op *op);
/* The connection of an endpoint ends: so do the windows that only it serves. A
 * call of dm_shm_quiesce() follows. */
void dm_shm_rmr_ep_down(struct dm_sep *ep);
/* The peer of this endpoint wants a context to end; false if it has no right. */
bool dm_shm_rmr_invalidate(struct dm_sep *ep, uint32_t key);
void dm_shm_rmr_destroy(struct dm_rmr *rmr);

#endif
