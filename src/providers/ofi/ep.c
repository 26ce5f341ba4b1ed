/*
 * Endpoints: life cycle. Unlike its fid_ep, which lasts as long as a
 * connection, a DAT endpoint may be connected again and again.
 */
#include "providers/ofi/calls.h"

#include <string.h>

#include "providers/ofi/dto.h"
#include "providers/ofi/rmr.h"

#define BAD_EP DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

static DAT_RETURN create_locked(struct dm_ofi_ia *ia, const struct dm_ep *want,
                                struct dm_oep **ep_p)
{
    struct dm_oep *ep = dm_obj_new(ia->pia.obj.provider, &ia->pia, DAT_HANDLE_TYPE_EP, sizeof(*ep));

    if (ep == NULL)
        return DM_DAT_NOMEM;
    ep->ep.pz = want->pz;
    ep->ep.recv_evd = want->recv_evd;
    ep->ep.request_evd = want->request_evd;
    ep->ep.connect_evd = want->connect_evd;
    ep->ep.attr = want->attr;
    atomic_store(&ep->ep.state, DAT_EP_STATE_UNCONNECTED);
    dm_list_init(&ep->sent);
    dm_list_init(&ep->queue);
    dm_list_init(&ep->recvs);
    dm_list_init(&ep->recv_queue);
    dm_list_init(&ep->mails);
    dm_list_init(&ep->asked);
    if (want->srq != DAT_HANDLE_NULL) {
        ep->ep.srq = want->srq;
        ep->srq = want->srq;
        ep->srq->n_refs++;
    }
    dm_ofi_ep_marks_init(ep);
    dm_ep_hold(&ep->ep);
    *ep_p = ep;
    return DAT_SUCCESS;
}

static DAT_RETURN create(struct dm_ofi_ia *ia, const DAT_HANDLE handles[4], struct dm_ep *want,
                         const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    struct dm_oep *ep = NULL;
    DAT_RETURN ret = dm_ep_create_check(&ia->pia, handles, attr, ep_p, want);

    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->pia.lock);
    ret = create_locked(ia, want, &ep);
    pthread_mutex_unlock(&ia->pia.lock);
    if (ret == DAT_SUCCESS)
        *ep_p = (DAT_EP_HANDLE)ep;
    return ret;
}

DAT_RETURN dm_ofi_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                            DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                            const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    const DAT_HANDLE handles[4] = {pz, recv_evd, request_evd, connect_evd};
    struct dm_ofi_ia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_ep want;

    memset(&want, 0, sizeof(want));
    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    return create(ia, handles, &want, attr, ep_p);
}

DAT_RETURN dm_ofi_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
                                     DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
                                     DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq_handle,
                                     const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    const DAT_HANDLE handles[4] = {pz, recv_evd, request_evd, connect_evd};
    struct dm_ofi_ia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_srq *srq = dm_obj_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
    struct dm_ep want;

    memset(&want, 0, sizeof(want));
    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (srq == NULL || srq->obj.ia != &ia->pia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
    /* Receives are checked against the endpoint's PZ, so it is the SRQ's. */
    if (pz != (DAT_PZ_HANDLE)srq->pz)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (recv_evd == DAT_HANDLE_NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
    want.srq = (DAT_SRQ_HANDLE)srq;
    return create(ia, handles, &want, attr, ep_p);
}

DAT_RETURN dm_ofi_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
    return dm_ep_query(handle, mask, param);
}

static DAT_RETURN modify_locked(struct dm_oep *ep, const struct dm_ep *want)
{
    int state = atomic_load(&ep->ep.state);
    bool is_queue_same = want->attr.max_recv_dtos == ep->ep.attr.max_recv_dtos &&
                         want->attr.max_recv_iov == ep->ep.attr.max_recv_iov;

    if (state != DAT_EP_STATE_UNCONNECTED)
        return dm_ep_bad_state(state);
    if (!is_queue_same && !dm_list_is_empty(&ep->recv_queue))
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
    dm_ep_modify(&ep->ep, want);
    dm_ofi_ep_marks_init(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
    struct dm_oep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    struct dm_ep want;
    struct dm_pia *ia;
    DAT_RETURN ret;

    if (ep == NULL)
        return BAD_EP;
    ia = ep->ep.obj.ia;
    ret = dm_ep_modify_check(&ep->ep, ep->srq != NULL ? ep->srq->pz : NULL, mask, param, &want);
    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->lock);
    ret = modify_locked(ep, &want);
    if (ret == DAT_SUCCESS && (mask & DAT_EP_FIELD_COMM) != 0)
        ep->ep.comm = param->comm;
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_ofi_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state_p,
                                DAT_BOOLEAN *recv_idle_p, DAT_BOOLEAN *request_idle_p)
{
    struct dm_oep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    bool is_recv_idle;

    if (ep == NULL)
        return BAD_EP;
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    is_recv_idle = dm_list_is_empty(&ep->recvs) && dm_list_is_empty(&ep->recv_queue);
    if (state_p != NULL)
        *state_p = (DAT_EP_STATE)atomic_load(&ep->ep.state);
    if (recv_idle_p != NULL)
        *recv_idle_p = is_recv_idle ? DAT_TRUE : DAT_FALSE;
    if (request_idle_p != NULL)
        *request_idle_p = dm_ofi_ep_is_idle(ep) ? DAT_TRUE : DAT_FALSE;
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_ep_reset(DAT_EP_HANDLE handle)
{
    struct dm_oep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_RETURN ret = DAT_SUCCESS;
    int state;

    if (ep == NULL)
        return BAD_EP;
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    state = atomic_load(&ep->ep.state);
    if (state == DAT_EP_STATE_DISCONNECTED && ep->conn == NULL) {
        /* Completions still queued belong to the life before. */
        ep->ep.obj.gen++;
        ep->n_recv_posted = 0;
        ep->n_signalled = 0;
        ep->n_taken = 0;
        atomic_store(&ep->ep.n_recv_reaped, 0);
        atomic_store(&ep->ep.n_request_reaped, 0);
        atomic_store(&ep->ep.state, DAT_EP_STATE_UNCONNECTED);
    } else if (state != DAT_EP_STATE_UNCONNECTED) {
        ret = dm_ep_bad_state(state);
    }
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return ret;
}

void dm_ofi_ep_destroy(struct dm_oep *ep)
{
    dm_ofi_ep_hang_up(ep);
    dm_ofi_ep_flush(ep);
    dm_ep_release(&ep->ep);
    if (ep->srq != NULL)
        ep->srq->n_refs--;
    dm_obj_free(ep);
}

DAT_RETURN dm_ofi_ep_free(DAT_EP_HANDLE handle)
{
    struct dm_oep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;
    int state;

    if (ep == NULL)
        return BAD_EP;
    ia = ep->ep.obj.ia;
    pthread_mutex_lock(&ia->lock);
    state = atomic_load(&ep->ep.state);
    if (state == DAT_EP_STATE_RESERVED || state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
        state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
        ret = dm_ep_bad_state(state);
    else
        dm_ofi_ep_destroy(ep);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}
