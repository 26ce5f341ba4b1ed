/*
 * A DAT provider for tests, in the process itself: two adapters "fake-a" and
 * "fake-b" whose endpoints talk to each other inside one process, with work done
 * late, a little at a time and in an order that only endpoints guarantee, and with
 * refusals on demand. One thread at a time (a lock around everything).
 */
#ifndef DM_TESTS_UNIT_FAKE_DAT_H
#define DM_TESTS_UNIT_FAKE_DAT_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>

#include "fake_obj.h"
#include "fake_work.h"

static void fake_words(const struct fake_ia *ia, DAT_PROVIDER_ATTR *attr)
{
    static DAT_NAMED_ATTR words[6];
    int n = 0;

    words[n++] = (DAT_NAMED_ATTR){"nothing", "known"};
    if (fake.reach != NULL && ia->is_a)
        words[n++] = (DAT_NAMED_ATTR){"reach", fake.reach};
    if (fake.last_byte_last != NULL)
        words[n++] = (DAT_NAMED_ATTR){"last_byte_last", fake.last_byte_last};
    if (fake.write_taken != NULL)
        words[n++] = (DAT_NAMED_ATTR){"write_taken", fake.write_taken};
    if (fake.threads != NULL)
        words[n++] = (DAT_NAMED_ATTR){"threads", fake.threads};
    if (fake.agents != NULL)
        words[n++] = (DAT_NAMED_ATTR){"agents", fake.agents};
    attr->num_provider_specific_attr = n;
    attr->provider_specific_attr = words;
}

static DAT_RETURN fake_ia_query(DAT_IA_HANDLE h, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK mask,
                                DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR_MASK pmask,
                                DAT_PROVIDER_ATTR *pattr)
{
    struct fake_ia *ia = h;

    (void)mask;
    (void)pmask;
    if (async != NULL)
        *async = &ia->async;
    if (attr != NULL) {
        memset(attr, 0, sizeof(*attr));
        attr->ia_address_ptr = ia->is_odd ? (void *)&ia->odd : (void *)&ia->addr;
        attr->max_dto_per_ep = fake.max_dtos > 0 ? fake.max_dtos : 1000;
        attr->max_evd_qlen = fake.max_evd > 0 ? fake.max_evd : 100000;
        attr->max_iov_segments_per_dto = 4;
        attr->max_rdma_size = 65536;
        attr->max_iov_segments_per_rdma_read = fake.is_ordered ? 4 : 1;
        attr->max_iov_segments_per_rdma_write = 4;
        attr->max_rdma_read_per_ep_in = fake.max_reads_in;
        attr->max_rdma_read_per_ep_out = fake.max_reads;
        if (fake.has_atomics)
            attr->extension_supported = DAT_EXTENSION_IB;
    }
    if (pattr != NULL) {
        memset(pattr, 0, sizeof(*pattr));
        pattr->dapl_version_major = 2;
        pattr->iov_ownership_on_return = fake.iov;
        fake_words(ia, pattr);
    }
    return DAT_SUCCESS;
}

static DAT_RETURN fake_ia_close(DAT_IA_HANDLE h, DAT_CLOSE_FLAGS flags)
{
    struct fake_ia *ia = h;

    fake.n_forced += flags == DAT_CLOSE_ABRUPT_FLAG;
    free(ia->async.ring);
    free(ia);
    return fake.fails_evd_free ? FAKE_ERR(DAT_INVALID_STATE) : DAT_SUCCESS;
}

static void fake_evd_init(struct fake_evd *evd, int cap)
{
    evd->obj = (struct fake_obj){&fake_prov, FAKE_EVD};
    evd->cap = cap;
    evd->ring = calloc((size_t)cap, sizeof(*evd->ring));
}

static DAT_RETURN fake_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
                               DAT_IA_HANDLE *ia_p)
{
    struct fake_ia *ia;

    if (fake.fails_open || (fake.absent != NULL && strcmp(name, fake.absent) == 0))
        return FAKE_ERR(DAT_INTERNAL_ERROR);
    ia = calloc(1, sizeof(*ia));
    ia->obj = (struct fake_obj){&fake_prov, FAKE_IA};
    ia->addr.sin_family = AF_INET;
    ia->addr.sin_addr.s_addr = htonl(strcmp(name, "fake-a") == 0 ? 0x0a000001 : 0x0a000002);
    ia->is_a = strcmp(name, "fake-a") == 0;
    ia->is_odd = fake.is_v6 && !ia->is_a;
    ia->odd.sin6_family = AF_INET6;
    ia->odd.sin6_addr.s6_addr[15] = 9;
    fake_evd_init(&ia->async, qlen);
    *async = &ia->async;
    *ia_p = ia;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
    struct fake_obj *obj = calloc(1, sizeof(*obj));

    (void)ia;
    *obj = (struct fake_obj){&fake_prov, FAKE_PZ};
    *pz = obj;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_free(DAT_HANDLE h)
{
    free(h);
    return DAT_SUCCESS;
}

/* It has no notification objects. */
static DAT_RETURN fake_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
                                  DAT_CNO_HANDLE *cno_p)
{
    (void)ia;
    (void)agent;
    (void)cno_p;
    return FAKE_ERR(DAT_NOT_IMPLEMENTED);
}

static DAT_RETURN fake_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
                                  DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_p)
{
    struct fake_evd *evd = calloc(1, sizeof(*evd));

    (void)ia;
    (void)cno;
    (void)flags;
    fake_evd_init(evd, qlen);
    *evd_p = evd;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_evd_free(DAT_EVD_HANDLE h)
{
    free(((struct fake_evd *)h)->ring);
    free(h);
    return fake.fails_evd_free ? FAKE_ERR(DAT_INTERNAL_ERROR) : DAT_SUCCESS;
}

static void fake_ended(const struct fake_ep *ep)
{
    for (struct fake_ep *one = fake.eps; one != NULL; one = one->next) {
        if (one == ep)
            one->has_end = false;
    }
}

static DAT_RETURN fake_take(struct fake_evd *evd, DAT_EVENT *event)
{
    fake_progress();
    if (evd->n_shown == 0 && (fake.hold == 0 || fake_random() % fake.hold == 0))
        evd->n_shown = evd->n;
    if (evd->n_shown == 0)
        return FAKE_ERR(DAT_QUEUE_EMPTY);
    *event = evd->ring[evd->head];
    if (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
        fake_ended(event->event_data.connect_event_data.ep_handle);
    evd->head = (evd->head + 1) % evd->cap;
    evd->n--;
    evd->n_shown--;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_evd_dequeue(DAT_EVD_HANDLE h, DAT_EVENT *event)
{
    DAT_RETURN rc;

    FAKE_ENTER(rc = fake_take(h, event));
    return rc;
}

static DAT_RETURN fake_evd_wait(DAT_EVD_HANDLE h, DAT_TIMEOUT us, DAT_COUNT threshold,
                                DAT_EVENT *event, DAT_COUNT *n_more)
{
    const struct timespec pause = {0, 20000};
    struct fake_evd *evd = h;
    DAT_RETURN rc;

    (void)threshold;
    *n_more = 0;
    for (unsigned waited = 0;; waited += 20) {
        FAKE_CALL(rc = evd->is_stopped ? FAKE_ERR(DAT_INVALID_STATE) : fake_take(h, event));
        if (DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY)
            return rc;
        if (waited >= us)
            return FAKE_ERR(DAT_TIMEOUT_EXPIRED);
        nanosleep(&pause, NULL);
    }
}

static DAT_RETURN fake_unwaitable(DAT_EVD_HANDLE h)
{
    FAKE_ENTER(((struct fake_evd *)h)->is_stopped = true);
    return DAT_SUCCESS;
}

static DAT_RETURN fake_waitable(DAT_EVD_HANDLE h)
{
    FAKE_ENTER(((struct fake_evd *)h)->is_stopped = false);
    return DAT_SUCCESS;
}

static DAT_RETURN fake_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
                                  DAT_REGION_DESCRIPTION region, DAT_VLEN len, DAT_PZ_HANDLE pz,
                                  DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr,
                                  DAT_LMR_CONTEXT *lctx, DAT_RMR_CONTEXT *rctx, DAT_VLEN *reg_len,
                                  DAT_VADDR *reg_addr)
{
    struct fake_lmr *obj = NULL;
    struct fake_ia *owner = ia;

    (void)pz;
    (void)priv;
    (void)va_type;
    fake_come();
    pthread_mutex_lock(&fake.lock);
    if (!(type == DAT_MEM_TYPE_SHARED_VIRTUAL && fake.refuses_shared) &&
        (fake.max_lmrs == 0 || fake.n_lmrs < fake.max_lmrs) &&
        (fake.max_locked == 0 || owner->n_locked + len <= fake.max_locked)) {
        obj = calloc(1, sizeof(*obj));
        obj->obj = (struct fake_obj){&fake_prov, FAKE_LMR};
        obj->len = len;
        obj->ia = owner;
        owner->n_locked += len;
        fake.n_lmrs++;
        *lctx = *rctx = ++fake.next_key;
    }
    pthread_mutex_unlock(&fake.lock);
    fake_go();
    if (obj == NULL)
        return FAKE_ERR(DAT_INSUFFICIENT_RESOURCES);
    *lmr = obj;
    *reg_len = len;
    *reg_addr = (DAT_VADDR)(uintptr_t)region.for_va;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_lmr_free(DAT_LMR_HANDLE h)
{
    FAKE_ENTER(fake.n_lmrs--; ((struct fake_lmr *)h)->ia->n_locked -= ((struct fake_lmr *)h)->len);
    free(h);
    return DAT_SUCCESS;
}

static DAT_RETURN fake_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
                                  DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p)
{
    struct fake_psp *psp;

    (void)flags;
    for (psp = fake.psps; psp != NULL; psp = psp->next) {
        if (psp->qual == qual)
            return DAT_CONN_QUAL_IN_USE; /* without class, as some providers have it */
    }
    psp = calloc(1, sizeof(*psp));
    psp->obj = (struct fake_obj){&fake_prov, FAKE_PSP};
    psp->qual = qual;
    psp->evd = evd;
    psp->addr = ((struct fake_ia *)ia)->addr;
    psp->next = fake.psps;
    fake.psps = psp;
    *psp_p = psp;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_psp_free(DAT_PSP_HANDLE h)
{
    struct fake_psp **at = &fake.psps;

    pthread_mutex_lock(&fake.lock);
    while (*at != h)
        at = &(*at)->next;
    *at = (*at)->next;
    pthread_mutex_unlock(&fake.lock);
    free(h);
    return DAT_SUCCESS;
}

static DAT_RETURN fake_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                                 DAT_EVD_HANDLE req_evd, DAT_EVD_HANDLE cm_evd,
                                 const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    struct fake_ep *ep;

    (void)pz;
    if (fake.max_dtos > 0 &&
        (attr->max_recv_dtos > fake.max_dtos || attr->max_request_dtos > fake.max_dtos))
        return FAKE_ERR(DAT_INVALID_PARAMETER);
    if (fake.max_iov != 0 && attr->max_request_iov > fake.max_iov)
        return FAKE_ERR(DAT_INVALID_PARAMETER);
    ep = calloc(1, sizeof(*ep));
    ep->obj = (struct fake_obj){&fake_prov, FAKE_EP};
    ep->recv_evd = recv_evd;
    ep->req_evd = req_evd;
    ep->cm_evd = cm_evd;
    ep->state = DAT_EP_STATE_UNCONNECTED;
    ep->max_req = attr->max_request_dtos;
    ep->async = ia != NULL ? &((struct fake_ia *)ia)->async : NULL;
    ep->rail = ia != NULL && ((struct fake_ia *)ia)->addr.sin_addr.s_addr != htonl(0x0a000001);
    ep->max_recv = attr->max_recv_dtos;
    ep->max_recv_iov = attr->max_recv_iov;
    ep->recvs_end = &ep->recvs;
    ep->work_end = &ep->work;
    FAKE_ENTER(ep->next = fake.eps; fake.eps = ep);
    *ep_p = ep;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
                                  DAT_SRQ_HANDLE *srq_p)
{
    struct fake_srq *srq;

    (void)ia;
    (void)pz;
    if (fake.max_srq < 0)
        return FAKE_ERR(DAT_NOT_IMPLEMENTED);
    if (fake.max_srq > 0 && attr->max_recv_dtos > fake.max_srq)
        return FAKE_ERR(DAT_INSUFFICIENT_RESOURCES);
    srq = calloc(1, sizeof(*srq));
    srq->obj = (struct fake_obj){&fake_prov, FAKE_SRQ};
    srq->recvs_end = &srq->recvs;
    srq->max = attr->max_recv_dtos;
    FAKE_ENTER(fake.n_srqs++);
    *srq_p = srq;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_srq_free(DAT_SRQ_HANDLE h)
{
    struct fake_srq *srq = h;
    struct fake_recv *recv;

    if (srq->n_eps > 0)
        return FAKE_ERR(DAT_INVALID_STATE);
    while ((recv = srq->recvs) != NULL) {
        srq->recvs = recv->next;
        free(recv);
    }
    FAKE_ENTER(fake.n_srqs--);
    free(srq);
    return DAT_SUCCESS;
}

static DAT_RETURN fake_srq_post_recv(DAT_SRQ_HANDLE h, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                     DAT_DTO_COOKIE cookie)
{
    struct fake_recv *recv = calloc(1, sizeof(*recv));
    struct fake_srq *srq = h;
    bool is_full;

    (void)n;
    recv->segs[0] = iov[0];
    recv->n_segs = 1;
    recv->theirs = fake.iov != DAT_IOV_CONSUMER ? iov : NULL;
    recv->cookie = cookie;
    FAKE_ENTER(is_full = srq->n >= srq->max; if (!is_full) {
        srq->n++;
        *srq->recvs_end = recv;
        srq->recvs_end = &recv->next;
    });
    if (is_full)
        free(recv);
    return is_full ? FAKE_ERR(DAT_INSUFFICIENT_RESOURCES) : DAT_SUCCESS;
}

static DAT_RETURN fake_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
                                          DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE req_evd,
                                          DAT_EVD_HANDLE cm_evd, DAT_SRQ_HANDLE srq,
                                          const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    DAT_RETURN rc = fake_ep_create(ia, pz, recv_evd, req_evd, cm_evd, attr, ep_p);

    if (rc == DAT_SUCCESS)
        FAKE_ENTER(((struct fake_ep *)*ep_p)->srq = srq; ((struct fake_srq *)srq)->n_eps++);
    return rc;
}

/* Only what the probes ask for. */
static DAT_RETURN fake_ep_query(DAT_EP_HANDLE h, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
    const struct fake_ep *ep = h;

    (void)mask;
    param->ep_attr.max_request_dtos = ep->max_req;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_ep_disconnect(DAT_EP_HANDLE h, DAT_CLOSE_FLAGS flags)
{
    const struct fake_ep *ep = h;

    (void)flags;
    FAKE_ENTER(fake.n_crossed += ep->is_accepted && ep->has_end; fake_down(h, true));
    return DAT_SUCCESS;
}

/* The connector of a request is gone. */
static void fake_forget(const struct fake_ep *ep)
{
    for (struct fake_cr *cr = fake.crs; cr != NULL; cr = cr->next) {
        if (cr->from == ep)
            cr->from = NULL;
    }
}

static void fake_cr_free(struct fake_cr *cr)
{
    struct fake_cr **at = &fake.crs;

    while (*at != cr)
        at = &(*at)->next;
    *at = cr->next;
    free(cr);
}

static void fake_accept(struct fake_cr *cr, struct fake_ep *ep, int size, const void *data)
{
    struct fake_ep *from = cr->from;

    if (from == NULL || from->state != DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) {
        ep->state = DAT_EP_STATE_DISCONNECTED;
        fake_conn_event(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, NULL, 0);
    } else {
        ep->peer = from;
        from->peer = ep;
        ep->state = from->state = DAT_EP_STATE_CONNECTED;
        ep->is_accepted = true;
        ep->has_received = false;
        ep->is_deaf = fake.is_deaf;
        if (!ep->is_deaf)
            fake_conn_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL, 0);
        if (fake.n_unheard-- > 0)
            fake_conn_event(from, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
        else
            fake_conn_event(from, DAT_CONNECTION_EVENT_ESTABLISHED, data, size);
    }
    fake_cr_free(cr);
}

static void fake_reject(struct fake_cr *cr, int size, const void *data)
{
    if (cr->from != NULL && cr->from->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) {
        cr->from->state = DAT_EP_STATE_DISCONNECTED;
        fake_conn_event(cr->from, DAT_CONNECTION_EVENT_PEER_REJECTED, data, size);
    }
    fake_cr_free(cr);
}

static DAT_RETURN fake_ep_free(DAT_EP_HANDLE h)
{
    struct fake_ep **at = &fake.eps;
    struct fake_srq *srq = ((struct fake_ep *)h)->srq;

    FAKE_ENTER(if (srq != NULL) srq->n_eps--; fake_down(h, false); fake_flush(h); fake_drop_late(h);
               fake_forget(h); while (*at != h) at = &(*at)->next; *at = (*at)->next);
    free(h);
    return DAT_SUCCESS;
}

static void fake_connect(struct fake_ep *ep, const struct sockaddr_in *to, DAT_CONN_QUAL qual,
                         int size, const void *data)
{
    struct fake_psp *psp = fake.psps;
    struct fake_cr *cr;
    DAT_EVENT event;

    fake.n_connects++;
    ep->state = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
    if (fake.n_unreachable > 0 && to->sin_addr.s_addr == htonl(0x0a000001)) {
        fake.n_unreachable--;
        fake_conn_event(ep, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return;
    }
    if (fake.n_cut[ep->rail] > 0) {
        fake.n_cut[ep->rail]--;
        fake_conn_event(ep, (DAT_EVENT_NUMBER)fake.cut_event, NULL, 0);
        return;
    }
    if (fake.n_lost > 0) {
        fake.n_lost--;
        fake_conn_event(ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
        return;
    }
    while (psp != NULL && (psp->qual != qual || psp->addr.sin_addr.s_addr != to->sin_addr.s_addr))
        psp = psp->next;
    if (psp == NULL || fake.n_not_listening > 0) {
        fake.n_not_listening--;
        fake_conn_event(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    cr = calloc(1, sizeof(*cr));
    cr->obj = (struct fake_obj){&fake_prov, FAKE_CR};
    cr->from = ep;
    cr->size = size;
    cr->next = fake.crs;
    fake.crs = cr;
    if (size > 0)
        memcpy(cr->private_data, data, (size_t)size);
    memset(&event, 0, sizeof(event));
    event.event_number = DAT_CONNECTION_REQUEST_EVENT;
    event.event_data.cr_arrival_event_data.cr_handle = cr;
    event.event_data.cr_arrival_event_data.conn_qual = qual;
    fake_event(psp->evd, &event);
}

static DAT_RETURN fake_ep_connect(DAT_EP_HANDLE h, DAT_IA_ADDRESS_PTR to, DAT_CONN_QUAL qual,
                                  DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data,
                                  DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
    (void)qos;
    (void)flags;
    if (timeout > fake.longest)
        fake.longest = timeout;
    if (size > 56)
        return FAKE_ERR(DAT_INVALID_PARAMETER);
    FAKE_ENTER(fake_connect(h, (const void *)to, qual, size, data));
    return DAT_SUCCESS;
}

static DAT_RETURN fake_cr_query(DAT_CR_HANDLE h, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
    struct fake_cr *cr = h;

    (void)mask;
    param->private_data = cr->private_data;
    param->private_data_size = cr->size;
    return DAT_SUCCESS;
}

static DAT_RETURN fake_cr_accept(DAT_CR_HANDLE h, DAT_EP_HANDLE eph, DAT_COUNT size,
                                 const DAT_PVOID data)
{
    FAKE_ENTER(fake_accept(h, eph, size, data));
    return DAT_SUCCESS;
}

static DAT_RETURN fake_cr_reject(DAT_CR_HANDLE h, DAT_COUNT size, const DAT_PVOID data)
{
    FAKE_ENTER(fake_reject(h, size, data));
    return DAT_SUCCESS;
}

/* Bytes that are the fake's own from now on. */
static size_t fake_n_taken(int op, int n, const DAT_LMR_TRIPLET *iov)
{
    size_t len = 0;

    for (int i = 0; op == DAT_DTO_RDMA_WRITE && fake.write_taken != NULL && i < n; i++)
        len += iov[i].segment_length;
    return len;
}

static void fake_take_data(struct fake_work *work)
{
    char *to = (char *)(work + 1);

    for (int i = 0; i < work->n_iov; i++) {
        memcpy(to, (void *)(uintptr_t)work->iov[i].virtual_address, work->iov[i].segment_length);
        work->iov[i].virtual_address = (DAT_VADDR)(uintptr_t)to;
        to += work->iov[i].segment_length;
    }
}

static DAT_RETURN fake_queue(struct fake_ep *ep, int op, int n, DAT_LMR_TRIPLET *iov,
                             DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *rmr,
                             DAT_COMPLETION_FLAGS flags)
{
    struct fake_work *work;

    if (ep->state != DAT_EP_STATE_CONNECTED)
        return FAKE_ERR(DAT_INVALID_STATE);
    if (ep->is_accepted && !ep->has_received) {
        printf("an acceptor posts before it has received anything\n");
        abort();
    }
    if (n > (op == DAT_DTO_RDMA_READ ? 1 : 4))
        return FAKE_ERR(DAT_INVALID_PARAMETER);
    if (ep->n_work >= ep->max_req)
        return FAKE_ERR(DAT_INSUFFICIENT_RESOURCES);
    work = calloc(1, sizeof(*work) + fake_n_taken(op, n, iov));
    work->ep = ep;
    work->op = op;
    work->n_iov = n;
    memcpy(work->iov, iov, (size_t)n * sizeof(*iov));
    if (fake_n_taken(op, n, iov) > 0)
        fake_take_data(work);
    work->remote = rmr != NULL ? rmr->virtual_address : 0;
    if (fake.iov != DAT_IOV_CONSUMER) {
        work->theirs = iov;
        work->to = rmr;
    }
    work->atomic = fake.next_atomic;
    work->cookie = cookie;
    work->is_quiet = (flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0;
    *ep->work_end = work;
    ep->work_end = &work->next;
    ep->n_work++;
    ep->n_reads += op == DAT_DTO_RDMA_READ || op == FAKE_ATOMIC;
    if (ep->n_reads > fake.most_reads)
        fake.most_reads = ep->n_reads;
    if ((fake.max_reads > 0 && ep->n_reads > fake.max_reads) ||
        (fake.max_reads_in > 0 && ep->n_reads > fake.max_reads_in))
        fake_break(ep);
    fake_progress();
    fake_count_post(ep);
    return DAT_SUCCESS;
}

static DAT_RETURN fake_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                 DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    DAT_RETURN rc;

    FAKE_ENTER(fake.n_sends++; rc = fake_queue(ep, DAT_DTO_SEND, n, iov, cookie, NULL, flags));
    return rc;
}

static DAT_RETURN fake_post_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *rmr,
                                  DAT_COMPLETION_FLAGS flags)
{
    DAT_RETURN rc;

    FAKE_ENTER(fake.n_writes++;
               rc = fake_queue(ep, DAT_DTO_RDMA_WRITE, n, iov, cookie, rmr, flags));
    return rc;
}

static DAT_RETURN fake_post_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *rmr,
                                 DAT_COMPLETION_FLAGS flags)
{
    DAT_RETURN rc;

    FAKE_ENTER(fake.n_reads++; rc = fake_queue(ep, DAT_DTO_RDMA_READ, n, iov, cookie, rmr, flags));
    return rc;
}

static DAT_RETURN fake_extended(DAT_HANDLE h, DAT_EXTENDED_OP number, va_list args)
{
    const DAT_RMR_TRIPLET *rmr;
    struct fake_ep *ep = h;
    DAT_LMR_TRIPLET *iov;
    DAT_DTO_COOKIE cookie;
    DAT_COMPLETION_FLAGS flags;
    DAT_RETURN rc;
    struct fake_atomic atomic = {.is_swap = number == (DAT_EXTENDED_OP)DAT_IB_CMP_AND_SWAP_OP};

    if (number != (DAT_EXTENDED_OP)DAT_IB_FETCH_AND_ADD_OP &&
        (!atomic.is_swap || fake.has_no_swaps))
        return FAKE_ERR(DAT_MODEL_NOT_SUPPORTED);
    if (atomic.is_swap)
        atomic.compare = va_arg(args, DAT_UINT64);
    atomic.value = va_arg(args, DAT_UINT64);
    iov = va_arg(args, DAT_LMR_TRIPLET *);
    cookie = va_arg(args, DAT_DTO_COOKIE);
    rmr = va_arg(args, DAT_RMR_TRIPLET *);
    flags = va_arg(args, DAT_COMPLETION_FLAGS);
    fake_come();
    pthread_mutex_lock(&fake.lock);
    fake.n_atomics[ep->rail]++;
    fake.next_atomic = atomic;
    rc = fake_queue(ep, FAKE_ATOMIC, 1, iov, cookie, rmr, flags);
    pthread_mutex_unlock(&fake.lock);
    fake_go();
    return rc;
}

static DAT_RETURN fake_post_recv(DAT_EP_HANDLE h, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                 DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct fake_recv *recv = calloc(1, sizeof(*recv));
    struct fake_ep *ep = h;
    bool is_full;

    (void)flags;
    if (n > ep->max_recv_iov || n > 2) {
        printf("a receive of %d segments; the endpoint takes %d\n", (int)n, (int)ep->max_recv_iov);
        abort();
    }
    memcpy(recv->segs, iov, (size_t)n * sizeof(*iov));
    recv->n_segs = n;
    recv->theirs = fake.iov != DAT_IOV_CONSUMER ? iov : NULL;
    recv->cookie = cookie;
    FAKE_ENTER(is_full = ep->n_recv >= ep->max_recv; if (!is_full) {
        ep->n_recv++;
        *ep->recvs_end = recv;
        ep->recvs_end = &recv->next;
    });
    if (is_full)
        free(recv);
    return is_full ? FAKE_ERR(DAT_INSUFFICIENT_RESOURCES) : DAT_SUCCESS;
}

/* Make "fake-a" and "fake-b" known, write a dat.conf that lists them to path. */
static void fake_register(const char *path)
{
    static const char *names[] = {"fake-a", "fake-b"};
    DAT_PROVIDER_INFO info;
    FILE *file = fopen(path, "w");

    pthread_mutex_init(&fake.lock, NULL);
    fake.seed = 1;
    fake.threads = "objects";
    fake_prov.device_name = "fake";
    fake_prov.ia_open_func = fake_ia_open;
    fake_prov.ia_query_func = fake_ia_query;
    fake_prov.ia_close_func = fake_ia_close;
    fake_prov.pz_create_func = fake_pz_create;
    fake_prov.pz_free_func = fake_free;
    fake_prov.cno_create_func = fake_cno_create;
    fake_prov.evd_create_func = fake_evd_create;
    fake_prov.evd_free_func = fake_evd_free;
    fake_prov.evd_dequeue_func = fake_evd_dequeue;
    fake_prov.evd_wait_func = fake_evd_wait;
    fake_prov.evd_set_unwaitable_func = fake_unwaitable;
    fake_prov.evd_clear_unwaitable_func = fake_waitable;
    fake_prov.lmr_create_func = fake_lmr_create;
    fake_prov.lmr_free_func = fake_lmr_free;
    fake_prov.psp_create_func = fake_psp_create;
    fake_prov.psp_free_func = fake_psp_free;
    fake_prov.ep_create_func = fake_ep_create;
    fake_prov.ep_create_with_srq_func = fake_ep_create_with_srq;
    fake_prov.srq_create_func = fake_srq_create;
    fake_prov.srq_free_func = fake_srq_free;
    fake_prov.srq_post_recv_func = fake_srq_post_recv;
    fake_prov.ep_query_func = fake_ep_query;
    fake_prov.ep_connect_func = fake_ep_connect;
    fake_prov.ep_disconnect_func = fake_ep_disconnect;
    fake_prov.ep_free_func = fake_ep_free;
    fake_prov.cr_query_func = fake_cr_query;
    fake_prov.cr_accept_func = fake_cr_accept;
    fake_prov.cr_reject_func = fake_cr_reject;
    fake_prov.ep_post_send_func = fake_post_send;
    fake_prov.ep_post_recv_func = fake_post_recv;
    fake_prov.ep_post_rdma_write_func = fake_post_write;
    fake_prov.ep_post_rdma_read_func = fake_post_read;
    fake_prov.handle_extendedop_func = fake_extended;
    for (int i = 0; i < 2; i++) {
        memset(&info, 0, sizeof(info));
        snprintf(info.ia_name, sizeof(info.ia_name), "%s", names[i]);
        info.dapl_version_major = 2;
        info.is_thread_safe = DAT_FALSE;
        dat_registry_add_provider(&fake_prov, &info);
        fprintf(file, "%s u2.0 nonthreadsafe default in-process x.1.0 \"\" \"\"\n", names[i]);
    }
    fclose(file);
    setenv("DAT_OVERRIDE", path, 1);
}

#endif
