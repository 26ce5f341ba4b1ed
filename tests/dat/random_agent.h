/*
 * The processes of the random test that call DAT: each carries out the
 * commands of the driver one after the other and answers what came of them.
 * They know nothing of what is expected.
 */
#ifndef DM_TESTS_DAT_RANDOM_AGENT_H
#define DM_TESTS_DAT_RANDOM_AGENT_H

#include "dat_ext.h"

enum { N_DTO_EVDS = 3, N_EPS = 5, N_LMRS = 8, N_RMRS = 4, N_PZS = 2, MAX_SEG = 4 };
enum { EVD_ASYNC, EVD_CR, EVD_CONN, EVD_DTO, N_EVDS = EVD_DTO + N_DTO_EVDS };
enum { SRQ_LEN = 16, PRIV_LEN = 64, MAX_EVENTS = 96 };
/* Operations beyond DAT_DTOS are told apart here. */
enum kind { K_SEND, K_WRITE, K_READ, K_IMMED, K_ADD, K_SWAP, K_BIND, N_KINDS };

enum verb {
    V_END,
    V_LMR,
    V_LMR_FREE,
    V_RMR,
    V_RMR_FREE,
    V_EP,
    V_EP_FREE,
    V_RECV,
    V_SRQ_RECV,
    V_SRQ_RESIZE,
    V_POST,
    V_CONNECT,
    V_ACCEPT,
    V_REJECT,
    V_DISCONNECT,
    V_RESET,
    V_REAP,
    V_RESIZE,
    V_PZ_FREE,
    V_STATE,
};

struct command {
    enum verb verb;
    int a; /* the object */
    int b;
    int c;
    enum kind kind;
    int flags;
    uint64_t cookie;
    uint64_t len;
    uint64_t offset;
    uint64_t operand[2];
    int n_seg;
    DAT_LMR_TRIPLET seg[MAX_SEG];
    DAT_RMR_TRIPLET remote;
    int n_events[N_EVDS]; /* V_REAP */
    bool has_room;        /* V_POST: all that was quiet before is over */
    uint64_t address;
    uint32_t priv_len;
    unsigned char priv[PRIV_LEN];
};

struct event {
    int evd;
    unsigned number;
    int ep; /* -1: none of ours */
    uint64_t cookie;
    int status;
    uint32_t len;
    uint32_t immed;
    int operation;
    uint32_t priv_len;
    unsigned char priv[PRIV_LEN];
};

struct answer {
    DAT_RETURN ret;
    uint64_t value[3];
    int n_events;
    int bad_evd; /* -1, or the EVD that did not give what was asked for */
};

/* What a process says first. */
struct hello {
    DAT_CONN_QUAL qual;
    uint64_t n_taken; /* so many bytes of a write are read by the post, even if it waits */
};

struct agent {
    struct dt t;
    DAT_EVD_HANDLE evd[N_EVDS];
    DAT_PZ_HANDLE pz[N_PZS];
    DAT_SRQ_HANDLE srq;
    DAT_EP_HANDLE ep[N_EPS];
    DAT_LMR_HANDLE lmr[N_LMRS];
    DAT_RMR_HANDLE rmr[N_RMRS];
    DAT_CR_HANDLE cr;
    DAT_CONN_QUAL qual;
    int fd; /* of the arena */
    int limit_us;
    bool is_fabric;
};

static void agent_open(struct agent *a, const char *name, bool is_safe)
{
    DAT_SRQ_ATTR attr = {.max_recv_dtos = SRQ_LEN, .max_recv_iov = MAX_SEG};
    DAT_PSP_HANDLE psp;

    dt_open_as(&a->t, name, is_safe ? DAT_TRUE : DAT_FALSE);
    a->is_fabric = dt_is_fabric(a->t.ia);
    a->evd[EVD_ASYNC] = a->t.async_evd;
    a->evd[EVD_CR] = a->t.cr_evd;
    a->evd[EVD_CONN] = a->t.conn_evd;
    for (int i = 0; i < N_DTO_EVDS; i++)
        OK(dat_evd_create(a->t.ia, 128, DAT_HANDLE_NULL,
                          (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG),
                          &a->evd[EVD_DTO + i]));
    for (int i = 0; i < N_PZS; i++)
        OK(dat_pz_create(a->t.ia, &a->pz[i]));
    OK(dat_srq_create(a->t.ia, a->pz[0], &attr, &a->srq));
    OK(dat_psp_create_any(a->t.ia, &a->qual, a->evd[EVD_CR], DAT_PSP_CONSUMER_FLAG, &psp));
}

static void agent_lmr(struct agent *a, const struct command *c, struct answer *r)
{
    DAT_REGION_DESCRIPTION region;
    char cookie[DAT_LMR_COOKIE_SIZE];
    DAT_MEM_TYPE type = DAT_MEM_TYPE_VIRTUAL;
    DAT_LMR_CONTEXT lkey = 0;
    DAT_RMR_CONTEXT rkey = 0;
    void *at;

    memcpy(&at, &c->address, sizeof(at));
    memset(&region, 0, sizeof(region));
    region.for_va = at;
    if (c->c != 0) {
        snprintf(cookie, sizeof(cookie), "fd:%d+%llu", a->fd, (unsigned long long)c->offset);
        type = DAT_MEM_TYPE_SHARED_VIRTUAL;
        region.for_shared_memory.virtual_address = at;
        region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)&cookie;
    }
    r->ret =
        dat_lmr_create(a->t.ia, type, region, c->len, a->pz[c->b], (DAT_MEM_PRIV_FLAGS)c->flags,
                       DAT_VA_TYPE_VA, &a->lmr[c->a], &lkey, &rkey, NULL, NULL);
    r->value[0] = lkey;
    r->value[1] = rkey;
}

static void agent_ep(struct agent *a, const struct command *c, struct answer *r)
{
    DAT_EP_ATTR attr;
    bool is_srq = c->operand[0] != 0;

    memset(&attr, 0, sizeof(attr));
    attr.max_recv_dtos = is_srq ? 0 : (DAT_COUNT)c->len;
    attr.max_request_dtos = (DAT_COUNT)c->offset;
    attr.max_recv_iov = is_srq ? 0 : MAX_SEG;
    attr.max_request_iov = MAX_SEG;
    attr.max_rdma_read_in = 4;
    attr.max_rdma_read_out = 4;
    attr.max_rdma_read_iov = MAX_SEG;
    attr.max_rdma_write_iov = MAX_SEG;
    if (is_srq)
        r->ret = dat_ep_create_with_srq(a->t.ia, a->pz[c->b], a->evd[EVD_DTO + c->n_events[0]],
                                        a->evd[EVD_DTO + c->n_events[1]], a->evd[EVD_CONN], a->srq,
                                        &attr, &a->ep[c->a]);
    else
        r->ret =
            dat_ep_create(a->t.ia, a->pz[c->b], a->evd[EVD_DTO + c->n_events[0]],
                          a->evd[EVD_DTO + c->n_events[1]], a->evd[EVD_CONN], &attr, &a->ep[c->a]);
}

/* Whatever is in the queues, which only a freed endpoint may have left. */
static void agent_ep_free(struct agent *a, const struct command *c, struct answer *r)
{
    DAT_EVENT event;

    r->ret = dat_ep_free(a->ep[c->a]);
    for (int i = EVD_CONN; i < N_EVDS; i++)
        while (dat_evd_dequeue(a->evd[i], &event) == DAT_SUCCESS)
            r->value[0]++;
    while (dat_evd_dequeue(a->evd[EVD_ASYNC], &event) == DAT_SUCCESS)
        r->value[1]++;
}

static DAT_RETURN agent_post(struct agent *a, struct command *c)
{
    DAT_EP_HANDLE ep = a->ep[c->a];
    DAT_RMR_CONTEXT context = 0;
    DAT_RETURN ret;

    switch (c->kind) {
    case K_SEND:
        return dat_ep_post_send(ep, c->n_seg, c->seg, dt_cookie(c->cookie),
                                (DAT_COMPLETION_FLAGS)c->flags);
    case K_WRITE:
        return dat_ep_post_rdma_write(ep, c->n_seg, c->seg, dt_cookie(c->cookie), &c->remote,
                                      (DAT_COMPLETION_FLAGS)c->flags);
    case K_READ:
        return dat_ep_post_rdma_read(ep, c->n_seg, c->seg, dt_cookie(c->cookie), &c->remote,
                                     (DAT_COMPLETION_FLAGS)c->flags);
    case K_IMMED:
        return dt_write_immed(ep, c->n_seg, c->seg, c->cookie, &c->remote, (uint32_t)c->operand[0],
                              c->flags);
    case K_ADD:
        return dt_fetch_add(ep, c->operand[0], c->seg, c->cookie, &c->remote, c->flags);
    case K_SWAP:
        return dt_cmp_swap(ep, c->operand[0], c->operand[1], c->seg, c->cookie, &c->remote,
                           c->flags);
    default:
        ret = dat_rmr_bind(a->rmr[c->b], c->n_seg > 0 ? a->lmr[c->c] : DAT_HANDLE_NULL, c->seg,
                           (DAT_MEM_PRIV_FLAGS)c->operand[0], DAT_VA_TYPE_VA, ep,
                           dt_cookie(c->cookie), (DAT_COMPLETION_FLAGS)c->flags, &context);
        c->operand[1] = context;
        return ret;
    }
}

/* On a fabric what was suppressed may not be over yet. */
static DAT_RETURN agent_post_again(struct agent *a, struct command *c)
{
    double until = dt_now() + 1e-6 * a->limit_us;
    DAT_RETURN ret = agent_post(a, c);

    while (a->is_fabric && c->has_room && DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
           dt_now() < until) {
        dt_sleep_ms(1);
        ret = agent_post(a, c);
    }
    return ret;
}

static void event_fill(const struct agent *a, const DAT_EVENT *from, struct event *e)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &from->event_data.dto_completion_event_data;
    const DAT_CONNECTION_EVENT_DATA *conn = &from->event_data.connect_event_data;
    DAT_HANDLE ep = dto->ep_handle;
    DAT_IB_EXTENSION_EVENT_DATA ext;

    e->number = (unsigned)from->event_number;
    if (e->evd == EVD_ASYNC)
        ep = from->event_data.asynch_error_event_data.dat_handle;
    if (e->evd == EVD_CONN) {
        ep = conn->ep_handle;
        e->priv_len = (uint32_t)conn->private_data_size;
        if (e->priv_len <= PRIV_LEN && e->priv_len > 0)
            memcpy(e->priv, conn->private_data, e->priv_len);
    }
    if (e->number == DAT_RMR_BIND_COMPLETION_EVENT) {
        e->cookie = from->event_data.rmr_completion_event_data.user_cookie.as_64;
        e->status = (int)from->event_data.rmr_completion_event_data.status;
        return;
    }
    if (e->evd >= EVD_DTO) {
        e->cookie = dto->user_cookie.as_64;
        e->status = (int)dto->status;
        e->len = (uint32_t)dto->transfered_length;
        e->operation = (int)dto->operation;
        if (e->number == (unsigned)DAT_IB_DTO_EVENT) {
            memcpy(&ext, from->event_extension_data, sizeof(from->event_extension_data));
            e->immed = ext.type == DAT_IB_RDMA_WRITE_IMMED_DATA ? ext.val.immed.data : 0;
        }
    }
    e->ep = -1;
    for (int i = 0; i < N_EPS; i++)
        if (a->ep[i] == ep && ep != DAT_HANDLE_NULL)
            e->ep = i;
}

/* One event, by waiting or by asking again and again. */
static bool agent_take(struct agent *a, int evd, int mode, int left, DAT_EVENT *event)
{
    double until = dt_now() + 1e-6 * a->limit_us;
    DAT_COUNT n_more;
    DAT_RETURN ret;

    if (mode != 0) {
        ret = dat_evd_wait(a->evd[evd], (DAT_TIMEOUT)a->limit_us, mode == 2 ? left : 1, event,
                           &n_more);
        return ret == DAT_SUCCESS && (mode != 2 || n_more >= left - 1);
    }
    while ((ret = dat_evd_dequeue(a->evd[evd], event)) != DAT_SUCCESS)
        if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY || dt_now() > until)
            return false;
    return true;
}

/* What is expected of each EVD, and one more where there is one. */
static void agent_reap(struct agent *a, const struct command *c, struct answer *r,
                       struct event *list)
{
    DAT_EVENT event;

    for (int evd = 0; evd < N_EVDS && r->bad_evd < 0; evd++) {
        for (int i = 0; i < c->n_events[evd] && r->bad_evd < 0; i++) {
            memset(&event, 0, sizeof(event));
            if (!agent_take(a, evd, i == 0 ? c->a : c->a % 2, c->n_events[evd] - i, &event)) {
                r->bad_evd = evd;
                break;
            }
            list[r->n_events].evd = evd;
            event_fill(a, &event, &list[r->n_events++]);
        }
        memset(&event, 0, sizeof(event));
        if (r->bad_evd < 0 && dat_evd_dequeue(a->evd[evd], &event) == DAT_SUCCESS) {
            list[r->n_events].evd = evd;
            event_fill(a, &event, &list[r->n_events++]);
        }
    }
}

/* A connection request: its private data goes back as an event. */
static void agent_cr(struct agent *a, struct command *c, struct answer *r, struct event *e)
{
    DAT_EVENT event;
    DAT_CR_PARAM param;

    if (!agent_take(a, EVD_CR, 1, 1, &event)) {
        r->bad_evd = EVD_CR;
        return;
    }
    a->cr = event.event_data.cr_arrival_event_data.cr_handle;
    OK(dat_cr_query(a->cr, DAT_CR_FIELD_ALL, &param));
    e->number = (unsigned)event.event_number;
    e->priv_len = (uint32_t)param.private_data_size;
    if (e->priv_len > 0 && e->priv_len <= PRIV_LEN)
        memcpy(e->priv, param.private_data, e->priv_len);
    r->n_events = 1;
    r->ret = c->verb == V_ACCEPT
                 ? dat_cr_accept(a->cr, a->ep[c->a], (DAT_COUNT)c->priv_len, c->priv)
                 : dat_cr_reject(a->cr, (DAT_COUNT)c->priv_len, c->priv);
}

static void agent_do(struct agent *a, struct command *c, struct answer *r, struct event *list)
{
    DAT_EP_STATE state;

    switch (c->verb) {
    case V_LMR:
        agent_lmr(a, c, r);
        break;
    case V_LMR_FREE:
        r->ret = dat_lmr_free(a->lmr[c->a]);
        break;
    case V_RMR:
        r->ret = dat_rmr_create(a->pz[c->b], &a->rmr[c->a]);
        break;
    case V_RMR_FREE:
        r->ret = dat_rmr_free(a->rmr[c->a]);
        break;
    case V_EP:
        agent_ep(a, c, r);
        break;
    case V_EP_FREE:
        agent_ep_free(a, c, r);
        a->ep[c->a] = DAT_HANDLE_NULL;
        break;
    case V_RECV:
        r->ret = dat_ep_post_recv(a->ep[c->a], c->n_seg, c->seg, dt_cookie(c->cookie),
                                  DAT_COMPLETION_DEFAULT_FLAG);
        break;
    case V_SRQ_RECV:
        r->ret = dat_srq_post_recv(a->srq, c->n_seg, c->seg, dt_cookie(c->cookie));
        break;
    case V_SRQ_RESIZE:
        r->ret = dat_srq_resize(a->srq, c->a);
        break;
    case V_POST:
        r->ret = agent_post_again(a, c);
        r->value[0] = c->operand[1];
        break;
    case V_CONNECT:
        r->ret = dat_ep_connect(a->ep[c->a], (DAT_IA_ADDRESS_PTR)&a->t.addr, c->operand[0],
                                DT_WAIT_US, (DAT_COUNT)c->priv_len, c->priv, DAT_QOS_BEST_EFFORT,
                                DAT_CONNECT_DEFAULT_FLAG);
        break;
    case V_ACCEPT:
    case V_REJECT:
        agent_cr(a, c, r, list);
        break;
    case V_DISCONNECT:
        r->ret = dat_ep_disconnect(a->ep[c->a], (DAT_CLOSE_FLAGS)c->flags);
        break;
    case V_RESET:
        r->ret = dat_ep_reset(a->ep[c->a]);
        break;
    case V_REAP:
        agent_reap(a, c, r, list);
        break;
    case V_RESIZE:
        r->ret = dat_evd_resize(a->evd[c->a], c->b);
        break;
    case V_PZ_FREE:
        r->ret = dat_pz_free(a->pz[c->a]);
        break;
    default:
        r->ret = dat_ep_get_status(a->ep[c->a], &state, NULL, NULL);
        r->value[0] = (uint64_t)state;
        break;
    }
}

static int agent_run(const char *name, int sock, int fd, bool is_safe, int limit_us)
{
    struct agent a = {.fd = fd, .limit_us = limit_us};
    static struct event list[MAX_EVENTS + N_EVDS];
    struct hello hello;
    struct command c;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    agent_open(&a, name, is_safe);
    hello.qual = a.qual;
    hello.n_taken = dt_write_taken(a.t.ia);
    CHECK_EQ(write(sock, &hello, sizeof(hello)), sizeof(hello));
    while (recv(sock, &c, sizeof(c), MSG_WAITALL) == (ssize_t)sizeof(c) && c.verb != V_END) {
        struct answer r = {.ret = DAT_SUCCESS, .bad_evd = -1};
        size_t len;

        memset(list, 0, sizeof(list));
        agent_do(&a, &c, &r, list);
        len = (size_t)r.n_events * sizeof(list[0]);
        CHECK_EQ(write(sock, &r, sizeof(r)), sizeof(r));
        if (len > 0)
            CHECK_EQ(write(sock, list, len), len);
    }
    dt_close(&a.t);
    return 0;
}

#endif
