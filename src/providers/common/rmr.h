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
 *
 * Invariant: rmr->key is a context in use while the RMR is bound, and then
 * rmr->lmr counts it in n_binds, so it cannot be freed.
 */
#ifndef DM_PROVIDERS_COMMON_RMR_H
#define DM_PROVIDERS_COMMON_RMR_H

#include "providers/common/dto.h"
#include "providers/common/lmr.h"

struct dm_rmr {
    struct dm_obj obj;
    struct dm_pz *pz;
    DAT_RMR_SCOPE scope;
    int n_pending; /* binds that have not completed */
    /* What it is bound to. */
    uint32_t key; /* 0: to nothing */
    struct dm_lmr *lmr;
    struct dm_ep *ep; /* scope EP: who serves it */
    DAT_LMR_TRIPLET triplet;
    DAT_MEM_PRIV_FLAGS priv;
    DAT_VA_TYPE va_type;
};

/* A bind that has been posted. */
struct dm_bind {
    struct dm_rmr *rmr;
    struct dm_lmr *lmr;
    uint32_t lmr_gen; /* to notice that it has been freed since */
    uint32_t key;     /* reserved; 0: unbind, or the key is in use now */
    DAT_MEM_PRIV_FLAGS priv;
    DAT_VA_TYPE va_type;
};

/* What peers are shown of a window. */
struct dm_window {
    uint64_t va;
    uint64_t len;
    uint64_t addr;
    uint32_t priv;
    struct dm_ep *only; /* the endpoint that serves it, NULL: all of the PZ */
};

/* For the provider, when it executes a bind; all want ia->lock held. */

/* May this window be opened now? */
bool dm_rmr_is_allowed(const struct dm_ep *ep, const struct dm_bind *bind,
                       const DAT_LMR_TRIPLET *triplet);
/* What the bind will show to peers. */
struct dm_window dm_rmr_window(struct dm_ep *ep, const struct dm_bind *bind,
                               const DAT_LMR_TRIPLET *triplet);
/* It is bound, by the context of bind, which is used up. The binding before has been ended. */
void dm_rmr_set(struct dm_ep *ep, struct dm_bind *bind, const DAT_LMR_TRIPLET *triplet);
/* End the binding, if there is one; peers may still be in the window. */
void dm_rmr_shut(struct dm_rmr *rmr);
/* The same, and no peer is. */
void dm_rmr_unbind(struct dm_rmr *rmr);
/* A bind has completed, in whatever way; frees it. */
void dm_rmr_bound(struct dm_bind *bind);
/* The connection of an endpoint ends: so do the windows that only it serves. Peers may still
 * be in them. */
void dm_rmr_ep_down(struct dm_ep *ep);
/* The peer of this endpoint wants a context to end; false if it has no right. Other peers may
 * still be in the window. */
bool dm_rmr_invalidate(struct dm_ep *ep, uint32_t key);
void dm_rmr_destroy(struct dm_rmr *rmr);

/* DAT calls. */
DAT_RETURN dm_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p);
DAT_RETURN dm_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p);
DAT_RETURN dm_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN dm_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
                       DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
                       DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
                       DAT_RMR_CONTEXT *context_p);
DAT_RETURN dm_rmr_free(DAT_RMR_HANDLE rmr);

#endif
