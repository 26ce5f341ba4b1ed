/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Slots of the request and receive queues: a suppressed request gives its slot
 * back by itself when it is over, so thousands can be posted without a single
 * completion; any other gives it back when its completion is dequeued, not
 * earlier. A full queue says so, and takes exactly as many as have come back.
 */
#include "dat_pair.h"

enum { SLOTS = 8, MANY = 5000, LEN = 4096 };

enum kind { SEND, WRITE, READ, N_KINDS };

struct ctx {
    struct dt *t;
    struct dt_mem mem;
    struct dt_mem peer;
    unsigned n_sent;
};

static DAT_EP_HANDLE small_ep(struct dt *t, DAT_COMPLETION_FLAGS request_flags)
{
    DAT_EP_ATTR attr;
    DAT_EP_HANDLE ep;

    memset(&attr, 0, sizeof(attr));
    attr.max_recv_dtos = SLOTS;
    attr.max_request_dtos = SLOTS;
    attr.max_recv_iov = 1;
    attr.max_request_iov = 1;
    attr.max_rdma_read_in = 4;
    attr.max_rdma_read_out = 4;
    attr.max_rdma_read_iov = 1;
    attr.max_rdma_write_iov = 1;
    attr.request_completion_flags = request_flags;
    OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &attr, &ep));
    return ep;
}

static DAT_RETURN post(struct ctx *c, enum kind kind, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
    DAT_LMR_TRIPLET seg = dt_seg(&c->mem, 0, 64);
    DAT_RMR_TRIPLET to = dt_remote(&c->peer, 0, 64);

    if (kind == SEND)
        return dat_ep_post_send(c->t->ep, 1, &seg, dt_cookie(cookie), flags);
    if (kind == WRITE)
        return dat_ep_post_rdma_write(c->t->ep, 1, &seg, dt_cookie(cookie), &to, flags);
    return dat_ep_post_rdma_read(c->t->ep, 1, &seg, dt_cookie(cookie), &to, flags);
}

/* A full queue of requests that are being carried out is full for a moment. */
static void post_soon(struct ctx *c, enum kind kind, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
    double begin = dt_now();
    DAT_RETURN ret;

    while ((ret = post(c, kind, cookie, flags)) != DAT_SUCCESS) {
        CHECK_RC(ret, DAT_INSUFFICIENT_RESOURCES);
        CHECK(dt_now() - begin < 10);
        sched_yield();
    }
}

static void want_idle(struct ctx *c)
{
    DAT_BOOLEAN is_idle;

    do {
        OK(dat_ep_get_status(c->t->ep, NULL, NULL, &is_idle));
        sched_yield();
    } while (is_idle == DAT_FALSE);
}

/* Thousands without a completion, then one with. */
static void suppressed(struct ctx *c, enum kind kind)
{
    for (unsigned i = 0; i < MANY; i++)
        post_soon(c, kind, i, DAT_COMPLETION_SUPPRESS_FLAG);
    want_idle(c);
    dt_want_none(c->t->req_evd, 0);
    post_soon(c, kind, MANY, DAT_COMPLETION_DEFAULT_FLAG);
    dt_want_dto(c->t->req_evd, MANY, DAT_DTO_SUCCESS);
    c->n_sent += kind == SEND ? MANY + 1 : 0;
}

/* Full, and then just what has been dequeued. */
static void signalled(struct ctx *c, enum kind kind, DAT_COMPLETION_FLAGS flags)
{
    uint64_t posted = 0;
    uint64_t reaped = 0;
    unsigned seed = 5;
    DAT_RETURN ret;

    while (posted < 400) {
        for (; posted - reaped < SLOTS; posted++)
            OK(post(c, kind, posted, flags));
        want_idle(c); /* they are over, yet have their slots */
        CHECK_RC(post(c, kind, posted, flags), DAT_INSUFFICIENT_RESOURCES);
        ret = post(c, kind, posted, DAT_COMPLETION_SUPPRESS_FLAG);
        if (kind != WRITE || ret != DAT_SUCCESS) /* one that is over at once needs no slot */
            CHECK_RC(ret, DAT_INSUFFICIENT_RESOURCES);
        for (int i = 1 + (int)(rand_r(&seed) % SLOTS); i > 0; i--)
            dt_want_dto(c->t->req_evd, reaped++, DAT_DTO_SUCCESS);
    }
    for (; reaped < posted; reaped++)
        dt_want_dto(c->t->req_evd, reaped, DAT_DTO_SUCCESS);
    dt_want_none(c->t->req_evd, 0);
    c->n_sent += kind == SEND ? (unsigned)posted : 0;
}

/* The peer has no receives: requests keep their slots until it has. */
static void waiting(struct ctx *c)
{
    dt_meet(c->t);
    for (unsigned i = 0; i < SLOTS; i++)
        OK(post(c, i == 0 ? SEND : (enum kind)(i % N_KINDS), i, DAT_COMPLETION_SUPPRESS_FLAG));
    CHECK_RC(post(c, WRITE, 9, DAT_COMPLETION_SUPPRESS_FLAG), DAT_INSUFFICIENT_RESOURCES);
    CHECK_RC(post(c, WRITE, 9, DAT_COMPLETION_DEFAULT_FLAG), DAT_INSUFFICIENT_RESOURCES);
    dt_meet(c->t);
    want_idle(c);
    dt_want_none(c->t->req_evd, 0);
    for (unsigned i = 0; i < SLOTS; i++)
        OK(post(c, WRITE, i, DAT_COMPLETION_DEFAULT_FLAG));
    for (unsigned i = 0; i < SLOTS; i++)
        dt_want_dto(c->t->req_evd, i, DAT_DTO_SUCCESS);
    dt_meet(c->t);
}

/* Flushed ones complete even if suppressed; a reset gives all slots back. */
static void flushed(struct ctx *c)
{
    dt_meet(c->t);
    for (unsigned i = 0; i < SLOTS; i++)
        OK(post(c, SEND, i,
                i % 2 == 0 ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_disconnect(c->t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(c->t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    CHECK_RC(post(c, SEND, 1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_INSUFFICIENT_RESOURCES);
    for (unsigned i = 0; i < SLOTS; i++)
        dt_want_dto(c->t->req_evd, i, DAT_DTO_ERR_FLUSHED);
    for (unsigned i = 0; i < SLOTS; i++) /* the same again, now at once */
        OK(post(c, SEND, i, DAT_COMPLETION_SUPPRESS_FLAG));
    CHECK_RC(post(c, SEND, 1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_INSUFFICIENT_RESOURCES);
    OK(dat_ep_reset(c->t->ep)); /* with completions that are still queued */
    dt_join(c->t, false);
    for (unsigned i = 0; i < SLOTS; i++)
        OK(post(c, WRITE, 100 + i, DAT_COMPLETION_DEFAULT_FLAG));
    for (unsigned i = 0; i < SLOTS; i++) /* of the life before: they free nothing */
        dt_want_dto(c->t->req_evd, i, DAT_DTO_ERR_FLUSHED);
    CHECK_RC(post(c, WRITE, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_INSUFFICIENT_RESOURCES);
    for (unsigned i = 0; i < SLOTS; i++)
        dt_want_dto(c->t->req_evd, 100 + i, DAT_DTO_SUCCESS);
    OK(dat_ep_disconnect(c->t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(c->t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static DAT_RETURN post_recv(struct ctx *c, uint64_t cookie)
{
    DAT_LMR_TRIPLET seg = dt_seg(&c->mem, 1024, 64);

    return dat_ep_post_recv(c->t->ep, 1, &seg, dt_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
}

/* Its receives, too: as many as there are slots, one more for each dequeued. */
static void serve(struct ctx *c)
{
    const unsigned n_all = MANY + 1 + 400;
    uint64_t posted = 0;
    uint64_t reaped = 0;

    for (; posted < SLOTS; posted++)
        OK(post_recv(c, posted));
    CHECK_RC(post_recv(c, posted), DAT_INSUFFICIENT_RESOURCES);
    while (reaped < n_all) {
        dt_want_dto(c->t->recv_evd, reaped++, DAT_DTO_SUCCESS);
        OK(post_recv(c, posted++));
        if (reaped % 64 == 0)
            CHECK_RC(post_recv(c, posted), DAT_INSUFFICIENT_RESOURCES);
    }
    dt_hear(c->t, &c->n_sent, sizeof(c->n_sent));
    for (; reaped < c->n_sent; reaped++) {
        dt_want_dto(c->t->recv_evd, reaped, DAT_DTO_SUCCESS);
        OK(post_recv(c, posted++));
    }
}

/* The other side of waiting() and flushed(). */
static void be_late(struct ctx *c)
{
    struct dt *t = c->t;

    dt_meet(t);
    dt_meet(t);
    for (unsigned i = 0; i < SLOTS; i += N_KINDS)
        OK(post_recv(c, i));
    for (unsigned i = 0; i < SLOTS; i += N_KINDS)
        dt_want_dto(t->recv_evd, i, DAT_DTO_SUCCESS);
    dt_meet(t);
    dt_meet(t);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
    dt_join(t, true);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_none(t->recv_evd, 0);
}

static void renew(struct ctx *c, DAT_COMPLETION_FLAGS request_flags, bool is_passive)
{
    OK(dat_ep_free(c->t->ep));
    c->t->ep = small_ep(c->t, request_flags);
    dt_join(c->t, is_passive);
}

static int one(struct dt *t, const char *name)
{
    struct ctx c = {.t = t};

    dt_open_as(t, name, DAT_FALSE);
    t->ep = small_ep(t, DAT_COMPLETION_DEFAULT_FLAG);
    dt_alloc(t, &c.mem, LEN, true);
    dt_join(t, true);
    dt_swap_mem(t, &c.mem, &c.peer);
    serve(&c);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    for (unsigned i = 0; i < SLOTS; i++)
        dt_want_dto(t->recv_evd, c.n_sent + i, DAT_DTO_ERR_FLUSHED);
    renew(&c, DAT_COMPLETION_DEFAULT_FLAG, true);
    be_late(&c);
    renew(&c, DAT_COMPLETION_DEFAULT_FLAG, true);
    dt_meet(t);
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct ctx c = {.t = t};

    dt_open_as(t, name, DAT_FALSE);
    t->ep = small_ep(t, DAT_COMPLETION_DEFAULT_FLAG);
    dt_alloc(t, &c.mem, LEN, false);
    dt_join(t, false);
    dt_swap_mem(t, &c.mem, &c.peer);
    for (enum kind kind = 0; kind < N_KINDS; kind++) {
        suppressed(&c, kind);
        signalled(&c, kind, DAT_COMPLETION_DEFAULT_FLAG);
    }
    dt_tell(t, &c.n_sent, sizeof(c.n_sent));
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    renew(&c, DAT_COMPLETION_DEFAULT_FLAG, false);
    waiting(&c);
    flushed(&c);
    renew(&c, DAT_COMPLETION_UNSIGNALLED_FLAG, false);
    for (enum kind kind = WRITE; kind < N_KINDS; kind++)
        signalled(&c, kind, DAT_COMPLETION_UNSIGNALLED_FLAG);
    dt_meet(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
