/* test: kind=dat prov=datum-tcp,datum-ofi timeout=60 net=progress=auto|progress=thread|family=6 */
/*
 * Connections of a network provider: qualifiers of 64 bits that share ports,
 * a low one that is its port, one that is taken on this host; callers that say
 * nothing or nonsense, a listener that says nothing; many calls at once.
 */
#include "dat_pair.h"

#include <arpa/inet.h>
#include <errno.h>

enum { N_QUALS = 40, N_CALLS = 1000, SILENT = 20, CALL_US = 60000000 };

static DAT_CONN_QUAL high = UINT64_C(0xfedcba9876543210);
static DAT_CONN_QUAL low = 18000;

static void set_port(struct sockaddr_in6 *addr, int port)
{
    struct sockaddr_in in;

    memcpy(&in, addr, sizeof(in));
    in.sin_port = htons((in_port_t)port); /* the same place in both */
    memcpy(addr, &in, sizeof(in));
}

static socklen_t addr_len(const struct sockaddr_in6 *addr)
{
    return addr->sin6_family == AF_INET6 ? sizeof(*addr) : sizeof(struct sockaddr_in);
}

/* A plain TCP socket that is connected there. */
static int dial(struct dt *t, int port)
{
    struct sockaddr_in6 to = t->addr;
    int fd = socket(to.sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    set_port(&to, port);
    if (connect(fd, (struct sockaddr *)&to, addr_len(&to)) != 0)
        DT_FAIL("connect to port %d: %s", port, strerror(errno));
    return fd;
}

/* A request comes: who asks for what, and it is refused. */
static void refuse_next(struct dt *t, DAT_CONN_QUAL qual)
{
    DAT_EVENT event = dt_wait(t->cr_evd);

    CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
    CHECK_EQ(event.event_data.cr_arrival_event_data.conn_qual, qual);
    OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
}

static void call(struct dt *t, DAT_CONN_QUAL qual, DAT_EVENT_NUMBER number)
{
    OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    dt_want_conn(t->conn_evd, number);
    OK(dat_ep_reset(t->ep));
}

/* Room for all the calls at once. */
static void open_wide(struct dt *t, const char *name)
{
    dt_open_as(t, name, DAT_FALSE);
    OK(dat_evd_free(t->cr_evd));
    OK(dat_evd_free(t->conn_evd));
    OK(dat_evd_create(t->ia, 2 * N_CALLS, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &t->cr_evd));
    OK(dat_evd_create(t->ia, 2 * N_CALLS, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &t->conn_evd));
    t->ep = dt_ep(t);
}

static void listen_all(struct dt *t, DAT_PSP_HANDLE *psp)
{
    DAT_PSP_HANDLE again;

    for (int i = 0; i < N_QUALS; i++)
        OK(dat_psp_create(t->ia, high + (DAT_CONN_QUAL)i, t->cr_evd, DAT_PSP_CONSUMER_FLAG,
                          &psp[i]));
    OK(dat_psp_create(t->ia, low, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp[N_QUALS]));
    CHECK_RC(dat_psp_create(t->ia, high, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &again),
             DAT_CONN_QUAL_IN_USE);
}

static int passive(struct dt *t, const char *name)
{
    DAT_PSP_HANDLE psp[N_QUALS + 1];
    DAT_CONN_QUAL any;
    DAT_PSP_HANDLE one;
    DAT_EP_HANDLE ep;

    open_wide(t, name);
    listen_all(t, psp);
    OK(dat_psp_create_any(t->ia, &any, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &one));
    CHECK(any < 65536);
    dt_tell(t, &any, sizeof(any));
    for (int i = 0; i < N_QUALS; i++)
        refuse_next(t, high + (DAT_CONN_QUAL)i);
    refuse_next(t, low);
    refuse_next(t, any);
    for (int i = 0; i < N_QUALS; i++)
        OK(dat_psp_free(psp[i]));
    dt_meet(t); /* now they are free for the other process */
    dt_meet(t);
    /* Between silent and mad callers, honest ones get through. */
    refuse_next(t, low);
    refuse_next(t, low);
    for (int i = 0; i < N_CALLS; i++) {
        DAT_EVENT event = dt_wait(t->cr_evd);

        ep = dt_ep(t);
        OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    dt_meet(t);
    for (int i = 0; i < N_CALLS; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_close(t);
    return 0;
}

static void strange_callers(struct dt *t)
{
    static const char noise[4096] = "GET / HTTP/1.0\r\n\r\n";
    int silent[SILENT];
    int mad[SILENT];

    for (int i = 0; i < SILENT; i++) {
        silent[i] = dial(t, (int)low);
        mad[i] = dial(t, (int)low);
        (void)send(mad[i], noise, sizeof(noise), MSG_NOSIGNAL);
    }
    call(t, low, DAT_CONNECTION_EVENT_PEER_REJECTED);
    for (int i = 0; i < SILENT; i++)
        close(mad[i]);
    call(t, low, DAT_CONNECTION_EVENT_PEER_REJECTED);
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
}

/* Somebody accepts the connection, and says nothing. */
static void silent_listener(struct dt *t)
{
    struct sockaddr_in6 at = t->addr;
    socklen_t len = sizeof(at);
    int fd = socket(at.sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in in;
    double start = dt_now();

    set_port(&at, 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)&at, addr_len(&at)), 0);
    CHECK_EQ(listen(fd, 8), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    memcpy(&in, &at, sizeof(in));
    OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&t->addr, ntohs(in.sin_port), 300000, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT);
    CHECK(dt_now() - start > 0.29);
    OK(dat_ep_reset(t->ep));
    close(fd);
}

static void many_calls(struct dt *t)
{
    static DAT_EP_HANDLE ep[N_CALLS];

    for (int i = 0; i < N_CALLS; i++) {
        ep[i] = dt_ep(t);
        OK(dat_ep_connect(ep[i], (DAT_IA_ADDRESS_PTR)&t->addr, low, CALL_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    }
    for (int i = 0; i < N_CALLS; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_meet(t);
    for (int i = 0; i < N_CALLS; i++)
        OK(dat_ep_disconnect(ep[i], DAT_CLOSE_ABRUPT_FLAG));
    for (int i = 0; i < N_CALLS; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static int active(struct dt *t, const char *name)
{
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL any;

    open_wide(t, name);
    dt_hear(t, &any, sizeof(any));
    CHECK_RC(dat_psp_create(t->ia, high + 3, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
             DAT_CONN_QUAL_IN_USE);
    for (int i = 0; i < N_QUALS; i++)
        call(t, high + (DAT_CONN_QUAL)i, DAT_CONNECTION_EVENT_PEER_REJECTED);
    close(dial(t, (int)low)); /* it is that port */
    call(t, low, DAT_CONNECTION_EVENT_PEER_REJECTED);
    call(t, any, DAT_CONNECTION_EVENT_PEER_REJECTED);
    call(t, high + N_QUALS, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    dt_meet(t);
    OK(dat_psp_create(t->ia, high + 3, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    OK(dat_psp_free(psp));
    call(t, high, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    dt_meet(t);
    strange_callers(t);
    silent_listener(t);
    many_calls(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    high += (DAT_CONN_QUAL)getpid() << 8; /* several tests at a time */
    low += (DAT_CONN_QUAL)getpid() % 2000;
    return dt_pair(dt_name(argc, argv), passive, active, false);
}
