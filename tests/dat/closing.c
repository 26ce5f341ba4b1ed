/* test: kind=dat timeout=60 */
/*
 * Requests to an instance that is being closed, whose thread has looked for the last time: they are answered
 * at once. Their sockets may have the numbers of descriptors that the instance has closed.
 */
#include "dat_pair.h"

enum { ROUNDS = 6, N = 6 };

/* Less than what it takes to notice otherwise that nobody is there (src/providers/shm/transport/guard.c).
 * Others use this machine: half of the rounds may need more. */
#define MOST_S 0.4

static pthread_key_t at_end; /* of the provider's thread */
static _Atomic bool is_set;

/* Who asks. */
static struct dt asker;
static DAT_EP_HANDLE ep[N];
static DAT_CONN_QUAL qual;

static void ask(DAT_EP_HANDLE from)
{
    OK(dat_ep_connect(from, (DAT_IA_ADDRESS_PTR)&asker.addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* The thread ends. */
static void ask_at_end(void *arg)
{
    (void)arg;
    for (int i = 1; i < N; i++)
        ask(ep[i]);
}

/* In the provider's thread. */
static void agent(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
    (void)evd;
    CHECK_EQ(pthread_setspecific(at_end, instance_data), 0);
    atomic_store(&is_set, true);
}

/* How long the answers took. */
static double ask_while_closing(const char *name)
{
    struct dt other = {.pipe = -1};
    DAT_OS_WAIT_PROXY_AGENT proxy = {.instance_data = &other, .proxy_agent_func = agent};
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE evd;
    DAT_PSP_HANDLE psp;
    double start;

    dt_open_as(&other, name, DAT_TRUE);
    OK(dat_cno_create(other.ia, proxy, &cno));
    OK(dat_evd_create(other.ia, N, cno, DAT_EVD_CR_FLAG, &evd));
    OK(dat_psp_create_any(other.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
    atomic_store(&is_set, false);
    ask(ep[0]);
    while (!atomic_load(&is_set))
        dt_sleep_ms(1);
    dt_close(&other);
    start = dt_now();
    for (int i = 0; i < N; i++)
        dt_want_conn(asker.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    return dt_now() - start;
}

int main(int argc, char **argv)
{
    const char *name = dt_name(argc, argv);
    int n_slow = 0;

    CHECK_EQ(pthread_key_create(&at_end, ask_at_end), 0);
    dt_open_as(&asker, name, DAT_TRUE);
    for (int i = 0; i < N; i++)
        ep[i] = dt_ep(&asker);
    for (int round = 0; round < ROUNDS; round++) {
        n_slow += ask_while_closing(name) > MOST_S;
        for (int i = 0; i < N; i++)
            OK(dat_ep_reset(ep[i]));
    }
    if (n_slow > ROUNDS / 2)
        DT_FAIL("in %d of %d rounds answers took more than %.1f s", n_slow, ROUNDS, MOST_S);
    dt_close(&asker);
    return 0;
}
