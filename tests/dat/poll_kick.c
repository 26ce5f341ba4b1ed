/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto */
/*
 * A poll that reads the inbox (src/providers/shm/transport/inbox.h) ends at the moment when another thread has
 * something for the provider's thread to do: an agent to be called. It is, though nobody polls again.
 */
#include "dat_fake.h"

enum { ROUNDS = 200000 };

#define MOST_S 10.0 /* of the machine's time; fewer rounds do then */

static struct dm_shm_hdr *own;
static DAT_EVD_HANDLE evd; /* whose events the agent hears of */
static DAT_EVD_HANDLE empty;
static DAT_CNO_HANDLE cno;
static _Atomic int n_called;
static _Atomic int n_begun; /* the round that the poller is in */
static _Atomic int n_polled;
static _Atomic bool is_over;
static DAT_OS_WAIT_PROXY_AGENT proxy;

/* In the provider's thread. */
static void agent(DAT_PVOID instance_data, DAT_EVD_HANDLE of)
{
    DAT_EVENT event;

    (void)instance_data;
    OK(dat_cno_modify_agent(cno, proxy));
    while (dat_evd_dequeue(of, &event) == DAT_SUCCESS)
        atomic_fetch_add(&n_called, 1);
}

/* One poll a round. */
static void *poller(void *arg)
{
    DAT_EVENT event;

    (void)arg;
    for (int round = 1; !atomic_load(&is_over); round++) {
        while (atomic_load(&n_begun) < round && !atomic_load(&is_over))
            ;
        atomic_store(&own->inbox.is_due, 1);
        CHECK(dat_evd_dequeue(empty, &event) != DAT_SUCCESS);
        atomic_store(&n_polled, round);
    }
    return NULL;
}

static void wait_for(const _Atomic int *n, int least, const char *what)
{
    double end = dt_now() + 1e-6 * DT_WAIT_US;

    while (atomic_load(n) < least)
        if (dt_now() > end)
            DT_FAIL("round %d: %s", least, what);
}

/* The segment of the only instance of this process. */
static struct fake_seg map_own(struct dt *t)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_REJECT, .status = 1};
    struct dm_shm_letter request;
    struct fake_seg seg;
    struct fake fake;

    fake_open(&fake, UINT64_C(0x4731000000000002));
    fake_ask(t, t->ep, fake.qual);
    request = fake_read(&fake);
    seg = fake_map(&request);
    fake_answer(&fake, &seg, &request, &msg);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    fake_close(&fake);
    return seg;
}

static void race(double last)
{
    DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

    for (int round = 1; round <= ROUNDS && dt_now() < last; round++) {
        event.evd_handle = evd;
        atomic_store(&n_begun, round);
        for (volatile int i = 0; i < round % 64 * 8; i++) /* at another moment each time */
            ;
        OK(dat_evd_post_se(evd, &event));
        wait_for(&n_called, round, "the agent has not been called");
        wait_for(&n_polled, round, "the poll has not ended");
    }
}

int main(int argc, char **argv)
{
    struct dt t = {.pipe = -1};
    struct fake_seg seg;
    pthread_t thread;

    dt_open_as(&t, dt_name(argc, argv), DAT_TRUE);
    t.ep = dt_ep(&t);
    seg = map_own(&t);
    own = seg.hdr;
    proxy = (DAT_OS_WAIT_PROXY_AGENT){.instance_data = &t, .proxy_agent_func = agent};
    OK(dat_cno_create(t.ia, proxy, &cno));
    OK(dat_evd_create(t.ia, 64, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
    OK(dat_evd_create(t.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &empty));
    CHECK_EQ(pthread_create(&thread, NULL, poller, NULL), 0);
    race(dt_now() + MOST_S);
    atomic_store(&is_over, true);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    dt_close(&t);
    fake_unmap(&seg);
    return 0;
}
