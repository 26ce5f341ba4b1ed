/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Who is woken by a completion and who is not: unsignalled requests and
 * receives, solicited sends, errors; waiters and CNOs. An event that wakes
 * nobody is in the dispatcher all the same.
 */
#include "dat_ext.h"

enum { LEN = 4096, QUIET_MS = 20 };

/* A thread that waits for one event. */
struct sleeper {
    DAT_EVD_HANDLE evd;
    pthread_t thread;
    _Atomic bool is_awake;
    DAT_EVENT event;
    DAT_COUNT n_more;
};

static void *wait_in_cno(void *arg)
{
    struct sleeper *s = arg;

    OK(dat_evd_wait(s->evd, DT_WAIT_US, 1, &s->event, &s->n_more));
    atomic_store(&s->is_awake, true);
    return NULL;
}

static void sleep_on(struct sleeper *s, DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;

    memset(s, 0, sizeof(*s));
    s->evd = evd;
    CHECK_EQ(pthread_create(&s->thread, NULL, wait_in_cno, s), 0);
    /* It waits when others are refused. */
    while (DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) != DAT_INVALID_STATE)
        dt_sleep_ms(1);
    dt_sleep_ms(QUIET_MS);
}

static void still_asleep(const struct sleeper *s)
{
    dt_sleep_ms(QUIET_MS);
    CHECK(!atomic_load(&s->is_awake));
}

/* It must wake up; the first event's cookie, and how many more there are. */
static void wakes_up(struct sleeper *s, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status,
                     DAT_COUNT n_more)
{
    CHECK_EQ(pthread_join(s->thread, NULL), 0);
    CHECK_EQ(s->event.event_data.dto_completion_event_data.user_cookie.as_64, cookie);
    CHECK_EQ(s->event.event_data.dto_completion_event_data.status, status);
    CHECK_EQ(s->n_more, n_more);
}

static DAT_EP_HANDLE new_ep(struct dt *t, int recv_flags, int request_flags)
{
    DAT_EP_PARAM param;
    DAT_EP_HANDLE ep = dt_ep(t);

    OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    OK(dat_ep_free(ep));
    param.ep_attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv_flags;
    param.ep_attr.request_completion_flags = (DAT_COMPLETION_FLAGS)request_flags;
    OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &param.ep_attr, &ep));
    return ep;
}

static void reconnect(struct dt *t, int recv_flags, int request_flags, bool is_passive)
{
    if (t->ep != DAT_HANDLE_NULL) {
        if (is_passive)
            OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        OK(dat_ep_free(t->ep));
    }
    t->ep = new_ep(t, recv_flags, request_flags);
    dt_join(t, is_passive);
}

/* --- requests --- */

static void request_side(struct dt *t, const struct dt_mem *mem, const struct dt_mem *peer)
{
    const int quiet = DAT_COMPLETION_UNSIGNALLED_FLAG;
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(peer, 0, 8);
    struct sleeper s;
    DAT_EVENT event;
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE evd;

    sleep_on(&s, t->req_evd);
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, quiet));
    OK(dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(2), &to, quiet));
    OK(dt_fetch_add(t->ep, 1, &seg, 3, &to, quiet));
    still_asleep(&s);
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(4), &to, DAT_COMPLETION_DEFAULT_FLAG));
    wakes_up(&s, 1, DAT_DTO_SUCCESS, 3);
    dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS);
    dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_FETCH_AND_ADD, 3, DAT_DTO_SUCCESS, 8);
    dt_want_dto(t->req_evd, 4, DAT_DTO_SUCCESS);

    /* Who does not sleep sees them. */
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(5), &to, quiet));
    while (dat_evd_dequeue(t->req_evd, &event) != DAT_SUCCESS)
        sched_yield();
    CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 5);

    OK(dat_cno_create(t->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
    OK(dat_evd_modify_cno(t->req_evd, cno));
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(6), &to, quiet));
    OK(dt_fetch_add(t->ep, 1, &seg, 7, &to, quiet));
    CHECK(dat_cno_wait(cno, QUIET_MS * 1000, &evd) != DAT_SUCCESS);
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(8), &to, DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_cno_wait(cno, DT_WAIT_US, &evd));
    CHECK(evd == t->req_evd);
    dt_want_dto(t->req_evd, 6, DAT_DTO_SUCCESS);
    dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_FETCH_AND_ADD, 7, DAT_DTO_SUCCESS, 8);
    dt_want_dto(t->req_evd, 8, DAT_DTO_SUCCESS);
    OK(dat_evd_modify_cno(t->req_evd, DAT_HANDLE_NULL));
    OK(dat_cno_free(cno));

    /* An error is news for everybody. */
    sleep_on(&s, t->req_evd);
    to.rmr_context ^= 0x10000;
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(9), &to, quiet));
    wakes_up(&s, 9, DAT_DTO_ERR_REMOTE_ACCESS, 0);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    OK(dat_ep_free(t->ep));
    t->ep = DAT_HANDLE_NULL;
    to.rmr_context ^= 0x10000;

    /* The endpoint has to be made for it. */
    reconnect(t, 0, 0, false);
    sleep_on(&s, t->req_evd);
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, quiet));
    wakes_up(&s, 1, DAT_DTO_SUCCESS, 0);
}

/* --- receives: the sender does what it is told --- */

enum what { DO_SEND, DO_IMMED, DO_END };
struct order {
    enum what what;
    int flags;
    uint32_t len;
    DAT_DTO_COMPLETION_STATUS status;
};

static void tell(struct dt *t, enum what what, int flags, uint32_t len,
                 DAT_DTO_COMPLETION_STATUS status)
{
    struct order o = {.what = what, .flags = flags, .len = len, .status = status};

    dt_tell(t, &o, sizeof(o));
    dt_meet(t);
}

static void obey(struct dt *t, const struct dt_mem *mem, const struct dt_mem *peer)
{
    struct order o;

    for (;;) {
        DAT_LMR_TRIPLET seg;
        DAT_RMR_TRIPLET to = dt_remote(peer, 0, 64);

        dt_hear(t, &o, sizeof(o));
        if (o.what == DO_END)
            return;
        seg = dt_seg(mem, 0, o.len);
        if (o.what == DO_SEND) {
            OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(1), (DAT_COMPLETION_FLAGS)o.flags));
            dt_want_dto(t->req_evd, 1, o.status);
        } else {
            OK(dt_write_immed(t->ep, 1, &seg, 1, &to, 5, o.flags));
            dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_RDMA_WRITE_IMMED, 1, o.status, o.len);
        }
        if (o.status != DAT_DTO_SUCCESS)
            dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
        dt_meet(t);
    }
}

static void post_recv(struct dt *t, const struct dt_mem *mem, uint64_t cookie, int flags)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 100);

    OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(cookie), (DAT_COMPLETION_FLAGS)flags));
}

static void solicited_side(struct dt *t, const struct dt_mem *mem)
{
    struct sleeper s;

    for (uint64_t i = 0; i < 7; i++)
        post_recv(t, mem, i, 0);
    sleep_on(&s, t->recv_evd);
    tell(t, DO_SEND, 0, 10, DAT_DTO_SUCCESS);
    tell(t, DO_SEND, 0, 11, DAT_DTO_SUCCESS);
    tell(t, DO_IMMED, 0, 12, DAT_DTO_SUCCESS);
    still_asleep(&s);
    tell(t, DO_SEND, DAT_COMPLETION_SOLICITED_WAIT_FLAG, 13, DAT_DTO_SUCCESS);
    wakes_up(&s, 0, DAT_DTO_SUCCESS, 3);
    CHECK_EQ(dt_want_dto(t->recv_evd, 1, DAT_DTO_SUCCESS), 11);
    CHECK_EQ(dt_want_ext(dt_wait(t->recv_evd), t->ep, DAT_IB_RDMA_WRITE_IMMED_DATA, 2,
                         DAT_DTO_SUCCESS, 12),
             5);
    CHECK_EQ(dt_want_dto(t->recv_evd, 3, DAT_DTO_SUCCESS), 13);
    sleep_on(&s, t->recv_evd);
    tell(t, DO_IMMED, DAT_COMPLETION_SOLICITED_WAIT_FLAG, 1, DAT_DTO_SUCCESS);
    wakes_up(&s, 4, DAT_DTO_SUCCESS, 0);
    sleep_on(&s, t->recv_evd);
    tell(t, DO_SEND, 0, 101, DAT_DTO_ERR_REMOTE_RESPONDER); /* too long, and not solicited */
    CHECK_EQ(pthread_join(s.thread, NULL), 0);
    CHECK_EQ(s.event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_LENGTH);
    dt_want_dto(t->recv_evd, 6, DAT_DTO_ERR_FLUSHED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    CHECK_EQ(dt_wait(t->async_evd).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    OK(dat_ep_free(t->ep));
    t->ep = DAT_HANDLE_NULL;
}

static void unsignalled_side(struct dt *t, const struct dt_mem *mem)
{
    struct sleeper s;

    for (uint64_t i = 0; i < 4; i++)
        post_recv(t, mem, i, i % 2 == 0 ? DAT_COMPLETION_UNSIGNALLED_FLAG : 0);
    sleep_on(&s, t->recv_evd);
    tell(t, DO_SEND, DAT_COMPLETION_SOLICITED_WAIT_FLAG, 10, DAT_DTO_SUCCESS);
    still_asleep(&s);
    tell(t, DO_SEND, 0, 10, DAT_DTO_SUCCESS);
    wakes_up(&s, 0, DAT_DTO_SUCCESS, 1);
    dt_want_dto(t->recv_evd, 1, DAT_DTO_SUCCESS);
    sleep_on(&s, t->recv_evd);
    tell(t, DO_IMMED, 0, 10, DAT_DTO_SUCCESS);
    still_asleep(&s);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG)); /* the rest is flushed */
    wakes_up(&s, 2, DAT_DTO_SUCCESS, 1);
    dt_want_dto(t->recv_evd, 3, DAT_DTO_ERR_FLUSHED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_free(t->ep));
    t->ep = DAT_HANDLE_NULL;
}

/* --- what is refused --- */

static void refuse(struct dt *t, const struct dt_mem *mem)
{
    static const int bad[] = {
        DAT_COMPLETION_SUPPRESS_FLAG,
        DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG,
        DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_EVD_THRESHOLD_FLAG,
        DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_EVD_THRESHOLD_FLAG,
        DAT_COMPLETION_BARRIER_FENCE_FLAG,
        0x1000,
    };
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 8);
    DAT_EP_HANDLE ep = dt_ep(t);
    DAT_EP_HANDLE other;
    DAT_EP_PARAM param;

    OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    CHECK_RC(dat_ep_post_recv(ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_SUPPRESS_FLAG),
             DAT_INVALID_PARAMETER);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        param.ep_attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)bad[i];
        CHECK_RC(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &param.ep_attr,
                               &other),
                 DAT_INVALID_PARAMETER);
    }
    param.ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    param.ep_attr.request_completion_flags = (DAT_COMPLETION_FLAGS)0x1000;
    CHECK_RC(
        dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &param.ep_attr, &other),
        DAT_INVALID_PARAMETER);
    OK(dat_ep_free(ep));
    ep = new_ep(t, DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
    CHECK_RC(dat_ep_post_recv(ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_UNSIGNALLED_FLAG),
             DAT_INVALID_PARAMETER);
    OK(dat_ep_post_recv(ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_free(ep));
    dt_want_dto(t->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
}

static int one(struct dt *t, const char *name)
{
    struct order end = {.what = DO_END};
    struct dt_mem mem;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        dt_open(t, name);
        OK(dat_ep_free(t->ep));
        t->ep = DAT_HANDLE_NULL;
        dt_alloc(t, &mem, LEN, is_shared != 0);
        refuse(t, &mem);
        dt_tell(t, &mem, sizeof(mem));

        reconnect(t, 0, 0, true);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED); /* its error */
        CHECK_EQ(dt_wait(t->async_evd).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
        OK(dat_ep_free(t->ep));
        t->ep = DAT_HANDLE_NULL;
        reconnect(t, 0, 0, true);
        dt_meet(t);

        reconnect(t, DAT_COMPLETION_SOLICITED_WAIT_FLAG, 0, true);
        solicited_side(t, &mem);
        dt_tell(t, &end, sizeof(end));
        reconnect(t, DAT_COMPLETION_UNSIGNALLED_FLAG, 0, true);
        unsignalled_side(t, &mem);
        dt_tell(t, &end, sizeof(end));
        dt_meet(t);
        dt_close(t);
    }
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        dt_open(t, name);
        OK(dat_ep_free(t->ep));
        t->ep = DAT_HANDLE_NULL;
        dt_alloc(t, &mem, LEN, false);
        dt_hear(t, &peer, sizeof(peer));

        reconnect(t, 0, DAT_COMPLETION_UNSIGNALLED_FLAG, false);
        request_side(t, &mem, &peer);
        dt_meet(t);

        reconnect(t, 0, 0, false);
        obey(t, &mem, &peer);
        OK(dat_ep_free(t->ep));
        t->ep = DAT_HANDLE_NULL;
        reconnect(t, 0, 0, false);
        obey(t, &mem, &peer);
        dt_meet(t);
        dt_close(t);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
