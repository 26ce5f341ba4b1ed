/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Kinds of regions: one made from another (with privileges and a protection
 * zone of its own, living longer than the other), zero-based addresses on both
 * sides, and what the calls refuse.
 */
#include "dat_ext.h"

enum { LEN = 100000 };

static DAT_RETURN create(struct dt *t, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                         DAT_VLEN len, int priv, DAT_VA_TYPE va_type, struct dt_mem *mem)
{
    DAT_VADDR addr = 99;
    DAT_RETURN ret = dat_lmr_create(t->ia, type, region, len, t->pz, (DAT_MEM_PRIV_FLAGS)priv,
                                    va_type, &mem->lmr, &mem->lkey, &mem->rkey, &mem->len, &addr);

    mem->buf = (char *)(uintptr_t)addr;
    return ret;
}

static DAT_RETURN of_lmr(struct dt *t, const struct dt_mem *base, DAT_VLEN len, int priv,
                         DAT_VA_TYPE va_type, struct dt_mem *mem)
{
    DAT_REGION_DESCRIPTION region = {.for_lmr_handle = base->lmr};

    return create(t, DAT_MEM_TYPE_LMR, region, len, priv, va_type, mem);
}

/* Also zero-based versions of private and shared memory. */
static void zero_based(struct dt *t, const struct dt_mem *base, struct dt_mem *mem)
{
    DAT_REGION_DESCRIPTION region = {.for_va = base->buf};
    DAT_MEM_TYPE type = DAT_MEM_TYPE_VIRTUAL;
    char cookie[DAT_LMR_COOKIE_SIZE];

    if (base->fd >= 0) {
        snprintf(cookie, sizeof(cookie), "fd:%d+0", base->fd);
        type = DAT_MEM_TYPE_SHARED_VIRTUAL;
        region.for_shared_memory.virtual_address = base->buf;
        region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)&cookie;
    }
    OK(create(t, type, region, LEN, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, mem));
    CHECK(mem->buf == NULL);
    CHECK_EQ(mem->len, LEN);
}

static void check_calls(struct dt *t, const struct dt_mem *base)
{
    DAT_REGION_DESCRIPTION region = {.for_va = base->buf};
    struct dt_mem mem;
    struct dt_mem half;
    DAT_LMR_PARAM param;
    DAT_PZ_HANDLE own = t->pz;

    CHECK_RC(create(t, DAT_MEM_TYPE_VIRTUAL, region, 0, 0, DAT_VA_TYPE_VA, &mem), DAT_LENGTH_ERROR);
    CHECK_RC(create(t, (DAT_MEM_TYPE)7, region, 1, 0, DAT_VA_TYPE_VA, &mem), DAT_INVALID_PARAMETER);
    CHECK_RC(create(t, DAT_MEM_TYPE_VIRTUAL, region, 1, 0x100, DAT_VA_TYPE_VA, &mem),
             DAT_INVALID_PARAMETER);
    CHECK_RC(create(t, DAT_MEM_TYPE_VIRTUAL, region, 1, 0, (DAT_VA_TYPE)2, &mem),
             DAT_INVALID_PARAMETER);
    CHECK_RC(of_lmr(t, base, LEN + 1, 0, DAT_VA_TYPE_VA, &mem), DAT_LENGTH_ERROR);
    mem.lmr = t->pz;
    CHECK_RC(of_lmr(t, &mem, 1, 0, DAT_VA_TYPE_VA, &mem), DAT_INVALID_HANDLE);

    OK(of_lmr(t, base, 0, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA, &mem)); /* all of it */
    CHECK_EQ(mem.len, LEN);
    CHECK(mem.buf == base->buf);
    OK(dat_pz_create(t->ia, &t->pz));
    OK(of_lmr(t, &mem, LEN / 2, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, &half));
    OK(dat_lmr_query(half.lmr, DAT_LMR_FIELD_ALL, &param));
    CHECK(param.ia_handle == t->ia);
    CHECK_EQ(param.mem_type, DAT_MEM_TYPE_LMR);
    CHECK(param.region_desc.for_lmr_handle == mem.lmr);
    CHECK_EQ(param.length, LEN / 2);
    CHECK(param.pz_handle == t->pz);
    CHECK_EQ(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
    CHECK_EQ(param.va_type, DAT_VA_TYPE_ZB);
    CHECK_EQ(param.lmr_context, half.lkey);
    CHECK_EQ(param.rmr_context, half.rkey);
    CHECK_EQ(param.registered_size, LEN / 2);
    CHECK_EQ(param.registered_address, 0);
    CHECK(half.lkey != mem.lkey);
    OK(dat_lmr_free(mem.lmr));
    CHECK_RC(of_lmr(t, &mem, 1, 0, DAT_VA_TYPE_VA, &mem), DAT_INVALID_HANDLE); /* freed */
    CHECK_RC(dat_pz_free(t->pz), DAT_INVALID_STATE);
    OK(dat_lmr_free(half.lmr));
    OK(dat_pz_free(t->pz));
    t->pz = own;
}

struct mems {
    struct dt_mem base;
    struct dt_mem copy;  /* of base, which is freed */
    struct dt_mem first; /* half of it, only to be read from afar */
    struct dt_mem zero;
};

static void set_up(struct dt *t, const char *name, struct mems *m, bool is_shared)
{
    dt_open(t, name);
    dt_alloc(t, &m->base, LEN, is_shared);
    check_calls(t, &m->base);
    for (size_t i = 0; i < LEN; i++)
        m->base.buf[i] = (char)(i % 101);
    OK(of_lmr(t, &m->base, LEN, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &m->copy));
    OK(of_lmr(t, &m->base, LEN / 2, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG,
              DAT_VA_TYPE_VA, &m->first));
    OK(dat_lmr_free(m->base.lmr));
    zero_based(t, &m->base, &m->zero);
}

/* Post a read or write and wait for its end. */
static void transfer(struct dt *t, bool is_write, DAT_LMR_TRIPLET seg, DAT_RMR_TRIPLET to,
                     DAT_DTO_COMPLETION_STATUS status)
{
    if (is_write)
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    else
        OK(dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 1, status);
    if (status == DAT_DTO_SUCCESS)
        return;
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    OK(dat_ep_reset(t->ep));
    dt_meet(t);
    dt_join(t, false);
}

/* The owner's part of that. */
static void broken(struct dt *t)
{
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    CHECK_EQ(dt_wait(t->async_evd).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    OK(dat_ep_reset(t->ep));
    dt_meet(t);
    dt_join(t, true);
}

ORDERED_BY_PEER static void check_bytes(const char *at, size_t n, int value)
{
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(at[i], value);
}

static int one(struct dt *t, const char *name)
{
    struct mems m;
    DAT_LMR_TRIPLET seg;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        set_up(t, name, &m, is_shared != 0);
        dt_join(t, true);
        dt_tell(t, &m, sizeof(m));
        for (int i = 0; i < 4; i++) /* write to half, read beyond it, ZB: end, address */
            broken(t);
        dt_meet(t);
        check_bytes(m.base.buf + 10, 50000, 77);
        CHECK_EQ(m.base.buf[9], 9);
        CHECK_EQ(m.base.buf[LEN - 1], 78);
        CHECK_EQ(m.base.buf[LEN - 2], (LEN - 2) % 101);
        /* Receives and sends with zero-based segments. */
        seg = dt_seg(&m.zero, 20, 1000);
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
        dt_meet(t);
        CHECK_EQ(dt_want_dto(t->recv_evd, 2, DAT_DTO_SUCCESS), 1000);
        check_bytes(m.base.buf + 20, 1000, 55);
        seg = dt_seg(&m.zero, LEN - 999, 1000); /* one too many */
        OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(3), DAT_COMPLETION_DEFAULT_FLAG));
        dt_want_dto(t->req_evd, 3, DAT_DTO_ERR_LOCAL_PROTECTION);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
        dt_close(t);
        dt_meet(t);
    }
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct mems m;
    struct mems peer;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        DAT_RMR_TRIPLET to;
        DAT_LMR_TRIPLET seg;

        set_up(t, name, &m, false);
        dt_join(t, false);
        dt_hear(t, &peer, sizeof(peer));
        memset(m.base.buf, 77, LEN);
        transfer(t, true, dt_seg(&m.copy, 0, 50000), dt_remote(&peer.copy, 10, 50000),
                 DAT_DTO_SUCCESS);
        memset(m.base.buf, 78, LEN);
        transfer(t, true, dt_seg(&m.zero, 0, 1), dt_remote(&peer.zero, LEN - 1, 1),
                 DAT_DTO_SUCCESS);
        transfer(t, false, dt_seg(&m.zero, 7, 100), dt_remote(&peer.first, LEN / 2 - 100, 100),
                 DAT_DTO_SUCCESS);
        check_bytes(m.base.buf, 7, 78);
        check_bytes(m.base.buf + 7, 100, 77);
        CHECK_EQ(m.base.buf[107], 78);
        transfer(t, true, dt_seg(&m.copy, 0, 1), dt_remote(&peer.first, 0, 1),
                 DAT_DTO_ERR_REMOTE_ACCESS);
        transfer(t, false, dt_seg(&m.copy, 0, 2), dt_remote(&peer.first, LEN / 2 - 1, 2),
                 DAT_DTO_ERR_REMOTE_ACCESS);
        transfer(t, true, dt_seg(&m.copy, 0, 2), dt_remote(&peer.zero, LEN - 1, 2),
                 DAT_DTO_ERR_REMOTE_ACCESS);
        to = dt_remote(&peer.base, 0, 1);
        to.rmr_context = peer.zero.rkey;
        transfer(t, true, dt_seg(&m.copy, 0, 1), to, DAT_DTO_ERR_REMOTE_ACCESS);
        dt_meet(t);
        memset(m.base.buf, 55, LEN);
        dt_meet(t);
        seg = dt_seg(&m.zero, 5, 1000);
        OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(4), DAT_COMPLETION_DEFAULT_FLAG));
        dt_want_dto(t->req_evd, 4, DAT_DTO_SUCCESS);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        dt_close(t);
        dt_meet(t);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
