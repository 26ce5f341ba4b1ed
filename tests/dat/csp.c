/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto */
/*
 * Common service points and common connects, through the provider's table, as
 * libdat2 does not export them: requests at a CSP, two sides that meet with
 * nobody listening, in any order and at the same moment, communicators that
 * keep apart, time-outs, refusals and wrong arguments.
 */
#include "dat_raw.h"

enum { ROUNDS = 100, MANY = 20, PRIVATE = 512, BASE_PORT = 1024 };

static const DAT_COMM tcp = {AF_INET, SOCK_STREAM, 6};
static int family; /* the process that started it */

static struct sockaddr_in at_port(struct dt *t, int port)
{
    struct sockaddr_in at;

    memcpy(&at, &t->addr, sizeof(at));
    at.sin_port = htons((in_port_t)(BASE_PORT + port));
    return at;
}

/* Communicators have to differ between tests that run at the same time. */
static DAT_COMM comm_of(int type)
{
    DAT_COMM comm = tcp;

    comm.type = type;
    comm.protocol = family;
    return comm;
}

static void set_comm(DAT_EP_HANDLE ep, DAT_COMM comm)
{
    DAT_EP_PARAM param;

    memset(&param, 0, sizeof(param));
    param.comm = comm;
    OK(dat_ep_modify(ep, DAT_EP_FIELD_COMM, &param));
    memset(&param, 0, sizeof(param));
    OK(dat_ep_query(ep, DAT_EP_FIELD_COMM, &param));
    CHECK_EQ(param.comm.protocol, comm.protocol);
}

static DAT_EP_HANDLE common_ep(struct dt *t, DAT_COMM comm)
{
    DAT_EP_HANDLE ep = dt_raw_ep(t);

    set_comm(ep, comm);
    return ep;
}

static void meet_at(struct dt *t, DAT_EP_HANDLE ep, int port, DAT_TIMEOUT us, int len, int value)
{
    unsigned char data[PRIVATE];
    struct sockaddr_in at = at_port(t, port);

    memset(data, value, sizeof(data));
    OK(dt_table(ep)->ep_common_connect_func(ep, (DAT_IA_ADDRESS_PTR)&at, us, len, data));
    memset(data, 0, sizeof(data));
}

static void want_data(const DAT_EVENT *event, int len, int value)
{
    const DAT_CONNECTION_EVENT_DATA *conn = &event->event_data.connect_event_data;

    CHECK_EQ(conn->private_data_size, len);
    for (int i = 0; i < len; i++)
        CHECK_EQ(((unsigned char *)conn->private_data)[i], value);
}

/* A message each way over a new connection. */
static void talk(struct dt *t, DAT_EP_HANDLE ep)
{
    DAT_LMR_TRIPLET none = {.segment_length = 0};

    OK(dat_ep_post_recv(ep, 0, &none, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_send(ep, 0, &none, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->recv_evd, 1, DAT_DTO_SUCCESS);
    dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS);
}

static void part(struct dt *t, DAT_EP_HANDLE ep, bool is_mine)
{
    if (is_mine)
        OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(ep));
    dt_meet(t);
}

/* Nobody listens; who is first and who has data changes. */
static void peers(struct dt *t, bool is_one)
{
    DAT_EP_HANDLE ep = common_ep(t, comm_of(SOCK_STREAM));
    DAT_EVENT event;

    for (int i = 0; i < ROUNDS; i++) {
        int mine = is_one ? i * 7 % (PRIVATE + 1) : PRIVATE - i % 3;
        int theirs = is_one ? PRIVATE - i % 3 : i * 7 % (PRIVATE + 1);

        dt_meet(t);
        if (i % 4 == (is_one ? 1 : 2))
            dt_sleep_ms(1);
        meet_at(t, ep, i % 2, DT_WAIT_US, mine, is_one ? 1 : 2);
        event = dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        CHECK(event.event_data.connect_event_data.ep_handle == ep);
        want_data(&event, theirs, is_one ? 2 : 1);
        CHECK_EQ(dt_ep_state(ep), DAT_EP_STATE_CONNECTED);
        talk(t, ep);
        dt_meet(t);
        part(t, ep, (i & 1) == is_one);
    }
    dt_want_none(t->conn_evd, 1);
    OK(dat_ep_free(ep));
}

/* All at one meeting point: it does not matter who finds whom. */
static void crowd(struct dt *t)
{
    DAT_EP_HANDLE ep[MANY];

    dt_meet(t);
    for (int i = 0; i < MANY; i++) {
        ep[i] = common_ep(t, comm_of(SOCK_STREAM));
        meet_at(t, ep[i], 3, DT_WAIT_US, 0, 0);
    }
    for (int i = 0; i < MANY; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_meet(t);
    for (int i = 0; i < MANY; i++)
        OK(dat_ep_disconnect(ep[i], DAT_CLOSE_ABRUPT_FLAG));
    for (int i = 0; i < MANY; i++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_meet(t);
    for (int i = 0; i < MANY; i++)
        OK(dat_ep_free(ep[i]));
    dt_want_none(t->conn_evd, 1);
}

static void listens(struct dt *t)
{
    struct sockaddr_in at = at_port(t, 5);
    DAT_COMM comm = comm_of(SOCK_SEQPACKET);
    DAT_EP_HANDLE ep = dt_raw_ep(t);
    DAT_CSP_PARAM param;
    DAT_CSP_HANDLE csp;
    DAT_CSP_HANDLE other;
    DAT_EVENT event;
    DAT_CR_PARAM cr;
    DAT_PROVIDER *p = dt_table(t->ia);

    OK(p->csp_create_func(t->ia, &comm, (DAT_IA_ADDRESS_PTR)&at, t->cr_evd, &csp));
    CHECK_RC(p->csp_create_func(t->ia, &comm, (DAT_IA_ADDRESS_PTR)&at, t->cr_evd, &other),
             DAT_CONN_QUAL_IN_USE);
    OK(p->csp_query_func(csp, DAT_CSP_FIELD_ALL, &param));
    CHECK_EQ(param.comm->type, SOCK_SEQPACKET);
    CHECK_EQ(((struct sockaddr_in *)param.address_ptr)->sin_port, at.sin_port);
    CHECK(param.evd_handle == t->cr_evd);
    dt_meet(t);
    event = dt_wait(t->cr_evd);
    CHECK(event.event_data.cr_arrival_event_data.sp_handle.csp_handle == csp);
    CHECK_EQ(event.event_data.cr_arrival_event_data.conn_qual, BASE_PORT + 5);
    OK(dat_cr_query(event.event_data.cr_arrival_event_data.cr_handle, DAT_CR_FIELD_ALL, &cr));
    CHECK_EQ(cr.private_data_size, 10);
    OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 1, "\3"));
    event = dt_wait(t->cr_evd);
    OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 2, "\4\4"));
    event = dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    want_data(&event, 0, 0);
    OK(p->csp_free_func(csp));
    CHECK_RC(p->csp_free_func(csp), DAT_INVALID_HANDLE);
    CHECK_RC(p->csp_query_func(csp, DAT_CSP_FIELD_ALL, &param), DAT_INVALID_HANDLE);
    talk(t, ep);
    dt_meet(t);
    part(t, ep, true);
    OK(dat_ep_free(ep));
}

static void asks(struct dt *t)
{
    DAT_EP_HANDLE ep = common_ep(t, comm_of(SOCK_SEQPACKET));
    DAT_EVENT event;

    dt_meet(t);
    meet_at(t, ep, 5, DT_WAIT_US, 10, 9);
    event = dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    want_data(&event, 1, 3);
    OK(dat_ep_reset(ep));
    meet_at(t, ep, 5, DT_WAIT_US, 10, 9);
    event = dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    want_data(&event, 2, 4);
    talk(t, ep);
    dt_meet(t);
    part(t, ep, false);
    OK(dat_ep_free(ep));
}

/* Alone, or with somebody in another communicator: nobody comes. */
static void alone(struct dt *t)
{
    DAT_EP_HANDLE ep = common_ep(t, comm_of(SOCK_STREAM));
    DAT_EP_HANDLE other = common_ep(t, comm_of(SOCK_SEQPACKET));
    double begin = dt_now();

    meet_at(t, ep, 6, 60000, 0, 0);
    meet_at(t, other, 6, 30000, 0, 0);
    CHECK_EQ(dt_ep_state(ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT);
    CHECK(dt_now() - begin > 0.059);
    OK(dat_ep_reset(ep));
    /* Somebody who waits can change his mind; then the place is free. */
    meet_at(t, ep, 6, DT_WAIT_US, 0, 0);
    OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(ep));
    OK(dat_ep_reset(other));
    set_comm(other, comm_of(SOCK_STREAM));
    meet_at(t, ep, 6, DT_WAIT_US, 3, 3);
    meet_at(t, other, 6, DT_WAIT_US, 4, 4); /* in one process */
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    OK(dat_ep_free(ep));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_free(other));
}

static void wrong(struct dt *t)
{
    struct sockaddr_in at = at_port(t, 8);
    DAT_IA_ADDRESS_PTR ptr = (DAT_IA_ADDRESS_PTR)&at;
    DAT_PROVIDER *p = dt_table(t->ia);
    DAT_EP_HANDLE ep = dt_raw_ep(t);
    DAT_COMM comm = {AF_INET6, SOCK_STREAM, 0};
    DAT_CSP_HANDLE csp;

    CHECK_RC(p->csp_create_func(t->ia, &comm, ptr, t->cr_evd, &csp), DAT_COMM_NOT_SUPPORTED);
    comm = comm_of(SOCK_DGRAM);
    CHECK_RC(p->csp_create_func(t->ia, &comm, ptr, t->cr_evd, &csp), DAT_COMM_NOT_SUPPORTED);
    set_comm(ep, comm);
    CHECK_RC(p->ep_common_connect_func(ep, ptr, 1000, 0, NULL), DAT_COMM_NOT_SUPPORTED);
    comm = comm_of(0);
    set_comm(ep, comm);
    CHECK_RC(p->csp_create_func(t->ia, NULL, ptr, t->cr_evd, &csp), DAT_INVALID_PARAMETER);
    CHECK_RC(p->csp_create_func(t->ia, &comm, NULL, t->cr_evd, &csp), DAT_INVALID_PARAMETER);
    CHECK_RC(p->csp_create_func(t->ia, &comm, ptr, t->cr_evd, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(p->csp_create_func(t->ia, &comm, ptr, t->conn_evd, &csp), DAT_INVALID_HANDLE);
    CHECK_RC(p->csp_create_func(NULL, &comm, ptr, t->cr_evd, &csp), DAT_INVALID_HANDLE);
    CHECK_RC(p->ep_common_connect_func(ep, NULL, 1000, 0, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(p->ep_common_connect_func(ep, ptr, 0, 0, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(p->ep_common_connect_func(ep, ptr, 1000, PRIVATE + 1, &at), DAT_INVALID_PARAMETER);
    CHECK_RC(p->ep_common_connect_func(ep, ptr, 1000, 1, NULL), DAT_INVALID_PARAMETER);
    at.sin_port = 0;
    CHECK_RC(p->csp_create_func(t->ia, &comm, ptr, t->cr_evd, &csp), DAT_INVALID_ADDRESS);
    at = at_port(t, 8);
    at.sin_addr.s_addr = htonl(0xcb007101u); /* RFC 5737: nobody's */
    CHECK_RC(p->csp_create_func(t->ia, &comm, ptr, t->cr_evd, &csp), DAT_INVALID_ADDRESS);
    OK(p->ep_common_connect_func(ep, ptr, 1000, 0, NULL));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_UNREACHABLE);
    CHECK_RC(p->ep_common_connect_func(ep, ptr, 1000, 0, NULL), DAT_INVALID_STATE);
    OK(dat_ep_free(ep));
}

static int one(struct dt *t, const char *name)
{
    dt_raw_open(t, name);
    wrong(t);
    peers(t, true);
    listens(t);
    crowd(t);
    dt_raw_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    dt_raw_open(t, name);
    peers(t, false);
    asks(t);
    crowd(t);
    alone(t);
    dt_raw_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    family = getpid();
    return dt_pair(dt_name(argc, argv), one, two, false);
}
