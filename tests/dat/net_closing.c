/* test: kind=dat prov=datum-tcp,datum-ofi timeout=60 net=progress=thread san=no */
/*
 * Calls to ports that are just closed, for want of service points: each is refused, none waits for ever.
 * A provider closes a port some time after its last service point, so the calls go on for as long.
 * san=no: libfabric 1.17 reads what it has freed with a listener, and forgets some of its requests.
 */
#include "dat_pair.h"

enum { N_QUALS = 40, N_EPS = 16, N_ROUNDS = 3, CALL_US = 60000000 };
#define CLOSES_AFTER 1.9 /* seconds */
#define CALLS_UNTIL  2.4
#define STUCK_AFTER  8.0

static DAT_CONN_QUAL first = UINT64_C(0xfedcba9876543210);

static DAT_CONN_QUAL qual_of(int round, int i)
{
    return first + (DAT_CONN_QUAL)(round * N_QUALS + i % N_QUALS);
}

static int passive(struct dt *t, const char *name)
{
    DAT_PSP_HANDLE psp[N_QUALS];

    dt_open_as(t, name, DAT_FALSE);
    for (int round = 0; round < N_ROUNDS; round++) {
        for (int i = 0; i < N_QUALS; i++)
            OK(dat_psp_create(t->ia, qual_of(round, i), t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp[i]));
        for (int i = 0; i < N_QUALS; i++)
            OK(dat_psp_free(psp[i]));
        dt_meet(t);
        dt_meet(t);
    }
    dt_close(t);
    return 0;
}

/* The next one of the calls has ended. False: none has, for now. */
static bool take_refusal(struct dt *t)
{
    const DAT_CONNECTION_EVENT_DATA *data;
    DAT_EVENT event;

    if (dat_evd_dequeue(t->conn_evd, &event) != DAT_SUCCESS)
        return false;
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    data = &event.event_data.connect_event_data;
    OK(dat_ep_reset(data->ep_handle));
    OK(dat_ep_free(data->ep_handle));
    return true;
}

static void call_on(struct dt *t, int round)
{
    double start = dt_now(), heard;
    int n = 0, n_open = 0;

    dt_sleep_ms((int)(CLOSES_AFTER * 1000));
    heard = dt_now();
    do {
        for (; n_open < N_EPS && dt_now() < start + CALLS_UNTIL; n_open++)
            OK(dat_ep_connect(dt_ep(t), (DAT_IA_ADDRESS_PTR)&t->addr, qual_of(round, n++), CALL_US,
                              0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        for (; take_refusal(t); n_open--)
            heard = dt_now();
        if (dt_now() > heard + STUCK_AFTER)
            DT_FAIL("round %d: %d of %d calls get no answer", round, n_open, n);
        dt_sleep_ms(1);
    } while (n_open > 0 || dt_now() < start + CALLS_UNTIL);
    CHECK(n > N_EPS);
}

static int active(struct dt *t, const char *name)
{
    dt_open_as(t, name, DAT_FALSE);
    OK(dat_evd_free(t->conn_evd));
    OK(dat_evd_create(t->ia, 2 * N_EPS, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &t->conn_evd));
    for (int round = 0; round < N_ROUNDS; round++) {
        dt_meet(t);
        call_on(t, round);
        dt_meet(t);
    }
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    first += (DAT_CONN_QUAL)getpid() << 12; /* several tests at a time */
    return dt_pair(dt_name(argc, argv), passive, active, false);
}
