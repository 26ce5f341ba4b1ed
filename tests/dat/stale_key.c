/* test: kind=dat timeout=120 params=copy=auto|copy=cma|copy=staged */
/*
 * Keys of freed regions. No key ever comes back: not in 100,000 registrations
 * of one region, and not when all generations of one index are used up while
 * all others are taken. A peer that uses a stale key reaches nothing, whatever
 * is registered by now, and its connection breaks.
 */
#include "dat_pair.h"

enum { LEN = 4096, N_CYCLES = 100000, N_TRIES = 30, N_MAX = 65536 };

/* A bit for every key seen with a low index. */
enum { N_INDICES = 4096 };
static uint8_t seen[N_INDICES * 8192u];

static void note_new(uint32_t key)
{
    uint32_t index = key & 0xffffu;
    uint64_t bit = (uint64_t)index << 16 | key >> 16;

    CHECK(index < N_INDICES);
    if ((seen[bit / 8] & (1u << bit % 8)) != 0)
        DT_FAIL("the key 0x%x has come back", key);
    seen[bit / 8] = (uint8_t)(seen[bit / 8] | 1u << bit % 8);
}

/* The stale key has to be refused while the region is there under another. */
static void offer(struct dt *t, const struct dt_mem *mem, uint32_t stale)
{
    struct dt_mem shown = *mem;

    shown.rkey = stale;
    memset(mem->buf, 0, LEN);
    dt_tell(t, &shown, sizeof(shown));
    dt_join(t, true);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    CHECK_EQ(dt_wait(t->async_evd).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    for (int i = 0; i < LEN; i++)
        CHECK_EQ(mem->buf[i], 0);
    OK(dat_ep_reset(t->ep));
}

static void cycle(struct dt *t, struct dt_mem *mem)
{
    uint32_t stale[N_TRIES];
    uint32_t n = 0;

    for (uint32_t i = 0; i < N_CYCLES; i++) {
        note_new(mem->rkey);
        if (i % (N_CYCLES / N_TRIES) == 0 && n < N_TRIES)
            stale[n++] = mem->rkey;
        OK(dat_lmr_free(mem->lmr));
        dt_reg(t, mem, DAT_MEM_PRIV_ALL_FLAG);
    }
    for (uint32_t i = 0; i < n; i++)
        offer(t, mem, stale[i]);
}

static bool try_reg(struct dt *t, struct dt_mem *mem)
{
    DAT_REGION_DESCRIPTION region = {.for_va = mem->buf};
    DAT_RETURN ret =
        dat_lmr_create(t->ia, DAT_MEM_TYPE_VIRTUAL, region, LEN, t->pz, DAT_MEM_PRIV_ALL_FLAG,
                       DAT_VA_TYPE_VA, &mem->lmr, &mem->lkey, &mem->rkey, NULL, NULL);

    if (ret != DAT_SUCCESS)
        CHECK_RC(ret, DAT_INSUFFICIENT_RESOURCES);
    return ret == DAT_SUCCESS;
}

/* One index is left; its generations are used up. */
static void exhaust(struct dt *t, struct dt_mem *mem)
{
    DAT_LMR_HANDLE *all = calloc(N_MAX, sizeof(*all));
    struct dt_mem m = {.buf = mem->buf};
    struct dt_mem last = m;
    uint32_t first = 0;
    uint32_t n = 0;
    uint32_t n_uses = 0;

    CHECK(all != NULL);
    while (n < N_MAX && try_reg(t, &m))
        all[n++] = m.lmr;
    CHECK(n > 60000 && n < N_MAX); /* the table is full */
    OK(dat_lmr_free(all[n - 1]));
    while (n_uses < N_MAX + 10 && try_reg(t, &m)) {
        if (n_uses == 0)
            first = m.rkey;
        else
            CHECK(m.rkey != first);
        CHECK_EQ(m.rkey & 0xffffu, first & 0xffffu);
        last = m;
        OK(dat_lmr_free(m.lmr));
        n_uses++;
    }
    CHECK(n_uses > 60000 && n_uses < N_MAX); /* and it is not used again */
    offer(t, mem, first);
    offer(t, mem, last.rkey);
    OK(dat_lmr_free(all[0]));
    CHECK(try_reg(t, &m)); /* others go on */
    CHECK((m.rkey & 0xffffu) != (first & 0xffffu));
    offer(t, mem, first);
    for (uint32_t i = 1; i < n - 1; i++)
        OK(dat_lmr_free(all[i]));
    free(all);
}

static int one(struct dt *t, const char *name)
{
    struct dt_mem mem;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, true);
    cycle(t, &mem);
    exhaust(t, &mem);
    mem.rkey = 0;
    dt_tell(t, &mem, sizeof(mem));
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    memset(mem.buf, 1, LEN);
    for (unsigned i = 0;; i++) {
        DAT_LMR_TRIPLET seg = dt_seg(&mem, 0, 64);
        DAT_RMR_TRIPLET to;

        dt_hear(t, &peer, sizeof(peer));
        if (peer.rkey == 0)
            break;
        to = dt_remote(&peer, 0, 64);
        dt_join(t, false);
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(i), &to, DAT_COMPLETION_DEFAULT_FLAG));
        dt_want_dto(t->req_evd, i, DAT_DTO_ERR_REMOTE_ACCESS);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
        OK(dat_ep_reset(t->ep));
    }
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
