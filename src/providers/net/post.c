/*
 * Posting requests and receives.
 */
#include "providers/net/conn.h"
#include "providers/net/op.h"
#include "providers/net/transport.h"

static DAT_RETURN net_post_locked(struct dm_net_ep *ep, const struct dm_dto *dto)
{
    bool has_slot = dm_net_ep_has_slot(ep);
    bool is_late;
    int state;

    if (ep->ep.obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_EP))
        return DM_DAT_BAD(EP);
    if (dm_unlikely(!has_slot)) {
        dm_net_of(ep)->ops->ep_reclaim(ep);
        has_slot = dm_net_ep_has_slot(ep);
    }
    state = atomic_load(&ep->ep.state);
    /* Behind a failure that the consumer has not seen yet: to be flushed. */
    is_late = state == DAT_EP_STATE_DISCONNECT_PENDING && ep->conn != NULL &&
              (ep->is_failing || ep->conn->end.is_nak_sent || ep->conn->end.is_peer_terminated);
    if (state != DAT_EP_STATE_CONNECTED && state != DAT_EP_STATE_DISCONNECTED && !is_late)
        return dm_ep_bad_state(state);
    if (!has_slot)
        return DM_DAT_NOMEM;
    if (state == DAT_EP_STATE_CONNECTED || is_late)
        return dm_transport_post(ep, dto);
    dm_net_dto_complete(ep, dto, DAT_DTO_ERR_FLUSHED, 0);
    return DAT_SUCCESS;
}

DAT_RETURN dm_net_post(struct dm_ep *ep, const struct dm_dto *dto)
{
    struct dm_pia *ia = ep->obj.ia;
    DAT_RETURN ret;

    pthread_mutex_lock(&ia->lock);
    ret = net_post_locked((struct dm_net_ep *)ep, dto);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

static DAT_RETURN net_post_checked(DAT_EP_HANDLE handle, struct dm_dto *dto, DAT_COUNT n,
                                   const DAT_RMR_TRIPLET *remote)
{
    DAT_RETURN ret = dm_dto_check(handle, dto, n, remote);

    return ret == DAT_SUCCESS ? dm_net_post((struct dm_ep *)handle, dto) : ret;
}

DAT_RETURN dm_net_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_SEND, .flags = flags, .cookie = cookie, .seg = seg};

    return net_post_checked(ep, &dto, n, NULL);
}

DAT_RETURN dm_net_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_WRITE, .flags = flags, .cookie = cookie, .seg = seg};

    return net_post_checked(ep, &dto, n, remote);
}

DAT_RETURN dm_net_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_READ, .flags = flags, .cookie = cookie, .seg = seg};

    return net_post_checked(ep, &dto, n, remote);
}

static DAT_RETURN net_recv_post_locked(struct dm_net_ep *ep, const struct dm_dto *dto)
{
    uint32_t used =
        ep->n_recv_posted - atomic_load_explicit(&ep->ep.n_recv_reaped, memory_order_acquire);
    struct dm_net_op *op;

    if (used >= (uint32_t)ep->ep.attr.max_recv_dtos)
        return DM_DAT_NOMEM;
    op = dm_transport_op_new(dm_net_of(ep), dto);
    if (op == NULL)
        return DM_DAT_NOMEM;
    ep->n_recv_posted++;
    dm_transport_recv_add(ep, op);
    if (atomic_load(&ep->ep.state) == DAT_EP_STATE_DISCONNECTED)
        dm_transport_recv_flush(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_net_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_net_ep *ep = (struct dm_net_ep *)handle;
    struct dm_dto dto = {.kind = DM_OP_RECV, .flags = flags, .cookie = cookie, .seg = seg};
    DAT_RETURN ret = dm_recv_check(handle, n, seg, flags);

    if (ret != DAT_SUCCESS)
        return ret;
    dto.n_seg = (uint32_t)n;
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    ret = net_recv_post_locked(ep, &dto);
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return ret;
}
