/* test: kind=dat timeout=60 params=copy=auto */
/*
 * Notification objects: with a file descriptor (through the provider's table),
 * with an agent that is armed once, that calls back, that frees its own CNO;
 * what a query says of each kind; triggers from this process and from a peer.
 */
#include "dat_raw.h"

#include <errno.h>
#include <poll.h>

enum { ROUNDS = 300, STORM = 2000 };

static int readable(int fd, int ms)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};

    return poll(&pfd, 1, ms);
}

static DAT_EVD_HANDLE soft_evd(struct dt *t, DAT_CNO_HANDLE cno)
{
    DAT_EVD_HANDLE evd;

    OK(dt_table(t->pz)->evd_create_func(t->ia, 4096, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
    return evd;
}

static void post(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;

    memset(&event, 0, sizeof(event));
    event.event_number = DAT_SOFTWARE_EVENT;
    OK(dat_evd_post_se(evd, &event));
}

static int drain(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;
    int n = 0;

    while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
        n++;
    return n;
}

static void descriptor(struct dt *t)
{
    DAT_PROVIDER *p = dt_table(t->pz);
    DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
    DAT_CNO_HANDLE cno;
    DAT_CNO_PARAM param;
    DAT_EVD_HANDLE evd[2];
    DAT_EVD_HANDLE which;
    DAT_FD fd = -1;

    OK(p->cno_fd_create_func(t->ia, &fd, &cno));
    OK(p->cno_query_func(cno, DAT_CNO_FIELD_ALL, &param));
    CHECK_EQ(param.proxy_type, DAT_PROXY_TYPE_FD);
    CHECK_EQ(param.proxy.fd, fd);
    CHECK_RC(p->cno_modify_agent_func(cno, agent), DAT_INVALID_STATE);
    CHECK_RC(p->cno_fd_create_func(t->ia, NULL, &cno), DAT_INVALID_PARAMETER);
    CHECK_RC(p->cno_fd_create_func(t->ia, &fd, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(p->cno_trigger_func(cno, NULL), DAT_INVALID_PARAMETER);
    evd[0] = soft_evd(t, cno);
    evd[1] = soft_evd(t, cno);
    CHECK_EQ(readable(fd, 5), 0);
    CHECK_RC(p->cno_trigger_func(cno, &which), DAT_QUEUE_EMPTY);
    for (int i = 0; i < ROUNDS; i++) {
        post(evd[i & 1]);
        post(evd[i & 1]); /* one trigger for both */
        CHECK_EQ(readable(fd, 10000), 1);
        CHECK_EQ(readable(fd, 10000), 1); /* it is a level */
        if (i % 3 == 0)
            OK(p->cno_wait_func(cno, 0, &which));
        else
            OK(p->cno_trigger_func(cno, &which));
        CHECK(which == evd[i & 1]);
        CHECK_EQ(readable(fd, 0), 0);
        CHECK_EQ(drain(which), 2);
    }
    CHECK_RC(p->cno_trigger_func(cno, &which), DAT_QUEUE_EMPTY);
    CHECK_RC(p->cno_free_func(cno), DAT_INVALID_STATE);
    OK(dat_evd_free(evd[0]));
    OK(dat_evd_free(evd[1]));
    OK(p->cno_free_func(cno));
    CHECK_EQ(readable(fd, 0), 1); /* POLLNVAL: it has been closed */
    CHECK_RC(p->cno_trigger_func(cno, &which), DAT_INVALID_HANDLE);
}

static _Atomic int n_calls;
static DAT_CNO_HANDLE agent_cno;
static DAT_EVD_HANDLE agent_evd;
static _Atomic int n_events;
static _Atomic int n_ended; /* calls that did not arm the agent again: one */
static _Atomic int is_over; /* the queue may be freed */

static void count(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
    (void)instance;
    CHECK(evd == agent_evd);
    atomic_fetch_add(&n_calls, 1);
}

/* Drains, arms itself again, and looks once more; when it is over, it ends unarmed. */
static void rearm(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
    DAT_OS_WAIT_PROXY_AGENT agent = {instance, rearm};

    CHECK(instance == &n_calls);
    atomic_fetch_add(&n_calls, 1);
    if (atomic_load(&is_over)) {
        atomic_fetch_add(&n_ended, 1);
        return;
    }
    atomic_fetch_add(&n_events, drain(evd));
    OK(dat_cno_modify_agent(agent_cno, agent));
    atomic_fetch_add(&n_events, drain(evd));
}

static void suicide(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
    (void)instance;
    OK(dat_evd_free(evd));
    OK(dat_cno_free(agent_cno));
    atomic_fetch_add(&n_calls, 1);
}

static void closer(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
    struct dt *t = instance;

    (void)evd;
    CHECK_RC(dt_table(t->ia)->ia_close_func(t->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE);
    atomic_fetch_add(&n_calls, 1);
}

static void until(_Atomic int *n, int want)
{
    double end = dt_now() + 20;

    while (atomic_load(n) < want && dt_now() < end)
        dt_sleep_ms(1);
    CHECK_EQ(atomic_load(n), want);
}

static void agents(struct dt *t)
{
    DAT_PROVIDER *p = dt_table(t->pz);
    DAT_OS_WAIT_PROXY_AGENT agent = {NULL, count};
    DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
    DAT_CNO_PARAM param;

    OK(p->cno_create_func(t->ia, agent, &agent_cno));
    OK(p->cno_query_func(agent_cno, DAT_CNO_FIELD_ALL, &param));
    CHECK_EQ(param.proxy_type, DAT_PROXY_TYPE_AGENT);
    CHECK(param.proxy.agent.proxy_agent_func == count);
    agent_evd = soft_evd(t, agent_cno);
    post(agent_evd);
    until(&n_calls, 1);
    OK(p->cno_query_func(agent_cno, DAT_CNO_FIELD_ALL, &param));
    CHECK_EQ(param.proxy_type, DAT_PROXY_TYPE_NONE); /* armed once */
    for (int i = 0; i < 5; i++)
        post(agent_evd);
    dt_sleep_ms(20);
    CHECK_EQ(atomic_load(&n_calls), 1);
    OK(dat_cno_modify_agent(agent_cno, agent)); /* a trigger is pending */
    until(&n_calls, 2);
    OK(dat_cno_modify_agent(agent_cno, agent));
    OK(dat_cno_modify_agent(agent_cno, none));
    CHECK_EQ(drain(agent_evd), 6);
    post(agent_evd);
    dt_sleep_ms(5);
    CHECK_EQ(atomic_load(&n_calls), 2);
    /* A storm of events, none of which may be forgotten. */
    agent.instance_data = &n_calls;
    agent.proxy_agent_func = rearm;
    atomic_store(&n_calls, 0);
    OK(dat_cno_modify_agent(agent_cno, agent));
    for (int i = 0; i < STORM; i++)
        post(agent_evd);
    until(&n_events, STORM + 1);
    atomic_store(&is_over, 1);
    post(agent_evd); /* whoever runs now or was armed calls once more, or is the last */
    until(&n_ended, 1);
    OK(dat_evd_free(agent_evd));
    OK(dat_cno_free(agent_cno)); /* while armed */
    atomic_store(&n_calls, 0);
    agent.proxy_agent_func = suicide;
    OK(p->cno_create_func(t->ia, agent, &agent_cno));
    agent_evd = soft_evd(t, agent_cno);
    post(agent_evd);
    until(&n_calls, 1);
    CHECK_RC(p->cno_free_func(agent_cno), DAT_INVALID_HANDLE);
    agent.proxy_agent_func = closer;
    agent.instance_data = t;
    OK(p->cno_create_func(t->ia, agent, &agent_cno));
    agent_evd = soft_evd(t, agent_cno);
    post(agent_evd);
    until(&n_calls, 2);
}

static void related(struct dt *t, const char *name)
{
    DAT_PROVIDER *p = dt_table(t->pz);
    DAT_BOOLEAN answer = DAT_TRUE;

    OK(p->ia_ha_related_func(t->ia, (DAT_NAME_PTR)name, &answer));
    CHECK_EQ(answer, DAT_FALSE);
    CHECK_RC(p->ia_ha_related_func(t->ia, NULL, &answer), DAT_INVALID_PARAMETER);
    CHECK_RC(p->ia_ha_related_func(t->ia, (DAT_NAME_PTR)name, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(p->ia_ha_related_func(NULL, (DAT_NAME_PTR)name, &answer), DAT_INVALID_HANDLE);
}

/* A peer's sends make the descriptor readable. */
static int one(struct dt *t, const char *name)
{
    DAT_CNO_HANDLE cno;
    DAT_PROVIDER *p;
    DAT_CONN_QUAL qual;
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    DAT_FD fd;
    int n = 0;

    dt_raw_open(t, name);
    descriptor(t);
    agents(t);
    related(t, name);
    p = dt_table(t->pz);
    OK(p->cno_fd_create_func(t->ia, &fd, &cno));
    OK(dat_evd_free(t->recv_evd));
    OK(p->evd_create_func(t->ia, 1024, cno, DAT_EVD_DTO_FLAG, &t->recv_evd));
    t->ep = dt_raw_ep(t);
    OK(p->psp_create_any_func(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    dt_tell(t, &qual, sizeof(qual));
    for (int i = 0; i < 8; i++)
        OK(dat_ep_post_recv(t->ep, 0, NULL, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    dt_accept(t, t->ep);
    while (n < ROUNDS) {
        DAT_EVD_HANDLE which;

        CHECK_EQ(readable(fd, 10000), 1);
        OK(p->cno_trigger_func(cno, &which));
        CHECK(which == t->recv_evd);
        while (dat_evd_dequeue(t->recv_evd, &event) == DAT_SUCCESS) {
            CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
            n++;
            OK(dat_ep_post_recv(t->ep, 0, NULL, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
        }
    }
    dt_meet(t);
    dt_raw_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    DAT_CONN_QUAL qual;

    dt_open(t, name);
    dt_hear(t, &qual, sizeof(qual));
    dt_connect(t, t->ep, qual);
    for (int i = 0; i < ROUNDS; i++) {
        OK(dat_ep_post_send(t->ep, 0, NULL, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
        dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS);
    }
    dt_meet(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
