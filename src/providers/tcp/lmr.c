/*
 * Memory regions: the end of one.
 */
#include "providers/net/key.h"
#include "providers/tcp/dto.h"

/* Has all that was posted from the region left the queues? */
static bool lmr_is_unqueued(struct dm_net *net, const struct dm_pz *pz, uint32_t key)
{
    dm_list_for_each (it, &net->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_tcp_ep *ep = dm_container_of(it, struct dm_tcp_ep, ep.obj.link);

        if (ep->ep.pz == pz && ep->conn != NULL && ep->conn->state == DM_CONN_UP &&
            !ep->is_failing && dm_tcp_dto_is_waiting(ep, key))
            return false;
    }
    return true;
}

/* What the kernel has is a copy: a request is over for its memory when it is sent. What has been
 * posted is sent first, unless it waits for a receive. */
bool dm_tcp_lmr_hide(struct dm_lmr *lmr)
{
    struct dm_net *net = (struct dm_net *)lmr->obj.ia;

    if (!dm_net_wait_over(net, lmr->pz, lmr->key, lmr_is_unqueued))
        return false;
    dm_net_key_hide(net, lmr->key);
    return dm_net_key_wait(net, lmr->pz, lmr->key);
}
