/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Data: RDMA write and read and send of many sizes, into memory that can be
 * mapped and into memory that cannot, gathered and scattered; order of
 * completions and of data; the last byte of a write arrives last.
 */
#include "dat_pair.h"

enum { LEN = 3 << 20, N_SIZES = 20 };

static const size_t sizes[N_SIZES] = {1,  2,   3,   7,    8,    9,     15,    16,     63,      64,
                                      65, 127, 200, 1000, 4096, 10007, 65536, 262145, 1 << 20, LEN};

ORDERED_BY_PEER static unsigned char byte_at(size_t i, unsigned seed)
{
    return (unsigned char)(i * 31 + seed * 7 + i / 251);
}

ORDERED_BY_PEER static void fill(char *buf, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        buf[i] = (char)byte_at(i, seed);
}

ORDERED_BY_PEER static void verify(const char *buf, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)buf[i] != byte_at(i, seed))
            DT_FAIL("byte %zu of %zu is wrong, seed %u", i, len, seed);
}

ORDERED_BY_PEER static void clear(char *buf, size_t len)
{
    for (size_t i = 0; i < len; i++)
        ((volatile char *)buf)[i] = 0;
}

struct mems {
    struct dt_mem src;
    struct dt_mem dst[2]; /* private, shared */
    struct dt_mem peer[2];
};

static void set_up(struct dt *t, const char *name, struct mems *m, bool is_passive)
{
    dt_open(t, name);
    dt_alloc(t, &m->src, LEN + 64, false);
    for (int i = 0; i < 2; i++) {
        dt_alloc(t, &m->dst[i], LEN + 64, i == 1);
    }
    dt_join(t, is_passive);
    for (int i = 0; i < 2; i++)
        dt_swap_mem(t, &m->dst[i], &m->peer[i]);
}

/* Writes at odd places, each followed by a message that says so. */
static void active_writes(struct dt *t, struct mems *m)
{
    for (unsigned k = 0; k < 2 * N_SIZES; k++) {
        size_t len = sizes[k / 2];
        size_t at = k % 7;
        DAT_LMR_TRIPLET seg = dt_seg(&m->src, k % 5, len);
        DAT_RMR_TRIPLET to = dt_remote(&m->peer[k % 2], at, len);

        fill(m->src.buf + k % 5, len, k);
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(k), &to, DAT_COMPLETION_SUPPRESS_FLAG));
        OK(dat_ep_post_send(t->ep, 0, NULL, dt_cookie(1000 + k), DAT_COMPLETION_DEFAULT_FLAG));
        CHECK_EQ(dt_want_dto(t->req_evd, 1000 + k, DAT_DTO_SUCCESS), 0);
        dt_meet(t);
    }
}

static void passive_writes(struct dt *t, struct mems *m)
{
    for (unsigned k = 0; k < 2 * N_SIZES; k++) {
        OK(dat_ep_post_recv(t->ep, 0, NULL, dt_cookie(k), DAT_COMPLETION_DEFAULT_FLAG));
        dt_want_dto(t->recv_evd, k, DAT_DTO_SUCCESS);
        verify(m->dst[k % 2].buf + k % 7, sizes[k / 2], k);
        dt_meet(t);
    }
}

/* The active side reads back what the passive side has. */
static void active_reads(struct dt *t, struct mems *m)
{
    for (unsigned k = 0; k < 2 * N_SIZES; k++) {
        size_t len = sizes[k / 2];
        DAT_LMR_TRIPLET seg = dt_seg(&m->src, k % 3, len);
        DAT_RMR_TRIPLET from = dt_remote(&m->peer[k % 2], k % 7, len);

        dt_meet(t);
        OK(dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(k), &from, DAT_COMPLETION_DEFAULT_FLAG));
        CHECK_EQ(dt_want_dto(t->req_evd, k, DAT_DTO_SUCCESS), len);
        verify(m->src.buf + k % 3, len, k + 100);
        dt_meet(t);
    }
}

static void passive_reads(struct dt *t, struct mems *m)
{
    for (unsigned k = 0; k < 2 * N_SIZES; k++) {
        fill(m->dst[k % 2].buf + k % 7, sizes[k / 2], k + 100);
        dt_meet(t);
        dt_meet(t);
    }
}

/* Messages cut into segments differently on each side. */
static void active_sends(struct dt *t, struct mems *m)
{
    for (unsigned k = 0; k < 2 * N_SIZES; k++) {
        size_t len = sizes[k / 2];
        DAT_LMR_TRIPLET seg[3] = {dt_seg(&m->src, 0, len / 3), dt_seg(&m->src, len / 3, 0),
                                  dt_seg(&m->src, len / 3, len - len / 3)};

        fill(m->src.buf, len, k + 5);
        dt_meet(t);
        OK(dat_ep_post_send(t->ep, 3, seg, dt_cookie(k), DAT_COMPLETION_DEFAULT_FLAG));
        CHECK_EQ(dt_want_dto(t->req_evd, k, DAT_DTO_SUCCESS), len);
        dt_meet(t);
    }
}

static void passive_sends(struct dt *t, struct mems *m)
{
    for (unsigned k = 0; k < 2 * N_SIZES; k++) {
        struct dt_mem *dst = &m->dst[k % 2];
        size_t len = sizes[k / 2];
        DAT_LMR_TRIPLET seg[4] = {dt_seg(dst, 0, len / 2), dt_seg(dst, len / 2, 0),
                                  dt_seg(dst, len / 2, len - len / 2), dt_seg(dst, len, 16)};

        OK(dat_ep_post_recv(t->ep, 4, seg, dt_cookie(k), DAT_COMPLETION_DEFAULT_FLAG));
        dt_meet(t);
        CHECK_EQ(dt_want_dto(t->recv_evd, k, DAT_DTO_SUCCESS), len);
        verify(dst->buf, len, k + 5);
        dt_meet(t);
    }
}

/* Gathered writes; requests complete in the order of posting. */
static void active_order(struct dt *t, struct mems *m)
{
    enum { N = 100 };
    DAT_LMR_TRIPLET seg[3] = {dt_seg(&m->src, 0, 100), dt_seg(&m->src, 100, 3000),
                              dt_seg(&m->src, 3100, 7)};
    DAT_RMR_TRIPLET to[2] = {dt_remote(&m->peer[0], 0, 3107), dt_remote(&m->peer[1], 0, 3107)};
    DAT_LMR_TRIPLET back = dt_seg(&m->src, 8192, 3107);

    fill(m->src.buf, 3107, 9);
    for (int i = 0; i < N; i++) {
        if (i % 3 == 2)
            OK(dat_ep_post_rdma_read(t->ep, 1, &back, dt_cookie((unsigned)i), &to[i % 2],
                                     DAT_COMPLETION_BARRIER_FENCE_FLAG));
        else
            OK(dat_ep_post_rdma_write(t->ep, 3, seg, dt_cookie((unsigned)i), &to[i % 2],
                                      DAT_COMPLETION_DEFAULT_FLAG));
    }
    for (unsigned i = 0; i < N; i++)
        CHECK_EQ(dt_want_dto(t->req_evd, i, DAT_DTO_SUCCESS), 3107);
    verify(m->src.buf + 8192, 3107, 9);
    dt_want_none(t->req_evd, 1);
    dt_meet(t);
}

/* The passive side spins on the end of its buffer, without DAT calls. */
static void active_last(struct dt *t, struct mems *m)
{
    char c;

    for (unsigned k = 0; k < 300; k++) {
        size_t len = k % 3 == 0 ? 8 + k : 60 * k + 9;
        DAT_LMR_TRIPLET seg = dt_seg(&m->src, 0, len);
        DAT_RMR_TRIPLET to = dt_remote(&m->peer[k % 2], k % 11, len);

        memset(m->src.buf, (int)(k % 255 + 1), len);
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(k), &to, DAT_COMPLETION_DEFAULT_FLAG));
        dt_want_dto(t->req_evd, k, DAT_DTO_SUCCESS);
        dt_hear(t, &c, 1);
    }
}

ORDERED_BY_PEER static void passive_last(struct dt *t, struct mems *m)
{
    char c = 'l';

    for (unsigned k = 0; k < 300; k++) {
        size_t len = k % 3 == 0 ? 8 + k : 60 * k + 9;
        volatile char *buf = m->dst[k % 2].buf + k % 11;
        char want = (char)(k % 255 + 1);

        for (unsigned long i = 0; buf[len - 1] != want; i++)
            if (i % 1000 == 999)
                dt_sleep_ms(0);
        atomic_thread_fence(memory_order_acquire);
        for (size_t i = 0; i < len; i++)
            if (buf[i] != want)
                DT_FAIL("byte %zu of %zu came after the last, write %u", i, len, k);
        clear((char *)(uintptr_t)buf, len);
        dt_tell(t, &c, 1);
    }
}

static int one(struct dt *t, const char *name)
{
    struct mems m;

    set_up(t, name, &m, true);
    passive_writes(t, &m);
    passive_reads(t, &m);
    passive_sends(t, &m);
    dt_meet(t); /* active_order */
    clear(m.dst[0].buf, LEN);
    clear(m.dst[1].buf, LEN);
    dt_meet(t);
    passive_last(t, &m);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_none(t->async_evd, 1);
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct mems m;

    set_up(t, name, &m, false);
    active_writes(t, &m);
    active_reads(t, &m);
    active_sends(t, &m);
    active_order(t, &m);
    dt_meet(t);
    active_last(t, &m);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_none(t->async_evd, 1);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
