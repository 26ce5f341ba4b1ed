/* test: kind=dat timeout=90 params=copy=auto|copy=cma|copy=staged */
/*
 * A thread-safe instance used by many threads at once: posts of all kinds on
 * one endpoint and several threads that dequeue from one dispatcher (each
 * request completes exactly once); objects created and freed meanwhile; the
 * connection ended, and a region freed and made inaccessible, while others
 * post.
 */
#include "dat_pair.h"

enum { N_POSTERS = 4, N_REAPERS = 3, N_OPS = 1500, N_STORM = 150, ROUNDS = 6, LEN = 65536 };

struct job {
    struct dt *t;
    struct dt_mem *mem;
    struct dt_mem *peer;
    _Atomic uint8_t *seen; /* by cookie: completions */
    _Atomic unsigned n_posted;
    _Atomic unsigned n_done;
    _Atomic unsigned n_refused; /* posts: the queue was full */
    _Atomic bool is_over;
    unsigned n_all;
    _Atomic unsigned next_id;
};

static DAT_RETURN post(struct job *j, unsigned kind, size_t at, size_t len, uint64_t cookie)
{
    DAT_LMR_TRIPLET seg = dt_seg(j->mem, at, len);
    DAT_RMR_TRIPLET to = dt_remote(j->peer, at, len);

    if (kind == 0)
        return dat_ep_post_send(j->t->ep, 1, &seg, dt_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
    if (kind == 1)
        return dat_ep_post_rdma_write(j->t->ep, 1, &seg, dt_cookie(cookie), &to,
                                      DAT_COMPLETION_DEFAULT_FLAG);
    return dat_ep_post_rdma_read(j->t->ep, 1, &seg, dt_cookie(cookie), &to,
                                 DAT_COMPLETION_DEFAULT_FLAG);
}

/* ---- each request completes exactly once ---- */

static void *poster(void *arg)
{
    struct job *j = arg;
    unsigned id = atomic_fetch_add(&j->next_id, 1);

    for (unsigned i = 0; i < N_OPS; i++) {
        uint64_t cookie = (uint64_t)id * N_OPS + i;
        size_t at = (id * 64 + i % 64) * 8;
        DAT_RETURN ret;

        while ((ret = post(j, i % 3, at, 8, cookie)) != DAT_SUCCESS) {
            CHECK_RC(ret, DAT_INSUFFICIENT_RESOURCES);
            sched_yield();
        }
    }
    return NULL;
}

static void *reaper(void *arg)
{
    struct job *j = arg;

    while (atomic_load(&j->n_done) < j->n_all) {
        DAT_EVENT event;
        DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        if (dat_evd_dequeue(j->t->req_evd, &event) != DAT_SUCCESS) {
            sched_yield();
            continue;
        }
        CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
        CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
        CHECK(dto->user_cookie.as_64 < j->n_all);
        CHECK_EQ(atomic_fetch_add(&j->seen[dto->user_cookie.as_64], 1), 0);
        atomic_fetch_add(&j->n_done, 1);
    }
    return NULL;
}

static void run_threads(struct job *j, void *(*f)(void *), int n, pthread_t *thread)
{
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_create(&thread[i], NULL, f, j), 0);
}

static void join_threads(pthread_t *thread, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

static void exactly_once(struct dt *t, struct dt_mem *mem, struct dt_mem *peer)
{
    struct job j = {.t = t, .mem = mem, .peer = peer, .n_all = N_POSTERS * N_OPS};
    pthread_t posters[N_POSTERS];
    pthread_t reapers[N_REAPERS];

    j.seen = calloc(j.n_all, sizeof(*j.seen));
    CHECK(j.seen != NULL);
    dt_join(t, false);
    run_threads(&j, reaper, N_REAPERS, reapers);
    run_threads(&j, poster, N_POSTERS, posters);
    join_threads(posters, N_POSTERS);
    join_threads(reapers, N_REAPERS);
    for (unsigned i = 0; i < j.n_all; i++)
        CHECK_EQ(atomic_load(&j.seen[i]), 1);
    dt_want_none(t->req_evd, 0);
    free(j.seen);
    dt_meet(t);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
}

/* The receives of the other side are posted by several threads, too. */
static void *recv_poster(void *arg)
{
    struct job *j = arg;
    unsigned i;

    while ((i = atomic_fetch_add(&j->n_posted, 1)) < j->n_all) {
        DAT_LMR_TRIPLET seg = dt_seg(j->mem, LEN / 2 + i % 64 * 8, 8);
        DAT_RETURN ret;

        while ((ret = dat_ep_post_recv(j->t->ep, 1, &seg, dt_cookie(i),
                                       DAT_COMPLETION_DEFAULT_FLAG)) != DAT_SUCCESS) {
            CHECK_RC(ret, DAT_INSUFFICIENT_RESOURCES);
            sched_yield();
        }
    }
    return NULL;
}

static void *recv_reaper(void *arg)
{
    struct job *j = arg;

    while (atomic_load(&j->n_done) < j->n_all) {
        DAT_EVENT event;
        DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        if (dat_evd_dequeue(j->t->recv_evd, &event) != DAT_SUCCESS) {
            sched_yield();
            continue;
        }
        CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
        CHECK_EQ(dto->transfered_length, 8);
        CHECK_EQ(atomic_fetch_add(&j->seen[dto->user_cookie.as_64], 1), 0);
        atomic_fetch_add(&j->n_done, 1);
    }
    return NULL;
}

static void exactly_once_peer(struct dt *t, struct dt_mem *mem)
{
    struct job j = {.t = t, .mem = mem, .n_all = N_POSTERS * (N_OPS / 3)};
    pthread_t posters[2];
    pthread_t reapers[2];

    j.seen = calloc(j.n_all, sizeof(*j.seen));
    CHECK(j.seen != NULL);
    dt_join(t, true);
    run_threads(&j, recv_poster, 2, posters);
    run_threads(&j, recv_reaper, 2, reapers);
    join_threads(posters, 2);
    join_threads(reapers, 2);
    dt_want_none(t->recv_evd, 0);
    free(j.seen);
    dt_meet(t);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
}

/* ---- objects come and go while one thread moves data ---- */

static void *storm(void *arg)
{
    struct job *j = arg;
    DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
    struct dt mine = *j->t;
    struct dt_mem mem = *j->mem;

    for (int i = 0; i < N_STORM; i++) {
        DAT_CNO_HANDLE cno;
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;
        DAT_EP_HANDLE ep;

        OK(dat_pz_create(mine.ia, &mine.pz));
        OK(dat_cno_create(mine.ia, none, &cno));
        OK(dat_evd_create(mine.ia, 16, cno, DAT_EVD_DTO_FLAG, &mine.recv_evd));
        OK(dat_evd_create(mine.ia, 16, cno, DAT_EVD_DTO_FLAG, &mine.req_evd));
        OK(dat_evd_create(mine.ia, 16, cno, DAT_EVD_CONNECTION_FLAG, &mine.conn_evd));
        OK(dat_evd_create(mine.ia, 16, cno, DAT_EVD_CR_FLAG, &mine.cr_evd));
        ep = dt_ep(&mine);
        dt_reg(&mine, &mem, DAT_MEM_PRIV_ALL_FLAG);
        CHECK_RC(dat_pz_free(mine.pz), DAT_INVALID_STATE);
        OK(dat_psp_create_any(mine.ia, &qual, mine.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
        OK(dat_evd_resize(mine.recv_evd, 100));
        OK(dat_psp_free(psp));
        OK(dat_lmr_free(mem.lmr));
        OK(dat_ep_free(ep));
        OK(dat_evd_free(mine.cr_evd));
        OK(dat_evd_free(mine.conn_evd));
        OK(dat_evd_free(mine.req_evd));
        OK(dat_evd_free(mine.recv_evd));
        OK(dat_cno_free(cno));
        OK(dat_pz_free(mine.pz));
    }
    atomic_fetch_add(&j->n_done, 1);
    return NULL;
}

static void storms(struct dt *t, struct dt_mem *mem, struct dt_mem *peer)
{
    struct job j = {.t = t, .mem = mem, .peer = peer};
    pthread_t thread[N_POSTERS];
    uint64_t n = 0;

    dt_join(t, false);
    run_threads(&j, storm, N_POSTERS, thread);
    while (atomic_load(&j.n_done) < N_POSTERS) {
        OK(post(&j, 1 + n % 2, 0, 64, n));
        dt_want_dto(t->req_evd, n, DAT_DTO_SUCCESS);
        n++;
    }
    join_threads(thread, N_POSTERS);
    CHECK(n > 0);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
}

/* ---- the connection ends, or a region goes, while others post ---- */

/* Posts until it is told to stop; counts what has been accepted. */
static void *pester(void *arg)
{
    struct job *j = arg;
    unsigned id = atomic_fetch_add(&j->next_id, 1);

    while (!atomic_load(&j->is_over)) {
        DAT_RETURN ret = post(j, 1 + id % 2, id * 8192, 8192, id);

        if (ret == DAT_SUCCESS)
            atomic_fetch_add(&j->n_posted, 1);
        else if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
            atomic_fetch_add(&j->n_refused, 1);
        else /* it is about to end */
            CHECK_RC(ret, DAT_INVALID_STATE);
    }
    return NULL;
}

static void reap(struct job *j, unsigned n_kinds[3], bool is_all)
{
    DAT_EVENT event;

    while (dat_evd_dequeue(j->t->req_evd, &event) == DAT_SUCCESS) {
        int status = (int)event.event_data.dto_completion_event_data.status;

        if (status == DAT_DTO_SUCCESS)
            n_kinds[0]++;
        else if (status == DAT_DTO_ERR_FLUSHED)
            n_kinds[1]++;
        else
            n_kinds[2]++;
        if (status != DAT_DTO_SUCCESS && status != DAT_DTO_ERR_FLUSHED)
            CHECK_EQ(status, DAT_DTO_ERR_LOCAL_PROTECTION);
    }
    if (is_all)
        CHECK_EQ(n_kinds[0] + n_kinds[1] + n_kinds[2], atomic_load(&j->n_posted));
}

/*
 * The connection breaks by the first post that gets as far as the region which is gone: while
 * the queue is full of completions that nobody has dequeued, none does.
 */
static void want_broken(struct job *j, unsigned n_kinds[3])
{
    double end = dt_now() + 1e-6 * DT_WAIT_US;
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_RETURN ret;

    while ((ret = dat_evd_wait(j->t->conn_evd, 1000, 1, &event, &n_more)) != DAT_SUCCESS) {
        if (DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL)
            CHECK_RC(ret, DAT_TIMEOUT_EXPIRED);
        CHECK(dt_now() < end);
        reap(j, n_kinds, false);
    }
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
}

/* is_full: the end comes when the queue takes no more. */
static void ended(struct dt *t, struct dt_mem *peer, bool is_lmr_freed, bool is_full)
{
    struct dt_mem mem;
    struct job j = {.t = t, .mem = &mem, .peer = peer};
    pthread_t thread[N_POSTERS];
    unsigned n_kinds[3] = {0};

    dt_alloc(t, &mem, LEN, false);
    dt_join(t, false);
    run_threads(&j, pester, N_POSTERS, thread);
    while (n_kinds[0] < 20)
        reap(&j, n_kinds, false);
    atomic_store(&j.n_refused, 0);
    while (is_full && atomic_load(&j.n_refused) == 0)
        sched_yield();
    if (is_lmr_freed) {
        OK(dat_lmr_free(mem.lmr));
        munmap(mem.buf, LEN);
        want_broken(&j, n_kinds);
    } else {
        OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    }
    for (int i = 0; i < 20; i++) { /* some more that are flushed at once */
        reap(&j, n_kinds, false);
        sched_yield();
    }
    OK(dat_ep_reset(t->ep)); /* from now on they are refused */
    dt_sleep_ms(2);
    atomic_store(&j.is_over, true);
    join_threads(thread, N_POSTERS);
    reap(&j, n_kinds, true);
    CHECK_EQ(n_kinds[2], is_lmr_freed ? 1 : 0); /* one breaks it, others are flushed */
    dt_want_none(t->conn_evd, 1);
    if (!is_lmr_freed) {
        OK(dat_lmr_free(mem.lmr));
        munmap(mem.buf, LEN);
    }
}

static void ended_peer(struct dt *t, bool is_broken)
{
    dt_join(t, true);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    if (is_broken)
        CHECK_EQ(dt_wait(t->async_evd).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    OK(dat_ep_reset(t->ep));
}

static int one(struct dt *t, const char *name)
{
    struct dt_mem mem;

    dt_open_as(t, name, DAT_TRUE);
    t->ep = dt_ep(t);
    dt_alloc(t, &mem, LEN, true);
    dt_tell(t, &mem, sizeof(mem));
    exactly_once_peer(t, &mem);
    ended_peer(t, false);
    for (int i = 0; i < ROUNDS; i++) {
        ended_peer(t, false);
        ended_peer(t, true);
    }
    dt_want_none(t->async_evd, 0);
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;

    dt_open_as(t, name, DAT_TRUE);
    t->ep = dt_ep(t);
    dt_alloc(t, &mem, LEN, false);
    dt_hear(t, &peer, sizeof(peer));
    exactly_once(t, &mem, &peer);
    storms(t, &mem, &peer);
    for (int i = 0; i < ROUNDS; i++) {
        ended(t, &peer, false, i % 2 == 1);
        ended(t, &peer, true, i % 2 == 1);
    }
    dt_want_none(t->async_evd, 0);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
