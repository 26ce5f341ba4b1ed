/* test: kind=dat timeout=60 prov=datum-shm params=latency=20ms,bandwidth=64m,register=10ms,register_page=100us */
/*
 * The modelled network: nothing arrives or completes earlier than latency, bandwidth and what is before it
 * allow, reads take two ways, registrations take their time, data and order are right, and requests are carried out
 * though their poster sleeps outside DAT. Only lower bounds: a loaded machine may be later.
 */
#include "dat_pair.h"

#define WAY       0.020
#define BANDWIDTH (double)(64 << 20)
#define REGISTER  0.010
#define PAGE_TIME 0.000100
#define LEN       (4 << 20)
#define N_PAGES   64

static void at_least(const char *what, double took, double least)
{
    if (took < least)
        DT_FAIL("%s took %.1f ms, which cannot be less than %.1f", what, 1e3 * took, 1e3 * least);
}

static void set_up(struct dt *t, const char *name, struct dt_mem *mem, struct dt_mem *peer,
                   bool is_passive)
{
    dt_open(t, name);
    dt_alloc(t, mem, LEN, false);
    dt_join(t, is_passive);
    dt_swap_mem(t, mem, peer);
}

static void registration(struct dt *t)
{
    struct dt_mem mem;
    double start = dt_now();
    DAT_REGION_DESCRIPTION region;
    DAT_LMR_HANDLE lmr;
    char cookie[DAT_LMR_COOKIE_SIZE] = "fd:0+0";

    dt_alloc(t, &mem, N_PAGES * 4096, false);
    at_least("registering 64 pages", dt_now() - start, REGISTER + N_PAGES * PAGE_TIME);
    OK(dat_lmr_free(mem.lmr));
    region.for_shared_memory.virtual_address = mem.buf;
    region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)&cookie;
    CHECK_RC(dat_lmr_create(t->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 4096, t->pz,
                            DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL, NULL),
             DAT_MODEL_NOT_SUPPORTED);
}

/* ---- the two sides ---- */

static int passive(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;
    volatile char *buf;
    double start;

    set_up(t, name, &mem, &peer, true);
    registration(t);
    buf = mem.buf;
    /* A write: the last byte comes after latency and transfer. */
    dt_hear(t, &start, sizeof(start));
    while (buf[LEN - 1] != 7)
        dt_sleep_ms(0);
    at_least("a write's arrival", dt_now() - start, WAY + LEN / BANDWIDTH);
    for (size_t i = 0; i < LEN; i++)
        CHECK_EQ(buf[i], 7);
    dt_meet(t);
    /* A message, though its sender waits outside DAT. */
    OK(dat_ep_post_recv(t->ep, 0, NULL, dt_cookie(5), DAT_COMPLETION_DEFAULT_FLAG));
    dt_meet(t);
    dt_hear(t, &start, sizeof(start));
    dt_want_dto(t->recv_evd, 5, DAT_DTO_SUCCESS);
    at_least("a message", dt_now() - start, WAY);
    dt_meet(t);
    memset(mem.buf, 9, LEN);
    dt_meet(t);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    CHECK_EQ(mem.buf[1], 3); /* posted before the graceful disconnect */
    dt_close(t);
    return 0;
}

static void reads(struct dt *t, struct dt_mem *mem, const struct dt_mem *peer)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, LEN);
    DAT_RMR_TRIPLET from = dt_remote(peer, 0, LEN);
    double start = dt_now();

    for (int i = 0; i < 2; i++)
        OK(dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(20 + (uint64_t)i), &from,
                                 DAT_COMPLETION_DEFAULT_FLAG));
    CHECK_EQ(dt_want_dto(t->req_evd, 20, DAT_DTO_SUCCESS), LEN);
    at_least("a read", dt_now() - start, 2 * WAY + LEN / BANDWIDTH);
    dt_want_dto(t->req_evd, 21, DAT_DTO_SUCCESS);
    at_least("two reads over one link", dt_now() - start, 2 * WAY + 2 * LEN / BANDWIDTH);
    for (size_t i = 0; i < LEN; i++)
        CHECK_EQ(mem->buf[i], 9);
}

static int active(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;
    DAT_EVENT event;
    double start;

    set_up(t, name, &mem, &peer, false);
    seg = dt_seg(&mem, 0, LEN);
    to = dt_remote(&peer, 0, LEN);
    memset(mem.buf, 7, LEN);
    start = dt_now();
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_tell(t, &start, sizeof(start));
    while (DAT_GET_TYPE(dat_evd_dequeue(t->req_evd, &event)) == DAT_QUEUE_EMPTY)
        continue;
    at_least("a write's completion", dt_now() - start, WAY + LEN / BANDWIDTH);
    CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
    dt_meet(t);
    dt_meet(t);
    start = dt_now();
    OK(dat_ep_post_send(t->ep, 0, NULL, dt_cookie(6), DAT_COMPLETION_DEFAULT_FLAG));
    dt_tell(t, &start, sizeof(start));
    dt_meet(t);
    dt_want_dto(t->req_evd, 6, DAT_DTO_SUCCESS);
    dt_meet(t);
    reads(t, &mem, &peer);
    mem.buf[0] = 3;
    seg.segment_length = 1;
    to = dt_remote(&peer, 1, 1);
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(8), &to, DAT_COMPLETION_SUPPRESS_FLAG));
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_GRACEFUL_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), passive, active, false);
}
