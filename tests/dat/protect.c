/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Accesses that are not allowed: each breaks the connection, with exactly the
 * events that belong to it on both sides, and the endpoints connect again
 * after a reset. The memory is untouched.
 */
#include "dat_pair.h"

enum { LEN = 8192, N_RECVS = 3 };

enum fault {
    BAD_RKEY,
    RKEY_OF_NOTHING,
    BEYOND_END,
    BEFORE_START,
    NO_WRITE_PRIV,
    NO_READ_PRIV,
    FREED,
    OTHER_PZ,
    BAD_LKEY,
    LOCAL_BEYOND,
    LOCAL_NO_WRITE,
    SHORT_RECV,
    RECV_BAD_LKEY,
    N_FAULTS
};

struct mems {
    struct dt_mem local;
    struct dt_mem local_ro;
    struct dt_mem good;
    struct dt_mem read_only;
    struct dt_mem write_only;
    struct dt_mem freed;
    struct dt_mem other_pz;
};

static void set_up(struct dt *t, const char *name, struct mems *m, bool is_shared)
{
    DAT_PZ_HANDLE pz;
    DAT_PZ_HANDLE own;

    dt_open(t, name);
    dt_alloc(t, &m->local, LEN, false);
    dt_alloc(t, &m->good, LEN, is_shared);
    m->local_ro = m->local;
    dt_reg(t, &m->local_ro, DAT_MEM_PRIV_LOCAL_READ_FLAG);
    m->read_only = m->good;
    dt_reg(t, &m->read_only, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
    m->write_only = m->good;
    dt_reg(t, &m->write_only, DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
    m->freed = m->good;
    dt_reg(t, &m->freed, DAT_MEM_PRIV_ALL_FLAG);
    OK(dat_pz_create(t->ia, &pz));
    own = t->pz;
    t->pz = pz;
    m->other_pz = m->good;
    dt_reg(t, &m->other_pz, DAT_MEM_PRIV_ALL_FLAG);
    t->pz = own;
}

static bool is_send(enum fault fault)
{
    return fault == SHORT_RECV || fault == RECV_BAD_LKEY;
}

static bool is_local(enum fault fault)
{
    return fault == BAD_LKEY || fault == LOCAL_BEYOND || fault == LOCAL_NO_WRITE;
}

/* A good write, then the faulty request, then two that are flushed. */
static void commit(struct dt *t, const struct mems *m, const struct mems *peer, enum fault fault)
{
    DAT_LMR_TRIPLET seg = dt_seg(&m->local, 0, 100);
    DAT_RMR_TRIPLET to = dt_remote(&peer->good, 0, 100);
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_ERR_REMOTE_ACCESS;
    bool is_read = fault == NO_READ_PRIV || fault == LOCAL_NO_WRITE;

    memset(m->local.buf, 0, LEN);
    if (fault == FREED) { /* as long as it is valid it works */
        to.rmr_context = peer->freed.rkey;
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
        dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS);
        dt_meet(t);
        dt_meet(t);
    }
    memset(m->local.buf, 0x55, LEN);
    if (fault == BAD_RKEY)
        to.rmr_context ^= 0x10000;
    if (fault == RKEY_OF_NOTHING)
        to.rmr_context = 0x1f000;
    if (fault == BEYOND_END)
        to.virtual_address += LEN - 99;
    if (fault == BEFORE_START)
        to.virtual_address -= 1;
    if (fault == NO_WRITE_PRIV)
        to.rmr_context = peer->read_only.rkey;
    if (fault == NO_READ_PRIV)
        to.rmr_context = peer->write_only.rkey;
    if (fault == OTHER_PZ)
        to.rmr_context = peer->other_pz.rkey;
    if (fault == BAD_LKEY)
        seg.lmr_context ^= 0x10000;
    if (fault == LOCAL_BEYOND)
        seg.virtual_address += LEN - 50;
    if (fault == LOCAL_NO_WRITE)
        seg.lmr_context = m->local_ro.lkey;
    if (is_local(fault))
        status = DAT_DTO_ERR_LOCAL_PROTECTION;
    if (is_send(fault))
        status = DAT_DTO_ERR_REMOTE_RESPONDER;
    if (is_send(fault))
        OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
    else if (is_read)
        OK(dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(2), &to, DAT_COMPLETION_DEFAULT_FLAG));
    else /* an error is reported even if success is not */
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(2), &to, DAT_COMPLETION_SUPPRESS_FLAG));
    seg = dt_seg(&m->local, 0, 100);
    to = dt_remote(&peer->good, 0, 100);
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(3), &to, DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(4), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 2, status);
    dt_want_dto(t->req_evd, 3, DAT_DTO_ERR_FLUSHED);
    dt_want_dto(t->req_evd, 4, DAT_DTO_ERR_FLUSHED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
}

static void suffer(struct dt *t, const struct mems *m, enum fault fault)
{
    DAT_EVENT event;

    if (fault == FREED) {
        dt_meet(t);
        OK(dat_lmr_free(m->freed.lmr));
        memset(m->good.buf, 0, LEN);
        dt_meet(t);
    }
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    event = dt_wait(t->async_evd);
    CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    CHECK(event.event_data.asynch_error_event_data.dat_handle == t->ep);
    if (is_send(fault))
        dt_want_dto(t->recv_evd, 0,
                    fault == SHORT_RECV ? DAT_DTO_ERR_LOCAL_LENGTH : DAT_DTO_ERR_LOCAL_PROTECTION);
    for (unsigned i = is_send(fault) ? 1 : 0; i < N_RECVS; i++)
        dt_want_dto(t->recv_evd, i, DAT_DTO_ERR_FLUSHED);
    for (int i = 0; i < LEN; i++)
        CHECK_EQ(m->good.buf[i], 0);
}

static void post_recvs(struct dt *t, const struct mems *m, enum fault fault)
{
    DAT_LMR_TRIPLET seg = dt_seg(&m->good, 0, fault == SHORT_RECV ? 99 : 200);

    if (fault == RECV_BAD_LKEY)
        seg.lmr_context = m->other_pz.lkey;
    for (unsigned i = 0; i < N_RECVS; i++)
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
}

static void settle(struct dt *t)
{
    DAT_EP_STATE state;

    dt_meet(t);
    dt_want_none(t->conn_evd, 1);
    dt_want_none(t->async_evd, 1);
    dt_want_none(t->recv_evd, 1);
    dt_want_none(t->req_evd, 1);
    OK(dat_ep_get_status(t->ep, &state, NULL, NULL));
    CHECK_EQ(state, DAT_EP_STATE_DISCONNECTED);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG)); /* says nothing more */
    dt_want_none(t->conn_evd, 1);
    OK(dat_ep_reset(t->ep));
    dt_meet(t);
}

static int one(struct dt *t, const char *name)
{
    struct mems m;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        set_up(t, name, &m, is_shared != 0);
        dt_tell(t, &m, sizeof(m));
        for (enum fault fault = 0; fault < N_FAULTS; fault++) {
            post_recvs(t, &m, fault);
            dt_join(t, true);
            suffer(t, &m, fault);
            settle(t);
        }
        dt_close(t);
    }
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct mems m;
    struct mems peer;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        set_up(t, name, &m, false);
        dt_hear(t, &peer, sizeof(peer));
        for (enum fault fault = 0; fault < N_FAULTS; fault++) {
            dt_join(t, false);
            commit(t, &m, &peer, fault);
            settle(t);
        }
        dt_close(t);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
