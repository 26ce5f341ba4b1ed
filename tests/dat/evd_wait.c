/* test: kind=dat timeout=60 */
/*
 * Waiting for events: thresholds, time-outs, signals, unwaitable dispatchers,
 * a second waiter, one that is freed under its waiter, or whose instance is
 * closed, streams of several kinds in one dispatcher, software events, and
 * what disabling does to a CNO.
 */
#include "dat_pair.h"

enum { QLEN = 64 };

static DAT_EVD_HANDLE new_evd(struct dt *t, DAT_COUNT qlen)
{
    DAT_EVD_HANDLE evd;

    OK(dat_evd_create(t->ia, qlen, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
    return evd;
}

static DAT_RETURN post_se(DAT_EVD_HANDLE evd, uintptr_t value)
{
    DAT_EVENT event;

    memset(&event, 0, sizeof(event));
    event.event_number = DAT_SOFTWARE_EVENT;
    event.evd_handle = evd;
    event.event_data.software_event_data.pointer = (DAT_PVOID)value;
    return dat_evd_post_se(evd, &event);
}

static void want_se(DAT_EVD_HANDLE evd, uintptr_t value)
{
    DAT_EVENT event;

    OK(dat_evd_dequeue(evd, &event));
    CHECK_EQ(event.event_number, DAT_SOFTWARE_EVENT);
    CHECK(event.evd_handle == evd);
    CHECK_EQ((uintptr_t)event.event_data.software_event_data.pointer, value);
}

static void want_empty(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;

    CHECK_RC(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}

/* ---- a thread that waits once ---- */

struct waiter {
    pthread_t thread;
    _Atomic pid_t tid;
    DAT_EVD_HANDLE evd;
    DAT_TIMEOUT timeout;
    DAT_COUNT threshold;
    _Atomic bool is_over;
    DAT_RETURN ret;
    DAT_COUNT n_more;
    DAT_EVENT event;
};

static void *wait_once(void *arg)
{
    struct waiter *w = arg;

    atomic_store(&w->tid, gettid());
    w->ret = dat_evd_wait(w->evd, w->timeout, w->threshold, &w->event, &w->n_more);
    atomic_store(&w->is_over, true);
    return NULL;
}

/* Returns when it waits: the dispatcher refuses others then. */
static void start(struct waiter *w, DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_RETURN ret;

    memset(w, 0, sizeof(*w));
    w->evd = evd;
    w->timeout = DAT_TIMEOUT_INFINITE;
    w->threshold = threshold;
    CHECK_EQ(pthread_create(&w->thread, NULL, wait_once, w), 0);
    do {
        sched_yield();
        ret = dat_evd_wait(evd, 0, QLEN, &event, &n_more);
    } while (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED && !atomic_load(&w->is_over));
    CHECK(atomic_load(&w->is_over) || DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
}

static DAT_RETURN join(struct waiter *w)
{
    CHECK_EQ(pthread_join(w->thread, NULL), 0);
    return w->ret;
}

/* ---- the cases ---- */

/* Whoever was refused while our own look at the queue was in the way tries
 * again; so the thread may find the dispatcher taken for a moment. */
static void start_again(struct waiter *w, DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
    for (;;) {
        start(w, evd, threshold);
        if (!atomic_load(&w->is_over))
            return;
        CHECK_RC(join(w), DAT_INVALID_STATE);
    }
}

static void thresholds(struct dt *t)
{
    DAT_EVD_HANDLE evd = new_evd(t, QLEN);
    struct waiter w;

    for (DAT_COUNT n = 1; n <= QLEN; n += n < 8 ? 1 : 7) {
        start_again(&w, evd, n);
        for (DAT_COUNT i = 0; i < n; i++) {
            CHECK(!atomic_load(&w.is_over));
            if (i == n - 1)
                dt_sleep_ms(2); /* the chance to wake too early */
            CHECK(!atomic_load(&w.is_over));
            OK(post_se(evd, (uintptr_t)i));
        }
        OK(join(&w));
        CHECK_EQ(w.n_more, n - 1);
        CHECK_EQ((uintptr_t)w.event.event_data.software_event_data.pointer, 0);
        for (DAT_COUNT i = 1; i < n; i++)
            want_se(evd, (uintptr_t)i);
        want_empty(evd);
    }
    OK(dat_evd_free(evd));
}

static void arguments(struct dt *t)
{
    DAT_EVD_HANDLE evd = new_evd(t, QLEN);
    DAT_EVENT event;
    DAT_COUNT n_more = -1;

    CHECK_RC(dat_evd_wait(evd, 0, 0, &event, &n_more), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_wait(evd, 0, -1, &event, &n_more), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_wait(evd, 0, QLEN + 1, &event, &n_more), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_wait(evd, 0, 1, NULL, &n_more), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_wait(evd, 0, 1, &event, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_wait(evd, 0, QLEN, &event, &n_more), DAT_TIMEOUT_EXPIRED);
    CHECK_EQ(n_more, 0);
    OK(dat_evd_free(evd));
}

static void timeouts(struct dt *t)
{
    static const DAT_TIMEOUT us[] = {100, 1000, 20000};
    DAT_EVD_HANDLE evd = new_evd(t, QLEN);

    for (uintptr_t i = 0; i < 3; i++)
        OK(post_se(evd, i));
    for (size_t k = 0; k < sizeof(us) / sizeof(us[0]); k++) {
        double best = 1e9;

        for (int i = 0; i < 10; i++) {
            double begin = dt_now();
            DAT_COUNT n_more = -1;
            DAT_EVENT event;
            double took;

            CHECK_RC(dat_evd_wait(evd, us[k], 5, &event, &n_more), DAT_TIMEOUT_EXPIRED);
            took = 1e6 * (dt_now() - begin);
            CHECK_EQ(n_more, 3); /* they stay */
            CHECK(took >= (double)us[k]);
            best = took < best ? took : best;
        }
        if (best > us[k] + 5000.0) /* the best of ten, on a machine that may be busy */
            DT_FAIL("a time-out of %u us took %.0f us", us[k], best);
    }
    for (uintptr_t i = 0; i < 3; i++)
        want_se(evd, i);
    OK(dat_evd_free(evd));
}

static void unwaitable(struct dt *t)
{
    DAT_EVD_HANDLE evd = new_evd(t, QLEN);
    DAT_EVD_PARAM param;
    DAT_EVENT event;
    DAT_COUNT n_more;
    struct waiter w;

    for (int i = 0; i < 50; i++) {
        start_again(&w, evd, 2);
        OK(post_se(evd, 7));
        OK(dat_evd_set_unwaitable(evd));
        CHECK_RC(join(&w), DAT_INVALID_STATE);
        OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
        CHECK((param.evd_state & DAT_EVD_STATE_UNWAITABLE) != 0);
        CHECK_RC(dat_evd_wait(evd, 0, 1, &event, &n_more), DAT_INVALID_STATE);
        want_se(evd, 7); /* dequeuing goes on */
        OK(dat_evd_clear_unwaitable(evd));
        CHECK_RC(dat_evd_wait(evd, 0, 1, &event, &n_more), DAT_TIMEOUT_EXPIRED);
    }
    OK(dat_evd_free(evd));
}

static void second_waiter(struct dt *t)
{
    DAT_EVD_HANDLE evd = new_evd(t, QLEN);
    DAT_EVENT event;
    DAT_COUNT n_more;
    struct waiter w;

    start_again(&w, evd, 1);
    CHECK_RC(dat_evd_wait(evd, DT_WAIT_US, 1, &event, &n_more), DAT_INVALID_STATE);
    CHECK_RC(dat_evd_dequeue(evd, &event), DAT_INVALID_STATE);
    CHECK_RC(dat_evd_resize(evd, 2 * QLEN), DAT_INVALID_STATE);
    OK(post_se(evd, 1));
    OK(join(&w));
    want_empty(evd);
    OK(dat_evd_free(evd));
}

static void freed_under_waiter(struct dt *t)
{
    for (int i = 0; i < 100; i++) {
        DAT_EVD_HANDLE evd = new_evd(t, QLEN);
        struct waiter w;

        start_again(&w, evd, 2);
        OK(dat_evd_free(evd));
        CHECK_RC(join(&w), DAT_ABORT);
    }
}

/* Returns when the thread sleeps in the kernel. */
static void until_asleep(struct waiter *w)
{
    char path[64], state = 'R';
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)atomic_load(&w->tid));
    while (state != 'S') {
        sched_yield();
        f = fopen(path, "r");
        CHECK(f != NULL);
        CHECK_EQ(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
        fclose(f);
    }
}

static void closed_under_waiter(const char *name)
{
    for (int i = 0; i < 20; i++) {
        struct dt t = {.pipe = -1};
        struct waiter w;

        dt_open_as(&t, name, DAT_TRUE);
        start_again(&w, new_evd(&t, QLEN), 2);
        until_asleep(&w);
        dt_close(&t);
        CHECK_RC(join(&w), DAT_ABORT);
    }
}

static void on_signal(int sig)
{
    (void)sig;
}

static void signals(struct dt *t)
{
    struct sigaction act = {.sa_handler = on_signal};
    DAT_EVD_HANDLE evd = new_evd(t, QLEN);
    struct waiter w;

    CHECK_EQ(sigaction(SIGUSR1, &act, NULL), 0);
    for (int i = 0; i < 20; i++) {
        start_again(&w, evd, 2);
        OK(post_se(evd, (uintptr_t)i));
        while (!atomic_load(&w.is_over)) {
            CHECK_EQ(pthread_kill(w.thread, SIGUSR1), 0);
            dt_sleep_ms(1);
        }
        CHECK_RC(join(&w), DAT_INTERRUPTED_CALL);
        want_se(evd, (uintptr_t)i); /* nothing is lost */
    }
    act.sa_flags = SA_RESTART; /* whether it goes on or not, it ends */
    CHECK_EQ(sigaction(SIGUSR1, &act, NULL), 0);
    start_again(&w, evd, 1);
    CHECK_EQ(pthread_kill(w.thread, SIGUSR1), 0);
    OK(post_se(evd, 1));
    (void)join(&w);
    CHECK(w.ret == DAT_SUCCESS || DAT_GET_TYPE(w.ret) == DAT_INTERRUPTED_CALL);
    OK(dat_evd_free(evd));
}

static void software_events(struct dt *t)
{
    DAT_EVD_HANDLE evd = new_evd(t, 8);
    DAT_EVENT event;
    DAT_RETURN ret;
    uintptr_t n = 0;

    memset(&event, 0, sizeof(event));
    event.event_number = DAT_DTO_COMPLETION_EVENT;
    CHECK_RC(dat_evd_post_se(evd, &event), DAT_INVALID_PARAMETER);
    CHECK_RC(post_se(t->req_evd, 1), DAT_INVALID_PARAMETER); /* not its stream */
    while ((ret = post_se(evd, n)) == DAT_SUCCESS && n < 1000)
        n++;
    CHECK_RC(ret, DAT_QUEUE_FULL);
    CHECK(n >= 8);
    for (uintptr_t i = 0; i < n; i++)
        want_se(evd, i);
    want_empty(evd);
    OK(post_se(evd, 5));
    want_se(evd, 5);
    dt_want_none(t->async_evd, 0); /* the caller has been told */
    OK(dat_evd_free(evd));
}

static void want_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE want)
{
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_RETURN ret = dat_cno_wait(cno, 0, &evd);

    if (want == DAT_HANDLE_NULL) {
        CHECK(ret != DAT_SUCCESS);
        return;
    }
    OK(ret);
    CHECK(evd == want);
}

static void disabled(struct dt *t)
{
    DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
    DAT_EVD_HANDLE evd;
    DAT_CNO_HANDLE cno;

    OK(dat_cno_create(t->ia, none, &cno));
    OK(dat_evd_create(t->ia, QLEN, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
    want_trigger(cno, DAT_HANDLE_NULL);
    OK(post_se(evd, 1));
    OK(post_se(evd, 2));
    want_trigger(cno, evd);
    want_trigger(cno, DAT_HANDLE_NULL); /* one for both */
    OK(dat_evd_disable(evd));
    OK(post_se(evd, 3));
    want_trigger(cno, DAT_HANDLE_NULL);
    OK(dat_evd_enable(evd)); /* what came meanwhile is told now */
    want_trigger(cno, evd);
    for (uintptr_t i = 1; i <= 3; i++)
        want_se(evd, i);
    OK(dat_evd_disable(evd));
    OK(dat_evd_enable(evd)); /* nothing is there */
    want_trigger(cno, DAT_HANDLE_NULL);
    CHECK_RC(dat_cno_free(cno), DAT_INVALID_STATE);
    OK(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
    OK(post_se(evd, 4));
    want_trigger(cno, DAT_HANDLE_NULL);
    OK(dat_cno_free(cno));
    OK(dat_evd_free(evd));
}

/* Requests, connections, completions and software events in one dispatcher. */
static void merged(struct dt *t)
{
    const unsigned flags = DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG |
                           DAT_EVD_CONNECTION_FLAG | DAT_EVD_RMR_BIND_FLAG;
    struct dt m = *t;
    DAT_EVD_HANDLE evd;
    DAT_EP_HANDLE ep[2];
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;
    DAT_EVENT event;
    DAT_COUNT n_more;

    OK(dat_evd_create(t->ia, QLEN, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &evd));
    m.cr_evd = m.conn_evd = m.recv_evd = m.req_evd = evd;
    ep[0] = dt_ep(&m);
    ep[1] = dt_ep(&m);
    OK(dat_psp_create_any(t->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
    OK(dat_ep_post_recv(ep[1], 0, NULL, dt_cookie(11), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_connect(ep[0], (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    event = dt_wait(evd);
    CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
    OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep[1], 0, NULL));
    OK(dat_evd_wait(evd, DT_WAIT_US, 2, &event, &n_more)); /* both sides */
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
    CHECK_EQ(n_more, 1);
    OK(dat_evd_dequeue(evd, &event));
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
    OK(post_se(evd, 9));
    OK(dat_ep_post_send(ep[0], 0, NULL, dt_cookie(12), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_evd_wait(evd, DT_WAIT_US, 3, &event, &n_more));
    CHECK_EQ(event.event_number, DAT_SOFTWARE_EVENT);
    CHECK_EQ(n_more, 2);
    CHECK_EQ(dt_want_dto(evd, 11, DAT_DTO_SUCCESS), 0);
    CHECK_EQ(dt_want_dto(evd, 12, DAT_DTO_SUCCESS), 0);
    OK(dat_ep_disconnect(ep[0], DAT_CLOSE_ABRUPT_FLAG));
    OK(dat_evd_wait(evd, DT_WAIT_US, 2, &event, &n_more));
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_conn(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    want_empty(evd);
    OK(dat_psp_free(psp));
    CHECK_RC(dat_evd_free(evd), DAT_INVALID_STATE);
    OK(dat_ep_free(ep[0]));
    OK(dat_ep_free(ep[1]));
    OK(dat_evd_free(evd));
}

static void run(const char *name, DAT_BOOLEAN is_safe)
{
    struct dt t = {.pipe = -1};

    dt_open_as(&t, name, is_safe);
    arguments(&t);
    timeouts(&t);
    software_events(&t);
    disabled(&t);
    merged(&t);
    if (is_safe != DAT_FALSE) { /* the rest needs a thread beside the waiter */
        thresholds(&t);
        unwaitable(&t);
        second_waiter(&t);
        freed_under_waiter(&t);
        signals(&t);
    }
    dt_want_none(t.async_evd, 0);
    dt_close(&t);
}

int main(int argc, char **argv)
{
    run(dt_name(argc, argv), DAT_FALSE);
    run(dt_name(argc, argv), DAT_TRUE);
    closed_under_waiter(dt_name(argc, argv));
    return 0;
}
