/* test: kind=dat timeout=90 params=copy=auto|copy=cma|copy=staged */
/*
 * Resizing a dispatcher under traffic: producers of another process and of
 * this one go on, nothing is lost, doubled or reordered, and what is queued
 * survives. Shrinking below what is queued is refused. Another thread posts
 * meanwhile, without the thread-safe line, too.
 */
#include <sched.h>
#include <stdatomic.h>

#include "dat_pair.h"

enum { N_EPS = 3, N_MSGS = 6000, N_CONNS = 100, N_GROWN = 400, DEPTH = 32, LEN = 4096 };

struct stream {
    DAT_EP_HANDLE ep;
    unsigned n_sent;
    unsigned n_done;
};

static struct stream *find(struct stream *all, DAT_EP_HANDLE ep)
{
    for (int i = 0; i < N_EPS; i++)
        if (all[i].ep == ep)
            return &all[i];
    DT_FAIL("an event of an endpoint that is not ours");
}

static void join_all(struct dt *t, struct stream *all, bool is_passive)
{
    for (int i = 0; i < N_EPS; i++) {
        t->ep = dt_ep(t);
        all[i] = (struct stream){.ep = t->ep};
        dt_join(t, is_passive);
    }
}

/* Completions come in order; each has the next cookie of its endpoint. */
static void check_next(struct stream *all, const DAT_EVENT *event)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
    struct stream *s = find(all, dto->ep_handle);

    CHECK_EQ(event->event_number, DAT_DTO_COMPLETION_EVENT);
    CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
    CHECK_EQ(dto->user_cookie.as_64, s->n_done);
    s->n_done++;
}

/* A size that changes all the time; returns how often it did. */
static unsigned resize(DAT_EVD_HANDLE evd, unsigned *seed)
{
    /* Never smaller than what can be queued, so that nothing overflows. */
    static const DAT_COUNT sizes[] = {256, 400, 512, 1000, 2048, 5000};
    DAT_RETURN ret = dat_evd_resize(evd, sizes[rand_r(seed) % 6]);

    if (ret != DAT_SUCCESS)
        CHECK_RC(ret, DAT_INVALID_STATE);
    return ret == DAT_SUCCESS ? 1 : 0;
}

static void post_recv(struct dt_mem *mem, struct stream *all, struct stream *s)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, (size_t)(s - all) * 64, 8);

    OK(dat_ep_post_recv(s->ep, 1, &seg, dt_cookie(s->n_sent), DAT_COMPLETION_DEFAULT_FLAG));
    s->n_sent++;
}

/* The dispatcher of receives is resized: the peer's processor adds to it. */
static void receive(struct dt *t, struct dt_mem *mem, struct stream *all)
{
    unsigned n_resized = 0;
    unsigned seed = 1;

    for (int i = 0; i < N_EPS; i++)
        while (all[i].n_sent < DEPTH)
            post_recv(mem, all, &all[i]);
    dt_meet(t);
    for (unsigned n = 0; n < N_EPS * N_MSGS; n++) {
        struct stream *s;
        DAT_EVENT event;

        if (rand_r(&seed) % 16 == 0)
            n_resized += resize(t->recv_evd, &seed);
        if (dat_evd_dequeue(t->recv_evd, &event) != DAT_SUCCESS)
            event = dt_wait(t->recv_evd);
        check_next(all, &event);
        s = find(all, event.event_data.dto_completion_event_data.ep_handle);
        if (s->n_sent < N_MSGS)
            post_recv(mem, all, s);
    }
    CHECK(n_resized > 100);
    dt_want_none(t->recv_evd, 1);
}

/* The dispatcher of requests is resized by the one who posts. */
static void transmit(struct dt *t, struct dt_mem *mem, struct stream *all)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 8);
    unsigned seed = 2;
    unsigned n = 0;

    dt_meet(t);
    while (n < N_EPS * N_MSGS) {
        DAT_EVENT event;

        for (int i = 0; i < N_EPS; i++)
            if (all[i].n_sent < N_MSGS && all[i].n_sent - all[i].n_done < DEPTH) {
                OK(dat_ep_post_send(all[i].ep, 1, &seg, dt_cookie(all[i].n_sent),
                                    DAT_COMPLETION_DEFAULT_FLAG));
                all[i].n_sent++;
            }
        if (rand_r(&seed) % 32 == 0)
            (void)resize(t->req_evd, &seed);
        while (dat_evd_dequeue(t->req_evd, &event) == DAT_SUCCESS) {
            check_next(all, &event);
            n++;
        }
    }
    dt_want_none(t->req_evd, 1);
}

/* Connections come and go while their dispatcher is resized. */
static void want_while_resized(struct dt *t, DAT_EVENT_NUMBER number)
{
    double begin = dt_now();
    DAT_COUNT size = 8;
    DAT_EVENT event;

    while (dat_evd_dequeue(t->conn_evd, &event) != DAT_SUCCESS) {
        size = size < 65536 ? 2 * size : size; /* the ring moves when it grows */
        OK(dat_evd_resize(t->conn_evd, size));
        if (dt_now() - begin > 10)
            DT_FAIL("the event 0x%x was lost", (unsigned)number);
    }
    CHECK_EQ(event.event_number, number);
}

static void connections(struct dt *t, bool is_passive)
{
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    DAT_CONN_QUAL qual;

    if (is_passive)
        psp = dt_listen(t);
    else
        dt_hear(t, &qual, sizeof(qual));
    for (int i = 0; i < N_CONNS; i++) {
        DAT_EVENT event;

        /* A new one each time, as a ring that is large moves no more. */
        OK(dat_evd_create(t->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &t->conn_evd));
        t->ep = dt_ep(t);
        if (is_passive) {
            event = dt_wait(t->cr_evd);
            OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, t->ep, 0, NULL));
        } else {
            OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        }
        want_while_resized(t, DAT_CONNECTION_EVENT_ESTABLISHED);
        dt_meet(t);
        if (!is_passive)
            OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
        want_while_resized(t, DAT_CONNECTION_EVENT_DISCONNECTED);
        OK(dat_ep_free(t->ep));
        OK(dat_evd_free(t->conn_evd));
    }
    if (is_passive)
        OK(dat_psp_free(psp));
}

/* What is queued stays when the dispatcher grows and shrinks around it. */
static void keeps_events(struct dt *t)
{
    DAT_EVD_HANDLE evd;
    DAT_EVD_PARAM param;
    DAT_EVENT event;

    OK(dat_evd_create(t->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
    memset(&event, 0, sizeof(event));
    for (uintptr_t n = 0; n < 2000; n++) {
        event.event_number = DAT_SOFTWARE_EVENT;
        event.event_data.software_event_data.pointer = (DAT_PVOID)n;
        while (dat_evd_post_se(evd, &event) != DAT_SUCCESS) { /* full */
            OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
            OK(dat_evd_resize(evd, 2 * param.evd_qlen));
        }
        if (n == 100) {
            CHECK_RC(dat_evd_resize(evd, 100), DAT_INVALID_STATE);
            OK(dat_evd_resize(evd, 101));
            OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
            CHECK(param.evd_qlen >= 101);
        }
    }
    CHECK_RC(dat_evd_resize(evd, 0), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_resize(evd, -5), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_resize(evd, 1 << 30), DAT_INSUFFICIENT_RESOURCES);
    for (uintptr_t n = 0; n < 2000; n++) {
        OK(dat_evd_dequeue(evd, &event));
        CHECK_EQ((uintptr_t)event.event_data.software_event_data.pointer, n);
    }
    CHECK_RC(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
    OK(dat_evd_resize(evd, 1));
    OK(dat_evd_free(evd));
}

struct poster {
    DAT_EVD_HANDLE evd;
    _Atomic uintptr_t n; /* posted so far */
    _Atomic bool is_over;
};

static void *post_until_over(void *arg)
{
    struct poster *p = arg;
    DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

    while (!atomic_load(&p->is_over)) {
        event.event_data.software_event_data.pointer = (DAT_PVOID)atomic_load(&p->n);
        if (dat_evd_post_se(p->evd, &event) == DAT_SUCCESS)
            atomic_fetch_add(&p->n, 1);
    }
    return NULL;
}

/* A thread posts all the time; the ring moves under it. */
static void grows_under_posts(struct dt *t)
{
    for (int i = 0; i < N_GROWN; i++) {
        struct poster p = {.evd = DAT_HANDLE_NULL};
        DAT_EVENT event;
        pthread_t thread;

        OK(dat_evd_create(t->ia, 64, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &p.evd));
        CHECK_EQ(pthread_create(&thread, NULL, post_until_over, &p), 0);
        while (atomic_load(&p.n) == 0)
            sched_yield();
        for (DAT_COUNT size = 128; size <= 8192; size *= 2)
            OK(dat_evd_resize(p.evd, size));
        atomic_store(&p.is_over, true);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        for (uintptr_t n = 0; n < p.n; n++) {
            OK(dat_evd_dequeue(p.evd, &event));
            CHECK_EQ((uintptr_t)event.event_data.software_event_data.pointer, n);
        }
        CHECK_RC(dat_evd_dequeue(p.evd, &event), DAT_QUEUE_EMPTY);
        OK(dat_evd_free(p.evd));
    }
}

static int one(struct dt *t, const char *name)
{
    struct stream all[N_EPS];
    struct dt_mem mem;

    for (int is_safe = 0; is_safe < 2; is_safe++) {
        dt_open_as(t, name, is_safe != 0 ? DAT_TRUE : DAT_FALSE);
        dt_alloc(t, &mem, LEN, true);
        keeps_events(t);
        grows_under_posts(t);
        join_all(t, all, true);
        receive(t, &mem, all);
        dt_meet(t);
        connections(t, true);
        dt_meet(t);
        dt_want_none(t->async_evd, 0);
        dt_close(t);
    }
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct stream all[N_EPS];
    struct dt_mem mem;

    for (int is_safe = 0; is_safe < 2; is_safe++) {
        dt_open_as(t, name, is_safe != 0 ? DAT_TRUE : DAT_FALSE);
        dt_alloc(t, &mem, LEN, false);
        join_all(t, all, false);
        transmit(t, &mem, all);
        dt_meet(t);
        connections(t, false);
        dt_meet(t);
        dt_want_none(t->async_evd, 0);
        dt_close(t);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
