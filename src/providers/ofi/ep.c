/*
 * Endpoints: life cycle. Unlike its fid_ep, which lasts as long as a
 * connection, a DAT endpoint may be connected again and again.
 */
#include "providers/ofi/calls.h"

DAT_RETURN dm_ofi_ep_create(struct dm_ep *any)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;

    dm_list_init(&ep->sent);
    dm_list_init(&ep->queue);
    dm_list_init(&ep->recvs);
    dm_list_init(&ep->recv_queue);
    dm_list_init(&ep->mails);
    dm_list_init(&ep->asked);
    ep->srq = (struct dm_ofi_srq *)any->srq;
    dm_ofi_ep_marks_init(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_ep_modified(struct dm_ep *ep, bool is_queue_new)
{
    (void)is_queue_new; /* lists have any length */
    dm_ofi_ep_marks_init((struct dm_ofi_ep *)ep);
    return DAT_SUCCESS;
}

void dm_ofi_ep_is_idle(struct dm_ep *any, bool *is_recv_idle_p, bool *is_request_idle_p)
{
    const struct dm_ofi_ep *ep = (const struct dm_ofi_ep *)any;

    *is_recv_idle_p = dm_list_is_empty(&ep->recvs) && dm_list_is_empty(&ep->recv_queue);
    *is_request_idle_p = dm_list_is_empty(&ep->sent) && dm_list_is_empty(&ep->queue);
}

void dm_ofi_ep_reset(struct dm_ep *any)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;

    ep->n_recv_posted = 0;
    ep->n_signalled = 0;
    ep->n_taken = 0;
}

void dm_ofi_ep_destroy(struct dm_ep *ep)
{
    dm_ofi_ep_hang_up((struct dm_ofi_ep *)ep);
    dm_ofi_ep_flush((struct dm_ofi_ep *)ep);
}
