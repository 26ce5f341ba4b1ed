/*
 * What happens between the fake provider's endpoints: events, data that are placed, late or
 * lost, connections that break, and the lock around every call. Part of fake_dat.h.
 */
#ifndef DM_TESTS_UNIT_FAKE_WORK_H
#define DM_TESTS_UNIT_FAKE_WORK_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_obj.h"

static void fake_event(struct fake_evd *evd, const DAT_EVENT *event)
{
    if (evd->n == evd->cap) {
        printf("an event queue of %d overflows\n", evd->cap);
        abort();
    }
    evd->ring[(evd->head + evd->n++) % evd->cap] = *event;
}

static void fake_dto(struct fake_evd *evd, void *ep, DAT_DTO_COOKIE cookie, int status, size_t len)
{
    DAT_EVENT event;

    memset(&event, 0, sizeof(event));
    event.event_number = DAT_DTO_COMPLETION_EVENT;
    event.evd_handle = evd;
    event.event_data.dto_completion_event_data.ep_handle = ep;
    event.event_data.dto_completion_event_data.user_cookie = cookie;
    event.event_data.dto_completion_event_data.status = (DAT_DTO_COMPLETION_STATUS)status;
    event.event_data.dto_completion_event_data.transfered_length = (DAT_SEG_LENGTH)len;
    fake_event(evd, &event);
}

static void fake_conn_event(struct fake_ep *ep, DAT_EVENT_NUMBER number, const void *data, int size)
{
    DAT_EVENT event;

    memset(&event, 0, sizeof(event));
    event.event_number = number;
    event.event_data.connect_event_data.ep_handle = ep;
    if (size > 0) {
        memcpy(ep->private_data, data, (size_t)size);
        event.event_data.connect_event_data.private_data = ep->private_data;
        event.event_data.connect_event_data.private_data_size = size;
    }
    fake_event(ep->cm_evd, &event);
}

static bool fake_do(struct fake_ep *ep);

/* The consumer's triplets must be as they were posted. */
static void fake_check_iov(const void *theirs, const void *mine, size_t len)
{
    if (theirs == NULL || memcmp(theirs, mine, len) == 0)
        return;
    printf("triplets are changed before their request has completed\n");
    abort();
}

/* They are the consumer's again, who cannot trust them. */
static void fake_give_back(DAT_LMR_TRIPLET *theirs, const DAT_LMR_TRIPLET *mine, int n)
{
    if (theirs == NULL)
        return;
    fake_check_iov(theirs, mine, (size_t)n * sizeof(*mine));
    if (fake.iov == DAT_IOV_PROVIDER_MOD)
        memset(theirs, 0xdb, (size_t)n * sizeof(*mine));
}

static void fake_work_over(struct fake_work *work)
{
    if (work->to != NULL)
        fake_check_iov(&work->to->virtual_address, &work->remote, sizeof(work->remote));
    fake_give_back(work->theirs, work->iov, work->n_iov);
    free(work);
}

static void fake_recv_over(struct fake_recv *recv)
{
    fake_give_back(recv->theirs, recv->segs, recv->n_segs);
    free(recv);
}

/* A message arrives. */
static void fake_scatter(const struct fake_recv *recv, const char *mem, size_t len)
{
    for (int i = 0; i < recv->n_segs && len > 0; i++) {
        size_t n = recv->segs[i].segment_length < len ? recv->segs[i].segment_length : len;

        memcpy((void *)(uintptr_t)recv->segs[i].virtual_address, mem, n);
        mem += n;
        len -= n;
    }
    if (len > 0) {
        printf("%zu bytes are too many for a receive\n", len);
        abort();
    }
}

/* Nothing more happens on it: flush. */
static void fake_flush(struct fake_ep *ep)
{
    struct fake_work *work;
    struct fake_recv *recv;

    while ((work = ep->work) != NULL) {
        ep->work = work->next;
        fake_dto(ep->req_evd, ep, work->cookie, DAT_DTO_ERR_FLUSHED, 0);
        fake_work_over(work);
    }
    ep->work_end = &ep->work;
    while ((recv = ep->recvs) != NULL) {
        ep->recvs = recv->next;
        fake_dto(ep->recv_evd, ep, recv->cookie, DAT_DTO_ERR_FLUSHED, 0);
        fake_recv_over(recv);
    }
    ep->recvs_end = &ep->recvs;
}

/* The first receive that is posted for an endpoint; NULL: none. */
static struct fake_recv *fake_recv_of(const struct fake_ep *ep)
{
    return ep->srq != NULL ? ep->srq->recvs : ep->recvs;
}

/* A message of len bytes is in it. As with OFED's providers a shared queue stands for the endpoint. */
static void fake_recv_filled(struct fake_ep *ep, size_t len)
{
    struct fake_recv *recv = fake_recv_of(ep);
    struct fake_srq *srq = ep->srq;

    if (srq != NULL) {
        srq->recvs = recv->next;
        if (srq->recvs == NULL)
            srq->recvs_end = &srq->recvs;
        srq->n--;
        if (srq->max - srq->n > fake.n_unposted)
            fake.n_unposted = srq->max - srq->n;
    } else {
        ep->n_recv--;
        ep->recvs = recv->next;
        if (ep->recvs == NULL)
            ep->recvs_end = &ep->recvs;
    }
    fake_dto(ep->recv_evd, srq != NULL ? (void *)srq : ep, recv->cookie, DAT_DTO_SUCCESS, len);
    fake_recv_over(recv);
}

/* Of an endpoint with a shared queue: nothing more is taken from that. */
static void fake_last_taken(const struct fake_ep *ep)
{
    DAT_EVENT event;

    memset(&event, 0, sizeof(event));
    event.event_number = DAT_ASYNC_ERROR_EP_BROKEN;
    event.event_data.asynch_error_event_data.dat_handle = (DAT_HANDLE)ep;
    if (ep->srq != NULL && ep->async->n < ep->async->cap)
        fake_event(ep->async, &event);
}

static void fake_drop_late(struct fake_ep *ep)
{
    struct fake_work *work;

    while ((work = ep->late) != NULL) {
        ep->late = work->next;
        free(work);
    }
}

static void fake_down(struct fake_ep *ep, bool tell)
{
    struct fake_ep *peer = ep->peer;

    if (tell && ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) { /* given up */
        ep->state = DAT_EP_STATE_DISCONNECTED;
        fake_conn_event(ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, 0);
    }
    if (ep->state != DAT_EP_STATE_CONNECTED)
        return;
    ep->state = DAT_EP_STATE_DISCONNECTED;
    ep->peer = NULL;
    fake_flush(ep);
    fake_drop_late(ep);
    fake_last_taken(ep);
    if (tell)
        fake_conn_event(ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, 0);
    ep->has_end = tell;
    if (peer != NULL)
        fake_down(peer, true);
}

/* The last bytes last: eight at once, which trailers need, where they lie right. */
static void fake_in_order(char *at, const char *mem, size_t n)
{
    uint64_t tail;

    if (n < 8 || (uintptr_t)(at + n) % 8 != 0) {
        memcpy(at, mem, n - 1);
        __atomic_store_n(at + n - 1, mem[n - 1], __ATOMIC_RELEASE);
        return;
    }
    memcpy(at, mem, n - 8);
    memcpy(&tail, mem + n - 8, sizeof(tail));
    __atomic_store_n((uint64_t *)(void *)(at + n - 8), tail, __ATOMIC_RELEASE);
}

/* The last byte, and some time later the others. */
static void fake_middle_last(char *at, const char *mem, size_t n)
{
    const struct timespec pause = {0, 100000};
    size_t third = n / 3;

    memcpy(at, mem, third);
    memcpy(at + n - third, mem + n - third, third);
    nanosleep(&pause, NULL);
    memcpy(at + third, mem + third, n - 2 * third);
}

static void fake_backwards(char *at, const char *mem, size_t n)
{
    const struct timespec pause = {0, 100000};

    __atomic_store_n(at + n - 1, mem[n - 1], __ATOMIC_RELEASE);
    nanosleep(&pause, NULL);
    memcpy(at, mem, n - 1);
}

static struct fake_work *fake_capture(const struct fake_work *work, bool is_whole);
static void fake_arrive(struct fake_ep *ep);

/* Placed later: before anything but a write of the same endpoint, which cannot overtake it. */
static void fake_place_later(struct fake_ep *peer, const struct fake_work *work)
{
    struct fake_work **end = &peer->late;

    while (*end != NULL)
        end = &(*end)->next;
    *end = fake_capture(work, true);
}

/* Soft-iWARP takes wrong bytes for a short transfer from two pages, so there must be none. */
static void fake_check_short(const struct fake_work *work)
{
    const DAT_LMR_TRIPLET *seg = &work->iov[0];
    uint64_t from = work->op == DAT_DTO_RDMA_READ ? work->remote : seg->virtual_address;

    if (fake.is_late && work->op != DAT_DTO_SEND && work->n_iov == 1 && seg->segment_length <= 24 &&
        from % 4096 + seg->segment_length > 4096) {
        printf("%d bytes from two pages\n", (int)seg->segment_length);
        abort();
    }
}

static void fake_done(struct fake_ep *ep, size_t len)
{
    struct fake_work *work = ep->work;

    if (!work->is_quiet) {
        fake.n_signalled++;
        fake_dto(ep->req_evd, ep, work->cookie, DAT_DTO_SUCCESS, len);
    }
    ep->work = work->next;
    if (ep->work == NULL)
        ep->work_end = &ep->work;
    ep->n_work--;
    ep->n_reads -= work->op == DAT_DTO_RDMA_READ || work->op == FAKE_ATOMIC;
    fake_work_over(work);
}

static void fake_change(const struct fake_work *work)
{
    uint64_t *word = (uint64_t *)(uintptr_t)work->remote;

    if (!work->atomic.is_swap)
        *word += work->atomic.value;
    else if (*word == work->atomic.compare)
        *word = work->atomic.value;
}

static void fake_do_atomic(struct fake_ep *ep)
{
    const struct fake_work *work = ep->work;
    const uint64_t *word = (const uint64_t *)(uintptr_t)work->remote;

    *(uint64_t *)(uintptr_t)work->iov[0].virtual_address = *word;
    if (!fake.breaks_atomics)
        fake_change(work);
    fake_done(ep, sizeof(*word));
}

static size_t fake_len(const struct fake_work *work)
{
    size_t len = 0;

    for (int i = 0; i < work->n_iov; i++)
        len += work->iov[i].segment_length;
    return len;
}

/* Do one piece of work; false: it has to wait (no receive posted). */
static bool fake_do(struct fake_ep *ep)
{
    struct fake_work *work = ep->work;
    struct fake_ep *peer = ep->peer;
    struct fake_recv *recv = fake_recv_of(peer);
    char *at = (char *)(uintptr_t)work->remote;
    char *message = NULL;
    size_t len = 0;

    fake_check_short(work);
    fake_check_iov(work->theirs, work->iov, (size_t)work->n_iov * sizeof(work->iov[0]));
    peer->has_received = true;
    if (work->op == DAT_DTO_SEND) {
        if (recv == NULL) {
            printf("a send finds no receive\n");
            abort();
        }
        at = message = malloc(fake_len(work) + 1);
    }
    while (work->op != DAT_DTO_RDMA_WRITE && peer->late != NULL)
        fake_arrive(peer);
    if (work->op == FAKE_ATOMIC) {
        fake_do_atomic(ep);
        return true;
    }
    if (work->op == DAT_DTO_RDMA_WRITE && fake.is_late)
        fake_place_later(peer, work);
    for (int i = 0; i < work->n_iov; i++) {
        char *mem = (char *)(uintptr_t)work->iov[i].virtual_address;
        size_t n = work->iov[i].segment_length;

        DM_DMA_BEGIN();
        if (work->op == DAT_DTO_RDMA_WRITE && fake.is_late)
            ; /* the network has it */
        else if (work->op == DAT_DTO_RDMA_READ)
            memcpy(mem, at, n);
        else if (i + 1 < work->n_iov || n == 0)
            memcpy(at, mem, n);
        else if (fake.is_middle_last && n >= 64)
            fake_middle_last(at, mem, n);
        else if (fake.breaks_order > 0 && fake.n_writes % fake.breaks_order == 0)
            fake_backwards(at, mem, n);
        else
            fake_in_order(at, mem, n);
        DM_DMA_END();
        at += n;
        len += n;
    }
    if (work->op == DAT_DTO_SEND) {
        DM_DMA_BEGIN();
        fake_scatter(recv, message, len);
        DM_DMA_END();
        fake_recv_filled(peer, len);
    }
    free(message);
    fake_done(ep, len);
    return true;
}

/* What the network has of a piece of work, to arrive later; without its end, sometimes. */
static struct fake_work *fake_capture(const struct fake_work *work, bool is_whole)
{
    struct fake_work *copy = calloc(1, sizeof(*copy) + fake_len(work));
    size_t len = 0;

    *copy = *work;
    copy->next = NULL;
    copy->theirs = NULL;
    copy->to = NULL;
    for (int i = 0; i < work->n_iov; i++) {
        memcpy((char *)(copy + 1) + len, (void *)(uintptr_t)work->iov[i].virtual_address,
               work->iov[i].segment_length);
        len += work->iov[i].segment_length;
    }
    if (!is_whole && work->op == DAT_DTO_RDMA_WRITE && fake_random() % 4 == 0)
        len /= 2;
    copy->n_iov = 1;
    copy->iov[0].virtual_address = (DAT_VADDR)(uintptr_t)(copy + 1);
    copy->iov[0].segment_length = (DAT_SEG_LENGTH)len;
    return copy;
}

/* Data of the first piece that is late arrives. */
static void fake_arrive(struct fake_ep *ep)
{
    struct fake_work *work = ep->late;
    struct fake_recv *recv = fake_recv_of(ep);
    const char *mem = (const char *)(work + 1);
    size_t len = work->iov[0].segment_length;

    ep->late = work->next;
    ep->has_received = true;
    if (work->op == DAT_DTO_RDMA_WRITE) {
        if (len > 0)
            fake_in_order((char *)(uintptr_t)work->remote, mem, len);
    } else if (recv != NULL) {
        fake_scatter(recv, mem, len);
        fake_recv_filled(ep, len);
    }
    free(work);
}

/*
 * A connection breaks: of the work under way some was done, some was done without anybody
 * knowing, some is late, the rest never happens.
 */
static void fake_break(struct fake_ep *ep)
{
    struct fake_ep *peer = ep->peer;
    struct fake_work **end;

    if (peer == NULL || ep->state != DAT_EP_STATE_CONNECTED)
        return;
    for (int n = (int)(fake_random() % 4); n > 0 && ep->work != NULL; n--)
        fake_do(ep);
    for (end = &peer->late; *end != NULL;)
        end = &(*end)->next;
    for (const struct fake_work *work = ep->work; work != NULL; work = work->next) {
        if (work->op == FAKE_ATOMIC && fake_random() % 2 == 0) /* done, though nobody hears of it */
            fake_change(work);
        if (work->op == DAT_DTO_RDMA_READ || work->op == FAKE_ATOMIC || fake_random() % 4 == 0)
            break;
        *end = fake_capture(work, false);
        if (fake.is_ordered && (*end)->iov[0].segment_length < fake_len(work))
            break;
        end = &(*end)->next;
        if ((*end = NULL, fake_random() % 8 == 0))
            break;
    }
    if (!fake.breaks_half) {
        while (peer->late != NULL)
            fake_arrive(peer);
        fake_down(ep, true);
        return;
    }
    /* the other end learns of it when it closes: it has no peer, and what it posts stays */
    peer->peer = NULL;
    ep->peer = NULL;
    fake_down(ep, true);
}

/*
 * The ends that have not learned yet that the other one is gone learn it now, as from a network that
 * notices at last: without that the end of a job waits its full time for them.
 */
static void fake_notice(void)
{
    for (struct fake_ep *ep = fake.eps; ep != NULL; ep = ep->next) {
        if (ep->peer == NULL)
            fake_down(ep, true);
    }
}

static void fake_count_post(struct fake_ep *ep)
{
    int rail = ep->rail;

    if (fake.break_after == 0 || --fake.break_after > 0)
        return;
    fake_break(ep);
    for (struct fake_ep *one = fake.eps; one != NULL && fake.breaks_all; one = one->next) {
        if (one->rail == rail)
            fake_break(one);
    }
}

/* Does the peer look at what has come? */
static bool fake_is_heard(struct fake_ep *ep)
{
    if (ep->peer->is_deaf && ep->n_work < 2)
        return false;
    if (ep->peer->is_deaf)
        fake_conn_event(ep->peer, DAT_CONNECTION_EVENT_ESTABLISHED, NULL, 0);
    ep->peer->is_deaf = false;
    return true;
}

static void fake_progress(void)
{
    for (struct fake_ep *ep = fake.eps; ep != NULL; ep = ep->next) {
        /* nobody answers what it posts: it finds out in the end */
        if (ep->state == DAT_EP_STATE_CONNECTED && ep->peer == NULL && ep->work != NULL &&
            fake_random() % 2000 == 0)
            fake_down(ep, true);
        while (ep->late != NULL && fake_random() % (fake.delay + 2) == 0)
            fake_arrive(ep);
        while (ep->work != NULL && ep->peer != NULL && fake_is_heard(ep) &&
               (fake.delay == 0 || fake_random() % fake.delay == 0))
            fake_do(ep);
    }
}

#define FAKE_CALL(body)                                                                            \
    do {                                                                                           \
        pthread_mutex_lock(&fake.lock);                                                            \
        body;                                                                                      \
        pthread_mutex_unlock(&fake.lock);                                                          \
    } while (0)

/* The same for a call of the consumer's, which must be the only one. */
#define FAKE_ENTER(body)                                                                           \
    do {                                                                                           \
        fake_come();                                                                               \
        FAKE_CALL(body);                                                                           \
        fake_go();                                                                                 \
    } while (0)

static void fake_come(void)
{
    const struct timespec pause = {0, 20000};

    if (__atomic_add_fetch(&fake.n_inside, 1, __ATOMIC_SEQ_CST) > 1)
        __atomic_add_fetch(&fake.n_overlaps, 1, __ATOMIC_SEQ_CST);
    if (fake.is_slow)
        nanosleep(&pause, NULL);
}

static void fake_go(void)
{
    __atomic_sub_fetch(&fake.n_inside, 1, __ATOMIC_SEQ_CST);
}

#endif
