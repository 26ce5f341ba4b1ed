/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Dispatchers that are too small. Whoever loses an event is told by one
 * asynchronous event with the dispatcher's handle, however many are lost; what
 * was queued before stays, in order; and what comes after it was emptied
 * arrives again. A lost receive breaks the connection, as the sender cannot be
 * told otherwise; a lost request is rejected.
 */
#include "dat_pair.h"

enum { QLEN = 8, N = 24, N_ASYNC = 200, LEN = 4096 };

static DAT_EVD_HANDLE small(struct dt *t, DAT_EVD_FLAGS flags)
{
    DAT_EVD_HANDLE evd;

    OK(dat_evd_create(t->ia, QLEN, DAT_HANDLE_NULL, flags, &evd));
    return evd;
}

static void want_overflow(struct dt *t, DAT_EVD_HANDLE evd)
{
    DAT_EVENT event = dt_wait(t->async_evd);

    CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
    CHECK(event.event_data.asynch_error_event_data.dat_handle == evd);
}

/* The queued ones: cookies from 0, at least as many as asked for. */
static unsigned drain(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;
    unsigned n = 0;

    while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
        CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
        CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, n);
        CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        n++;
    }
    CHECK(n >= QLEN && n < N);
    return n;
}

/* ---- completions of requests ---- */

static void requests(struct dt *t, struct dt_mem *mem, const struct dt_mem *peer)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(peer, 0, 8);
    DAT_EVD_HANDLE whole = t->req_evd;
    DAT_BOOLEAN is_idle;

    t->req_evd = small(t, DAT_EVD_DTO_FLAG);
    t->ep = dt_ep(t);
    dt_join(t, false);
    for (unsigned i = 0; i < N; i++)
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(i), &to, DAT_COMPLETION_DEFAULT_FLAG));
    want_overflow(t, t->req_evd);
    dt_want_none(t->async_evd, 20);
    (void)drain(t->req_evd);
    /* The connection stands, its completions arrive again, and no request slot
     * is lost with them. */
    for (int round = 0; round < 40; round++) {
        for (unsigned i = 0; i < N; i++)
            OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(i), &to,
                                      DAT_COMPLETION_DEFAULT_FLAG));
        do
            OK(dat_ep_get_status(t->ep, NULL, NULL, &is_idle));
        while (is_idle == DAT_FALSE);
        (void)drain(t->req_evd);
    }
    dt_want_none(t->async_evd, 1);
    dt_want_none(t->conn_evd, 1);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_free(t->ep));
    OK(dat_evd_free(t->req_evd));
    t->req_evd = whole;
}

static void requests_peer(struct dt *t)
{
    t->ep = dt_ep(t);
    dt_join(t, true);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_none(t->async_evd, 1);
    OK(dat_ep_free(t->ep));
}

/* ---- completions of receives ---- */

static void receives(struct dt *t, struct dt_mem *mem)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 8);
    DAT_EVD_HANDLE whole = t->recv_evd;
    DAT_EVENT event;

    t->recv_evd = small(t, DAT_EVD_DTO_FLAG);
    t->ep = dt_ep(t);
    for (unsigned i = 0; i < N; i++)
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
    dt_join(t, true);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    /* The overflow and the end of the connection, once each. */
    event = dt_wait(t->async_evd);
    if (event.event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW) {
        CHECK(event.event_data.asynch_error_event_data.dat_handle == t->recv_evd);
        event = dt_wait(t->async_evd);
        CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
        CHECK(event.event_data.asynch_error_event_data.dat_handle == t->ep);
    } else {
        CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
        want_overflow(t, t->recv_evd);
    }
    dt_want_none(t->async_evd, 20);
    (void)drain(t->recv_evd);
    OK(dat_ep_reset(t->ep));
    /* It serves the next connection. */
    OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(5), DAT_COMPLETION_DEFAULT_FLAG));
    dt_join(t, true);
    dt_want_dto(t->recv_evd, 5, DAT_DTO_SUCCESS);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_free(t->ep));
    OK(dat_evd_free(t->recv_evd));
    t->recv_evd = whole;
}

static void receives_peer(struct dt *t, struct dt_mem *mem)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 8);
    DAT_EVENT event;
    unsigned n = 0;

    t->ep = dt_ep(t);
    dt_join(t, false);
    for (unsigned i = 0; i < N; i++)
        OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
    for (;; n++) {
        event = dt_wait(t->req_evd);
        CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, n);
        if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
            break;
    }
    CHECK(n >= QLEN && n < N - 1);
    CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_REMOTE_RESPONDER);
    while (++n < N)
        dt_want_dto(t->req_evd, n, DAT_DTO_ERR_FLUSHED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    dt_want_none(t->async_evd, 1);
    OK(dat_ep_reset(t->ep));
    dt_join(t, false);
    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_free(t->ep));
}

/* ---- connection requests ---- */

static void conn_requests(struct dt *t)
{
    DAT_EVD_HANDLE evd = small(t, DAT_EVD_CR_FLAG);
    DAT_CONN_QUAL qual;
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    unsigned n = 0;

    OK(dat_psp_create_any(t->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
    dt_tell(t, &qual, sizeof(qual));
    want_overflow(t, evd);
    dt_meet(t); /* all have asked, those too many have been rejected */
    dt_want_none(t->async_evd, 1);
    for (; n < QLEN; n++) {
        OK(dat_evd_dequeue(evd, &event));
        OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
    }
    event = dt_wait(evd); /* a later one arrives again */
    OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
    OK(dat_psp_free(psp));
    dt_tell(t, &n, sizeof(n));
    OK(dat_evd_free(evd));
}

static void ask(struct dt *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
    OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void conn_requests_peer(struct dt *t)
{
    DAT_EP_HANDLE ep[N];
    DAT_CONN_QUAL qual;
    unsigned n_asked;
    unsigned n_rejected = 0;

    dt_hear(t, &qual, sizeof(qual));
    for (int i = 0; i < N; i++) {
        ep[i] = dt_ep(t);
        ask(t, ep[i], qual);
    }
    for (int i = 0; i < N - QLEN; i++) /* those for whom there was no room */
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    dt_meet(t);
    for (int i = 0; i < QLEN; i++, n_rejected++)
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    OK(dat_ep_free(ep[0]));
    ep[0] = dt_ep(t);
    ask(t, ep[0], qual);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    dt_hear(t, &n_asked, sizeof(n_asked));
    CHECK_EQ(n_asked, n_rejected);
    dt_want_none(t->conn_evd, 1);
    for (int i = 0; i < N; i++)
        OK(dat_ep_free(ep[i]));
}

/* ---- connection events ---- */

static void conn_events(struct dt *t)
{
    DAT_EVD_HANDLE whole = t->conn_evd;
    DAT_EP_HANDLE ep[N];
    DAT_EP_STATE state;
    DAT_EVENT event;
    unsigned n = 0;

    t->conn_evd = small(t, DAT_EVD_CONNECTION_FLAG);
    for (int i = 0; i < N; i++) {
        ep[i] = dt_ep(t);
        ask(t, ep[i], 0x0affab1f77u); /* nobody listens there */
    }
    want_overflow(t, t->conn_evd);
    for (int i = 0; i < N; i++) /* all have failed, whatever could be said */
        do
            OK(dat_ep_get_status(ep[i], &state, NULL, NULL));
        while (state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    dt_want_none(t->async_evd, 1);
    while (dat_evd_dequeue(t->conn_evd, &event) == DAT_SUCCESS) {
        CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        CHECK(event.event_data.connect_event_data.ep_handle == ep[n]);
        n++;
    }
    CHECK_EQ(n, QLEN);
    for (int i = 0; i < N; i++)
        OK(dat_ep_free(ep[i]));
    OK(dat_evd_free(t->conn_evd));
    t->conn_evd = whole;
}

/* ---- the dispatcher that tells of overflows ---- */

static void async_events(const char *name)
{
    struct dt t = {.pipe = -1};
    DAT_EVENT event;
    unsigned n = 0;

    t.async_evd = DAT_HANDLE_NULL;
    OK(dat_ia_openv((DAT_NAME_PTR)name, QLEN, &t.async_evd, &t.ia, 2, 0, DAT_FALSE));
    OK(dat_pz_create(t.ia, &t.pz));
    for (int i = 0; i < N_ASYNC; i++) { /* each overflows once */
        DAT_EVD_HANDLE evd = small(&t, DAT_EVD_CONNECTION_FLAG);
        DAT_IA_ATTR attr;
        DAT_EP_HANDLE ep;

        OK(dat_ia_query(t.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
        memcpy(&t.addr, attr.ia_address_ptr, sizeof(t.addr));
        OK(dat_ep_create(t.ia, t.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, evd, NULL, &ep));
        for (int k = 0; k <= QLEN; k++) {
            DAT_EP_STATE state;

            ask(&t, ep, 0x0affab1f77u);
            do
                OK(dat_ep_get_status(ep, &state, NULL, NULL));
            while (state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
            OK(dat_ep_reset(ep));
        }
    }
    while (dat_evd_dequeue(t.async_evd, &event) == DAT_SUCCESS) {
        CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
        CHECK(event.event_data.asynch_error_event_data.dat_handle != t.async_evd);
        n++;
    }
    CHECK(n >= QLEN && n < N_ASYNC);
    dt_close(&t);
}

static int one(struct dt *t, const char *name)
{
    struct dt_mem mem;

    dt_open_as(t, name, DAT_FALSE);
    dt_alloc(t, &mem, LEN, true);
    dt_tell(t, &mem, sizeof(mem));
    requests_peer(t);
    receives(t, &mem);
    conn_requests(t);
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;

    dt_open_as(t, name, DAT_FALSE);
    dt_alloc(t, &mem, LEN, false);
    dt_hear(t, &peer, sizeof(peer));
    requests(t, &mem, &peer);
    receives_peer(t, &mem);
    conn_requests_peer(t);
    conn_events(t);
    dt_close(t);
    async_events(name);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
