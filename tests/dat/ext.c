/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Extended operations: what atomic ones do and report, what each kind of
 * mistake leads to on both sides, and RDMA writes with immediate data.
 */
#include "dat_ext.h"

enum { LEN = 4096, N_IMMEDS = 3000, SLOTS = 16, SLOT_LEN = 40000 };

static ORDERED_BY_PEER uint64_t word_at(const struct dt_mem *mem, size_t at)
{
    return __atomic_load_n((uint64_t *)(void *)(mem->buf + at), __ATOMIC_SEQ_CST);
}

static ORDERED_BY_PEER void set_word(struct dt_mem *mem, size_t at, uint64_t value)
{
    __atomic_store_n((uint64_t *)(void *)(mem->buf + at), value, __ATOMIC_SEQ_CST);
}

/* --- values --- */

static void atomics_at(struct dt *t, struct dt_mem *mem, const struct dt_mem *peer,
                       const struct dt_mem *plain)
{
    DAT_RMR_TRIPLET plain_to = dt_remote(plain, 16, 8);
    DAT_LMR_TRIPLET seg = dt_seg(mem, 8, 8);
    DAT_LMR_TRIPLET src = dt_seg(mem, 64, 8);
    DAT_RMR_TRIPLET to = dt_remote(peer, 16, 8);
    DAT_EVENT event;

    set_word(mem, 0, 77);
    set_word(mem, 16, 78);
    OK(dt_fetch_add(t->ep, 5, &seg, 1, &to, 0));
    dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_FETCH_AND_ADD, 1, DAT_DTO_SUCCESS, 8);
    CHECK_EQ(word_at(mem, 8), 1000);
    OK(dt_fetch_add(t->ep, (uint64_t)-6, &seg, 2, &to, 0));
    dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_FETCH_AND_ADD, 2, DAT_DTO_SUCCESS, 8);
    CHECK_EQ(word_at(mem, 8), 1005);
    OK(dt_cmp_swap(t->ep, 998, 1, &seg, 3, &to, 0)); /* not equal */
    dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_CMP_AND_SWAP, 3, DAT_DTO_SUCCESS, 8);
    CHECK_EQ(word_at(mem, 8), 999);
    OK(dt_cmp_swap(t->ep, 999, UINT64_MAX, &seg, 4, &to, 0));
    dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_CMP_AND_SWAP, 4, DAT_DTO_SUCCESS, 8);
    CHECK_EQ(word_at(mem, 8), 999);
    OK(dt_fetch_add(t->ep, 1, &seg, 5, &to, 0)); /* wraps */
    dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_FETCH_AND_ADD, 5, DAT_DTO_SUCCESS, 8);
    CHECK_EQ(word_at(mem, 8), -1);

    /* In order with other requests; the suppressed ones say nothing. */
    for (uint64_t i = 0; i < 100; i++) {
        set_word(mem, 64, i * 3);
        OK(dat_ep_post_rdma_write(t->ep, 1, &src, dt_cookie(6), &plain_to,
                                  DAT_COMPLETION_SUPPRESS_FLAG));
        OK(dt_fetch_add(t->ep, 1, &seg, 7, &to, DAT_COMPLETION_SUPPRESS_FLAG));
        OK(dt_cmp_swap(t->ep, i * 3 + 1, i * 3 + 2, &seg, 8, &to, 0));
        OK(dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(9), &plain_to,
                                 DAT_COMPLETION_BARRIER_FENCE_FLAG));
        dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_CMP_AND_SWAP, 8, DAT_DTO_SUCCESS, 8);
        event = dt_wait(t->req_evd);
        CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
        CHECK_EQ(event.event_data.dto_completion_event_data.operation, DAT_DTO_RDMA_READ);
        CHECK_EQ(word_at(mem, 8), i * 3 + 2);
    }
    CHECK_EQ(word_at(mem, 0), 77);
    CHECK_EQ(word_at(mem, 16), 78);
}

/* --- faults --- */

enum fault {
    MISALIGNED,
    READ_ONLY,
    WRITE_ONLY,
    BEYOND_END,
    BAD_RKEY,
    BAD_LKEY,
    LOCAL_READ_ONLY,
    IMMED_BAD_RKEY,
    IMMED_BEYOND,
    IMMED_BAD_LKEY,
    N_FAULTS
};

struct mems {
    struct dt_mem good;
    struct dt_mem read_only;
    struct dt_mem write_only;
    struct dt_mem atomic_only;
};

static void set_up(struct dt *t, const char *name, struct mems *m, bool is_shared)
{
    dt_open(t, name);
    dt_alloc(t, &m->good, LEN, is_shared);
    m->read_only = m->good;
    dt_reg(t, &m->read_only, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
    m->write_only = m->good;
    dt_reg(t, &m->write_only, DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
    m->atomic_only = m->good;
    dt_reg(t, &m->atomic_only, DAT_MEM_PRIV_LOCAL_WRITE_FLAG | (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
}

static void commit(struct dt *t, const struct mems *m, const struct mems *peer, enum fault fault)
{
    DAT_LMR_TRIPLET seg = dt_seg(&m->good, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(&peer->good, 0, 8);
    DAT_LMR_TRIPLET good = seg;
    DAT_RMR_TRIPLET good_to = to;
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_ERR_REMOTE_ACCESS;
    bool is_immed = fault >= IMMED_BAD_RKEY;

    set_word((struct dt_mem *)&m->good, 0, 1);
    if (fault == MISALIGNED)
        to.virtual_address += 4;
    if (fault == READ_ONLY)
        to.rmr_context = peer->read_only.rkey;
    if (fault == WRITE_ONLY)
        to.rmr_context = peer->write_only.rkey;
    if (fault == BEYOND_END || fault == IMMED_BEYOND)
        to.virtual_address += LEN;
    if (fault == BAD_RKEY || fault == IMMED_BAD_RKEY)
        to.rmr_context ^= 0x10000;
    if (fault == BAD_LKEY || fault == IMMED_BAD_LKEY)
        seg.lmr_context ^= 0x10000;
    if (fault == LOCAL_READ_ONLY)
        seg.lmr_context = m->read_only.lkey;
    if (fault == BAD_LKEY || fault == LOCAL_READ_ONLY || fault == IMMED_BAD_LKEY)
        status = DAT_DTO_ERR_LOCAL_PROTECTION;
    if (is_immed)
        OK(dt_write_immed(t->ep, 1, &seg, 2, &to, 1, DAT_COMPLETION_SUPPRESS_FLAG));
    else
        OK(dt_fetch_add(t->ep, 1, &seg, 2, &to, DAT_COMPLETION_SUPPRESS_FLAG));
    OK(dt_cmp_swap(t->ep, 0, 1, &good, 3, &good_to, 0));
    OK(dt_write_immed(t->ep, 1, &good, 4, &good_to, 5, 0));
    dt_want_ext(dt_wait(t->req_evd), t->ep,
                is_immed ? DAT_IB_RDMA_WRITE_IMMED : DAT_IB_FETCH_AND_ADD, 2, status, 0);
    dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_CMP_AND_SWAP, 3, DAT_DTO_ERR_FLUSHED, 0);
    dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_RDMA_WRITE_IMMED, 4, DAT_DTO_ERR_FLUSHED, 0);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
}

/* The target sees the end of the connection, and no receive used up. */
static void suffer(struct dt *t, const struct mems *m)
{
    DAT_EVENT event;

    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    event = dt_wait(t->async_evd);
    CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    CHECK(event.event_data.asynch_error_event_data.dat_handle == t->ep);
    dt_want_dto(t->recv_evd, 9, DAT_DTO_ERR_FLUSHED);
    for (int i = 0; i < LEN; i++)
        CHECK_EQ(m->good.buf[i], 0);
}

static void settle(struct dt *t)
{
    dt_meet(t);
    dt_want_none(t->conn_evd, 1);
    dt_want_none(t->async_evd, 1);
    dt_want_none(t->recv_evd, 1);
    dt_want_none(t->req_evd, 1);
    OK(dat_ep_reset(t->ep));
    dt_meet(t);
}

/* What the calls themselves refuse. */
static void refuse(struct dt *t, const struct mems *m)
{
    DAT_LMR_TRIPLET seg = dt_seg(&m->good, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(&m->good, 0, 8);

    CHECK_RC(dt_fetch_add(t->ep, 1, &seg, 1, &to, 0), DAT_INVALID_STATE); /* not connected */
    CHECK_RC(dt_write_immed(t->ep, 1, &seg, 1, &to, 0, 0), DAT_INVALID_STATE);
    CHECK_RC(dt_fetch_add(t->ep, 1, NULL, 1, &to, 0), DAT_INVALID_PARAMETER);
    CHECK_RC(dt_fetch_add(t->ep, 1, &seg, 1, NULL, 0), DAT_INVALID_PARAMETER);
    CHECK_RC(dt_write_immed(t->ep, -1, &seg, 1, &to, 0, 0), DAT_INVALID_PARAMETER);
    CHECK_RC(dt_write_immed(t->ep, 100000, &seg, 1, &to, 0, 0), DAT_INVALID_PARAMETER);
    CHECK_RC(dt_write_immed(t->ep, 1, NULL, 1, &to, 0, 0), DAT_INVALID_PARAMETER);
    CHECK_RC(dt_fetch_add(t->pz, 1, &seg, 1, &to, 0), DAT_INVALID_HANDLE);
    seg.segment_length = 7;
    CHECK_RC(dt_fetch_add(t->ep, 1, &seg, 1, &to, 0), DAT_LENGTH_ERROR);
    seg.segment_length = 16;
    CHECK_RC(dt_cmp_swap(t->ep, 1, 1, &seg, 1, &to, 0), DAT_LENGTH_ERROR);
    CHECK_RC(dat_extension_op(t->ep, DAT_IB_UD_SEND_OP), DAT_MODEL_NOT_SUPPORTED);
    CHECK_RC(dat_extension_op(t->ep, DAT_IB_COLLECTIVE_BARRIER_OP), DAT_MODEL_NOT_SUPPORTED);
    CHECK_RC(dat_extension_op(t->ep, 500), DAT_MODEL_NOT_SUPPORTED);
    dt_want_none(t->req_evd, 1);
}

/* --- immediate data --- */

static size_t immed_len(unsigned i)
{
    if (i % 7 == 0)
        return 0;
    return i % 100 == 1 ? SLOT_LEN : i % 300;
}

static uint8_t pattern(unsigned i, size_t at)
{
    return (uint8_t)(i * 31 + at);
}

/* That the slot may be used again, the peer has said. */
ORDERED_BY_PEER static void fill_slot(char *slot, unsigned i, size_t len)
{
    for (size_t at = 0; at < len; at++)
        slot[at] = (char)pattern(i, at);
}

static void immeds_send(struct dt *t, struct dt_mem *mem, const struct dt_mem *peer)
{
    DAT_LMR_TRIPLET seg[2];
    DAT_RMR_TRIPLET to;
    unsigned n_done = 0;
    char c;

    for (unsigned i = 0; i < N_IMMEDS; i++) {
        size_t base = (size_t)(i % SLOTS) * SLOT_LEN;
        size_t len = immed_len(i);

        if (i >= SLOTS) /* its slot is free on both sides */
            dt_hear(t, &c, 1);
        fill_slot(mem->buf + base, i, len);
        seg[0] = dt_seg(mem, base, len / 3);
        seg[1] = dt_seg(mem, base + len / 3, len - len / 3);
        to = dt_remote(peer, base, len);
        OK(dt_write_immed(t->ep, i % 14 == 0 ? 0 : 2, i % 14 == 0 ? NULL : seg, i, &to, ~i,
                          i % 5 == 0 ? DAT_COMPLETION_SUPPRESS_FLAG : 0));
        while (n_done < i && i - n_done > SLOTS) {
            if (n_done % 5 != 0)
                CHECK_EQ(dt_want_ext(dt_wait(t->req_evd), t->ep, DAT_IB_RDMA_WRITE_IMMED, n_done,
                                     DAT_DTO_SUCCESS, immed_len(n_done)),
                         ~n_done);
            n_done++;
        }
    }
    for (unsigned i = 0; i < SLOTS; i++)
        dt_hear(t, &c, 1);
}

ORDERED_BY_PEER static void immeds_receive(struct dt *t, struct dt_mem *mem, struct dt_mem *small)
{
    DAT_LMR_TRIPLET seg = dt_seg(small, 0, 8);
    unsigned n_posted = 0;

    for (unsigned i = 0; i < N_IMMEDS; i++) {
        size_t base = (size_t)(i % SLOTS) * SLOT_LEN;
        size_t len = immed_len(i);
        char c = 'n';

        /* In bursts, so that the peer waits for receives now and then. */
        if (n_posted == i)
            for (unsigned n = 0; n < 1 + i % 11; n++, n_posted++)
                OK(dat_ep_post_recv(t->ep, n_posted % 2, &seg, dt_cookie(n_posted),
                                    DAT_COMPLETION_DEFAULT_FLAG));
        CHECK_EQ(dt_want_ext(dt_wait(t->recv_evd), t->ep, DAT_IB_RDMA_WRITE_IMMED_DATA, i,
                             DAT_DTO_SUCCESS, len),
                 ~i);
        for (size_t at = 0; at < len; at++)
            if ((uint8_t)mem->buf[base + at] != pattern(i, at))
                DT_FAIL("write %u, byte %zu", i, at);
        dt_tell(t, &c, 1);
    }
    CHECK_EQ(word_at(small, 0), 0); /* the receives' own buffer */
}

/* --- the two sides --- */

static void target_values(struct dt *t, const char *name, bool is_shared)
{
    struct mems m;

    set_up(t, name, &m, is_shared);
    refuse(t, &m);
    dt_join(t, true);
    dt_tell(t, &m, sizeof(m));
    for (int i = 0; i < 2; i++) {
        set_word(&m.good, 16, 1000);
        dt_meet(t);
        dt_meet(t);
        CHECK_EQ(word_at(&m.good, 16), 99 * 3 + 2);
    }
    dt_close(t);
}

static void initiator_values(struct dt *t, const char *name)
{
    struct mems m;
    struct mems peer;

    set_up(t, name, &m, false);
    dt_join(t, false);
    dt_hear(t, &peer, sizeof(peer));
    for (int i = 0; i < 2; i++) {
        dt_meet(t);
        atomics_at(t, &m.good, i == 0 ? &peer.good : &peer.atomic_only, &peer.good);
        dt_meet(t);
    }
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_close(t);
}

static void target_faults(struct dt *t, const char *name, bool is_shared)
{
    struct mems m;
    DAT_LMR_TRIPLET seg;

    set_up(t, name, &m, is_shared);
    dt_tell(t, &m, sizeof(m));
    seg = dt_seg(&m.good, 0, 8);
    for (enum fault fault = 0; fault < N_FAULTS; fault++) {
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(9), DAT_COMPLETION_DEFAULT_FLAG));
        dt_join(t, true);
        suffer(t, &m);
        settle(t);
    }
    dt_close(t);
}

static void initiator_faults(struct dt *t, const char *name)
{
    struct mems m;
    struct mems peer;

    set_up(t, name, &m, false);
    dt_hear(t, &peer, sizeof(peer));
    for (enum fault fault = 0; fault < N_FAULTS; fault++) {
        dt_join(t, false);
        commit(t, &m, &peer, fault);
        settle(t);
    }
    dt_close(t);
}

static void target_immeds(struct dt *t, const char *name, bool is_shared)
{
    struct dt_mem mem;
    struct dt_mem small;

    dt_open(t, name);
    dt_alloc(t, &mem, (size_t)SLOTS * SLOT_LEN, is_shared);
    dt_alloc(t, &small, LEN, false);
    dt_join(t, true);
    dt_tell(t, &mem, sizeof(mem));
    immeds_receive(t, &mem, &small);
    dt_meet(t);
    dt_close(t);
}

static void initiator_immeds(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;

    dt_open(t, name);
    dt_alloc(t, &mem, (size_t)SLOTS * SLOT_LEN, false);
    dt_join(t, false);
    dt_hear(t, &peer, sizeof(peer));
    immeds_send(t, &mem, &peer);
    dt_meet(t);
    dt_close(t);
}

static int one(struct dt *t, const char *name)
{
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        target_values(t, name, is_shared != 0);
        target_faults(t, name, is_shared != 0);
        target_immeds(t, name, is_shared != 0);
    }
    return 0;
}

static int two(struct dt *t, const char *name)
{
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        initiator_values(t, name);
        initiator_faults(t, name);
        initiator_immeds(t, name);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
