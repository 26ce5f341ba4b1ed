/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Threads: several on one endpoint of a thread-safe instance; on the other
 * kind one waits for connection requests while another posts. A region that
 * its owner frees while a peer writes to it is never touched afterwards.
 */
#include "dat_pair.h"

enum { N_THREADS = 4, N_OPS = 500, LEN = 65536, N_FREES = 30 };

struct worker {
    struct dt *t;
    struct dt_mem *mem;
    struct dt_mem *peer;
    unsigned id;
};

static void post_again(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *seg, unsigned cookie)
{
    while (dat_ep_post_send(ep, 1, seg, dt_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG) !=
           DAT_SUCCESS)
        dt_sleep_ms(0);
}

/* Sends of this thread arrive in its order. */
static void *work(void *arg)
{
    struct worker *w = arg;

    for (unsigned i = 0; i < N_OPS; i++) {
        size_t at = w->id * 16384 + i * 8; /* not used again: it may be queued */
        DAT_LMR_TRIPLET seg = dt_seg(w->mem, at, 8);
        unsigned value[2] = {w->id, i};

        memcpy(w->mem->buf + at, value, sizeof(value));
        post_again(w->t->ep, &seg, i);
    }
    return NULL;
}

static void *reap(void *arg)
{
    struct dt *t = arg;

    for (int i = 0; i < N_THREADS * N_OPS; i++) {
        DAT_EVENT event = dt_wait(t->req_evd);

        CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
    }
    return NULL;
}

static void safe_sender(struct dt *t, const char *name)
{
    struct worker w[N_THREADS];
    pthread_t thread[N_THREADS];
    pthread_t reaper;
    struct dt_mem mem;

    dt_open_as(t, name, DAT_TRUE);
    t->ep = dt_ep(t);
    dt_alloc(t, &mem, LEN, false);
    dt_join(t, false);
    CHECK_EQ(pthread_create(&reaper, NULL, reap, t), 0);
    for (unsigned i = 0; i < N_THREADS; i++) {
        w[i] = (struct worker){.t = t, .mem = &mem, .id = i};
        CHECK_EQ(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        CHECK_EQ(pthread_join(thread[i], NULL), 0);
    CHECK_EQ(pthread_join(reaper, NULL), 0);
    dt_meet(t);
    dt_close(t);
}

static void safe_receiver(struct dt *t, const char *name)
{
    enum { DEPTH = 48 };
    unsigned next[N_THREADS] = {0};
    struct dt_mem mem;
    DAT_LMR_TRIPLET seg;

    dt_open_as(t, name, DAT_TRUE);
    t->ep = dt_ep(t);
    dt_alloc(t, &mem, LEN, true);
    for (unsigned i = 0; i < DEPTH; i++) {
        seg = dt_seg(&mem, i * 8, 8);
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
    }
    dt_join(t, true);
    for (unsigned i = 0; i < N_THREADS * N_OPS; i++) {
        unsigned value[2];

        CHECK_EQ(dt_want_dto(t->recv_evd, i % DEPTH, DAT_DTO_SUCCESS), 8);
        memcpy(value, mem.buf + i % DEPTH * 8, sizeof(value));
        CHECK(value[0] < N_THREADS);
        CHECK_EQ(value[1], next[value[0]]);
        next[value[0]]++;
        seg = dt_seg(&mem, i % DEPTH * 8, 8);
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(i % DEPTH), DAT_COMPLETION_DEFAULT_FLAG));
    }
    dt_meet(t);
    dt_close(t);
}

/* Accept connections in a thread of its own while the main thread posts. */
static void *serve(void *arg)
{
    struct dt *t = arg;

    for (int i = 0; i < 10; i++) {
        DAT_EVENT event = dt_wait(t->cr_evd);

        OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
    }
    return NULL;
}

static void server_thread(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;
    DAT_PSP_HANDLE psp;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;
    pthread_t thread;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    dt_join(t, true);
    dt_swap_mem(t, &mem, &peer);
    seg = dt_seg(&mem, 0, 64);
    to = dt_remote(&peer, 0, 64);
    psp = dt_listen(t);
    CHECK_EQ(pthread_create(&thread, NULL, serve, t), 0);
    for (unsigned i = 0; i < 2000; i++) {
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(i), &to,
                                  i % 16 == 0 ? DAT_COMPLETION_DEFAULT_FLAG
                                              : DAT_COMPLETION_SUPPRESS_FLAG));
        if (i % 16 == 0)
            dt_want_dto(t->req_evd, i, DAT_DTO_SUCCESS);
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    OK(dat_psp_free(psp));
    dt_meet(t);
    dt_close(t);
}

static void client_of_server(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;
    DAT_EP_HANDLE ep;
    DAT_CONN_QUAL qual;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, true);
    dt_join(t, false);
    dt_swap_mem(t, &mem, &peer);
    dt_hear(t, &qual, sizeof(qual));
    ep = dt_ep(t);
    for (int i = 0; i < 10; i++) {
        OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        OK(dat_ep_reset(ep));
    }
    dt_meet(t);
    dt_close(t);
}

/* The writer never stops; the owner frees and looks for late changes. */
static void freeing_owner(struct dt *t, const char *name)
{
    struct dt_mem mem;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, true);
    for (int round = 0; round < N_FREES; round++) {
        if (round > 0)
            dt_reg(t, &mem, DAT_MEM_PRIV_ALL_FLAG);
        dt_join(t, true);
        dt_tell(t, &mem, sizeof(mem));
        while (*(volatile char *)mem.buf == 0)
            dt_sleep_ms(0);
        OK(dat_lmr_free(mem.lmr));
        memset(mem.buf, 0, LEN);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        for (int i = 0; i < LEN; i++)
            CHECK_EQ(mem.buf[i], 0);
        OK(dat_ep_reset(t->ep));
        CHECK_EQ(dt_wait(t->async_evd).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
        if (round % 2 == 1) { /* the next is memory that cannot be mapped */
            dt_alloc(t, &mem, LEN, false);
            OK(dat_lmr_free(mem.lmr));
        }
    }
    dt_close(t);
}

static void writer(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;
    DAT_EVENT event;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    memset(mem.buf, 1, LEN);
    seg = dt_seg(&mem, 0, LEN);
    for (int round = 0; round < N_FREES; round++) {
        dt_join(t, false);
        dt_hear(t, &peer, sizeof(peer));
        to = dt_remote(&peer, 0, LEN);
        do {
            OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to,
                                      DAT_COMPLETION_DEFAULT_FLAG));
            event = dt_wait(t->req_evd);
        } while (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
        CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_REMOTE_ACCESS);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
        OK(dat_ep_reset(t->ep));
    }
    dt_close(t);
}

static int one(struct dt *t, const char *name)
{
    safe_receiver(t, name);
    server_thread(t, name);
    freeing_owner(t, name);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    safe_sender(t, name);
    client_of_server(t, name);
    writer(t, name);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
