/* test: kind=dat timeout=60 params=copy=auto */
/*
 * Connections: private data both ways and on reject, refusals, timeouts,
 * unreachable addresses, reserved service points, many at once, both sides
 * disconnecting, reconnecting, and both endpoints in one process.
 */
#include "dat_pair.h"

enum { PRIVATE = 256, MANY = 60 };

static void connect_to(struct dt *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_TIMEOUT us, int len,
                       void *data)
{
    struct sockaddr_in6 addr = t->addr; /* may go when the call returns */

    OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&addr, qual, us, len, data, DAT_QOS_BEST_EFFORT,
                      DAT_CONNECT_DEFAULT_FLAG));
    memset(&addr, 0xff, sizeof(addr));
}

static DAT_CR_HANDLE want_cr(struct dt *t, DAT_HANDLE sp, DAT_CONN_QUAL qual, unsigned char tag)
{
    DAT_EVENT event = dt_wait(t->cr_evd);
    DAT_CR_ARRIVAL_EVENT_DATA *cr = &event.event_data.cr_arrival_event_data;
    DAT_CR_PARAM param;

    CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
    CHECK(cr->sp_handle.psp_handle == sp);
    CHECK_EQ(cr->conn_qual, qual);
    OK(dat_cr_query(cr->cr_handle, DAT_CR_FIELD_ALL, &param));
    CHECK_EQ(param.private_data_size, PRIVATE);
    for (int i = 0; i < PRIVATE; i++)
        CHECK_EQ(((unsigned char *)param.private_data)[i], (unsigned char)(i + tag));
    memset(param.private_data, tag + 1, PRIVATE); /* it is ours to change */
    return cr->cr_handle;
}

static void want_private(const DAT_EVENT *event, unsigned char value)
{
    const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;

    CHECK_EQ(data->private_data_size, PRIVATE);
    for (int i = 0; i < PRIVATE; i++)
        CHECK_EQ(((unsigned char *)data->private_data)[i], value);
}

static void *pattern(unsigned char *buf, unsigned char tag)
{
    for (int i = 0; i < PRIVATE; i++)
        buf[i] = (unsigned char)(i + tag);
    return buf;
}

static void passive(struct dt *t, DAT_CONN_QUAL qual)
{
    unsigned char data[PRIVATE];
    DAT_PSP_HANDLE psp;
    DAT_RSP_HANDLE rsp;
    DAT_CR_HANDLE cr;
    DAT_CR_PARAM param;
    DAT_EVENT event;

    OK(dat_psp_create(t->ia, qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    dt_meet(t);
    cr = want_cr(t, psp, qual, 1);
    memset(data, 0x2a, PRIVATE);
    OK(dat_cr_reject(cr, PRIVATE, data));
    CHECK_RC(dat_cr_reject(cr, 0, NULL), DAT_INVALID_HANDLE);
    cr = want_cr(t, psp, qual, 2);
    OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
    OK(dat_cr_accept(cr, t->ep, PRIVATE, param.private_data));
    event = dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    CHECK(event.event_data.connect_event_data.ep_handle == t->ep);
    OK(dat_psp_free(psp)); /* with a live connection */
    dt_meet(t);
    /* Both disconnect at the same time; one event each. */
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_DEFAULT));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_meet(t);
    dt_want_none(t->conn_evd, 5);
    OK(dat_ep_reset(t->ep));
    /* Reserved: the endpoint belongs to the service point. */
    OK(dat_rsp_create(t->ia, qual, t->ep, t->cr_evd, &rsp));
    CHECK_RC(dat_ep_free(t->ep), DAT_INVALID_STATE);
    dt_meet(t);
    cr = want_cr(t, rsp, qual, 3);
    OK(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    OK(dat_rsp_free(rsp));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
    /* Never answered: the other side times out, and accepting is too late. */
    OK(dat_psp_create(t->ia, qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    dt_meet(t);
    cr = want_cr(t, psp, qual, 4);
    dt_meet(t);
    dt_sleep_ms(20);
    OK(dat_cr_accept(cr, t->ep, 0, NULL));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
    OK(dat_ep_reset(t->ep));
    OK(dat_psp_free(psp));
    dt_meet(t);
}

static void active(struct dt *t, DAT_CONN_QUAL qual)
{
    unsigned char data[PRIVATE];
    DAT_EVENT event;
    double start;

    dt_meet(t);
    connect_to(t, t->ep, qual, DT_WAIT_US, PRIVATE, pattern(data, 1));
    event = dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    want_private(&event, 0x2a);
    OK(dat_ep_reset(t->ep));
    connect_to(t, t->ep, qual, DT_WAIT_US, PRIVATE, pattern(data, 2));
    event = dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    want_private(&event, 3);
    dt_meet(t);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_DEFAULT));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_meet(t);
    dt_want_none(t->conn_evd, 5);
    OK(dat_ep_reset(t->ep));
    dt_meet(t);
    connect_to(t, t->ep, qual, DT_WAIT_US, PRIVATE, pattern(data, 3));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_GRACEFUL_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
    dt_meet(t);
    start = dt_now();
    connect_to(t, t->ep, qual, 100000, PRIVATE, pattern(data, 4));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT);
    CHECK(dt_now() - start > 0.09);
    OK(dat_ep_reset(t->ep));
    dt_meet(t);
    dt_meet(t);
}

static void wrong_arguments(struct dt *t)
{
    DAT_IA_ADDRESS_PTR addr = (DAT_IA_ADDRESS_PTR)&t->addr;
    struct sockaddr_in far = {.sin_family = AF_INET};
    DAT_EP_HANDLE bare;

    CHECK_RC(dat_ep_connect(t->ep, addr, 1, 0, 0, NULL, DAT_QOS_BEST_EFFORT, 0),
             DAT_INVALID_PARAMETER);
    CHECK_RC(dat_ep_connect(t->ep, addr, 1, 1000, 0, NULL, DAT_QOS_LOW_LATENCY, 0),
             DAT_MODEL_NOT_SUPPORTED);
    CHECK_RC(dat_ep_connect(t->ep, addr, 1, 1000, 1 << 20, "x", DAT_QOS_BEST_EFFORT, 0),
             DAT_INVALID_PARAMETER);
    CHECK_RC(dat_ep_connect(t->ep, NULL, 1, 1000, 0, NULL, DAT_QOS_BEST_EFFORT, 0),
             DAT_INVALID_PARAMETER);
    OK(dat_ep_create(t->ia, DAT_HANDLE_NULL, t->recv_evd, t->req_evd, t->conn_evd, NULL, &bare));
    CHECK_RC(dat_ep_connect(bare, addr, 1, 1000, 0, NULL, DAT_QOS_BEST_EFFORT, 0),
             DAT_INVALID_STATE);
    OK(dat_ep_free(bare));
    /* An address for documentation, RFC 5737: nobody's. */
    far.sin_addr.s_addr = htonl(0xcb007101u);
    OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&far, 1, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT,
                      0));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_UNREACHABLE);
    CHECK_RC(dat_ep_connect(t->ep, addr, 1, 1000, 0, NULL, DAT_QOS_BEST_EFFORT, 0),
             DAT_INVALID_STATE);
    OK(dat_ep_reset(t->ep));
}

/* Accept the endpoint whose number the request brings: requests that find the
 * backlog full are made again, and so come in any order. */
static void accept_numbered(struct dt *t, DAT_EP_HANDLE ep[MANY])
{
    DAT_EVENT event = dt_wait(t->cr_evd);
    DAT_CR_HANDLE cr = event.event_data.cr_arrival_event_data.cr_handle;
    DAT_CR_PARAM param;
    unsigned char number;

    CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
    OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
    number = *(unsigned char *)param.private_data;
    CHECK(number < MANY);
    OK(dat_cr_accept(cr, ep[number], 0, NULL));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Many connections to one service point, accepted later in a row. */
static void many(struct dt *t, bool is_passive)
{
    static DAT_EP_HANDLE ep[MANY];
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;

    for (int i = 0; i < MANY; i++)
        ep[i] = dt_ep(t);
    if (is_passive) {
        psp = dt_listen(t);
        dt_meet(t);
        for (int i = 0; i < MANY; i++)
            accept_numbered(t, ep);
        OK(dat_psp_free(psp));
    } else {
        dt_hear(t, &qual, sizeof(qual));
        for (int i = 0; i < MANY; i++) {
            unsigned char number = (unsigned char)i;

            connect_to(t, ep[i], qual, DT_WAIT_US, sizeof(number), &number);
            if (i == 30)
                dt_meet(t);
        }
        for (int i = 0; i < MANY; i++)
            dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    dt_meet(t);
    for (int i = 0; i < MANY; i++)
        if ((i % 2 == 0) == is_passive)
            OK(dat_ep_disconnect(ep[i], DAT_CLOSE_ABRUPT_FLAG));
    for (int i = 0; i < MANY; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    for (int i = 0; i < MANY; i++)
        OK(dat_ep_free(ep[i]));
    dt_want_none(t->conn_evd, 1);
}

/* Two endpoints of one instance. */
static void to_itself(struct dt *t)
{
    DAT_EP_HANDLE other = dt_ep(t);
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;
    struct dt_mem mem;
    DAT_LMR_TRIPLET seg[2];
    DAT_RMR_TRIPLET to;
    DAT_EVENT event;

    dt_alloc(t, &mem, 8192, true);
    seg[0] = dt_seg(&mem, 0, 100);
    seg[1] = dt_seg(&mem, 4096, 100);
    to = dt_remote(&mem, 6000, 100);
    memset(mem.buf, 9, 100);
    OK(dat_psp_create_any(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    connect_to(t, t->ep, qual, DT_WAIT_US, 0, NULL);
    event = dt_wait(t->cr_evd);
    OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, other, 0, NULL));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    OK(dat_ep_post_send(t->ep, 1, &seg[0], dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_recv(other, 1, &seg[1], dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS);
    CHECK_EQ(dt_want_dto(t->recv_evd, 2, DAT_DTO_SUCCESS), 100);
    OK(dat_ep_post_rdma_write(other, 1, &seg[1], dt_cookie(3), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 3, DAT_DTO_SUCCESS);
    CHECK_EQ(mem.buf[6099], 9);
    OK(dat_lmr_free(mem.lmr));
    OK(dat_ep_disconnect(other, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_free(other));
    OK(dat_ep_reset(t->ep));
    OK(dat_psp_free(psp));
}

static int one(struct dt *t, const char *name)
{
    DAT_CONN_QUAL qual = 0xfedcba9800000000u + (DAT_CONN_QUAL)getpid();

    dt_open(t, name);
    dt_tell(t, &qual, sizeof(qual));
    for (int i = 0; i < 3; i++) {
        dt_meet(t);
        passive(t, qual);
    }
    many(t, true);
    to_itself(t);
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    DAT_CONN_QUAL qual;

    dt_open(t, name);
    wrong_arguments(t);
    dt_hear(t, &qual, sizeof(qual));
    for (int i = 0; i < 3; i++) {
        connect_to(t, t->ep, qual, DT_WAIT_US, 0, NULL); /* nobody listens yet */
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        OK(dat_ep_reset(t->ep));
        dt_meet(t);
        active(t, qual);
    }
    many(t, false);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
