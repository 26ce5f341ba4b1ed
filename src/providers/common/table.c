/*
 * The 79-slot table with defaults: every slot answers, so that libdat2, which
 * calls them unchecked, never jumps to NULL.
 *
 * All slots take handles and integers and return a DAT_RETURN; a function that
 * ignores its arguments serves them all through their own signatures below.
 */
#include "providers/common/init.h"

#include <string.h>

#include "providers/common/ep.h"

#define NOT_SUPPORTED DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED)
#define NOT_IMPL      DM_DAT(DAT_NOT_IMPLEMENTED, 0)

static DAT_RETURN cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual)
{
    (void)cr;
    (void)qual;
    return NOT_IMPL;
}

static DAT_RETURN ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup, DAT_TIMEOUT timeout,
                                 DAT_COUNT len, const DAT_PVOID data, DAT_QOS qos)
{
    (void)ep;
    (void)dup;
    (void)timeout;
    (void)len;
    (void)data;
    (void)qos;
    return NOT_IMPL;
}

static DAT_RETURN rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p)
{
    (void)pz;
    (void)rmr_p;
    return NOT_IMPL;
}

static DAT_RETURN rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p)
{
    (void)pz;
    (void)rmr_p;
    return NOT_SUPPORTED;
}

static DAT_RETURN rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
    (void)rmr;
    (void)mask;
    (void)param;
    return NOT_IMPL;
}

static DAT_RETURN rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
                           DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
                           DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
                           DAT_RMR_CONTEXT *context_p)
{
    (void)rmr;
    (void)lmr;
    (void)triplet;
    (void)priv;
    (void)va_type;
    (void)ep;
    (void)cookie;
    (void)flags;
    (void)context_p;
    return NOT_IMPL;
}

static DAT_RETURN rmr_free(DAT_RMR_HANDLE rmr)
{
    (void)rmr;
    return NOT_IMPL;
}

static DAT_RETURN lmr_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
    if (dm_obj_get(ia, DAT_HANDLE_TYPE_IA) == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (n > 0 && segments == NULL)
        return DM_DAT_ARG(2);
    return DAT_SUCCESS; /* memory is coherent */
}

static DAT_RETURN ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                                     DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                                     DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
                                     DAT_EP_HANDLE *ep_p)
{
    (void)ia;
    (void)pz;
    (void)recv_evd;
    (void)request_evd;
    (void)connect_evd;
    (void)srq;
    (void)attr;
    (void)ep_p;
    return NOT_IMPL;
}

static DAT_RETURN ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *n_p, DAT_COUNT *span_p)
{
    (void)ep;
    (void)n_p;
    (void)span_p;
    return NOT_IMPL;
}

static DAT_RETURN ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
    (void)ep;
    (void)soft;
    (void)hard;
    return NOT_IMPL;
}

static DAT_RETURN srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
                             DAT_SRQ_HANDLE *srq_p)
{
    (void)ia;
    (void)pz;
    (void)attr;
    (void)srq_p;
    return NOT_IMPL;
}

static DAT_RETURN srq_free(DAT_SRQ_HANDLE srq)
{
    (void)srq;
    return NOT_IMPL;
}

static DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                DAT_DTO_COOKIE cookie)
{
    (void)srq;
    (void)n;
    (void)iov;
    (void)cookie;
    return NOT_IMPL;
}

static DAT_RETURN srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
    (void)srq;
    (void)mask;
    (void)param;
    return NOT_IMPL;
}

static DAT_RETURN srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT n)
{
    (void)srq;
    (void)n;
    return NOT_IMPL;
}

static DAT_RETURN csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR addr,
                             DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp_p)
{
    (void)ia;
    (void)comm;
    (void)addr;
    (void)evd;
    (void)csp_p;
    return NOT_SUPPORTED;
}

static DAT_RETURN csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
    (void)csp;
    (void)mask;
    (void)param;
    return NOT_SUPPORTED;
}

static DAT_RETURN csp_free(DAT_CSP_HANDLE csp)
{
    (void)csp;
    return NOT_SUPPORTED;
}

static DAT_RETURN ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR addr, DAT_TIMEOUT timeout,
                                    DAT_COUNT len, const DAT_PVOID data)
{
    (void)ep;
    (void)addr;
    (void)timeout;
    (void)len;
    (void)data;
    return NOT_SUPPORTED;
}

static DAT_RETURN post_send_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
                                       DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
    (void)ep;
    (void)n;
    (void)iov;
    (void)cookie;
    (void)flags;
    (void)invalidate;
    (void)context;
    return NOT_SUPPORTED;
}

static DAT_RETURN post_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
                                   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                   DAT_COMPLETION_FLAGS flags)
{
    (void)ep;
    (void)local;
    (void)cookie;
    (void)remote;
    (void)flags;
    return NOT_SUPPORTED;
}

/* No instance can take over for another one, be it of the same name. */
static DAT_RETURN ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *answer_p)
{
    if (dm_obj_get(ia, DAT_HANDLE_TYPE_IA) == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (name == NULL)
        return DM_DAT_ARG(2);
    if (answer_p == NULL)
        return DM_DAT_ARG(3);
    *answer_p = DAT_FALSE;
    return DAT_SUCCESS;
}

static DAT_RETURN extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
    (void)handle;
    (void)op;
    (void)args;
    return NOT_IMPL;
}

void dm_prov_table_defaults(DAT_PROVIDER *p)
{
    memset(p, 0, sizeof(*p));
    p->set_consumer_context_func = dm_obj_set_context;
    p->get_consumer_context_func = dm_obj_get_context;
    p->get_handle_type_func = dm_obj_get_type;
    p->cr_handoff_func = cr_handoff;
    p->ep_dup_connect_func = ep_dup_connect;
    p->rmr_create_func = rmr_create;
    p->rmr_query_func = rmr_query;
    p->rmr_bind_func = rmr_bind;
    p->rmr_free_func = rmr_free;
    p->lmr_sync_rdma_read_func = lmr_sync;
    p->lmr_sync_rdma_write_func = lmr_sync;
    p->ep_create_with_srq_func = ep_create_with_srq;
    p->ep_recv_query_func = ep_recv_query;
    p->ep_set_watermark_func = ep_set_watermark;
    p->srq_create_func = srq_create;
    p->srq_free_func = srq_free;
    p->srq_post_recv_func = srq_post_recv;
    p->srq_query_func = srq_query;
    p->srq_resize_func = srq_resize;
    p->srq_set_lw_func = srq_resize;
    p->csp_create_func = csp_create;
    p->csp_query_func = csp_query;
    p->csp_free_func = csp_free;
    p->ep_common_connect_func = ep_common_connect;
    p->rmr_create_for_ep_func = rmr_create_for_ep;
    p->ep_post_send_with_invalidate_func = post_send_invalidate;
    p->ep_post_rdma_read_to_rmr_func = post_read_to_rmr;
    p->ia_ha_related_func = ia_ha_related;
    p->handle_extendedop_func = extended_op;
    dm_prov_table_common(p);
}
