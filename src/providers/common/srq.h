/*
 * Shared receive queues (uDAPL 2.0, dat_srq_*).
 *
 * An SRQ and its endpoints have one PZ. The watermark given on creation is
 * what a query shows; dat_srq_set_lw() arms it for one event.
 */
#ifndef DM_PROVIDERS_COMMON_SRQ_H
#define DM_PROVIDERS_COMMON_SRQ_H

#include "providers/common/ep.h"

/* DAT has no number of its own for watermarks. This one does not say that the
 * IA, an EP or an EVD is broken; the handle (an SRQ for the low watermark, an EP
 * for the soft high one) and the reason tell. */
#define DM_MARK_EVENT DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR

#define DM_DAT_NO_SRQ DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ)

/* First member of a provider's own queue. */
struct dm_srq {
    struct dm_obj obj;
    struct dm_pz *pz;
    DAT_SRQ_ATTR attr;
    int n_refs;                /* endpoints */
    pthread_mutex_t post_lock; /* of who posts without ia->lock; before it */
};

void dm_srq_destroy(struct dm_srq *srq); /* ia->lock is held */

/* The checks of dat_srq_post_recv. */
static inline DAT_RETURN dm_srq_post_check(DAT_SRQ_HANDLE handle, DAT_COUNT n,
                                           const DAT_LMR_TRIPLET *seg)
{
    const struct dm_srq *srq = (const struct dm_srq *)handle;

    if (!dm_obj_is(srq, DAT_HANDLE_TYPE_SRQ))
        return DM_DAT_BAD(SRQ);
    if (n < 0 || n > srq->attr.max_recv_iov)
        return DM_DAT_ARG(2);
    return n == 0 || seg != NULL ? DAT_SUCCESS : DM_DAT_ARG(3);
}

/* DAT calls. */
DAT_RETURN dm_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
                         DAT_SRQ_HANDLE *srq_p);
DAT_RETURN dm_srq_free(DAT_SRQ_HANDLE srq);
DAT_RETURN dm_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN dm_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT n);
DAT_RETURN dm_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low);

#endif
