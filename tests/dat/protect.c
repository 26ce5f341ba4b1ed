/* test: kind=dat timeout=120 params=copy=auto|copy=cma|copy=staged */
/*
 * The fault matrix: every operation with everything that can be wrong about
 * its memory, executed at once or from the queue, with private and with
 * mappable memory, with every completion flag. Each fault breaks the
 * connection with exactly the events that belong to it on both sides, what was
 * pending is flushed in the order of posting, the memory is untouched, and the
 * endpoints connect again after a reset.
 *
 * "protect NAME --table" prints what has been seen as a table (protect.table; docs/TROUBLESHOOTING.md).
 */
#include "dat_pair.h"

enum { LEN = 8192, N = 100, N_RECVS = 4, FIRST = 64 };

/* Whose memory is wrong in which operation. */
enum dir { SEND_OWN, SEND_RECV, WRITE_OWN, WRITE_FAR, READ_OWN, READ_FAR, N_DIRS };

static const char *const dir_names[] = {
    [SEND_OWN] = "send: own segment",   [SEND_RECV] = "send: the receive",
    [WRITE_OWN] = "write: own segment", [WRITE_FAR] = "write: remote side",
    [READ_OWN] = "read: own segment",   [READ_FAR] = "read: remote side",
};

enum reason {
    NEVER_KEY,
    FREED_KEY,
    GEN_UP,
    GEN_DOWN,
    BEYOND_END,
    BEFORE_START,
    WRAP,
    HUGE_LEN,
    NO_PRIV,
    ONLY_WRITE,
    LMR_PZ,
    EP_PZ,
    ZERO_LEN,
    SHORT_RECV,
    MIDDLE,
    UNREACHED,
    N_REASONS
};

#define BIT(dir) (1u << (dir))
#define OWN      (BIT(SEND_OWN) | BIT(WRITE_OWN) | BIT(READ_OWN))
#define FAR      (BIT(WRITE_FAR) | BIT(READ_FAR))
#define ANY      (OWN | FAR | BIT(SEND_RECV))

static const struct {
    const char *name;
    unsigned dirs;
    bool is_legal;
} reasons[] = {
    [NEVER_KEY] = {"a key that never was", ANY, false},
    [FREED_KEY] = {"the key of a freed region", ANY, false},
    [GEN_UP] = {"the key of the next generation", ANY, false},
    [GEN_DOWN] = {"the key of the generation before", ANY, false},
    [BEYOND_END] = {"one byte beyond the end", ANY, false},
    [BEFORE_START] = {"one byte before the start", ANY, false},
    [WRAP] = {"addresses that wrap around", ANY, false},
    [HUGE_LEN] = {"4 GiB - 1 bytes", ANY, false},
    [NO_PRIV] = {"no privilege", FAR | BIT(SEND_RECV) | BIT(READ_OWN), false},
    [ONLY_WRITE] = {"no LOCAL_READ (implied)", BIT(SEND_OWN) | BIT(WRITE_OWN), true},
    [LMR_PZ] = {"the region is of another zone", ANY, false},
    [EP_PZ] = {"the endpoint is of another zone", ANY, false},
    [ZERO_LEN] = {"no bytes, a bad key", ANY, true},
    [SHORT_RECV] = {"one byte too short", BIT(SEND_RECV), false},
    [MIDDLE] = {"a bad segment among good ones", OWN | BIT(SEND_RECV), false},
    [UNREACHED] = {"a bad segment that is not reached", BIT(SEND_RECV), true},
};

/* What one side lets be used. */
struct keys {
    uint64_t va;
    uint32_t ok[2]; /* by protection zone */
    uint32_t no_remote_write;
    uint32_t no_remote_read;
    uint32_t no_local_write;
    uint32_t only_write;
    uint32_t freed;
};

/* The events of one case on one side; -1: none. */
struct seen {
    int done; /* the faulty request's status, or that of its receive */
    int conn;
    int async;
};

struct side {
    struct dt t;
    DAT_PZ_HANDLE pz[2];
    DAT_EP_HANDLE ep[2];
    char *map; /* the region is in its middle */
    int fd;
    struct keys keys;
    struct keys peer;
    uint32_t huge; /* 4 GiB that nobody touches */
    uint64_t huge_va;
};

/* One case. */
struct fault {
    enum dir dir;
    enum reason reason;
    DAT_COMPLETION_FLAGS flags;
    bool is_queued; /* behind a send that waits for a receive */
    bool is_odd;    /* pending: the target's sends, else the initiator's receives */
    bool is_legal;
};

static struct seen results[2][N_DIRS][N_REASONS];

static uint32_t reg(struct side *s, DAT_PZ_HANDLE pz, int priv, DAT_LMR_HANDLE *lmr_p)
{
    DAT_REGION_DESCRIPTION region = {.for_va = s->map + LEN};
    char cookie[DAT_LMR_COOKIE_SIZE];
    DAT_MEM_TYPE type = DAT_MEM_TYPE_VIRTUAL;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT lkey;
    DAT_RMR_CONTEXT rkey;

    if (s->fd >= 0) {
        snprintf(cookie, sizeof(cookie), "fd:%d+%d", s->fd, LEN);
        type = DAT_MEM_TYPE_SHARED_VIRTUAL;
        region.for_shared_memory.virtual_address = s->map + LEN;
        region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)&cookie;
    }
    OK(dat_lmr_create(s->t.ia, type, region, LEN, pz, (DAT_MEM_PRIV_FLAGS)priv, DAT_VA_TYPE_VA,
                      &lmr, &lkey, &rkey, NULL, NULL));
    CHECK_EQ(lkey, rkey); /* so that one table serves both directions */
    if (lmr_p != NULL)
        *lmr_p = lmr;
    return rkey;
}

static void reg_huge(struct side *s)
{
    void *mem =
        mmap(NULL, UINT32_MAX, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    DAT_REGION_DESCRIPTION region = {.for_va = mem};
    DAT_LMR_HANDLE lmr;

    CHECK(mem != MAP_FAILED);
    s->huge_va = (uint64_t)(uintptr_t)mem;
    OK(dat_lmr_create(s->t.ia, DAT_MEM_TYPE_VIRTUAL, region, UINT32_MAX, s->pz[0],
                      DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &s->huge, NULL, NULL, NULL));
}

static void set_up(struct side *s, const char *name, bool is_shared)
{
    const int all = DAT_MEM_PRIV_ALL_FLAG;
    DAT_LMR_HANDLE lmr;

    dt_open_as(&s->t, name, DAT_FALSE);
    s->pz[0] = s->t.pz;
    OK(dat_pz_create(s->t.ia, &s->pz[1]));
    s->fd = is_shared ? memfd_create("protect", MFD_CLOEXEC) : -1;
    if (is_shared && ftruncate(s->fd, 3 * LEN) != 0)
        DT_FAIL("ftruncate");
    s->map = mmap(NULL, 3 * LEN, PROT_READ | PROT_WRITE,
                  is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, s->fd, 0);
    CHECK(s->map != MAP_FAILED);
    s->keys.va = (uint64_t)(uintptr_t)s->map + LEN;
    s->keys.freed = reg(s, s->pz[0], all, &lmr);
    OK(dat_lmr_free(lmr));
    s->keys.ok[0] = reg(s, s->pz[0], all, NULL);
    s->keys.ok[1] = reg(s, s->pz[1], all, NULL);
    s->keys.no_remote_write = reg(s, s->pz[0], all & ~DAT_MEM_PRIV_REMOTE_WRITE_FLAG, NULL);
    s->keys.no_remote_read = reg(s, s->pz[0], all & ~DAT_MEM_PRIV_REMOTE_READ_FLAG, NULL);
    s->keys.no_local_write = reg(s, s->pz[0], DAT_MEM_PRIV_LOCAL_READ_FLAG, NULL);
    s->keys.only_write = reg(s, s->pz[0], DAT_MEM_PRIV_LOCAL_WRITE_FLAG, NULL);
    reg_huge(s);
    dt_tell(&s->t, &s->keys, sizeof(s->keys));
    dt_hear(&s->t, &s->peer, sizeof(s->peer));
}

/* One endpoint in each zone; requests may be unsignalled. */
static void make_eps(struct side *s, DAT_COMPLETION_FLAGS flags)
{
    DAT_EP_ATTR attr;

    memset(&attr, 0, sizeof(attr));
    attr.max_recv_dtos = 16;
    attr.max_request_dtos = 16;
    attr.max_recv_iov = 4;
    attr.max_request_iov = 4;
    attr.max_rdma_read_in = 4;
    attr.max_rdma_read_out = 4;
    attr.max_rdma_read_iov = 4;
    attr.max_rdma_write_iov = 4;
    if (flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
        attr.request_completion_flags = flags;
    for (int i = 0; i < 2; i++)
        OK(dat_ep_create(s->t.ia, s->pz[i], s->t.recv_evd, s->t.req_evd, s->t.conn_evd, &attr,
                         &s->ep[i]));
}

static void free_eps(struct side *s)
{
    OK(dat_ep_free(s->ep[0]));
    OK(dat_ep_free(s->ep[1]));
}

static bool is_send(enum dir dir)
{
    return dir == SEND_OWN || dir == SEND_RECV;
}

/* Does the fault lie in the target's memory? */
static bool is_far(enum dir dir)
{
    return dir == SEND_RECV || dir == WRITE_FAR || dir == READ_FAR;
}

/* The zone of the endpoint on the side whose memory is wrong, or of the other. */
static int zone(const struct fault *f, bool is_target)
{
    return f->reason == EP_PZ && is_far(f->dir) == is_target ? 1 : 0;
}

/* Make a good segment bad; it belongs to the side that the keys are of. */
static DAT_LMR_TRIPLET spoil(const struct fault *f, const struct keys *k, DAT_LMR_TRIPLET seg)
{
    switch (f->reason) {
    case NEVER_KEY:
    case MIDDLE:
    case UNREACHED:
        seg.lmr_context = 0x1f000;
        break;
    case ZERO_LEN:
        seg.lmr_context = 0x1f000;
        seg.segment_length = 0;
        break;
    case FREED_KEY:
        seg.lmr_context = k->freed;
        break;
    case GEN_UP:
        seg.lmr_context += 0x10000;
        break;
    case GEN_DOWN:
        seg.lmr_context -= 0x10000;
        break;
    case BEYOND_END:
        seg.virtual_address = k->va + LEN - seg.segment_length + 1;
        break;
    case BEFORE_START:
        seg.virtual_address = k->va - 1;
        break;
    case WRAP:
        seg.virtual_address = (DAT_VADDR)0 - 50;
        break;
    case HUGE_LEN:
        seg.virtual_address = k->va;
        seg.segment_length = UINT32_MAX;
        break;
    case NO_PRIV:
        seg.lmr_context = k->no_local_write;
        if (f->dir == WRITE_FAR)
            seg.lmr_context = k->no_remote_write;
        if (f->dir == READ_FAR)
            seg.lmr_context = k->no_remote_read;
        break;
    case ONLY_WRITE:
        seg.lmr_context = k->only_write;
        break;
    case LMR_PZ:
        seg.lmr_context = k->ok[1];
        break;
    case EP_PZ:
        seg.lmr_context = k->ok[0];
        break;
    case SHORT_RECV:
        seg.segment_length--;
        break;
    default:
        break;
    }
    return seg;
}

static DAT_LMR_TRIPLET good(const struct keys *k, int pz, size_t offset, size_t len)
{
    DAT_LMR_TRIPLET seg = {.virtual_address = k->va + offset,
                           .segment_length = (DAT_SEG_LENGTH)len,
                           .lmr_context = k->ok[pz]};

    return seg;
}

/* The segments of the faulty request or receive; their number. */
static int build(const struct fault *f, const struct keys *k, int pz, DAT_LMR_TRIPLET *seg)
{
    seg[0] = good(k, pz, 1024, N);
    if (f->reason == MIDDLE || f->reason == UNREACHED) {
        int n_good = f->reason == MIDDLE ? N / 4 : N;

        seg[0].segment_length = (DAT_SEG_LENGTH)n_good;
        seg[1] = spoil(f, k, good(k, pz, 2048, N / 4));
        seg[2] = good(k, pz, 3072, N / 2);
        return 3;
    }
    seg[0] = spoil(f, k, seg[0]);
    return 1;
}

static DAT_RMR_TRIPLET far_of(DAT_LMR_TRIPLET seg)
{
    DAT_RMR_TRIPLET to = {.virtual_address = seg.virtual_address,
                          .segment_length = seg.segment_length,
                          .rmr_context = seg.lmr_context};

    return to;
}

/* The faulty request, cookie 2. */
static void post_fault(struct side *s, const struct fault *f)
{
    int own = zone(f, false);
    int far = zone(f, true);
    DAT_LMR_TRIPLET seg[4] = {good(&s->keys, own, 1024, N)};
    DAT_RMR_TRIPLET to = far_of(good(&s->peer, far, 1024, N));
    DAT_EP_HANDLE ep = s->ep[own];
    int n = 1;

    if (!is_far(f->dir))
        n = build(f, &s->keys, own, seg);
    else if (f->dir != SEND_RECV)
        to = far_of(spoil(f, &s->peer, good(&s->peer, far, 1024, N)));
    if (is_far(f->dir) && f->reason == HUGE_LEN) { /* so long is our own side, too */
        seg[0].virtual_address = s->huge_va;
        seg[0].lmr_context = s->huge;
        seg[0].segment_length = f->dir == SEND_RECV ? LEN + 1 : UINT32_MAX;
    }
    if (is_far(f->dir) && f->reason == ZERO_LEN)
        seg[0].segment_length = 0;
    if (is_send(f->dir))
        OK(dat_ep_post_send(ep, n, seg, dt_cookie(2), f->flags));
    else if (f->dir == WRITE_OWN || f->dir == WRITE_FAR)
        OK(dat_ep_post_rdma_write(ep, n, seg, dt_cookie(2), &to, f->flags));
    else
        OK(dat_ep_post_rdma_read(ep, n, seg, dt_cookie(2), &to, f->flags));
}

static void connect_pair(struct side *s, const struct fault *f, bool is_target)
{
    s->t.ep = s->ep[zone(f, is_target)];
    dt_join(&s->t, is_target);
}

static int reset_memory(struct side *s, int byte)
{
    memset(s->map, byte, 3 * LEN);
    return byte;
}

/* All of the memory but what the first message brought, or comes from. */
static ORDERED_BY_PEER void check_memory(const struct side *s, int byte)
{
    for (int i = 0; i < 3 * LEN; i++)
        if (s->map[i] != byte && (i < LEN || i >= LEN + FIRST))
            DT_FAIL("byte %d of the memory has changed", i - LEN);
}

/* An event of each kind; nothing else may have come. */
static void settle(struct side *s, struct seen *seen, bool is_async)
{
    DAT_EVENT event = dt_wait(s->t.conn_evd);
    DAT_EP_STATE state;

    CHECK(event.event_data.connect_event_data.ep_handle == s->t.ep);
    seen->conn = (int)event.event_number;
    seen->async = -1;
    if (is_async) {
        event = dt_wait(s->t.async_evd);
        CHECK(event.event_data.asynch_error_event_data.dat_handle == s->t.ep);
        seen->async = (int)event.event_number;
    }
    dt_meet(&s->t);
    dt_want_none(s->t.async_evd, 1);
    dt_want_none(s->t.conn_evd, 0);
    dt_want_none(s->t.recv_evd, 0);
    dt_want_none(s->t.req_evd, 0);
    OK(dat_ep_get_status(s->t.ep, &state, NULL, NULL));
    CHECK_EQ(state, DAT_EP_STATE_DISCONNECTED);
    OK(dat_ep_disconnect(s->t.ep, DAT_CLOSE_ABRUPT_FLAG)); /* says nothing more */
    dt_want_none(s->t.conn_evd, 0);
    OK(dat_ep_reset(s->t.ep));
}

static int want_dto(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie, int status)
{
    DAT_EVENT event = dt_wait(evd);
    DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

    CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
    CHECK(dto->ep_handle == ep);
    CHECK_EQ(dto->user_cookie.as_64, cookie);
    if (status >= 0)
        CHECK_EQ(dto->status, status);
    return (int)dto->status;
}

/* A message that arrives, the fault, and three requests behind it. */
static struct seen commit(struct side *s, const struct fault *f)
{
    const int rest = f->is_legal ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED;
    int own = zone(f, false);
    DAT_EP_HANDLE ep = s->ep[own];
    DAT_LMR_TRIPLET first = good(&s->keys, own, 0, FIRST);
    DAT_LMR_TRIPLET seg = good(&s->keys, own, 4096, 8);
    DAT_RMR_TRIPLET to = far_of(good(&s->peer, zone(f, true), 0, 8));
    struct seen seen = {.done = -1};
    int byte = reset_memory(s, 0x55);

    for (unsigned i = 0; !f->is_odd && i < 2; i++)
        OK(dat_ep_post_recv(ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
    connect_pair(s, f, false);
    OK(dat_ep_post_send(ep, 1, &first, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    post_fault(s, f);
    OK(dat_ep_post_rdma_write(ep, 1, &seg, dt_cookie(3), &to, DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_send(ep, 1, &seg, dt_cookie(4), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_rdma_read(ep, 1, &first, dt_cookie(5), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_meet(&s->t);
    want_dto(s->t.req_evd, ep, 1, DAT_DTO_SUCCESS);
    if (!f->is_legal || f->flags != DAT_COMPLETION_SUPPRESS_FLAG)
        seen.done = want_dto(s->t.req_evd, ep, 2, -1);
    for (unsigned i = 3; i <= 5; i++)
        want_dto(s->t.req_evd, ep, i, rest);
    if (f->is_legal)
        OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
    for (unsigned i = 0; !f->is_odd && i < 2; i++)
        want_dto(s->t.recv_evd, ep, i, DAT_DTO_ERR_FLUSHED);
    settle(s, &seen, false);
    if (!f->is_legal)
        check_memory(s, byte);
    dt_meet(&s->t);
    return seen;
}

static void post_recvs(struct side *s, const struct fault *f)
{
    int own = zone(f, true);
    DAT_EP_HANDLE ep = s->ep[own];

    for (unsigned i = 0; i < N_RECVS; i++) {
        DAT_LMR_TRIPLET seg[4] = {good(&s->keys, own, 0, FIRST)};
        int n = 1;

        if (i == 1 && is_send(f->dir))
            seg[0] = good(&s->keys, own, 1024, N);
        if (i == 1 && f->dir == SEND_RECV)
            n = build(f, &s->keys, own, seg);
        OK(dat_ep_post_recv(ep, n, seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
    }
}

static struct seen suffer(struct side *s, const struct fault *f)
{
    int own = zone(f, true);
    DAT_EP_HANDLE ep = s->ep[own];
    DAT_LMR_TRIPLET seg = good(&s->keys, own, 4096, 8);
    struct seen seen = {.done = -1};
    int byte = reset_memory(s, 0x22);
    unsigned n_done = 1;

    if (!f->is_queued)
        post_recvs(s, f);
    connect_pair(s, f, true);
    for (unsigned i = 0; f->is_odd && i < 2; i++) /* the peer has no receives */
        OK(dat_ep_post_send(ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
    dt_meet(&s->t);
    if (f->is_queued)
        post_recvs(s, f);
    want_dto(s->t.recv_evd, ep, 0, DAT_DTO_SUCCESS);
    if (f->dir == SEND_RECV)
        seen.done = want_dto(s->t.recv_evd, ep, n_done++, -1);
    if (f->is_legal && f->dir == SEND_OWN)
        want_dto(s->t.recv_evd, ep, n_done++, DAT_DTO_SUCCESS);
    if (f->is_legal)
        want_dto(s->t.recv_evd, ep, n_done++, DAT_DTO_SUCCESS);
    for (; n_done < N_RECVS; n_done++)
        want_dto(s->t.recv_evd, ep, n_done, DAT_DTO_ERR_FLUSHED);
    for (unsigned i = 0; f->is_odd && i < 2; i++)
        want_dto(s->t.req_evd, ep, i, DAT_DTO_ERR_FLUSHED);
    settle(s, &seen, !f->is_legal);
    if (!f->is_legal)
        check_memory(s, byte);
    dt_meet(&s->t);
    return seen;
}

/* What must have been seen. */
static void judge(const struct fault *f, const struct seen *seen, bool is_target)
{
    int done = is_far(f->dir) ? DAT_DTO_ERR_REMOTE_ACCESS : DAT_DTO_ERR_LOCAL_PROTECTION;
    int conn = is_target ? DAT_CONNECTION_EVENT_DISCONNECTED : DAT_CONNECTION_EVENT_BROKEN;
    int async = is_target ? DAT_ASYNC_ERROR_EP_BROKEN : -1;

    if (f->dir == SEND_RECV)
        done = DAT_DTO_ERR_REMOTE_RESPONDER;
    if (f->dir == SEND_RECV && is_target)
        done = f->reason == SHORT_RECV ? DAT_DTO_ERR_LOCAL_LENGTH : DAT_DTO_ERR_LOCAL_PROTECTION;
    if (f->is_legal) {
        done = DAT_DTO_SUCCESS;
        conn = DAT_CONNECTION_EVENT_DISCONNECTED;
        async = -1;
    }
    if (is_target ? f->dir != SEND_RECV : f->is_legal && f->flags == DAT_COMPLETION_SUPPRESS_FLAG)
        done = -1;
    CHECK_EQ(seen->done, done);
    CHECK_EQ(seen->conn, conn);
    CHECK_EQ(seen->async, async);
}

static void run_case(struct side *s, const struct fault *f, bool is_target)
{
    struct seen seen = is_target ? suffer(s, f) : commit(s, f);

    judge(f, &seen, is_target);
    if (f->flags == DAT_COMPLETION_DEFAULT_FLAG)
        results[is_target][f->dir][f->reason] = seen;
}

static void run_flags(struct side *s, DAT_COMPLETION_FLAGS flags, bool is_target)
{
    struct fault f = {.flags = flags};

    make_eps(s, flags);
    for (f.dir = 0; f.dir < N_DIRS; f.dir++)
        for (f.reason = 0; f.reason < N_REASONS; f.reason++) {
            f.is_legal = reasons[f.reason].is_legal;
            for (int i = 0; i < 2 && (reasons[f.reason].dirs & BIT(f.dir)) != 0; i++) {
                f.is_queued = i != 0;
                run_case(s, &f, is_target);
                f.is_odd = !f.is_odd;
            }
            f.is_odd = !f.is_odd;
        }
    free_eps(s);
}

static int run(struct dt *t, const char *name, bool is_target)
{
    static const DAT_COMPLETION_FLAGS flags[] = {
        DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SUPPRESS_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG};

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        struct side s = {.t = *t};

        set_up(&s, name, is_shared != 0);
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
            run_flags(&s, flags[i], is_target);
        dt_close(&s.t);
        munmap(s.map, 3 * LEN);
        if (s.fd >= 0)
            close(s.fd);
    }
    return 0;
}

static int one(struct dt *t, const char *name)
{
    (void)run(t, name, true);
    dt_tell(t, results[1], sizeof(results[1]));
    return 0;
}

static int two(struct dt *t, const char *name)
{
    (void)run(t, name, false);
    dt_hear(t, results[1], sizeof(results[1]));
    return 0;
}

/* ---- the table ---- */

static const char *status_name(int status)
{
    static const char *const names[] = {
        [DAT_DTO_SUCCESS] = "SUCCESS",
        [DAT_DTO_ERR_FLUSHED] = "FLUSHED",
        [DAT_DTO_ERR_LOCAL_LENGTH] = "LOCAL_LENGTH",
        [DAT_DTO_ERR_LOCAL_EP] = "LOCAL_EP",
        [DAT_DTO_ERR_LOCAL_PROTECTION] = "LOCAL_PROTECTION",
        [DAT_DTO_ERR_BAD_RESPONSE] = "BAD_RESPONSE",
        [DAT_DTO_ERR_REMOTE_ACCESS] = "REMOTE_ACCESS",
        [DAT_DTO_ERR_REMOTE_RESPONDER] = "REMOTE_RESPONDER",
        [DAT_DTO_ERR_TRANSPORT] = "TRANSPORT",
    };

    return status < 0 ? "none" : names[status];
}

static const char *event_name(int number)
{
    if (number == DAT_CONNECTION_EVENT_BROKEN)
        return "BROKEN";
    if (number == DAT_CONNECTION_EVENT_DISCONNECTED)
        return "DISCONNECTED";
    return number == DAT_ASYNC_ERROR_EP_BROKEN ? "EP_BROKEN" : "none";
}

/* The completions: of the request, and of the receive that it takes. */
static void print_cell(int dir, int reason)
{
    const struct seen *a = &results[0][dir][reason];
    const struct seen *b = &results[1][dir][reason];

    if ((reasons[reason].dirs & BIT(dir)) == 0)
        printf(" |");
    else if (b->done < 0)
        printf(" %s |", status_name(a->done));
    else
        printf(" %s, %s |", status_name(a->done), status_name(b->done));
}

/* The other events are the same for all faults, which judge() makes sure of. */
static void print_events(bool is_legal)
{
    const struct seen *a = &results[0][SEND_OWN][is_legal ? ZERO_LEN : NEVER_KEY];
    const struct seen *b = &results[1][SEND_OWN][is_legal ? ZERO_LEN : NEVER_KEY];

    printf("| %s | %s | %s | %s | %s |\n", is_legal ? "legal" : "fault", event_name(a->conn),
           event_name(a->async), event_name(b->conn), event_name(b->async));
}

static void print_table(void)
{
    printf("| what is wrong |");
    for (int dir = 0; dir < N_DIRS; dir++)
        printf(" %s |", dir_names[dir]);
    printf("\n|---|---|---|---|---|---|---|\n");
    for (int reason = 0; reason < N_REASONS; reason++) {
        printf("| %s |", reasons[reason].name);
        for (int dir = 0; dir < N_DIRS; dir++)
            print_cell(dir, reason);
        printf("\n");
    }
    printf("\n| | initiator: connection | async | target: connection | async |\n"
           "|---|---|---|---|---|\n");
    print_events(false);
    print_events(true);
}

static int two_and_print(struct dt *t, const char *name)
{
    int ret = two(t, name);

    print_table();
    return ret;
}

int main(int argc, char **argv)
{
    bool is_table = argc > 2 && strcmp(argv[2], "--table") == 0;

    return dt_pair(dt_name(argc, argv), one, is_table ? two_and_print : two, false);
}
