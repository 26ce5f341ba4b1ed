/* test: kind=dat prov=datum-tcp tier=full timeout=180 san=no */
/*
 * 10,000 connections between two processes: each is set up, carries a message each way, and ends
 * with its one event. With fewer where this process may not have so many descriptors.
 */
#include <sys/resource.h>

#include "dat_pair.h"

enum { N_MOST = 10000, N_AT_ONCE = 100, N_OTHER_FDS = 100 };

struct many {
    struct dt t;
    int n;
    DAT_EP_HANDLE *ep;
    struct dt_mem mem; /* a word to receive for each, then one to send */
};

static int n_allowed(void)
{
    struct rlimit limit;

    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit.rlim_cur < N_MOST + N_OTHER_FDS ? (int)limit.rlim_cur - N_OTHER_FDS : N_MOST;
}

static uint64_t *word(const struct many *m, int i)
{
    return (uint64_t *)m->mem.buf + i;
}

static void many_open(struct many *m, const char *name)
{
    DAT_EP_ATTR attr = {.max_recv_dtos = 1,
                        .max_request_dtos = 1,
                        .max_recv_iov = 1,
                        .max_request_iov = 1,
                        .max_rdma_read_iov = 1,
                        .max_rdma_write_iov = 1};

    m->n = n_allowed();
    m->ep = calloc((size_t)m->n, sizeof(*m->ep));
    CHECK(m->ep != NULL);
    dt_open_as(&m->t, name, DAT_FALSE);
    OK(dat_evd_resize(m->t.recv_evd, m->n));
    OK(dat_evd_resize(m->t.req_evd, m->n));
    OK(dat_evd_resize(m->t.conn_evd, 2 * m->n));
    OK(dat_evd_resize(m->t.cr_evd, m->n));
    dt_alloc(&m->t, &m->mem, (size_t)m->n * 2 * sizeof(uint64_t), true);
    for (int i = 0; i < m->n; i++) {
        DAT_LMR_TRIPLET seg = dt_seg(&m->mem, (size_t)i * sizeof(uint64_t), sizeof(uint64_t));

        OK(dat_ep_create(m->t.ia, m->t.pz, m->t.recv_evd, m->t.req_evd, m->t.conn_evd, &attr,
                         &m->ep[i]));
        OK(dat_ep_post_recv(m->ep[i], 1, &seg, dt_cookie((uint64_t)i),
                            DAT_COMPLETION_DEFAULT_FLAG));
    }
}

static void many_send(struct many *m, int i, uint64_t value)
{
    size_t at = (size_t)(m->n + i) * sizeof(uint64_t);
    DAT_LMR_TRIPLET seg = dt_seg(&m->mem, at, sizeof(uint64_t));

    *word(m, m->n + i) = value;
    OK(dat_ep_post_send(m->ep[i], 1, &seg, dt_cookie((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
}

/* The next message: its connection. */
static int many_receive(struct many *m)
{
    DAT_EVENT event = dt_wait(m->t.recv_evd);
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
    int i = (int)dto->user_cookie.as_64;

    CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
    CHECK_EQ(dto->transfered_length, sizeof(uint64_t));
    CHECK(i >= 0 && i < m->n && m->ep[i] == dto->ep_handle);
    return i;
}

static void many_close(struct many *m)
{
    for (int i = 0; i < m->n; i++)
        CHECK_EQ(dt_wait(m->t.req_evd).event_data.dto_completion_event_data.status,
                 DAT_DTO_SUCCESS);
    for (int i = 0; i < m->n; i++)
        dt_want_conn(m->t.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_none(m->t.conn_evd, 1);
    dt_want_none(m->t.recv_evd, 0);
    dt_want_none(m->t.async_evd, 0);
    dt_close(&m->t);
    free(m->ep);
}

/* It sends; each connection's message is to come back on it, with one added. */
static int many_passive(struct dt *t, const char *name)
{
    struct many m = {.t = *t};
    DAT_PSP_HANDLE psp;

    many_open(&m, name);
    psp = dt_listen(&m.t);
    for (int i = 0; i < m.n; i++)
        dt_accept(&m.t, m.ep[i]);
    dt_meet(t);
    for (int i = 0; i < m.n; i++)
        many_send(&m, i, (uint64_t)i << 1);
    for (int n = 0; n < m.n; n++) {
        int i = many_receive(&m);

        CHECK_EQ(*word(&m, i), ((uint64_t)i << 1) + 1);
    }
    dt_meet(t);
    OK(dat_psp_free(psp));
    many_close(&m);
    return 0;
}

static int many_active(struct dt *t, const char *name)
{
    struct many m = {.t = *t};
    DAT_CONN_QUAL qual;

    many_open(&m, name);
    dt_hear(t, &qual, sizeof(qual));
    for (int i = 0; i < m.n; i++) {
        OK(dat_ep_connect(m.ep[i], (DAT_IA_ADDRESS_PTR)&m.t.addr, qual, DT_WAIT_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        if (i >= N_AT_ONCE)
            dt_want_conn(m.t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    for (int i = 0; i < N_AT_ONCE; i++)
        dt_want_conn(m.t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_meet(t);
    for (int n = 0; n < m.n; n++) {
        int i = many_receive(&m);

        many_send(&m, i, *word(&m, i) + 1);
    }
    dt_meet(t);
    for (int i = 0; i < m.n; i++)
        OK(dat_ep_disconnect(m.ep[i], DAT_CLOSE_GRACEFUL_FLAG));
    many_close(&m);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), many_passive, many_active, false);
}
