/*
 * Memory regions: who uses one, and its end.
 */
#include "providers/net/op.h"
#include "providers/tcp/dto.h"
#include "providers/tcp/pinned.h"

/* Does the peer write to the region now, or is it to get something from there? */
static bool conn_is_using(struct dm_tcp_conn *conn, uint32_t key)
{
    const struct dm_tcp_in *in = &conn->in;

    if (in->left > 0 && in->head.type <= DM_TCP_WRITE_IMMED && in->head.key == key)
        return true;
    if (in->op != NULL && dm_net_op_uses(&in->op->base, key))
        return true;
    dm_list_for_each (it, &conn->out.answers)
        if (dm_container_of(it, struct dm_tcp_answer, link)->key == key)
            return true;
    return dm_tcp_pinned_uses(conn, key);
}

/* A request that is pinned is acknowledged soon. */
static bool ep_is_using(struct dm_tcp_ep *ep, uint32_t key)
{
    if (dm_tcp_dto_is_using(ep, key)) {
        dm_tcp_dto_recall(ep);
        return true;
    }
    return conn_is_using(dm_tcp_ep_conn(ep), key);
}

bool dm_tcp_region_is_left(struct dm_net *net, const struct dm_pz *pz, uint32_t key)
{
    dm_list_for_each (it, &net->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_tcp_ep *ep = dm_container_of(it, struct dm_tcp_ep, base.ep.obj.link);

        if (ep->base.ep.pz == pz && ep->base.conn != NULL &&
            ep->base.conn->state != DM_CONN_CLOSED && ep_is_using(ep, key))
            return false;
    }
    return true;
}

/* Has all that was posted from the region left the queues? */
static bool lmr_is_unqueued(struct dm_net *net, const struct dm_pz *pz, uint32_t key)
{
    dm_list_for_each (it, &net->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_tcp_ep *ep = dm_container_of(it, struct dm_tcp_ep, base.ep.obj.link);

        if (ep->base.ep.pz == pz && ep->base.conn != NULL && ep->base.conn->state == DM_CONN_UP &&
            !ep->base.is_failing && dm_tcp_dto_is_waiting(ep, key))
            return false;
    }
    return true;
}

/* What has been posted is sent first, unless it waits for a receive. What the kernel has is a copy, or
 * is acknowledged soon. */
bool dm_tcp_lmr_hide(struct dm_lmr *lmr)
{
    struct dm_net *net = (struct dm_net *)lmr->obj.ia;

    if (!dm_net_wait_over(net, lmr->pz, lmr->key, lmr_is_unqueued))
        return false;
    dm_net_key_hide(net, lmr->key);
    return dm_net_key_wait(net, lmr->pz, lmr->key);
}
