/* test: kind=dat timeout=30 params=copy=auto */
/*
 * Every object by itself: creation, queries, reference counts, wrong
 * arguments, stale handles, waiting, notification, and a forked child.
 */
#include "dat_test.h"

static void pz_is_counted(struct dt *t)
{
    DAT_PZ_HANDLE pz;
    DAT_PZ_PARAM param;
    DAT_EP_HANDLE ep;

    OK(dat_pz_create(t->ia, &pz));
    OK(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
    CHECK(param.ia_handle == t->ia);
    OK(dat_ep_create(t->ia, pz, t->recv_evd, t->req_evd, t->conn_evd, NULL, &ep));
    CHECK_RC(dat_pz_free(pz), DAT_INVALID_STATE);
    OK(dat_ep_free(ep));
    OK(dat_pz_free(pz));
    CHECK_RC(dat_pz_free(pz), DAT_INVALID_HANDLE);
    CHECK_RC(dat_ep_create(t->ia, pz, t->recv_evd, t->req_evd, t->conn_evd, NULL, &ep),
             DAT_INVALID_HANDLE);
}

static void lmr_arguments(struct dt *t)
{
    DAT_REGION_DESCRIPTION region;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_PARAM param;
    struct dt_mem mem;
    char cookie[DAT_LMR_COOKIE_SIZE];
    char buf[64];
    const char *bad[] = {"", "fd:", "fd:+0", "fd:99999+0", "fd:0", "file", "fd:7+x", "fd:-1+0"};

    region.for_va = buf;
    CHECK_RC(dat_lmr_create(t->ia, DAT_MEM_TYPE_VIRTUAL, region, 0, t->pz, DAT_MEM_PRIV_ALL_FLAG,
                            DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL, NULL),
             DAT_LENGTH_ERROR);
    CHECK_RC(dat_lmr_create(t->ia, DAT_MEM_TYPE_VIRTUAL, region, 8, t->cr_evd,
                            DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL, NULL),
             DAT_INVALID_HANDLE);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memset(cookie, 0, sizeof(cookie));
        strcpy(cookie, bad[i]);
        region.for_shared_memory.virtual_address = buf;
        region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)&cookie;
        CHECK_RC(dat_lmr_create(t->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 8, t->pz,
                                DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL,
                                NULL),
                 DAT_INVALID_PARAMETER);
    }
    dt_alloc(t, &mem, 8192, true);
    OK(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param));
    CHECK_EQ(param.registered_size, 8192);
    CHECK_EQ(param.registered_address, (uintptr_t)mem.buf);
    CHECK_EQ(param.rmr_context, mem.rkey);
    /* Beyond the end of the file. */
    snprintf(cookie, sizeof(cookie), "fd:%d+4096", mem.fd);
    region.for_shared_memory.virtual_address = mem.buf + 4096;
    CHECK_RC(dat_lmr_create(t->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 8192, t->pz,
                            DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL, NULL),
             DAT_INVALID_PARAMETER);
    OK(dat_lmr_free(mem.lmr));
    CHECK_RC(dat_lmr_free(mem.lmr), DAT_INVALID_HANDLE);
}

static void evd_limits(struct dt *t)
{
    DAT_EVD_HANDLE evd;
    DAT_EVD_PARAM param;
    DAT_EVENT event;
    DAT_EVENT se;
    DAT_COUNT n;

    memset(&se, 0, sizeof(se));
    CHECK_RC(dat_evd_create(t->ia, 0, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
             DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_create(t->ia, 1 << 30, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
             DAT_INSUFFICIENT_RESOURCES);
    OK(dat_evd_create(t->ia, 10, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
    OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
    CHECK(param.evd_qlen >= 10);
    CHECK(param.ia_handle == t->ia);
    CHECK_RC(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
    CHECK_RC(dat_evd_wait(evd, 0, 1, &event, &n), DAT_TIMEOUT_EXPIRED);
    CHECK_RC(dat_evd_wait(evd, 1000, 0, &event, &n), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_wait(evd, 1000, 11, &event, &n), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_wait(evd, 1000, 1, NULL, &n), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_wait(evd, 1000, 1, &event, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_evd_post_se(evd, &se), DAT_INVALID_PARAMETER);
    se.event_number = DAT_SOFTWARE_EVENT;
    CHECK_RC(dat_evd_post_se(t->recv_evd, &se), DAT_INVALID_PARAMETER);
    n = 0;
    do {
        se.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)(unsigned)n;
        n++;
    } while (dat_evd_post_se(evd, &se) == DAT_SUCCESS);
    CHECK(n > 10); /* the last was refused */
    OK(dat_evd_resize(evd, 100));
    OK(dat_evd_post_se(evd, &se));
    for (DAT_COUNT i = 0; i < n; i++) {
        OK(dat_evd_dequeue(evd, &event));
        CHECK_EQ((uintptr_t)event.event_data.software_event_data.pointer, i);
        CHECK(event.evd_handle == evd);
    }
    CHECK_RC(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
    OK(dat_evd_free(evd));
    CHECK_RC(dat_evd_free(evd), DAT_INVALID_HANDLE);
    CHECK_RC(dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE);
}

struct poster {
    DAT_EVD_HANDLE evd;
    int n;
    int ms;
};

static void *post_later(void *arg)
{
    struct poster *p = arg;
    DAT_EVENT se;

    memset(&se, 0, sizeof(se));
    se.event_number = DAT_SOFTWARE_EVENT;
    for (int i = 0; i < p->n; i++) {
        dt_sleep_ms(p->ms);
        OK(dat_evd_post_se(p->evd, &se));
    }
    if (p->n == 0) {
        dt_sleep_ms(p->ms);
        OK(dat_evd_set_unwaitable(p->evd));
    }
    return NULL;
}

static void evd_waiting(struct dt *t)
{
    struct poster poster = {.n = 5, .ms = 10};
    DAT_EVENT event;
    DAT_COUNT n_more = -1;
    pthread_t thread;
    double start = dt_now();

    OK(dat_evd_create(t->ia, 16, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &poster.evd));
    CHECK_RC(dat_evd_wait(poster.evd, 30000, 1, &event, &n_more), DAT_TIMEOUT_EXPIRED);
    CHECK(dt_now() - start >= 0.029);
    CHECK_EQ(n_more, 0);
    CHECK_EQ(pthread_create(&thread, NULL, post_later, &poster), 0);
    OK(dat_evd_wait(poster.evd, DT_WAIT_US, 5, &event, &n_more));
    CHECK_EQ(n_more, 4);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_RC(dat_evd_wait(poster.evd, 1000, 5, &event, &n_more), DAT_TIMEOUT_EXPIRED);
    CHECK_EQ(n_more, 4);
    for (int i = 3; i >= 0; i--) {
        OK(dat_evd_wait(poster.evd, DT_WAIT_US, 1, &event, &n_more));
        CHECK_EQ(n_more, i);
    }
    poster.n = 0;
    CHECK_EQ(pthread_create(&thread, NULL, post_later, &poster), 0);
    CHECK_RC(dat_evd_wait(poster.evd, DAT_TIMEOUT_INFINITE, 1, &event, &n_more), DAT_INVALID_STATE);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    OK(dat_evd_clear_unwaitable(poster.evd));
    CHECK_RC(dat_evd_wait(poster.evd, 1000, 1, &event, &n_more), DAT_TIMEOUT_EXPIRED);
    OK(dat_evd_free(poster.evd));
}

struct agent {
    _Atomic int n_calls;
    DAT_EVD_HANDLE evd;
};

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
    struct agent *a = data;

    a->evd = evd;
    atomic_fetch_add(&a->n_calls, 1);
}

static void cno_triggers(struct dt *t)
{
    struct agent a = {.evd = DAT_HANDLE_NULL};
    DAT_OS_WAIT_PROXY_AGENT proxy = {.instance_data = &a, .proxy_agent_func = agent};
    struct poster poster = {.n = 1, .ms = 20};
    DAT_EVENT event;
    DAT_EVD_HANDLE evd;
    DAT_CNO_HANDLE cno;
    DAT_CNO_PARAM param;
    pthread_t thread;

    OK(dat_cno_create(t->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
    OK(dat_evd_create(t->ia, 16, cno, DAT_EVD_SOFTWARE_FLAG, &poster.evd));
    CHECK_RC(dat_cno_free(cno), DAT_INVALID_STATE);
    CHECK_RC(dat_cno_wait(cno, 1000, &evd), DAT_QUEUE_EMPTY);
    CHECK_EQ(pthread_create(&thread, NULL, post_later, &poster), 0);
    OK(dat_cno_wait(cno, DT_WAIT_US, &evd));
    CHECK(evd == poster.evd);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    OK(dat_evd_dequeue(poster.evd, &event));
    OK(dat_evd_disable(poster.evd));
    (void)post_later(&poster);
    CHECK_RC(dat_cno_wait(cno, 1000, &evd), DAT_QUEUE_EMPTY);
    OK(dat_evd_dequeue(poster.evd, &event));
    OK(dat_evd_enable(poster.evd));
    OK(dat_cno_modify_agent(cno, proxy));
    OK(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
    CHECK(param.proxy.agent.proxy_agent_func == agent);
    (void)post_later(&poster);
    (void)post_later(&poster);
    for (int i = 0; atomic_load(&a.n_calls) == 0 && i < 1000; i++)
        dt_sleep_ms(5);
    CHECK_EQ(atomic_load(&a.n_calls), 1); /* it fires once */
    CHECK(a.evd == poster.evd);
    OK(dat_evd_modify_cno(poster.evd, DAT_HANDLE_NULL));
    OK(dat_cno_free(cno));
    OK(dat_evd_free(poster.evd));
}

static void ep_attributes(struct dt *t)
{
    DAT_EP_HANDLE ep;
    DAT_EP_HANDLE again;
    DAT_EP_PARAM param;
    DAT_EP_STATE state;
    DAT_EP_ATTR attr;

    OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, NULL, &ep));
    OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    CHECK_EQ(param.ep_state, DAT_EP_STATE_UNCONNECTED);
    CHECK(param.recv_evd_handle == t->recv_evd && param.pz_handle == t->pz);
    OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &param.ep_attr, &again));
    OK(dat_ep_free(again));
    attr = param.ep_attr;
    attr.max_message_size = 0; /* nothing is enforced by it */
    attr.max_rdma_size = 0;
    OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &attr, &again));
    OK(dat_ep_free(again));
    attr.max_recv_dtos = 1 << 24;
    CHECK_RC(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &attr, &again),
             DAT_INVALID_PARAMETER);
    CHECK_RC(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE);
    OK(dat_ep_reset(ep));
    param.ep_attr.max_recv_dtos = 40;
    OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
    OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    CHECK_EQ(param.ep_attr.max_recv_dtos, 40);
    OK(dat_ep_get_status(ep, &state, NULL, NULL));
    CHECK_EQ(state, DAT_EP_STATE_UNCONNECTED);
    for (int i = 0; i < 40; i++)
        OK(dat_ep_post_recv(ep, 0, NULL, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
    CHECK_RC(dat_ep_post_recv(ep, 0, NULL, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
             DAT_INSUFFICIENT_RESOURCES);
    CHECK_RC(dat_ep_post_send(ep, 0, NULL, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
             DAT_INVALID_STATE);
    CHECK_RC(dat_evd_free(t->recv_evd), DAT_INVALID_STATE);
    OK(dat_ep_free(ep));
    for (int i = 0; i < 40; i++)
        dt_want_dto(t->recv_evd, 0, DAT_DTO_ERR_FLUSHED);
    CHECK_RC(dat_ep_free(ep), DAT_INVALID_HANDLE);
    CHECK_RC(dat_ep_post_recv(ep, 0, NULL, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
             DAT_INVALID_HANDLE);
}

static void handles(struct dt *t)
{
    DAT_CONTEXT in = {.as_64 = 0x1122334455667788u};
    DAT_CONTEXT out;
    DAT_HANDLE_TYPE type;
    DAT_SRQ_HANDLE srq;
    DAT_SRQ_ATTR attr = {8, 1, 0};
    DAT_RMR_HANDLE rmr;

    OK(dat_set_consumer_context(t->pz, in));
    OK(dat_get_consumer_context(t->pz, &out));
    CHECK_EQ(out.as_64, in.as_64);
    OK(dat_get_handle_type(t->recv_evd, &type));
    CHECK_EQ(type, DAT_HANDLE_TYPE_EVD);
    OK(dat_get_handle_type(t->ia, &type));
    CHECK_EQ(type, DAT_HANDLE_TYPE_IA);
    /* What is not supported says so. */
    if (dat_srq_create(t->ia, t->pz, &attr, &srq) == DAT_SUCCESS)
        OK(dat_srq_free(srq));
    if (dat_rmr_create(t->pz, &rmr) == DAT_SUCCESS)
        OK(dat_rmr_free(rmr));
}

/* The child may not use what the parent has opened, and nothing may crash. */
static void fork_is_refused(struct dt *t)
{
    DAT_EVENT event;
    DAT_EP_HANDLE ep = t->ep;
    DAT_PZ_HANDLE pz;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        CHECK_RC(dat_pz_create(t->ia, &pz), DAT_INVALID_HANDLE);
        CHECK_RC(dat_evd_dequeue(t->recv_evd, &event), DAT_INVALID_HANDLE);
        CHECK_RC(dat_ep_post_recv(ep, 0, NULL, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                 DAT_INVALID_HANDLE);
        CHECK_RC(dat_ep_free(ep), DAT_INVALID_HANDLE);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    OK(dat_pz_create(t->ia, &pz));
    OK(dat_pz_free(pz));
}

static void graceful_close(struct dt *t, const char *name)
{
    struct dt u = {.pipe = -1};

    dt_open(&u, name);
    CHECK_RC(dat_ia_close(u.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
    OK(dat_ep_free(u.ep));
    OK(dat_evd_free(u.recv_evd));
    OK(dat_evd_free(u.req_evd));
    OK(dat_evd_free(u.conn_evd));
    OK(dat_evd_free(u.cr_evd));
    CHECK_RC(dat_ia_close(u.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
    OK(dat_pz_free(u.pz));
    OK(dat_ia_close(u.ia, DAT_CLOSE_GRACEFUL_FLAG));
    CHECK_RC(dat_pz_free(t->ep), DAT_INVALID_HANDLE);
}

int main(int argc, char **argv)
{
    struct dt t = {.pipe = -1};

    dt_open(&t, dt_name(argc, argv));
    pz_is_counted(&t);
    lmr_arguments(&t);
    evd_limits(&t);
    evd_waiting(&t);
    cno_triggers(&t);
    ep_attributes(&t);
    handles(&t);
    fork_is_refused(&t);
    graceful_close(&t, dt_name(argc, argv));
    dt_close(&t);
    return 0;
}
