/*
 * Connecting and disconnecting: the calls.
 */
#include <string.h>

#include "providers/common/provider.h"

static DAT_RETURN connect_check(const struct dm_ep *ep)
{
    int state = atomic_load(&ep->state);

    if (state != DAT_EP_STATE_UNCONNECTED)
        return dm_ep_bad_state(state);
    if (ep->connect_evd == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_CONNECT);
    if (ep->pz == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL qual,
                         DAT_TIMEOUT timeout, DAT_COUNT len, const DAT_PVOID data, DAT_QOS qos,
                         DAT_CONNECT_FLAGS flags)
{
    const struct dm_connect how = {
        .addr = addr, .qual = qual, .timeout = timeout, .len = len, .data = data};
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_RETURN ret;

    if (ep == NULL)
        return DM_DAT_BAD(EP);
    if (addr == NULL)
        return DM_DAT_ARG(2);
    if (timeout == 0)
        return DM_DAT_ARG(4);
    if (len < 0 || len > DM_PRIVATE_MAX)
        return DM_DAT_ARG(5);
    if (len > 0 && data == NULL)
        return DM_DAT_ARG(6);
    if (qos != DAT_QOS_BEST_EFFORT || flags != DAT_CONNECT_DEFAULT_FLAG)
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    pthread_mutex_lock(&ep->obj.ia->lock);
    ret = connect_check(ep);
    if (ret == DAT_SUCCESS)
        ret = ep->obj.ia->ops->ep.connect(ep, &how);
    pthread_mutex_unlock(&ep->obj.ia->lock);
    return ret;
}

DAT_RETURN dm_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
                             DAT_COUNT len, const DAT_PVOID data, DAT_QOS qos)
{
    struct dm_ep *dup = dm_obj_get(dup_handle, DAT_HANDLE_TYPE_EP);
    union dm_addr addr;

    if (dm_obj_get(handle, DAT_HANDLE_TYPE_EP) == NULL)
        return DM_DAT_BAD(EP);
    if (dup == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE2);
    if (atomic_load(&dup->state) != DAT_EP_STATE_CONNECTED || dup->remote_qual == 0)
        return dm_ep_bad_state(atomic_load(&dup->state));
    addr = dup->remote_addr;
    return dm_ep_connect(handle, (DAT_IA_ADDRESS_PTR)&addr, dup->remote_qual, timeout, len, data,
                         qos, DAT_CONNECT_DEFAULT_FLAG);
}

DAT_RETURN dm_ep_common_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr, DAT_TIMEOUT timeout,
                                DAT_COUNT len, const DAT_PVOID data)
{
    const struct dm_connect how = {.addr = addr, .timeout = timeout, .len = len, .data = data};
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_RETURN ret;
    DAT_COMM comm;

    if (ep == NULL)
        return DM_DAT_BAD(EP);
    if (addr == NULL)
        return DM_DAT_ARG(2);
    if (timeout == 0)
        return DM_DAT_ARG(3);
    if (len < 0 || len > DM_PRIVATE_MAX)
        return DM_DAT_ARG(4);
    if (len > 0 && data == NULL)
        return DM_DAT_ARG(5);
    if (ep->obj.ia->ops->ep.common_connect == NULL)
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    pthread_mutex_lock(&ep->obj.ia->lock);
    ret = connect_check(ep);
    if (ret == DAT_SUCCESS)
        ret = dm_comm_complete(&ep->comm, &comm);
    if (ret == DAT_SUCCESS)
        ret = ep->obj.ia->ops->ep.common_connect(ep, &comm, &how);
    pthread_mutex_unlock(&ep->obj.ia->lock);
    return ret;
}

static DAT_RETURN disconnect_locked(struct dm_ep *ep, DAT_CLOSE_FLAGS flags)
{
    const struct dm_prov_ep_ops *ops = &ep->obj.ia->ops->ep;
    bool is_recv_idle;
    bool is_idle;
    int state;

    if (ops->refresh != NULL)
        ops->refresh(ep);
    state = atomic_load(&ep->state);
    switch (state) {
    case DAT_EP_STATE_DISCONNECTED:
        return DAT_SUCCESS;
    case DAT_EP_STATE_DISCONNECT_PENDING:
        if (flags == DAT_CLOSE_GRACEFUL_FLAG)
            return DAT_SUCCESS;
        break;
    case DAT_EP_STATE_CONNECTED:
        ops->is_idle(ep, &is_recv_idle, &is_idle);
        if (flags == DAT_CLOSE_GRACEFUL_FLAG && !is_idle) {
            ep->is_draining = true;
            atomic_store(&ep->state, DAT_EP_STATE_DISCONNECT_PENDING);
            return DAT_SUCCESS;
        }
        break;
    case DAT_EP_STATE_COMPLETION_PENDING:
    case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
        break;
    default:
        return dm_ep_bad_state(state);
    }
    ep->is_draining = false;
    ops->disconnect(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
    struct dm_ep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_RETURN ret;

    if (ep == NULL)
        return DM_DAT_BAD(EP);
    if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&ep->obj.ia->lock);
    ret = disconnect_locked(ep, flags);
    if (ep->obj.ia->ops->ia.reap != NULL)
        ep->obj.ia->ops->ia.reap(ep->obj.ia);
    pthread_mutex_unlock(&ep->obj.ia->lock);
    return ret;
}
