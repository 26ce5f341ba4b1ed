/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * RMRs: what a window lets through and what it does not, when its context
 * lives and dies, binds that fail or wait or are flushed, sends that take a
 * context away, reads whose sink is a window. One process owns the memory, the
 * other uses it; a use that is not allowed breaks the connection, and both
 * sides see exactly the events that belong to it.
 */
#include "dat_ext.h"

enum { LEN = 8192, WINDOW = 512, AT = 1024 };

struct world {
    struct dt_mem mem;
    DAT_RMR_HANDLE rmr;
    DAT_RMR_HANDLE rmr_ep;
};

/* What the owner tells the user to do. */
enum ask { ASK_WRITE, ASK_READ, ASK_ATOMIC, ASK_INVALIDATE, ASK_POST_RECV, ASK_RECONNECT, ASK_END };
struct order {
    enum ask ask;
    uint64_t va;
    uint32_t len;
    uint32_t context;
    DAT_DTO_COMPLETION_STATUS status; /* that it must end with */
    bool is_second;                   /* on the second endpoint */
    uint8_t value;
};

/* --- the user --- */

static DAT_EP_HANDLE second;

static void join_both(struct dt *t, bool is_passive)
{
    DAT_EP_HANDLE first = t->ep;

    dt_join(t, is_passive);
    t->ep = second;
    dt_join(t, is_passive);
    t->ep = first;
}

static void rejoin(struct dt *t, DAT_EP_HANDLE ep, bool is_passive)
{
    DAT_EP_HANDLE first = t->ep;

    OK(dat_ep_reset(ep));
    dt_meet(t);
    t->ep = ep;
    dt_join(t, is_passive);
    t->ep = first;
}

static void use(struct dt *t, struct dt_mem *mem, const struct order *o)
{
    DAT_EP_HANDLE ep = o->is_second ? second : t->ep;
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, o->len);
    DAT_RMR_TRIPLET to = {
        .virtual_address = o->va, .segment_length = o->len, .rmr_context = o->context};

    memset(mem->buf, o->value, LEN);
    if (o->ask == ASK_WRITE)
        OK(dat_ep_post_rdma_write(ep, 1, &seg, dt_cookie(5), &to, DAT_COMPLETION_DEFAULT_FLAG));
    else if (o->ask == ASK_READ)
        OK(dat_ep_post_rdma_read(ep, 1, &seg, dt_cookie(5), &to, DAT_COMPLETION_DEFAULT_FLAG));
    else if (o->ask == ASK_ATOMIC)
        OK(dt_fetch_add(ep, 1, &seg, 5, &to, 0));
    else
        OK(dt_provider(ep)->ep_post_send_with_invalidate_func(
            ep, 1, &seg, dt_cookie(5), DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, o->context));
    if (o->ask == ASK_ATOMIC)
        dt_want_ext(dt_wait(t->req_evd), ep, DAT_IB_FETCH_AND_ADD, 5, o->status, 8);
    else
        dt_want_dto(t->req_evd, 5, o->status);
    if (o->status == DAT_DTO_SUCCESS)
        return;
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    rejoin(t, ep, false);
}

static int user(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct order o;
    DAT_LMR_TRIPLET seg;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        dt_open(t, name);
        second = dt_ep(t);
        dt_alloc(t, &mem, LEN, false);
        join_both(t, false);
        for (;;) {
            dt_hear(t, &o, sizeof(o));
            if (o.ask == ASK_END)
                break;
            if (o.ask == ASK_POST_RECV) {
                seg = dt_seg(&mem, 0, LEN);
                OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(8), DAT_COMPLETION_DEFAULT_FLAG));
                dt_want_dto(t->recv_evd, 8, DAT_DTO_SUCCESS);
            } else if (o.ask == ASK_RECONNECT) { /* the owner ends it */
                dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
                if (o.status != DAT_DTO_SUCCESS)
                    CHECK_EQ(dt_wait(t->async_evd).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
                rejoin(t, t->ep, false);
            } else {
                use(t, &mem, &o);
            }
            dt_meet(t);
        }
        dt_want_none(t->conn_evd, 1);
        dt_want_none(t->async_evd, 1);
        dt_want_none(t->req_evd, 1);
        dt_meet(t);
        dt_close(t);
    }
    return 0;
}

/* --- the owner --- */

/* A use that must succeed. */
static void may(struct dt *t, enum ask ask, uint64_t va, uint32_t len, uint32_t context)
{
    struct order o = {.ask = ask, .va = va, .len = len, .context = context, .value = 7};

    dt_tell(t, &o, sizeof(o));
    dt_meet(t);
}

/* One that must fail, leaving the memory as it is. */
static ORDERED_BY_PEER void may_not(struct dt *t, struct world *w, struct order o)
{
    DAT_EP_HANDLE ep = o.is_second ? second : t->ep;
    char was[LEN];
    DAT_EVENT event;

    memcpy(was, w->mem.buf, LEN);
    o.status = DAT_DTO_ERR_REMOTE_ACCESS;
    o.value = 99;
    dt_tell(t, &o, sizeof(o));
    event = dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    CHECK(event.event_data.connect_event_data.ep_handle == ep);
    event = dt_wait(t->async_evd);
    CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    CHECK(event.event_data.asynch_error_event_data.dat_handle == ep);
    rejoin(t, ep, true);
    dt_meet(t);
    CHECK_EQ(memcmp(was, w->mem.buf, LEN), 0);
}

static struct order order(enum ask ask, uint64_t va, uint32_t len, uint32_t context)
{
    struct order o = {.ask = ask, .va = va, .len = len, .context = context};

    return o;
}

#define want_bind(t, rmr, cookie, status) want_bind_at(t, rmr, cookie, status, __LINE__)

static void want_bind_at(struct dt *t, DAT_RMR_HANDLE rmr, uint64_t cookie,
                         DAT_DTO_COMPLETION_STATUS status, int line)
{
    DAT_EVENT event = dt_wait_at(t->req_evd, line);
    const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind = &event.event_data.rmr_completion_event_data;

    CHECK_EQ(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
    CHECK(bind->rmr_handle == rmr);
    if (bind->user_cookie.as_64 != cookie || bind->status != status)
        DT_FAIL("line %d: cookie %llu status %d, not %llu, %d", line,
                (unsigned long long)bind->user_cookie.as_64, (int)bind->status,
                (unsigned long long)cookie, (int)status);
}

struct bind {
    DAT_RMR_HANDLE rmr;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_TRIPLET seg;
    int priv;
    DAT_VA_TYPE va_type;
    DAT_EP_HANDLE ep;
    uint64_t cookie;
    int flags;
};

static struct bind bind_of(struct dt *t, struct world *w, DAT_RMR_HANDLE rmr)
{
    struct bind b = {.rmr = rmr,
                     .lmr = w->mem.lmr,
                     .seg = dt_seg(&w->mem, AT, WINDOW),
                     .priv = DAT_MEM_PRIV_ALL_FLAG,
                     .va_type = DAT_VA_TYPE_VA,
                     .ep = t->ep,
                     .cookie = 3};

    return b;
}

static DAT_RMR_CONTEXT post_bind(const struct bind *b)
{
    DAT_RMR_COOKIE cookie = {.as_64 = b->cookie};
    DAT_RMR_CONTEXT context = 0;

    OK(dat_rmr_bind(b->rmr, b->lmr, &b->seg, (DAT_MEM_PRIV_FLAGS)b->priv, b->va_type, b->ep, cookie,
                    (DAT_COMPLETION_FLAGS)b->flags, &context));
    return context;
}

static DAT_RMR_CONTEXT bind_now(struct dt *t, const struct bind *b)
{
    DAT_RMR_CONTEXT context = post_bind(b);

    want_bind(t, b->rmr, b->cookie, DAT_DTO_SUCCESS);
    return context;
}

static uint64_t va_of(const struct world *w, size_t at)
{
    return (uint64_t)(uintptr_t)w->mem.buf + at;
}

/* The window opens exactly what it says, for what it says. */
static ORDERED_BY_PEER void check_window(struct dt *t, struct world *w)
{
    struct bind b = bind_of(t, w, w->rmr);
    DAT_RMR_PARAM param;
    uint32_t context;
    uint32_t other;

    OK(dat_rmr_query(w->rmr, DAT_RMR_FIELD_ALL, &param));
    CHECK_EQ(param.rmr_context, 0);
    CHECK_EQ(param.rmr_scope, DAT_RMR_SCOPE_PZ);
    CHECK(param.pz_handle == t->pz);
    context = bind_now(t, &b);
    OK(dat_rmr_query(w->rmr, DAT_RMR_FIELD_ALL, &param));
    CHECK(param.ia_handle == t->ia);
    CHECK_EQ(param.rmr_context, context);
    CHECK_EQ(param.lmr_triplet.virtual_address, b.seg.virtual_address);
    CHECK_EQ(param.lmr_triplet.segment_length, WINDOW);
    CHECK_EQ(param.lmr_triplet.lmr_context, w->mem.lkey);
    CHECK_EQ(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
    CHECK_EQ(param.va_type, DAT_VA_TYPE_VA);

    may(t, ASK_WRITE, va_of(w, AT), WINDOW, context);
    for (size_t i = 0; i < LEN; i++)
        CHECK_EQ(w->mem.buf[i], i >= AT && i < AT + WINDOW ? 7 : 0);
    may(t, ASK_READ, va_of(w, AT + 1), WINDOW - 1, context);
    may(t, ASK_ATOMIC, va_of(w, AT + 8), 8, context);
    may_not(t, w, order(ASK_WRITE, va_of(w, AT - 1), 1, context));
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), WINDOW + 1, context));
    may_not(t, w, order(ASK_READ, va_of(w, AT + WINDOW), 1, context));
    may_not(t, w, order(ASK_WRITE, 0, 1, context));

    b.priv = DAT_MEM_PRIV_REMOTE_READ_FLAG;
    other = bind_now(t, &b);
    CHECK(other != context);
    may(t, ASK_READ, va_of(w, AT), WINDOW, other);
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, other));
    may_not(t, w, order(ASK_ATOMIC, va_of(w, AT), 8, other));
    may_not(t, w, order(ASK_READ, va_of(w, AT), 1, context)); /* the context before */

    b.priv = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    b.va_type = DAT_VA_TYPE_ZB;
    context = bind_now(t, &b);
    w->mem.buf[AT + 10] = 0;
    may(t, ASK_WRITE, 10, 1, context);
    CHECK_EQ(w->mem.buf[AT + 10], 7);
    may_not(t, w, order(ASK_READ, 0, 1, context));
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, context));
    may_not(t, w, order(ASK_WRITE, WINDOW, 1, context));

    b.seg.segment_length = 0; /* unbind; the LMR does not matter */
    b.lmr = DAT_HANDLE_NULL;
    CHECK_EQ(bind_now(t, &b), 0);
    may_not(t, w, order(ASK_WRITE, 0, 1, context));
    OK(dat_rmr_query(w->rmr, DAT_RMR_FIELD_ALL, &param));
    CHECK_EQ(param.rmr_context, 0);
}

/* A window is no LMR, and an LMR's context is not an RMR's. */
static void check_kinds(struct dt *t, struct world *w)
{
    struct bind b = bind_of(t, w, w->rmr);
    struct order o = {.ask = ASK_RECONNECT, .status = DAT_DTO_ERR_LOCAL_PROTECTION};
    DAT_LMR_TRIPLET seg = dt_seg(&w->mem, AT, 8);

    seg.lmr_context = bind_now(t, &b);
    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    dt_tell(t, &o, sizeof(o));
    rejoin(t, t->ep, true);
    dt_meet(t);
}

static void check_in_use(struct dt *t, struct world *w)
{
    struct bind b = bind_of(t, w, w->rmr);
    struct dt_mem copy = w->mem;
    uint32_t context;

    dt_reg(t, &copy, DAT_MEM_PRIV_ALL_FLAG);
    b.lmr = copy.lmr;
    b.seg.lmr_context = copy.lkey;
    context = bind_now(t, &b);
    may(t, ASK_WRITE, va_of(w, AT), 1, context);
    CHECK_EQ(dat_lmr_free(copy.lmr),
             DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_LMR_IN_USE);
    CHECK_RC(dat_pz_free(t->pz), DAT_INVALID_STATE);
    may(t, ASK_WRITE, va_of(w, AT), 1, context);
    OK(dat_rmr_free(w->rmr));
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, context));
    OK(dat_lmr_free(copy.lmr));
    OK(dat_rmr_create(t->pz, &w->rmr));
}

/* Binds that must fail, and break the connection. */
static void check_bad_binds(struct dt *t, struct world *w)
{
    enum { STALE, OTHER_CONTEXT, OTHER_PZ, BEYOND, BEFORE, NO_LOCAL_WRITE, EP_PZ, N_BAD };
    struct order o = {.ask = ASK_RECONNECT, .status = DAT_RMR_OPERATION_FAILED};
    DAT_PZ_HANDLE own = t->pz;
    DAT_PZ_HANDLE pz;
    DAT_RMR_HANDLE foreign;
    DAT_RMR_PARAM param;
    struct bind good;
    uint32_t context;

    OK(dat_pz_create(t->ia, &pz));
    OK(dat_rmr_create(pz, &foreign));
    for (int bad = 0; bad < N_BAD; bad++) {
        struct bind b = bind_of(t, w, w->rmr);
        struct dt_mem copy = w->mem;

        good = b;
        context = bind_now(t, &good);
        t->pz = bad == OTHER_PZ ? pz : own;
        dt_reg(t, &copy,
               bad == NO_LOCAL_WRITE ? DAT_MEM_PRIV_LOCAL_READ_FLAG : DAT_MEM_PRIV_ALL_FLAG);
        t->pz = own;
        if (bad != OTHER_CONTEXT)
            b.lmr = copy.lmr;
        b.seg.lmr_context = copy.lkey;
        if (bad == BEYOND)
            b.seg.virtual_address += LEN - AT - WINDOW + 1;
        if (bad == BEFORE)
            b.seg.virtual_address -= AT + 1;
        if (bad == EP_PZ)
            b.rmr = foreign;
        b.flags = DAT_COMPLETION_SUPPRESS_FLAG; /* errors are reported all the same */
        if (bad == STALE) {                     /* freed between the post and its execution */
            struct order wake = {.ask = ASK_POST_RECV};
            DAT_LMR_TRIPLET seg = dt_seg(&w->mem, 0, 1);

            OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
            (void)post_bind(&b);
            OK(dat_lmr_free(copy.lmr));
            dt_tell(t, &wake, sizeof(wake));
            dt_meet(t);
            dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS);
        } else {
            (void)post_bind(&b);
        }
        want_bind(t, b.rmr, b.cookie, DAT_RMR_OPERATION_FAILED);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
        dt_tell(t, &o, sizeof(o));
        rejoin(t, t->ep, true);
        dt_meet(t);
        /* What was bound before still is. */
        OK(dat_rmr_query(w->rmr, DAT_RMR_FIELD_ALL, &param));
        CHECK_EQ(param.rmr_context, context);
        may(t, ASK_WRITE, va_of(w, AT), 1, context);
        if (bad != STALE)
            OK(dat_lmr_free(copy.lmr));
    }
    OK(dat_rmr_free(foreign));
    OK(dat_pz_free(pz));
}

/* What the calls refuse. */
static void check_calls(struct dt *t, struct world *w)
{
    struct bind b = bind_of(t, w, w->rmr);
    DAT_RMR_COOKIE cookie = {.as_64 = 1};
    DAT_EP_HANDLE ep = dt_ep(t);
    DAT_RMR_HANDLE rmr;
    DAT_RMR_PARAM param;
    DAT_RMR_CONTEXT context;

    CHECK_RC(dat_rmr_create(t->ep, &rmr), DAT_INVALID_HANDLE);
    CHECK_RC(dat_rmr_create(t->pz, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_rmr_query(w->rmr, DAT_RMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
    CHECK_RC(dat_rmr_query(t->ep, DAT_RMR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
    CHECK_RC(dat_rmr_bind(w->rmr, b.lmr, &b.seg, b.priv, 0, ep, cookie, 0, &context),
             DAT_INVALID_STATE); /* not connected */
    CHECK_RC(dat_rmr_bind(w->rmr, b.lmr, &b.seg, b.priv, 0, t->pz, cookie, 0, &context),
             DAT_INVALID_HANDLE);
    CHECK_RC(dat_rmr_bind(w->rmr, t->pz, &b.seg, b.priv, 0, t->ep, cookie, 0, &context),
             DAT_INVALID_HANDLE);
    CHECK_RC(dat_rmr_bind(t->pz, b.lmr, &b.seg, b.priv, 0, t->ep, cookie, 0, &context),
             DAT_INVALID_HANDLE);
    CHECK_RC(dat_rmr_bind(w->rmr, b.lmr, NULL, b.priv, 0, t->ep, cookie, 0, &context),
             DAT_INVALID_PARAMETER);
    CHECK_RC(dat_rmr_bind(w->rmr, b.lmr, &b.seg, 0x1000, 0, t->ep, cookie, 0, &context),
             DAT_INVALID_PARAMETER);
    CHECK_RC(dat_rmr_bind(w->rmr, b.lmr, &b.seg, b.priv, 2, t->ep, cookie, 0, &context),
             DAT_INVALID_PARAMETER);
    OK(dat_rmr_create(t->pz, &rmr));
    OK(dat_rmr_free(rmr));
    CHECK_RC(dat_rmr_free(rmr), DAT_INVALID_HANDLE);
    CHECK_RC(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
    OK(dat_ep_free(ep));
    dt_want_none(t->req_evd, 1);
}

/* Binds wait their turn; when the connection ends they are flushed. */
static void check_queue(struct dt *t, struct world *w)
{
    struct order wake = {.ask = ASK_POST_RECV};
    struct order again = {.ask = ASK_RECONNECT};
    struct bind b = bind_of(t, w, w->rmr);
    DAT_LMR_TRIPLET seg = dt_seg(&w->mem, 0, 1);
    DAT_RMR_PARAM param;
    uint32_t first;
    uint32_t next[3];

    first = bind_now(t, &b);
    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
    for (unsigned i = 0; i < 3; i++) {
        b.cookie = i;
        b.flags = i == 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0;
        next[i] = post_bind(&b);
    }
    CHECK_RC(dat_rmr_free(w->rmr), DAT_INVALID_STATE); /* binds are under way */
    dt_want_none(t->req_evd, 2);
    OK(dat_rmr_query(w->rmr, DAT_RMR_FIELD_ALL, &param));
    CHECK_EQ(param.rmr_context, first);
    may(t, ASK_WRITE, va_of(w, AT), 1, first); /* still */
    dt_tell(t, &wake, sizeof(wake));
    dt_meet(t);
    dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS);
    want_bind(t, w->rmr, 0, DAT_DTO_SUCCESS);
    want_bind(t, w->rmr, 2, DAT_DTO_SUCCESS);
    may(t, ASK_WRITE, va_of(w, AT), 1, next[2]);
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, first));
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, next[0]));
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, next[1]));

    OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
    b.flags = DAT_COMPLETION_SUPPRESS_FLAG;
    next[0] = post_bind(&b);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_dto(t->req_evd, 2, DAT_DTO_ERR_FLUSHED);
    want_bind(t, w->rmr, b.cookie, DAT_DTO_ERR_FLUSHED);
    next[1] = post_bind(&b); /* at once, on a disconnected endpoint */
    want_bind(t, w->rmr, b.cookie, DAT_DTO_ERR_FLUSHED);
    dt_tell(t, &again, sizeof(again));
    rejoin(t, t->ep, true);
    dt_meet(t);
    may(t, ASK_WRITE, va_of(w, AT), 1, next[2]); /* of scope PZ: outlives the connection */
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, next[0]));
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, next[1]));
}

/* Scope EP: one endpoint, one connection. Scope PZ: all of them. */
static void check_scope(struct dt *t, struct world *w)
{
    struct order again = {.ask = ASK_RECONNECT};
    struct bind b = bind_of(t, w, w->rmr);
    struct order o;
    uint32_t context;
    DAT_RMR_PARAM param;

    context = bind_now(t, &b);
    o = order(ASK_WRITE, va_of(w, AT), 1, context);
    o.is_second = true;
    dt_tell(t, &o, sizeof(o));
    dt_meet(t);

    OK(dat_rmr_query(w->rmr_ep, DAT_RMR_FIELD_ALL, &param));
    CHECK_EQ(param.rmr_scope, DAT_RMR_SCOPE_EP);
    b.rmr = w->rmr_ep;
    context = bind_now(t, &b);
    may(t, ASK_WRITE, va_of(w, AT), 1, context);
    o = order(ASK_WRITE, va_of(w, AT), 1, context);
    o.is_second = true;
    may_not(t, w, o);
    may(t, ASK_WRITE, va_of(w, AT), 1, context); /* the first one does not mind */
    b.ep = second;
    o.context = bind_now(t, &b);
    o.ask = ASK_ATOMIC; /* checked by the target, when memory is private */
    o.len = 8;
    dt_tell(t, &o, sizeof(o));
    dt_meet(t);
    may_not(t, w, order(ASK_ATOMIC, va_of(w, AT), 8, o.context));
    may_not(t, w, order(ASK_READ, va_of(w, AT), 8, o.context));
    b.ep = t->ep;
    context = bind_now(t, &b);
    may(t, ASK_WRITE, va_of(w, AT), 1, context);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_rmr_query(w->rmr_ep, DAT_RMR_FIELD_ALL, &param));
    CHECK_EQ(param.rmr_context, 0);
    dt_tell(t, &again, sizeof(again));
    rejoin(t, t->ep, true);
    dt_meet(t);
    may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, context));
}

static void check_invalidate(struct dt *t, struct world *w)
{
    struct bind b = bind_of(t, w, w->rmr);
    struct order o;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_PARAM param;
    DAT_EVENT event;

    for (int is_ep = 0; is_ep < 2; is_ep++) {
        b.rmr = is_ep ? w->rmr_ep : w->rmr;
        o = order(ASK_INVALIDATE, 0, 100, bind_now(t, &b));
        may(t, ASK_WRITE, va_of(w, AT), 1, o.context);
        dt_tell(t, &o, sizeof(o)); /* it waits for a receive */
        dt_want_none(t->recv_evd, 1);
        seg = dt_seg(&w->mem, 0, 200);
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(11), DAT_COMPLETION_DEFAULT_FLAG));
        event = dt_wait(t->recv_evd);
        CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
        CHECK_EQ(event.event_data.dto_completion_event_data.operation,
                 DAT_DTO_RECEIVE_WITH_INVALIDATE);
        CHECK_EQ(event.event_data.dto_completion_event_data.rmr_context, o.context);
        CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 11);
        CHECK_EQ(event.event_data.dto_completion_event_data.transfered_length, 100);
        CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        OK(dat_rmr_query(b.rmr, DAT_RMR_FIELD_ALL, &param));
        CHECK_EQ(param.rmr_context, 0);
        dt_meet(t);
        may_not(t, w, order(ASK_WRITE, va_of(w, AT), 1, o.context));
        /* What is not bound, or no RMR at all, cannot be taken away. */
        for (int i = 0; i < 2; i++) {
            OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(12), DAT_COMPLETION_DEFAULT_FLAG));
            may_not(t, w, order(ASK_INVALIDATE, 0, 1, i == 0 ? o.context : w->mem.rkey));
            dt_want_dto(t->recv_evd, 12, DAT_DTO_ERR_FLUSHED);
        }
    }
}

/* A read whose sink is a window of ours that does not serve; for one that does
 * see check_loop(). */
static void check_sink(struct dt *t, struct world *w)
{
    enum { TOO_LONG, NO_WRITE, OTHER_EP, N_SINKS };

    for (int kind = 0; kind < N_SINKS; kind++) {
        struct order o = {.ask = ASK_RECONNECT, .status = DAT_DTO_ERR_LOCAL_PROTECTION};
        struct bind b = bind_of(t, w, kind == OTHER_EP ? w->rmr_ep : w->rmr);
        DAT_RMR_TRIPLET sink = {.virtual_address = 0, .segment_length = 64};
        DAT_RMR_TRIPLET from = dt_remote(&w->mem, 4096, 64); /* not looked at */

        b.va_type = DAT_VA_TYPE_ZB;
        if (kind == NO_WRITE)
            b.priv = DAT_MEM_PRIV_REMOTE_READ_FLAG;
        if (kind == OTHER_EP)
            b.ep = second;
        sink.rmr_context = bind_now(t, &b);
        if (kind == TOO_LONG)
            sink.segment_length = WINDOW + 1;
        OK(dt_provider(t->ep)->ep_post_rdma_read_to_rmr_func(t->ep, &sink, dt_cookie(4), &from,
                                                             DAT_COMPLETION_SUPPRESS_FLAG));
        dt_want_dto(t->req_evd, 4, DAT_DTO_ERR_LOCAL_PROTECTION);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
        dt_tell(t, &o, sizeof(o));
        rejoin(t, t->ep, true);
        dt_meet(t);
    }
}

/* Both ends here: windows work between endpoints of one instance as well. */
static void check_loop(struct dt *t, struct world *w)
{
    DAT_EP_HANDLE ep[2] = {dt_ep(t), dt_ep(t)};
    struct bind b = bind_of(t, w, w->rmr);
    DAT_RMR_TRIPLET sink = {.virtual_address = 16, .segment_length = 64};
    DAT_RMR_TRIPLET from = dt_remote(&w->mem, 4096, 64);
    DAT_CONN_QUAL qual;
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;

    OK(dat_psp_create_any(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    OK(dat_ep_connect(ep[0], (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    event = dt_wait(t->cr_evd);
    OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep[1], 0, NULL));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    OK(dat_psp_free(psp));
    b.rmr = w->rmr_ep;
    b.ep = ep[0];
    b.va_type = DAT_VA_TYPE_ZB;
    sink.rmr_context = bind_now(t, &b);
    for (int i = 0; i < 64; i++)
        w->mem.buf[4096 + i] = (char)(i + 1);
    OK(dt_provider(ep[0])->ep_post_rdma_read_to_rmr_func(ep[0], &sink, dt_cookie(4), &from,
                                                         DAT_COMPLETION_DEFAULT_FLAG));
    CHECK_EQ(dt_want_dto(t->req_evd, 4, DAT_DTO_SUCCESS), 64);
    CHECK_EQ(memcmp(w->mem.buf + AT + 16, w->mem.buf + 4096, 64), 0);
    OK(dat_ep_disconnect(ep[0], DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_free(ep[0]));
    OK(dat_ep_free(ep[1]));
}

static int owner(struct dt *t, const char *name)
{
    struct order end = {.ask = ASK_END};
    struct world w;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        dt_open(t, name);
        second = dt_ep(t);
        dt_alloc(t, &w.mem, LEN, is_shared != 0);
        OK(dat_rmr_create(t->pz, &w.rmr));
        OK(dt_provider(t->pz)->rmr_create_for_ep_func(t->pz, &w.rmr_ep));
        join_both(t, true);
        check_calls(t, &w);
        check_window(t, &w);
        check_kinds(t, &w);
        check_in_use(t, &w);
        check_bad_binds(t, &w);
        check_queue(t, &w);
        check_scope(t, &w);
        check_invalidate(t, &w);
        check_sink(t, &w);
        check_loop(t, &w);
        dt_tell(t, &end, sizeof(end));
        dt_want_none(t->conn_evd, 1);
        dt_want_none(t->async_evd, 1);
        dt_want_none(t->req_evd, 1);
        dt_want_none(t->recv_evd, 1);
        dt_meet(t);
        dt_close(t);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), owner, user, false);
}
