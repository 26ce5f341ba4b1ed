/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto */
/*
 * More connections are accepted than the dispatcher of connection events has room for: they are there all the
 * same, and one asynchronous event tells that events were lost. Who has asked for them polls meanwhile, and
 * is never made to wait.
 */
#include "dat_pair.h"

#include <sys/resource.h>

enum { QLEN = 8, N = 10 };

static void make_eps(struct dt *t, DAT_EP_HANDLE *ep)
{
    for (int i = 0; i < N; i++)
        ep[i] = dt_ep(t);
}

static bool is_connected(DAT_EP_HANDLE ep)
{
    DAT_EP_STATE state;

    OK(dat_ep_get_status(ep, &state, NULL, NULL));
    return state == DAT_EP_STATE_CONNECTED;
}

/* Accepts all, and looks at no event before they are connected. */
static int one(struct dt *t, const char *name)
{
    DAT_EP_HANDLE ep[N];
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    int n = 0;

    dt_open_as(t, name, DAT_FALSE);
    OK(dat_evd_create(t->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &t->conn_evd));
    make_eps(t, ep);
    psp = dt_listen(t);
    for (int i = 0; i < N; i++) {
        event = dt_wait(t->cr_evd);
        OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep[i], 0, NULL));
    }
    while (n < N) {
        n = 0;
        for (int i = 0; i < N; i++)
            n += is_connected(ep[i]);
    }
    event = dt_wait(t->async_evd);
    CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
    CHECK(event.event_data.asynch_error_event_data.dat_handle == t->conn_evd);
    for (int i = 0; i < QLEN; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_want_none(t->conn_evd, 1);
    dt_meet(t);
    dt_want_none(t->async_evd, 1);
    OK(dat_psp_free(psp));
    dt_close(t);
    return 0;
}

/* How often this thread has slept. */
static long n_sleeps(void)
{
    struct rusage usage;

    CHECK_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
}

/* Dequeues the events; it sleeps only between the calls. */
static void poll_all(struct dt *t)
{
    double end = dt_now() + 1e-6 * DT_WAIT_US;
    int n = 0;

    while (n < N && dt_now() < end) {
        DAT_EVENT event;
        long before = n_sleeps();
        DAT_RETURN ret = dat_evd_dequeue(t->conn_evd, &event);

        CHECK_EQ(n_sleeps(), before);
        if (ret == DAT_SUCCESS) {
            CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
            end = dt_now() + 1e-6 * DT_WAIT_US;
            n++;
        }
        dt_sleep_ms(1);
    }
    CHECK_EQ(n, N);
}

static int two(struct dt *t, const char *name)
{
    DAT_EP_HANDLE ep[N];
    DAT_CONN_QUAL qual;

    dt_open_as(t, name, DAT_FALSE);
    make_eps(t, ep);
    dt_hear(t, &qual, sizeof(qual));
    for (int i = 0; i < N; i++)
        OK(dat_ep_connect(ep[i], (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    poll_all(t);
    dt_meet(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
