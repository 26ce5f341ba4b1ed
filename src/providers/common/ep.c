/*
 * Endpoints: life cycle.
 */
#include "providers/common/ep.h"

#include <string.h>

#include "providers/common/provider.h"

void dm_ep_hold(struct dm_ep *ep)
{
    if (ep->pz != NULL)
        ep->pz->n_refs++;
    if (ep->recv_evd != NULL)
        ep->recv_evd->n_refs++;
    if (ep->request_evd != NULL)
        ep->request_evd->n_refs++;
    if (ep->connect_evd != NULL)
        ep->connect_evd->n_refs++;
}

void dm_ep_release(struct dm_ep *ep)
{
    if (ep->pz != NULL)
        ep->pz->n_refs--;
    if (ep->recv_evd != NULL)
        ep->recv_evd->n_refs--;
    if (ep->request_evd != NULL)
        ep->request_evd->n_refs--;
    if (ep->connect_evd != NULL)
        ep->connect_evd->n_refs--;
}

static DAT_RETURN ep_new(struct dm_pia *ia, const struct dm_ep *want, struct dm_ep **ep_p)
{
    struct dm_ep *ep = dm_obj_new(ia->obj.provider, ia, DAT_HANDLE_TYPE_EP, ia->ops->ep.size);
    DAT_RETURN ret;

    if (ep == NULL)
        return DM_DAT_NOMEM;
    ep->pz = want->pz;
    ep->recv_evd = want->recv_evd;
    ep->request_evd = want->request_evd;
    ep->connect_evd = want->connect_evd;
    ep->srq = want->srq;
    ep->attr = want->attr;
    atomic_store(&ep->state, DAT_EP_STATE_UNCONNECTED);
    ret = ia->ops->ep.create(ep);
    if (ret != DAT_SUCCESS) {
        dm_obj_free(ep);
        return ret;
    }
    pthread_mutex_init(&ep->post_lock, NULL);
    pthread_mutex_init(&ep->recv_lock, NULL);
    if (ep->srq != NULL)
        ep->srq->n_refs++;
    dm_ep_hold(ep);
    *ep_p = ep;
    return DAT_SUCCESS;
}

static DAT_RETURN ep_create(struct dm_pia *ia, const DAT_HANDLE handles[4], struct dm_ep *want,
                            const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    struct dm_ep *ep = NULL;
    DAT_RETURN ret = dm_ep_create_check(ia, handles, attr, ep_p, want);

    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->lock);
    ret = ep_new(ia, want, &ep);
    pthread_mutex_unlock(&ia->lock);
    if (ret == DAT_SUCCESS)
        *ep_p = (DAT_EP_HANDLE)ep;
    return ret;
}

DAT_RETURN dm_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                        DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                        const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    const DAT_HANDLE handles[4] = {pz, recv_evd, request_evd, connect_evd};
    struct dm_pia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_ep want;

    memset(&want, 0, sizeof(want));
    if (ia == NULL)
        return DM_DAT_BAD(IA);
    return ep_create(ia, handles, &want, attr, ep_p);
}

DAT_RETURN dm_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                                 DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                                 DAT_SRQ_HANDLE srq_handle, const DAT_EP_ATTR *attr,
                                 DAT_EP_HANDLE *ep_p)
{
    const DAT_HANDLE handles[4] = {pz, recv_evd, request_evd, connect_evd};
    struct dm_pia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_srq *srq = dm_obj_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
    struct dm_ep want;

    memset(&want, 0, sizeof(want));
    if (ia == NULL)
        return DM_DAT_BAD(IA);
    if (srq == NULL || srq->obj.ia != ia)
        return DM_DAT_BAD(SRQ);
    /* Receives are checked against the endpoint's PZ, so it is the SRQ's. */
    if (pz != (DAT_PZ_HANDLE)srq->pz)
        return DM_DAT_BAD(PZ);
    if (recv_evd == DAT_HANDLE_NULL)
        return DM_DAT_BAD(EVD_RECV);
    want.srq = srq;
    return ep_create(ia, handles, &want, attr, ep_p);
}

/* ia->lock is held. */
static void ep_refresh_locked(struct dm_ep *ep)
{
    if (ep->obj.ia->ops->ep.refresh != NULL)
        ep->obj.ia->ops->ep.refresh(ep);
}

static void ep_refresh(struct dm_ep *ep)
{
    pthread_mutex_lock(&ep->obj.ia->lock);
    ep_refresh_locked(ep);
    pthread_mutex_unlock(&ep->obj.ia->lock);
}

DAT_RETURN dm_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);

    (void)mask;
    if (ep == NULL)
        return DM_DAT_BAD(EP);
    if (param == NULL)
        return DM_DAT_ARG(3);
    ep_refresh(ep);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(ep->obj.ia);
    param->ep_state = (DAT_EP_STATE)atomic_load(&ep->state);
    param->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->obj.ia->addr;
    param->comm = ep->comm;
    param->local_port_qual = ep->local_qual;
    param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->remote_addr;
    param->remote_port_qual = ep->remote_qual;
    param->pz_handle = ep->pz;
    param->recv_evd_handle = ep->recv_evd;
    param->request_evd_handle = ep->request_evd;
    param->connect_evd_handle = ep->connect_evd;
    param->srq_handle = ep->srq;
    param->ep_attr = ep->attr;
    return DAT_SUCCESS;
}

static DAT_RETURN ep_modify_locked(struct dm_ep *ep, const struct dm_ep *want)
{
    const struct dm_prov_ep_ops *ops = &ep->obj.ia->ops->ep;
    int state = atomic_load(&ep->state);
    bool is_queue_new = want->attr.max_recv_dtos != ep->attr.max_recv_dtos ||
                        want->attr.max_recv_iov != ep->attr.max_recv_iov;
    bool is_recv_idle;
    bool is_request_idle;

    if (state != DAT_EP_STATE_UNCONNECTED)
        return dm_ep_bad_state(state);
    ops->is_idle(ep, &is_recv_idle, &is_request_idle);
    if (is_queue_new && !is_recv_idle)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
    dm_ep_modify_to(ep, want);
    return ops->modified(ep, is_queue_new);
}

DAT_RETURN dm_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    struct dm_ep want;
    struct dm_pia *ia;
    DAT_RETURN ret;

    if (ep == NULL)
        return DM_DAT_BAD(EP);
    ia = ep->obj.ia;
    ret = dm_ep_modify_check(ep, mask, param, &want);
    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->lock);
    ret = ep_modify_locked(ep, &want);
    if (ret == DAT_SUCCESS && (mask & DAT_EP_FIELD_COMM) != 0)
        ep->comm = param->comm;
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state_p, DAT_BOOLEAN *recv_idle_p,
                            DAT_BOOLEAN *request_idle_p)
{
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    bool is_recv_idle;
    bool is_request_idle;

    if (ep == NULL)
        return DM_DAT_BAD(EP);
    pthread_mutex_lock(&ep->obj.ia->lock);
    ep_refresh_locked(ep);
    ep->obj.ia->ops->ep.is_idle(ep, &is_recv_idle, &is_request_idle);
    if (state_p != NULL)
        *state_p = (DAT_EP_STATE)atomic_load(&ep->state);
    if (recv_idle_p != NULL)
        *recv_idle_p = is_recv_idle ? DAT_TRUE : DAT_FALSE;
    if (request_idle_p != NULL)
        *request_idle_p = is_request_idle ? DAT_TRUE : DAT_FALSE;
    pthread_mutex_unlock(&ep->obj.ia->lock);
    return DAT_SUCCESS;
}

static bool mark_is_ok(DAT_COUNT value)
{
    return value == DAT_WATERMARK_INFINITE || (value >= 0 && value <= DM_DTO_MAX);
}

DAT_RETURN dm_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);

    if (ep == NULL)
        return DM_DAT_BAD(EP);
    if (ep->obj.ia->ops->ep.n_recvs == NULL)
        return DM_DAT(DAT_NOT_IMPLEMENTED, 0);
    if (!mark_is_ok(soft))
        return DM_DAT_ARG(2);
    if (!mark_is_ok(hard))
        return DM_DAT_ARG(3);
    if (ep->srq == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RECV_WATERMARK);
    pthread_mutex_lock(&ep->obj.ia->lock);
    ep->obj.ia->ops->ep.set_marks(ep, soft, hard);
    pthread_mutex_unlock(&ep->obj.ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *n_p, DAT_COUNT *span_p)
{
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_COUNT n;

    if (ep == NULL)
        return DM_DAT_BAD(EP);
    if (ep->obj.ia->ops->ep.n_recvs == NULL)
        return DM_DAT(DAT_NOT_IMPLEMENTED, 0);
    pthread_mutex_lock(&ep->obj.ia->lock);
    n = (DAT_COUNT)(ep->obj.ia->ops->ep.n_recvs(ep) - atomic_load(&ep->n_recv_reaped));
    pthread_mutex_unlock(&ep->obj.ia->lock);
    if (n < 0)
        n = 0; /* of a peer that died before it had counted */
    if (n_p != NULL)
        *n_p = n;
    if (span_p != NULL)
        *span_p = n; /* messages arrive and complete in order */
    return DAT_SUCCESS;
}

static DAT_RETURN ep_reset_locked(struct dm_ep *ep)
{
    int state = atomic_load(&ep->state);

    if (state == DAT_EP_STATE_UNCONNECTED)
        return DAT_SUCCESS;
    if (state != DAT_EP_STATE_DISCONNECTED)
        return dm_ep_bad_state(state);
    /* Completions still queued belong to the life before. */
    ep->obj.gen++;
    atomic_store(&ep->n_recv_reaped, 0);
    atomic_store(&ep->n_request_reaped, 0);
    ep->obj.ia->ops->ep.reset(ep);
    atomic_store(&ep->state, DAT_EP_STATE_UNCONNECTED);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ep_reset(DAT_EP_HANDLE handle)
{
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    struct dm_pia *ia;
    DAT_RETURN ret;

    if (ep == NULL)
        return DM_DAT_BAD(EP);
    ia = ep->obj.ia;
    if (ia->is_threadsafe) { /* others may be posting, and find it gone */
        pthread_mutex_lock(&ep->post_lock);
        pthread_mutex_lock(&ep->recv_lock);
    }
    pthread_mutex_lock(&ia->lock);
    ret = ep_reset_locked(ep);
    pthread_mutex_unlock(&ia->lock);
    if (ia->is_threadsafe) {
        pthread_mutex_unlock(&ep->recv_lock);
        pthread_mutex_unlock(&ep->post_lock);
    }
    return ret;
}

void dm_ep_destroy(struct dm_ep *ep)
{
    ep->obj.ia->ops->ep.destroy(ep);
    dm_ep_release(ep);
    if (ep->srq != NULL)
        ep->srq->n_refs--;
    pthread_mutex_destroy(&ep->post_lock);
    pthread_mutex_destroy(&ep->recv_lock);
    dm_obj_free(ep);
}

DAT_RETURN dm_ep_free(DAT_EP_HANDLE handle)
{
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;
    int state;

    if (ep == NULL)
        return DM_DAT_BAD(EP);
    ia = ep->obj.ia;
    pthread_mutex_lock(&ia->lock);
    state = atomic_load(&ep->state);
    if (state == DAT_EP_STATE_RESERVED || state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
        state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
        ret = dm_ep_bad_state(state);
    else if (ia->ops->ep.close != NULL && !ia->ops->ep.close(ep))
        ret = dm_ep_bad_state(DAT_EP_STATE_DISCONNECT_PENDING);
    else
        dm_ep_destroy(ep);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}
