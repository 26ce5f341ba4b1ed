/*
 * Shared receive queues (uDAPL 2.0, dat_srq_*), and the watermarks.
 *
 * The fabric would give a receive away when a connection is made. So a message
 * to an endpoint with a shared queue asks for its receive first (mail), gets
 * one of this endpoint in the order of asking, and only then is sent.
 *
 * An SRQ and its endpoints have one PZ. The watermark given on creation is
 * what a query shows; dat_srq_set_lw() arms it for one event.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <string.h>

#include "providers/ofi/calls.h"

#define BAD_SRQ DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ)
#define NO_ROOM DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ)

/* DAT has no number of its own for watermarks: see shm/srq.h. */
#define MARK_EVENT DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR

DAT_RETURN dm_ofi_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *attr,
                             DAT_SRQ_HANDLE *srq_p)
{
    struct dm_ofi_ia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_pz *pz = dm_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
    struct dm_srq *srq;

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (pz == NULL || pz->obj.ia != &ia->pia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (attr == NULL || attr->max_recv_dtos <= 0 || attr->max_recv_dtos > DM_DTO_MAX ||
        attr->max_recv_iov <= 0 || attr->max_recv_iov > DM_IOV_MAX || attr->low_watermark < 0 ||
        attr->low_watermark > attr->max_recv_dtos)
        return DM_DAT_ARG(3);
    if (srq_p == NULL)
        return DM_DAT_ARG(4);
    pthread_mutex_lock(&ia->pia.lock);
    srq = dm_obj_new(ia->pia.obj.provider, &ia->pia, DAT_HANDLE_TYPE_SRQ, sizeof(*srq));
    if (srq != NULL) {
        srq->attr = *attr;
        srq->pz = pz;
        dm_list_init(&srq->recvs);
        pz->n_refs++;
    }
    pthread_mutex_unlock(&ia->pia.lock);
    if (srq == NULL)
        return DM_DAT_NOMEM;
    *srq_p = (DAT_SRQ_HANDLE)srq;
    return DAT_SUCCESS;
}

void dm_ofi_srq_destroy(struct dm_srq *srq)
{
    while (!dm_list_is_empty(&srq->recvs)) {
        struct dm_ofi_op *op = dm_container_of(srq->recvs.next, struct dm_ofi_op, link);

        dm_list_del(&op->link);
        dm_ofi_op_free((struct dm_ofi_ia *)srq->obj.ia, op);
    }
    srq->pz->n_refs--;
    dm_obj_free(srq);
}

DAT_RETURN dm_ofi_srq_free(DAT_SRQ_HANDLE handle)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (srq == NULL)
        return BAD_SRQ;
    ia = srq->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (srq->n_refs > 0)
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    else
        dm_ofi_srq_destroy(srq);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

/* Fewer receives than the low watermark: say so, once. */
static void low_check(struct dm_srq *srq)
{
    if (!srq->is_low_armed || srq->n_available >= (uint32_t)srq->attr.low_watermark)
        return;
    srq->is_low_armed = false;
    dm_evd_add_async(srq->obj.ia->async_evd, MARK_EVENT, (DAT_HANDLE)srq,
                     DAT_SRQ_LOW_WATERMARK_EVENT);
}

/* Receives for messages of this endpoint that have not been dequeued. */
static uint32_t outstanding(const struct dm_oep *ep)
{
    return ep->n_taken - atomic_load(&ep->ep.n_recv_reaped);
}

static void soft_check(struct dm_oep *ep)
{
    if (!ep->is_soft_armed || outstanding(ep) <= (uint32_t)ep->ep.attr.srq_soft_hw)
        return;
    ep->is_soft_armed = false;
    dm_evd_add_async(ep->ep.obj.ia->async_evd, MARK_EVENT, (DAT_HANDLE)ep,
                     DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

static void answer(struct dm_oep *ep, const struct dm_ofi_mail *ask, bool is_refused)
{
    struct dm_ofi_mail mail = {.type = DM_MAIL_RECV, .status = is_refused, .id = ask->id};

    dm_ofi_mail_post(ep, &mail);
}

/* Give a message its receive. */
static void grant(struct dm_oep *ep, const struct dm_ofi_mail *ask)
{
    struct dm_srq *srq = ep->srq;
    struct dm_ofi_op *op = dm_container_of(srq->recvs.next, struct dm_ofi_op, link);

    dm_list_del(&op->link);
    srq->n_available--;
    srq->n_taken++;
    ep->n_taken++;
    op->ep = ep;
    dm_list_add_tail(&ep->recv_queue, &op->link);
    dm_ofi_recvs_push(ep);
    low_check(srq);
    soft_check(ep);
    answer(ep, ask, !dm_ofi_recvs_take(ep, ask->value[0]));
}

void dm_ofi_srq_asked(struct dm_oep *ep, const struct dm_ofi_mail *ask)
{
    struct dm_ofi_letter *letter;

    if (ep->srq == NULL) {
        answer(ep, ask, !dm_ofi_recvs_take(ep, ask->value[0]));
        return;
    }
    if (ep->hard != DAT_WATERMARK_INFINITE && outstanding(ep) >= (uint32_t)ep->hard) {
        answer(ep, ask, true);
        return;
    }
    if (ep->srq->n_available > 0) {
        grant(ep, ask);
        return;
    }
    letter = malloc(sizeof(*letter));
    if (letter == NULL) {
        answer(ep, ask, true);
        return;
    }
    letter->mail = *ask;
    dm_list_add_tail(&ep->asked, &letter->link);
}

void dm_ofi_srq_forget(struct dm_oep *ep)
{
    while (!dm_list_is_empty(&ep->asked)) {
        struct dm_ofi_letter *letter = dm_container_of(ep->asked.next, struct dm_ofi_letter, link);

        dm_list_del(&letter->link);
        free(letter);
    }
}

void dm_ofi_srq_returned(struct dm_oep *ep)
{
    ep->srq->n_taken--;
}

/* A receive has come: who has waited for one? */
static void serve(struct dm_srq *srq)
{
    dm_list_for_each (it, &srq->obj.ia->objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_oep *ep = dm_container_of(it, struct dm_oep, ep.obj.link);

        while (ep->srq == srq && !dm_list_is_empty(&ep->asked) && srq->n_available > 0) {
            struct dm_ofi_letter *letter =
                dm_container_of(ep->asked.next, struct dm_ofi_letter, link);

            dm_list_del(&letter->link);
            grant(ep, &letter->mail);
            free(letter);
        }
    }
}

static DAT_RETURN post_locked(struct dm_srq *srq, const struct dm_ofi_dto *dto)
{
    struct dm_ofi_op *op;

    if (srq->n_available + srq->n_taken >= (uint32_t)srq->attr.max_recv_dtos)
        return NO_ROOM;
    op = dm_ofi_op_new(NULL, (struct dm_ofi_ia *)srq->obj.ia, dto);
    if (op == NULL)
        return DM_DAT_NOMEM;
    dm_list_add_tail(&srq->recvs, &op->link);
    srq->n_available++;
    if (srq->n_available == 1)
        serve(srq);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                DAT_DTO_COOKIE cookie)
{
    struct dm_srq *srq = (struct dm_srq *)handle;
    struct dm_ofi_dto dto = {.kind = DM_OP_RECV, .cookie = cookie, .seg = seg};
    DAT_RETURN ret;

    if (!dm_obj_is(srq, DAT_HANDLE_TYPE_SRQ))
        return BAD_SRQ;
    if (n < 0 || n > srq->attr.max_recv_iov)
        return DM_DAT_ARG(2);
    if (n > 0 && seg == NULL)
        return DM_DAT_ARG(3);
    dto.n_seg = (uint32_t)n;
    pthread_mutex_lock(&srq->obj.ia->lock);
    ret = post_locked(srq, &dto);
    pthread_mutex_unlock(&srq->obj.ia->lock);
    return ret;
}

DAT_RETURN dm_ofi_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);

    (void)mask;
    if (srq == NULL)
        return BAD_SRQ;
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(srq->obj.ia);
    param->srq_state = DAT_SRQ_STATE_OPERATIONAL;
    param->pz_handle = srq->pz;
    param->max_recv_dtos = srq->attr.max_recv_dtos;
    param->max_recv_iov = srq->attr.max_recv_iov;
    param->low_watermark = srq->attr.low_watermark;
    pthread_mutex_lock(&srq->obj.ia->lock);
    param->available_dto_count = (DAT_COUNT)srq->n_available;
    param->outstanding_dto_count = (DAT_COUNT)(srq->n_available + srq->n_taken);
    pthread_mutex_unlock(&srq->obj.ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT n)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);
    DAT_RETURN ret = DAT_SUCCESS;

    if (srq == NULL)
        return BAD_SRQ;
    if (n <= 0 || n > DM_DTO_MAX)
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&srq->obj.ia->lock);
    if ((uint32_t)n < srq->n_available + srq->n_taken || n < srq->attr.low_watermark)
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    else
        srq->attr.max_recv_dtos = n;
    pthread_mutex_unlock(&srq->obj.ia->lock);
    return ret;
}

DAT_RETURN dm_ofi_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);

    if (srq == NULL)
        return BAD_SRQ;
    if (low < 0 || low > srq->attr.max_recv_dtos)
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&srq->obj.ia->lock);
    srq->attr.low_watermark = low;
    srq->is_low_armed = low > 0;
    low_check(srq); /* it may be passed already */
    pthread_mutex_unlock(&srq->obj.ia->lock);
    return DAT_SUCCESS;
}

static bool is_mark(DAT_COUNT value)
{
    return value == DAT_WATERMARK_INFINITE || (value >= 0 && value <= DM_DTO_MAX);
}

void dm_ofi_ep_marks_init(struct dm_oep *ep)
{
    ep->hard = DAT_WATERMARK_INFINITE;
    ep->is_soft_armed = ep->ep.attr.srq_soft_hw > 0;
}

DAT_RETURN dm_ofi_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
    struct dm_oep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);

    if (ep == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (!is_mark(soft))
        return DM_DAT_ARG(2);
    if (!is_mark(hard))
        return DM_DAT_ARG(3);
    if (ep->srq == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RECV_WATERMARK);
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    ep->ep.attr.srq_soft_hw = soft;
    ep->is_soft_armed = soft != DAT_WATERMARK_INFINITE;
    ep->hard = hard;
    soft_check(ep); /* it may be passed already */
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *n_p, DAT_COUNT *span_p)
{
    struct dm_oep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_COUNT n;

    if (ep == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    n = (DAT_COUNT)((ep->srq != NULL ? ep->n_taken : ep->n_recv_posted) -
                    atomic_load(&ep->ep.n_recv_reaped));
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    if (n_p != NULL)
        *n_p = n;
    if (span_p != NULL)
        *span_p = n; /* messages arrive and complete in order */
    return DAT_SUCCESS;
}
