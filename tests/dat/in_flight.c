/* test: kind=dat timeout=90 params=copy=auto|copy=cma|copy=staged */
/*
 * Descriptors and regions that vanish while requests use them. The array of
 * segments is free as soon as the post returns. dat_lmr_free of either side
 * succeeds at any time: each request is over with success, with the status of
 * a protection fault (once), or flushed; and when it has returned, nobody
 * touches the memory: it is made inaccessible where this process would touch
 * it, and watched where the peer would.
 */
#include "dat_pair.h"

enum { LEN = 1 << 19, N_REQS = 200, ROUNDS = 8 };

enum kind { SEND, WRITE, READ, N_KINDS };

static void post(struct dt *t, enum kind kind, const struct dt_mem *mem, const struct dt_mem *peer,
                 size_t len, uint64_t cookie)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, len);
    DAT_RMR_TRIPLET to = dt_remote(peer, 0, len);

    if (kind == SEND)
        OK(dat_ep_post_send(t->ep, 1, &seg, dt_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG));
    else if (kind == WRITE)
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(cookie), &to,
                                  DAT_COMPLETION_DEFAULT_FLAG));
    else
        OK(dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(cookie), &to,
                                 DAT_COMPLETION_DEFAULT_FLAG));
    memset(&seg, 0xff, sizeof(seg));
    memset(&to, 0xff, sizeof(to));
}

/* Some are good, one fails, the rest is flushed; how many are good. */
static unsigned want_end(DAT_EVD_HANDLE evd, unsigned from, unsigned n,
                         DAT_DTO_COMPLETION_STATUS bad)
{
    unsigned n_good = 0;
    bool is_over = false;

    for (unsigned i = from; i < n; i++) {
        DAT_EVENT event = dt_wait(evd);
        DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        CHECK_EQ(dto->user_cookie.as_64, i);
        if (is_over)
            CHECK_EQ(dto->status, DAT_DTO_ERR_FLUSHED);
        else if (dto->status == DAT_DTO_SUCCESS)
            n_good++;
        else
            CHECK_EQ(dto->status, bad);
        is_over = is_over || dto->status != DAT_DTO_SUCCESS;
    }
    return n_good;
}

static void end_active(struct dt *t)
{
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    dt_want_none(t->req_evd, 0);
    OK(dat_ep_reset(t->ep));
}

static void end_passive(struct dt *t)
{
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    CHECK_EQ(dt_wait(t->async_evd).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    dt_want_none(t->recv_evd, 0);
    OK(dat_ep_reset(t->ep));
}

static void drop(struct dt_mem *mem)
{
    munmap(mem->buf, mem->len);
    if (mem->fd >= 0)
        close(mem->fd);
}

/* ---- our own segments: arrays overwritten, region freed and inaccessible ---- */

/* Waiting requests read the array that they were given, not what is there now. */
static void overwritten(struct dt *t)
{
    struct dt_mem mem;

    dt_alloc(t, &mem, 4096, false);
    dt_join(t, false);
    for (unsigned i = 0; i < N_REQS; i++) {
        DAT_LMR_TRIPLET seg[3];

        memcpy(mem.buf + 16 * i, &i, sizeof(i));
        memset(mem.buf + 16 * i + 4, (int)i, 12);
        for (unsigned k = 0; k < 3; k++)
            seg[k] = dt_seg(&mem, 16 * i + (k == 0 ? 0 : 4 * k), k == 2 ? 8 : 4);
        OK(dat_ep_post_send(t->ep, 3, seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
        memset(seg, 0xff, sizeof(seg));
    }
    dt_meet(t);
    for (unsigned i = 0; i < N_REQS; i++)
        CHECK_EQ(dt_want_dto(t->req_evd, i, DAT_DTO_SUCCESS), 16);
    dt_meet(t);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
    OK(dat_lmr_free(mem.lmr));
    drop(&mem);
}

static ORDERED_BY_PEER void overwritten_peer(struct dt *t, struct dt_mem *mem)
{
    DAT_LMR_TRIPLET seg[2];

    dt_join(t, true);
    dt_meet(t);
    for (unsigned i = 0; i < N_REQS; i++) {
        seg[0] = dt_seg(mem, 64 * i, 10);
        seg[1] = dt_seg(mem, 64 * i + 10, 20);
        OK(dat_ep_post_recv(t->ep, 2, seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
        memset(seg, 0xff, sizeof(seg));
    }
    for (unsigned i = 0; i < N_REQS; i++) {
        unsigned got;

        CHECK_EQ(dt_want_dto(t->recv_evd, i, DAT_DTO_SUCCESS), 16);
        memcpy(&got, mem->buf + 64 * i, sizeof(got));
        CHECK_EQ(got, i);
        for (int k = 4; k < 16; k++)
            CHECK_EQ((uint8_t)mem->buf[64 * i + k], (uint8_t)i);
    }
    dt_meet(t);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
}

/* Requests wait behind a send without a receive; their region goes. */
static void own_queued(struct dt *t, const struct dt_mem *peer, enum kind kind)
{
    struct dt_mem mem;

    dt_alloc(t, &mem, LEN, kind == READ);
    dt_join(t, false);
    OK(dat_ep_post_send(t->ep, 0, NULL, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
    for (unsigned i = 1; i < N_REQS; i++)
        post(t, kind, &mem, peer, 4096, i);
    OK(dat_lmr_free(mem.lmr));
    drop(&mem);
    dt_meet(t);
    dt_want_dto(t->req_evd, 0, DAT_DTO_SUCCESS);
    CHECK_EQ(want_end(t->req_evd, 1, N_REQS, DAT_DTO_ERR_LOCAL_PROTECTION), 0);
    end_active(t);
}

static void own_queued_peer(struct dt *t, struct dt_mem *mem)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, 4096);

    dt_join(t, true);
    dt_meet(t);
    OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->recv_evd, 0, DAT_DTO_SUCCESS);
    dt_want_dto(t->recv_evd, 1, DAT_DTO_ERR_FLUSHED);
    end_passive(t);
}

/* Requests are being carried out (staged: by both helper threads). */
static void own_running(struct dt *t, const struct dt_mem *peer, enum kind kind, int round)
{
    struct dt_mem mem;

    dt_alloc(t, &mem, LEN, false);
    dt_join(t, false);
    for (unsigned i = 0; i < N_REQS; i++)
        post(t, kind, &mem, peer, LEN / (kind == SEND ? 8 : 1), i);
    dt_sleep_ms(round % 3);
    OK(dat_lmr_free(mem.lmr));
    drop(&mem);
    if (want_end(t->req_evd, 0, N_REQS, DAT_DTO_ERR_LOCAL_PROTECTION) == N_REQS) {
        OK(dat_ep_post_send(t->ep, 0, NULL, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
        mem.buf = peer->buf;
        post(t, WRITE, &mem, peer, 8, 2); /* a stale key in any case */
        (void)dt_wait(t->req_evd);
        dt_want_dto(t->req_evd, 2, DAT_DTO_ERR_LOCAL_PROTECTION);
    }
    end_active(t);
}

static void own_running_peer(struct dt *t, struct dt_mem *mem, enum kind kind)
{
    DAT_LMR_TRIPLET seg = dt_seg(mem, 0, LEN);
    unsigned n = kind == SEND ? N_REQS + 1 : 1;

    for (unsigned i = 0; i < n; i++)
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
    dt_join(t, true);
    (void)want_end(t->recv_evd, 0, n, DAT_DTO_ERR_FLUSHED);
    end_passive(t);
}

/* ---- the target's region goes ---- */

/* The owner's own view of memory that it frees, by another mapping if it is a
 * file's. */
struct watch {
    struct dt_mem mem;
    char *view;
};

static void watch_new(struct dt *t, struct watch *w, bool is_shared)
{
    dt_alloc(t, &w->mem, LEN, is_shared);
    memset(w->mem.buf, 'o', LEN);
    w->view = NULL;
    if (is_shared)
        w->view = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, w->mem.fd, 0);
    CHECK(w->view != MAP_FAILED);
}

/* Free the region. From now on the memory holds a secret, and may neither
 * change nor be seen; and where peers cannot reach it otherwise, there is
 * other memory at its address. */
static ORDERED_BY_PEER void watch_free(struct watch *w)
{
    OK(dat_lmr_free(w->mem.lmr));
    if (w->view != NULL) {
        memset(w->view, 's', LEN);
        CHECK_EQ(mprotect(w->mem.buf, LEN, PROT_NONE), 0);
        return;
    }
    w->view = mmap(w->mem.buf, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                   -1, 0);
    CHECK(w->view == w->mem.buf);
    memset(w->view, 's', LEN);
}

static ORDERED_BY_PEER void watch_end(struct watch *w)
{
    for (int i = 0; i < LEN; i++)
        CHECK_EQ(w->view[i], 's');
    if (w->view != w->mem.buf)
        munmap(w->view, LEN);
    drop(&w->mem);
}

/* Receive for a while; how many have been dequeued. */
static unsigned receive(struct dt *t, DAT_LMR_TRIPLET seg, int ms, unsigned *n_posted_p)
{
    double end = dt_now() + 1e-3 * ms;
    unsigned n = 0;

    for (; *n_posted_p < N_REQS; ++*n_posted_p)
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(*n_posted_p), DAT_COMPLETION_DEFAULT_FLAG));
    dt_meet(t);
    do {
        dt_want_dto(t->recv_evd, n++, DAT_DTO_SUCCESS);
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(*n_posted_p), DAT_COMPLETION_DEFAULT_FLAG));
        ++*n_posted_p;
    } while (dt_now() < end);
    return n;
}

/* The peer works on the region without end. */
static void theirs(struct dt *t, enum kind kind, bool is_shared, int round)
{
    unsigned n_posted = 0;
    unsigned n_done = 0;
    struct watch w;

    watch_new(t, &w, is_shared);
    dt_join(t, true);
    dt_tell(t, &w.mem, sizeof(w.mem));
    if (kind == SEND) {
        n_done = receive(t, dt_seg(&w.mem, 0, LEN), round % 4, &n_posted);
    } else {
        dt_meet(t);
        dt_sleep_ms(round % 4);
    }
    watch_free(&w);
    if (kind == SEND) { /* in case the peer has used up all the others */
        DAT_LMR_TRIPLET seg = dt_seg(&w.mem, 0, LEN);

        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(n_posted++), DAT_COMPLETION_DEFAULT_FLAG));
    }
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    CHECK_EQ(dt_wait(t->async_evd).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    (void)want_end(t->recv_evd, n_done, n_posted, DAT_DTO_ERR_LOCAL_PROTECTION);
    watch_end(&w);
    OK(dat_ep_reset(t->ep));
}

static ORDERED_BY_PEER void theirs_peer(struct dt *t, struct dt_mem *mem, enum kind kind)
{
    const DAT_DTO_COMPLETION_STATUS bad =
        kind == SEND ? DAT_DTO_ERR_REMOTE_RESPONDER : DAT_DTO_ERR_REMOTE_ACCESS;
    size_t len = kind == SEND ? LEN / 8 : LEN;
    struct dt_mem peer;
    unsigned i = 0;
    DAT_EVENT event;
    int status;

    memset(mem->buf, 'w', LEN);
    dt_join(t, false);
    dt_hear(t, &peer, sizeof(peer));
    dt_meet(t);
    do { /* two at a time, so that one waits when the other is carried out */
        post(t, kind, mem, &peer, len, 2 * i);
        if (kind != SEND)
            post(t, kind, mem, &peer, len, 2 * i + 1);
        event = dt_wait(t->req_evd);
        status = (int)event.event_data.dto_completion_event_data.status;
        if (kind != SEND) {
            event = dt_wait(t->req_evd);
            if (status == DAT_DTO_SUCCESS)
                status = (int)event.event_data.dto_completion_event_data.status;
            else
                CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
        }
        for (size_t k = 0; kind == READ && k < LEN; k += 512)
            CHECK(mem->buf[k] != 's');
        i++;
    } while (status == DAT_DTO_SUCCESS);
    CHECK_EQ(status, bad);
    for (int k = 0; kind == READ && k < LEN; k++)
        CHECK(mem->buf[k] != 's');
    end_active(t);
}

static int one(struct dt *t, const char *name)
{
    struct dt_mem mem;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, true);
    dt_tell(t, &mem, sizeof(mem));
    overwritten_peer(t, &mem);
    for (int round = 0; round < ROUNDS; round++)
        for (enum kind kind = 0; kind < N_KINDS; kind++) {
            own_queued_peer(t, &mem);
            own_running_peer(t, &mem, kind);
            theirs(t, kind, round % 2 == 0, round);
        }
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    dt_hear(t, &peer, sizeof(peer));
    overwritten(t);
    for (int round = 0; round < ROUNDS; round++)
        for (enum kind kind = 0; kind < N_KINDS; kind++) {
            own_queued(t, &peer, kind);
            own_running(t, &peer, kind, round);
            theirs_peer(t, &mem, kind);
        }
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
