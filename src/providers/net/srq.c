/*
 * Shared receive queues.
 *
 * A message to an endpoint with a shared queue asks for its receive first: when there is none it
 * waits at the sender, and what the sender answers to us does not wait behind it. It gets one in
 * the order of asking, and only then is sent.
 */
#include "providers/net/srq.h"

#include <stdlib.h>

#include "providers/net/op.h"
#include "providers/net/transport.h"

DAT_RETURN dm_net_srq_create(struct dm_srq *srq)
{
    dm_list_init(&((struct dm_net_srq *)srq)->recvs);
    return DAT_SUCCESS;
}

void dm_net_srq_destroy(struct dm_srq *any)
{
    struct dm_net_srq *srq = (struct dm_net_srq *)any;

    while (!dm_list_is_empty(&srq->recvs)) {
        struct dm_net_op *op = dm_container_of(srq->recvs.next, struct dm_net_op, link);

        dm_list_del(&op->link);
        dm_net_op_free((struct dm_net *)any->obj.ia, op);
    }
}

/* Fewer receives than the low watermark: report it, once. */
static void net_srq_low_check(struct dm_net_srq *srq)
{
    if (!srq->is_low_armed || srq->n_available >= (uint32_t)srq->srq.attr.low_watermark)
        return;
    srq->is_low_armed = false;
    dm_evd_add_async(srq->srq.obj.ia->async_evd, DM_MARK_EVENT, (DAT_HANDLE)srq,
                     DAT_SRQ_LOW_WATERMARK_EVENT);
}

/* Receives for messages of this endpoint that have not been dequeued. */
static uint32_t net_srq_outstanding(const struct dm_net_ep *ep)
{
    return ep->n_taken - atomic_load(&ep->ep.n_recv_reaped);
}

static void net_srq_soft_check(struct dm_net_ep *ep)
{
    if (!ep->is_soft_armed || net_srq_outstanding(ep) <= (uint32_t)ep->ep.attr.srq_soft_hw)
        return;
    ep->is_soft_armed = false;
    dm_evd_add_async(ep->ep.obj.ia->async_evd, DM_MARK_EVENT, (DAT_HANDLE)ep,
                     DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

/* Give a message its receive. */
static void net_srq_grant(struct dm_net_ep *ep, uint64_t id, uint64_t len)
{
    struct dm_net_srq *srq = ep->srq;
    struct dm_net_op *op = dm_container_of(srq->recvs.next, struct dm_net_op, link);

    dm_list_del(&op->link);
    srq->n_available--;
    srq->n_taken++;
    ep->n_taken++;
    dm_transport_recv_add(ep, op);
    net_srq_low_check(srq);
    net_srq_soft_check(ep);
    dm_transport_recv_answer(ep, id, !dm_transport_recv_fits(ep, len));
}

void dm_net_srq_asked(struct dm_net_ep *ep, uint64_t id, uint64_t len)
{
    struct dm_net_asked *asked;

    if (ep->srq == NULL || (ep->hard_mark != DAT_WATERMARK_INFINITE &&
                            net_srq_outstanding(ep) >= (uint32_t)ep->hard_mark)) {
        dm_transport_recv_answer(ep, id, true);
        return;
    }
    if (ep->srq->n_available > 0) {
        net_srq_grant(ep, id, len);
        return;
    }
    asked = malloc(sizeof(*asked));
    if (asked == NULL) {
        dm_transport_recv_answer(ep, id, true);
        return;
    }
    asked->id = id;
    asked->len = len;
    dm_list_add_tail(&ep->asked, &asked->link);
}

static struct dm_net_asked asked_take(struct dm_net_ep *ep)
{
    struct dm_net_asked *first = dm_container_of(ep->asked.next, struct dm_net_asked, link);
    struct dm_net_asked asked = *first;

    dm_list_del(&first->link);
    free(first);
    return asked;
}

void dm_net_srq_drop_asked(struct dm_net_ep *ep)
{
    while (!dm_list_is_empty(&ep->asked))
        (void)asked_take(ep);
}

/* A receive has been posted: grant it to a message that waits for one. */
static void net_srq_grant_waiting(struct dm_net_srq *srq)
{
    dm_list_for_each (it, &srq->srq.obj.ia->objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_net_ep *ep = dm_container_of(it, struct dm_net_ep, ep.obj.link);

        while (ep->srq == srq && !dm_list_is_empty(&ep->asked) && srq->n_available > 0) {
            struct dm_net_asked asked = asked_take(ep);

            net_srq_grant(ep, asked.id, asked.len);
        }
    }
}

static DAT_RETURN net_srq_post_locked(struct dm_net_srq *srq, const struct dm_dto *dto)
{
    struct dm_net_op *op;

    if (srq->n_available + srq->n_taken >= (uint32_t)srq->srq.attr.max_recv_dtos)
        return DM_DAT_NO_SRQ;
    op = dm_transport_op_new((struct dm_net *)srq->srq.obj.ia, dto);
    if (op == NULL)
        return DM_DAT_NOMEM;
    dm_list_add_tail(&srq->recvs, &op->link);
    srq->n_available++;
    if (srq->n_available == 1)
        net_srq_grant_waiting(srq);
    return DAT_SUCCESS;
}

DAT_RETURN dm_net_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                DAT_DTO_COOKIE cookie)
{
    struct dm_net_srq *srq = (struct dm_net_srq *)handle;
    struct dm_dto dto = {.kind = DM_OP_RECV, .cookie = cookie, .seg = seg};
    DAT_RETURN ret = dm_srq_post_check(handle, n, seg);

    if (ret != DAT_SUCCESS)
        return ret;
    dto.n_seg = (uint32_t)n;
    pthread_mutex_lock(&srq->srq.obj.ia->lock);
    ret = net_srq_post_locked(srq, &dto);
    pthread_mutex_unlock(&srq->srq.obj.ia->lock);
    return ret;
}

void dm_net_srq_count(struct dm_srq *any, uint32_t *n_available_p, uint32_t *n_outstanding_p)
{
    const struct dm_net_srq *srq = (const struct dm_net_srq *)any;

    *n_available_p = srq->n_available;
    *n_outstanding_p = srq->n_available + srq->n_taken;
}

DAT_RETURN dm_net_srq_resize(struct dm_srq *srq, DAT_COUNT n)
{
    (void)srq; /* lists have any length */
    (void)n;
    return DAT_SUCCESS;
}

void dm_net_srq_set_low(struct dm_srq *any)
{
    struct dm_net_srq *srq = (struct dm_net_srq *)any;

    srq->is_low_armed = any->attr.low_watermark > 0;
    net_srq_low_check(srq);
}

void dm_net_ep_marks_init(struct dm_net_ep *ep)
{
    ep->hard_mark = DAT_WATERMARK_INFINITE;
    ep->is_soft_armed = ep->ep.attr.srq_soft_hw > 0;
}

void dm_net_ep_set_marks(struct dm_ep *any, DAT_COUNT soft, DAT_COUNT hard)
{
    struct dm_net_ep *ep = (struct dm_net_ep *)any;

    any->attr.srq_soft_hw = soft;
    ep->is_soft_armed = soft != DAT_WATERMARK_INFINITE;
    ep->hard_mark = hard;
    net_srq_soft_check(ep);
}

uint32_t dm_net_ep_n_recvs(struct dm_ep *any)
{
    const struct dm_net_ep *ep = (const struct dm_net_ep *)any;

    return ep->srq != NULL ? ep->n_taken : ep->n_recv_posted;
}
