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
#include <dat2/dat_registry.h>

#define FAKE_ERR(type) ((DAT_RETURN)(DAT_CLASS_ERROR | (type)))

enum fake_kind { FAKE_IA = 1, FAKE_EVD, FAKE_EP, FAKE_LMR, FAKE_PZ, FAKE_PSP, FAKE_CR };

struct fake_obj {
    DAT_PROVIDER *prov; /* first: the registry's dispatch */
    enum fake_kind kind;
};

struct fake_evd {
    struct fake_obj obj;
    DAT_EVENT *ring;
    int cap;
    int head;
    int n;
    bool is_stopped;
};

struct fake_ep;

struct fake_work {
    struct fake_work *next;
    struct fake_ep *ep;
    int op; /* DAT_DTO_SEND, RDMA_WRITE, RDMA_READ */
    DAT_LMR_TRIPLET iov[8];
    int n_iov;
    uint64_t remote;
    DAT_DTO_COOKIE cookie;
    bool is_quiet;
};

struct fake_recv {
    struct fake_recv *next;
    DAT_LMR_TRIPLET seg;
    DAT_DTO_COOKIE cookie;
};

struct fake_ep {
    struct fake_obj obj;
    struct fake_evd *recv_evd;
    struct fake_evd *req_evd;
    struct fake_evd *cm_evd;
    struct fake_ep *peer;
    DAT_EP_STATE state;
    struct fake_recv *recvs;
    struct fake_recv **recvs_end;
    struct fake_work *work;
    struct fake_work **work_end;
    int n_work;
    int rail;               /* 0: fake-a */
    struct fake_work *late; /* data that is still on its way here, from an end that has given up */
    int max_req;
    int max_recv;
    int n_recv;
    int n_req; /* places taken: freed by a later signalled completion only */
    int n_reads;
    bool is_accepted;
    bool has_end; /* the event of its end was not taken yet */
    char private_data[64];
    struct fake_ep *next;
};

struct fake_psp {
    struct fake_obj obj;
    DAT_CONN_QUAL qual;
    struct fake_evd *evd;
    struct fake_psp *next;
    struct sockaddr_in addr;
};

struct fake_ia;

struct fake_lmr {
    struct fake_obj obj;
    struct fake_ia *ia;
    size_t len;
};

struct fake_cr {
    struct fake_obj obj;
    struct fake_ep *from;
    char private_data[64];
    int size;
    struct fake_cr *next;
};

struct fake_ia {
    struct fake_obj obj;
    struct sockaddr_in addr;
    struct sockaddr_in6 odd; /* the address that it tells where is_odd */
    bool is_odd;
    bool is_a;
    size_t n_locked;
    struct fake_evd async;
};

/* What the tests turn. */
static struct {
    pthread_mutex_t lock;
    struct fake_ep *eps;
    struct fake_psp *psps;
    struct fake_cr *crs; /* not answered yet */
    unsigned seed;
    bool is_late;        /* writes are done before they are placed, as with iWARP */
    unsigned delay;      /* 0: at once; n: one in n chances for each piece of work */
    int n_unreachable;   /* so many connects to fake-a are answered UNREACHABLE */
    int n_not_listening; /* so many get NON_PEER_REJECTED */
    int n_lost;          /* so many get TIMED_OUT */
    int max_dtos;        /* what the attributes say; 0: much */
    int max_evd;
    int max_lmrs;      /* 0: no limit */
    size_t max_locked; /* bytes in registrations of an adapter, 0: no limit */
    int n_lmrs;
    int max_iov;         /* of an endpoint, whatever the attributes say; 0: any, -1: none */
    int breaks_order;    /* one write of so many places its last byte first; 0: none */
    bool is_middle_last; /* both ends of a write appear before what is between them */
    bool refuses_shared;
    bool fails_open;
    int break_after;            /* so many posts from now a connection breaks; 0: none */
    bool breaks_half;           /* the other end does not notice */
    bool is_ordered;            /* no iWARP: nothing arrives behind a write that was cut */
    bool breaks_all;            /* all connections over that rail */
    int n_cut[2];               /* so many connects over the rail fail, */
    int cut_event;              /* with this */
    bool is_v6;                 /* fake-b has an IPv6 address */
    const char *reach;          /* what fake-a says about itself; NULL: nothing */
    const char *last_byte_last; /* what both say */
    const char *threads;        /* the same */
    bool is_slow;               /* calls take long enough to meet another one */
    int max_reads;              /* of an endpoint; more break the connection; 0: any */
    int max_reads_in;           /* the same, of the peer's */
    /* counts */
    int n_connects;
    int n_writes;
    int n_sends;
    int n_reads;
    int most_reads; /* outstanding on an endpoint */
    int n_signalled;
    int n_inside;   /* calls under way, but for waits */
    int n_overlaps; /* that began during another one */
    int n_crossed;  /* acceptors that ended a connection at the same time as its connector */
    uint32_t next_key;
} fake;

static DAT_PROVIDER fake_prov;

static inline unsigned fake_random(void)
{
    fake.seed = fake.seed * 1103515245u + 12345u;
    return fake.seed >> 12 & 0xfffff;
}

static void fake_event(struct fake_evd *evd, const DAT_EVENT *event)
{
    if (evd->n == evd->cap) {
        printf("an event queue of %d overflows\n", evd->cap);
        abort();
    }
    evd->ring[(evd->head + evd->n++) % evd->cap] = *event;
}

static void fake_dto(struct fake_evd *evd, struct fake_ep *ep, DAT_DTO_COOKIE cookie, int status,
                     size_t len)
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

/* Nothing more happens on it: flush. */
static void fake_flush(struct fake_ep *ep)
{
    struct fake_work *work;
    struct fake_recv *recv;

    while ((work = ep->work) != NULL) {
        ep->work = work->next;
        fake_dto(ep->req_evd, ep, work->cookie, DAT_DTO_ERR_FLUSHED, 0);
        free(work);
    }
    ep->work_end = &ep->work;
    while ((recv = ep->recvs) != NULL) {
        ep->recvs = recv->next;
        fake_dto(ep->recv_evd, ep, recv->cookie, DAT_DTO_ERR_FLUSHED, 0);
        free(recv);
    }
    ep->recvs_end = &ep->recvs;
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
    if (tell)
        fake_conn_event(ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, 0);
    ep->has_end = tell;
    if (peer != NULL)
        fake_down(peer, true);
}

/* The last bytes last: eight at once, which footers need, where they lie right. */
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

/* Do one piece of work; false: it has to wait (no receive posted). */
static bool fake_do(struct fake_ep *ep)
{
    struct fake_work *work = ep->work;
    struct fake_ep *peer = ep->peer;
    struct fake_recv *recv = peer->recvs;
    char *at = (char *)(uintptr_t)work->remote;
    size_t len = 0;

    if (work->op == DAT_DTO_SEND) {
        if (recv == NULL) {
            printf("a send finds no receive\n");
            abort();
        }
        at = (char *)(uintptr_t)recv->seg.virtual_address;
    }
    while (work->op != DAT_DTO_RDMA_WRITE && peer->late != NULL)
        fake_arrive(peer);
    if (work->op == DAT_DTO_RDMA_WRITE && fake.is_late)
        fake_place_later(peer, work);
    for (int i = 0; i < work->n_iov; i++) {
        char *mem = (char *)(uintptr_t)work->iov[i].virtual_address;
        size_t n = work->iov[i].segment_length;

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
        at += n;
        len += n;
    }
    if (work->op == DAT_DTO_SEND) {
        peer->n_recv--;
        peer->recvs = recv->next;
        if (peer->recvs == NULL)
            peer->recvs_end = &peer->recvs;
        fake_dto(peer->recv_evd, peer, recv->cookie, DAT_DTO_SUCCESS, len);
        free(recv);
    }
    if (!work->is_quiet) {
        fake.n_signalled++;
        fake_dto(ep->req_evd, ep, work->cookie, DAT_DTO_SUCCESS, len);
    }
    ep->work = work->next;
    if (ep->work == NULL)
        ep->work_end = &ep->work;
    ep->n_work--;
    ep->n_reads -= work->op == DAT_DTO_RDMA_READ;
    free(work);
    return true;
}

static size_t fake_len(const struct fake_work *work)
{
    size_t len = 0;

    for (int i = 0; i < work->n_iov; i++)
        len += work->iov[i].segment_length;
    return len;
}

/* What the network has of a piece of work, to arrive later; without its end, sometimes. */
static struct fake_work *fake_capture(const struct fake_work *work, bool is_whole)
{
    struct fake_work *copy = calloc(1, sizeof(*copy) + fake_len(work));
    size_t len = 0;

    *copy = *work;
    copy->next = NULL;
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
    struct fake_recv *recv = ep->recvs;
    const char *mem = (const char *)(work + 1);
    size_t len = work->iov[0].segment_length;

    ep->late = work->next;
    if (work->op == DAT_DTO_RDMA_WRITE) {
        if (len > 0)
            fake_in_order((char *)(uintptr_t)work->remote, mem, len);
    } else if (recv != NULL) {
        memcpy((void *)(uintptr_t)recv->seg.virtual_address, mem, len);
        ep->recvs = recv->next;
        ep->n_recv--;
        if (ep->recvs == NULL)
            ep->recvs_end = &ep->recvs;
        fake_dto(ep->recv_evd, ep, recv->cookie, DAT_DTO_SUCCESS, len);
        free(recv);
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
        if (work->op == DAT_DTO_RDMA_READ || fake_random() % 4 == 0)
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

static void fake_progress(void)
{
    for (struct fake_ep *ep = fake.eps; ep != NULL; ep = ep->next) {
        /* nobody answers what it posts: it finds out in the end */
        if (ep->state == DAT_EP_STATE_CONNECTED && ep->peer == NULL && ep->work != NULL &&
            fake_random() % 2000 == 0)
            fake_down(ep, true);
        while (ep->late != NULL && fake_random() % (fake.delay + 2) == 0)
            fake_arrive(ep);
        while (ep->work != NULL && ep->peer != NULL &&
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

/* ---- the table ---- */

static void fake_words(const struct fake_ia *ia, DAT_PROVIDER_ATTR *attr)
{
    static DAT_NAMED_ATTR words[4];
    int n = 0;

    words[n++] = (DAT_NAMED_ATTR){"nothing", "known"};
    if (fake.reach != NULL && ia->is_a)
        words[n++] = (DAT_NAMED_ATTR){"reach", fake.reach};
    if (fake.last_byte_last != NULL)
        words[n++] = (DAT_NAMED_ATTR){"last_byte_last", fake.last_byte_last};
    if (fake.threads != NULL)
        words[n++] = (DAT_NAMED_ATTR){"threads", fake.threads};
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
    }
    if (pattr != NULL) {
        memset(pattr, 0, sizeof(*pattr));
        pattr->dapl_version_major = 2;
        fake_words(ia, pattr);
    }
    return DAT_SUCCESS;
}

static DAT_RETURN fake_ia_close(DAT_IA_HANDLE h, DAT_CLOSE_FLAGS flags)
{
    struct fake_ia *ia = h;

    (void)flags;
    free(ia->async.ring);
    free(ia);
    return DAT_SUCCESS;
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

    if (fake.fails_open)
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
    return DAT_SUCCESS;
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
    if (evd->n == 0)
        return FAKE_ERR(DAT_QUEUE_EMPTY);
    *event = evd->ring[evd->head];
    if (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
        fake_ended(event->event_data.connect_event_data.ep_handle);
    evd->head = (evd->head + 1) % evd->cap;
    evd->n--;
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

    while (*at != h)
        at = &(*at)->next;
    *at = (*at)->next;
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
    ep->rail = ia != NULL && ((struct fake_ia *)ia)->addr.sin_addr.s_addr != htonl(0x0a000001);
    ep->max_recv = attr->max_recv_dtos;
    ep->recvs_end = &ep->recvs;
    ep->work_end = &ep->work;
    FAKE_ENTER(ep->next = fake.eps; fake.eps = ep);
    *ep_p = ep;
    return DAT_SUCCESS;
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
        fake_conn_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL, 0);
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

    FAKE_ENTER(fake_down(h, false); fake_flush(h); fake_drop_late(h); fake_forget(h);
               while (*at != h) at = &(*at)->next; *at = (*at)->next);
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
    (void)timeout;
    (void)qos;
    (void)flags;
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

static DAT_RETURN fake_queue(struct fake_ep *ep, int op, int n, const DAT_LMR_TRIPLET *iov,
                             DAT_DTO_COOKIE cookie, uint64_t remote, DAT_COMPLETION_FLAGS flags)
{
    struct fake_work *work;

    if (ep->state != DAT_EP_STATE_CONNECTED)
        return FAKE_ERR(DAT_INVALID_STATE);
    if (n > (op == DAT_DTO_RDMA_READ ? 1 : 4))
        return FAKE_ERR(DAT_INVALID_PARAMETER);
    if (ep->n_work >= ep->max_req)
        return FAKE_ERR(DAT_INSUFFICIENT_RESOURCES);
    work = calloc(1, sizeof(*work));
    work->ep = ep;
    work->op = op;
    work->n_iov = n;
    memcpy(work->iov, iov, (size_t)n * sizeof(*iov));
    work->remote = remote;
    work->cookie = cookie;
    work->is_quiet = (flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0;
    *ep->work_end = work;
    ep->work_end = &work->next;
    ep->n_work++;
    ep->n_reads += op == DAT_DTO_RDMA_READ;
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

    FAKE_ENTER(fake.n_sends++; rc = fake_queue(ep, DAT_DTO_SEND, n, iov, cookie, 0, flags));
    return rc;
}

static DAT_RETURN fake_post_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *rmr,
                                  DAT_COMPLETION_FLAGS flags)
{
    DAT_RETURN rc;

    FAKE_ENTER(fake.n_writes++; rc = fake_queue(ep, DAT_DTO_RDMA_WRITE, n, iov, cookie,
                                                rmr->virtual_address, flags));
    return rc;
}

static DAT_RETURN fake_post_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *rmr,
                                 DAT_COMPLETION_FLAGS flags)
{
    DAT_RETURN rc;

    FAKE_ENTER(fake.n_reads++;
               rc = fake_queue(ep, DAT_DTO_RDMA_READ, n, iov, cookie, rmr->virtual_address, flags));
    return rc;
}

static DAT_RETURN fake_post_recv(DAT_EP_HANDLE h, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
                                 DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct fake_recv *recv;
    struct fake_ep *ep = h;

    (void)n;
    (void)flags;
    if (ep->n_recv >= ep->max_recv)
        return FAKE_ERR(DAT_INSUFFICIENT_RESOURCES);
    recv = calloc(1, sizeof(*recv));
    recv->seg = iov[0];
    recv->cookie = cookie;
    FAKE_ENTER(ep->n_recv++; *ep->recvs_end = recv; ep->recvs_end = &recv->next);
    return DAT_SUCCESS;
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
