/* test: kind=dat timeout=90 params=copy=auto|copy=cma|copy=staged */
/*
 * Many of everything: 500 endpoints of one process connected to 500 of another
 * with traffic on all at once; two instances in one process connected with
 * each other; an instance opened and closed again and again. Each time the
 * process ends up with the descriptors, mappings and memory that it had.
 */
#include "dat_leak.h"
#include "dat_pair.h"

enum { N_EPS = 500, N_MSGS = 20, N_RECVS = 4, N_CYCLES = 1000, LEN = 1 << 16 };

/* ---- 500 endpoints ---- */

struct ends {
    struct dt t;
    DAT_EP_HANDLE ep[N_EPS];
    unsigned n_recv[N_EPS];
    unsigned n_sent[N_EPS];
    struct dt_mem mem;
    struct dt_mem peer;
};

static DAT_EP_HANDLE light_ep(struct dt *t)
{
    DAT_EP_ATTR attr;
    DAT_EP_HANDLE ep;

    memset(&attr, 0, sizeof(attr));
    attr.max_recv_dtos = N_RECVS;
    attr.max_request_dtos = 4;
    attr.max_recv_iov = 1;
    attr.max_request_iov = 1;
    attr.max_rdma_read_in = 1;
    attr.max_rdma_read_out = 1;
    attr.max_rdma_read_iov = 1;
    attr.max_rdma_write_iov = 1;
    OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &attr, &ep));
    return ep;
}

static int index_of(const struct ends *e, DAT_EP_HANDLE ep)
{
    for (int i = 0; i < N_EPS; i++)
        if (e->ep[i] == ep)
            return i;
    DT_FAIL("an unknown endpoint");
}

static void post_recv(struct ends *e, int i, unsigned cookie)
{
    DAT_LMR_TRIPLET seg = dt_seg(&e->mem, (size_t)i * 64, 64);

    OK(dat_ep_post_recv(e->ep[i], 1, &seg, dt_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG));
}

static void send_next(struct ends *e, int i)
{
    DAT_LMR_TRIPLET seg = dt_seg(&e->mem, (size_t)(N_EPS + i) * 64, 64);

    if (e->n_sent[i] < N_MSGS)
        OK(dat_ep_post_send(e->ep[i], 1, &seg, dt_cookie(e->n_sent[i]++),
                            DAT_COMPLETION_DEFAULT_FLAG));
}

static void open_ends(struct ends *e, const char *name)
{
    dt_open_as(&e->t, name, DAT_FALSE);
    OK(dat_evd_resize(e->t.recv_evd, N_EPS * N_RECVS));
    OK(dat_evd_resize(e->t.req_evd, N_EPS * 4));
    OK(dat_evd_resize(e->t.conn_evd, 2 * N_EPS));
    OK(dat_evd_resize(e->t.cr_evd, N_EPS));
    dt_alloc(&e->t, &e->mem, LEN, true);
    for (int i = 0; i < N_EPS; i++) {
        e->ep[i] = light_ep(&e->t);
        for (unsigned k = 0; k < N_RECVS; k++)
            post_recv(e, i, k);
    }
}

/* Both directions of all connections at once. */
static void exchange(struct ends *e)
{
    unsigned n_left = 2 * N_EPS * N_MSGS;

    for (int i = 0; i < N_EPS; i++)
        send_next(e, i);
    while (n_left > 0) {
        DAT_EVENT event;
        DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
        bool is_recv = dat_evd_dequeue(e->t.recv_evd, &event) == DAT_SUCCESS;
        int i;

        if (!is_recv && dat_evd_dequeue(e->t.req_evd, &event) != DAT_SUCCESS) {
            sched_yield();
            continue;
        }
        CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
        i = index_of(e, dto->ep_handle);
        n_left--;
        if (is_recv) {
            CHECK_EQ(dto->user_cookie.as_64, e->n_recv[i]);
            e->n_recv[i]++;
            post_recv(e, i, e->n_recv[i] + N_RECVS - 1);
        } else {
            CHECK_EQ(dto->user_cookie.as_64, e->n_sent[i] - 1);
            send_next(e, i);
        }
    }
}

static void close_ends(struct ends *e)
{
    for (int i = 0; i < N_EPS; i++)
        dt_want_conn(e->t.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    for (int i = 0; i < N_EPS; i++)
        for (unsigned k = 0; k < N_RECVS; k++)
            CHECK_EQ(dt_wait(e->t.recv_evd).event_data.dto_completion_event_data.status,
                     DAT_DTO_ERR_FLUSHED);
    dt_want_none(e->t.conn_evd, 1);
    dt_want_none(e->t.recv_evd, 0);
    dt_want_none(e->t.req_evd, 0);
    dt_want_none(e->t.async_evd, 0);
    dt_close(&e->t);
    munmap(e->mem.buf, LEN);
    close(e->mem.fd);
}

static void many_passive(struct dt *t, const char *name)
{
    struct ends *e = calloc(1, sizeof(*e));
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    DAT_COUNT n_more;

    e->t = *t;
    open_ends(e, name);
    psp = dt_listen(&e->t);
    OK(dat_evd_wait(e->t.cr_evd, DT_WAIT_US, N_EPS, &event, &n_more)); /* all of them */
    CHECK_EQ(n_more, N_EPS - 1);
    for (int i = 0; i < N_EPS; i++) {
        if (i > 0)
            OK(dat_evd_dequeue(e->t.cr_evd, &event));
        OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, e->ep[i], 0, NULL));
    }
    for (int i = 0; i < N_EPS; i++)
        dt_want_conn(e->t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_meet(t);
    exchange(e);
    dt_meet(t);
    OK(dat_psp_free(psp));
    close_ends(e);
    free(e);
}

static void many_active(struct dt *t, const char *name)
{
    struct ends *e = calloc(1, sizeof(*e));
    DAT_CONN_QUAL qual;

    e->t = *t;
    open_ends(e, name);
    dt_hear(t, &qual, sizeof(qual));
    for (int i = 0; i < N_EPS; i++)
        OK(dat_ep_connect(e->ep[i], (DAT_IA_ADDRESS_PTR)&e->t.addr, qual, DT_WAIT_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    for (int i = 0; i < N_EPS; i++)
        dt_want_conn(e->t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_meet(t);
    exchange(e);
    dt_meet(t);
    for (int i = 0; i < N_EPS; i++)
        OK(dat_ep_disconnect(e->ep[i], DAT_CLOSE_ABRUPT_FLAG));
    close_ends(e);
    free(e);
}

/* ---- two instances in one process ---- */

static void two_instances(const char *name)
{
    struct dt a = {.pipe = -1};
    struct dt b = {.pipe = -1};
    struct dt_mem mem_a;
    struct dt_mem mem_b;
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;

    dt_open(&a, name);
    dt_open(&b, name);
    dt_alloc(&a, &mem_a, LEN, true);
    dt_alloc(&b, &mem_b, LEN, false);
    OK(dat_psp_create_any(a.ia, &qual, a.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    OK(dat_ep_connect(b.ep, (DAT_IA_ADDRESS_PTR)&b.addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    dt_accept(&a, a.ep);
    dt_want_conn(b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    /* Handles of one mean nothing to the other. */
    CHECK_RC(dat_ep_create(a.ia, b.pz, a.recv_evd, a.req_evd, a.conn_evd, NULL, &a.ep),
             DAT_INVALID_HANDLE);
    memset(mem_b.buf, 'b', LEN);
    seg = dt_seg(&mem_b, 0, LEN);
    to = dt_remote(&mem_a, 0, LEN);
    OK(dat_ep_post_rdma_write(b.ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(b.req_evd, 1, DAT_DTO_SUCCESS);
    CHECK_EQ(memcmp(mem_a.buf, mem_b.buf, LEN), 0);
    memset(mem_a.buf, 'a', LEN);
    OK(dat_ep_post_rdma_read(b.ep, 1, &seg, dt_cookie(2), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(b.req_evd, 2, DAT_DTO_SUCCESS);
    CHECK_EQ(memcmp(mem_a.buf, mem_b.buf, LEN), 0);
    dt_close(&a); /* with all that is alive */
    dt_want_conn(b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_close(&b);
    munmap(mem_a.buf, LEN);
    munmap(mem_b.buf, LEN);
    close(mem_a.fd);
}

static void open_and_close(const char *name, int i)
{
    struct dt t = {.pipe = -1};
    struct dt_mem mem;

    dt_open(&t, name);
    if (i % 10 == 0) {
        dt_alloc(&t, &mem, 4096, true);
        munmap(mem.buf, 4096);
        close(mem.fd);
    }
    dt_close(&t);
}

static int check_cycles(const char *name, int n_cycles)
{
    struct dt_belongings before = {0};

    for (int i = 0; i < n_cycles + 20; i++) {
        if (i == 20)
            before = dt_count_belongings();
        open_and_close(name, i);
    }
    dt_want_belongings(&before, "opening and closing");
    for (int i = 0; i < 50; i++) {
        if (i == 5)
            before = dt_count_belongings();
        two_instances(name);
    }
    dt_want_belongings(&before, "two instances");
    return 0;
}

static int run(struct dt *t, const char *name, void (*many)(struct dt *t, const char *name))
{
    struct dt_belongings before = {0};

    for (int i = 0; i < 3; i++) {
        if (i == 1)
            before = dt_count_belongings();
        many(t, name);
        dt_meet(t);
    }
    dt_want_belongings(&before, "500 endpoints");
    return 0;
}

static int one(struct dt *t, const char *name)
{
    return run(t, name, many_passive);
}

static int two(struct dt *t, const char *name)
{
    return run(t, name, many_active);
}

int main(int argc, char **argv)
{
    int ret = dt_pair(dt_name(argc, argv), one, two, false);

    return ret != 0 ? ret : check_cycles(dt_name(argc, argv), N_CYCLES);
}
