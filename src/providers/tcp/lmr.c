/*
 * Memory regions: a context. The file of shared memory is of no use here: the memory is the
 * caller's, as any.
 */
#include "providers/tcp/dto.h"
#include "providers/tcp/key.h"

DAT_RETURN dm_tcp_lmr_register(struct dm_lmr *lmr, const struct dm_lmr_file *file,
                               const struct dm_lmr *from)
{
    struct dm_tcp_region region = {.key = dm_tcp_key_new(lmr->obj.ia),
                                   .pz = lmr->pz,
                                   .va = lmr->va,
                                   .len = lmr->len,
                                   .addr = lmr->addr,
                                   .priv = DM_PRIV_LMR(lmr->priv)};

    (void)file;
    (void)from;
    if (region.key == 0)
        return DM_DAT_NO_REGION;
    dm_tcp_key_open((struct dm_tcp_ia *)lmr->obj.ia, &region);
    lmr->key = region.key;
    return DAT_SUCCESS;
}

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
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)lmr->obj.ia;

    if (!dm_net_wait_over(&ia->net, lmr->pz, lmr->key, lmr_is_unqueued))
        return false;
    dm_tcp_key_hide(ia, lmr->key);
    return dm_tcp_key_wait(ia, lmr->pz, lmr->key);
}

void dm_tcp_lmr_deregister(struct dm_lmr *lmr)
{
    dm_tcp_key_hide((struct dm_tcp_ia *)lmr->obj.ia, lmr->key);
    dm_tcp_key_free(lmr->obj.ia, lmr->key);
}
