/* test: kind=dat san=no timeout=120 params=copy=auto|copy=cma|copy=staged */
/*
 * Atomic operations from everywhere at once: two processes with two threads
 * each, endpoints of the owner's own process, and its own instructions. Not
 * one addition may be lost, and a lock made of compare-and-swap must hold.
 */
#include "dat_ext.h"

enum { N_KIDS = 2, N_THREADS = 2, N_WORDS = 2, LEN = 4096 };
enum { COUNT = 0, LOCK = 64, GUARDED = 128, GUARDED_TOO = 192 }; /* offsets */

/* How long each of the two exercises takes, for each word. */
#define SECONDS 0.15

/* One thread: an endpoint with event dispatchers of its own. */
struct worker {
    struct dt t;
    struct dt_mem mem;
    struct dt_mem peer[N_WORDS];
    pthread_t thread;
    unsigned id;
    uint64_t n_adds[N_WORDS];
    uint64_t n_locks[N_WORDS];
};

static uint64_t *word_of(const struct dt_mem *mem, size_t at)
{
    return (uint64_t *)(void *)(mem->buf + at);
}

static void want_ok(struct worker *w)
{
    DAT_EVENT event = dt_wait(w->t.req_evd);

    CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

/* Many additions under way at a time; the old values only ever grow. */
static uint64_t add_many(struct worker *w, const struct dt_mem *peer, uint64_t add)
{
    enum { DEPTH = 16 };
    DAT_RMR_TRIPLET to = dt_remote(peer, COUNT, 8);
    double end = dt_now() + SECONDS;
    uint64_t last = 0;

    for (uint64_t i = 0;; i++) {
        size_t at = 1024 + i % DEPTH * 8;
        DAT_LMR_TRIPLET seg = dt_seg(&w->mem, at, 8);

        OK(dt_fetch_add(w->t.ep, add, &seg, i, &to,
                        i % DEPTH == DEPTH - 1 ? 0 : DAT_COMPLETION_SUPPRESS_FLAG));
        if (i % DEPTH != DEPTH - 1)
            continue;
        want_ok(w);
        for (at = 1024; at < 1024 + DEPTH * 8; at += 8) {
            uint64_t old = *word_of(&w->mem, at);

            if (old < last)
                DT_FAIL("old value %llu after %llu", (unsigned long long)old,
                        (unsigned long long)last);
            last = old + add;
        }
        if (dt_now() > end)
            return i + 1;
    }
}

/* What a lock is for: a read and a write that belong together. */
static uint64_t lock_many(struct worker *w, const struct dt_mem *peer)
{
    DAT_LMR_TRIPLET seg = dt_seg(&w->mem, 0, 8);
    DAT_LMR_TRIPLET value = dt_seg(&w->mem, 64, 8);
    DAT_RMR_TRIPLET lock = dt_remote(peer, LOCK, 8);
    DAT_RMR_TRIPLET guarded[2] = {dt_remote(peer, GUARDED, 8), dt_remote(peer, GUARDED_TOO, 8)};
    uint64_t self = w->id + 1;
    double end = dt_now() + SECONDS;
    uint64_t seen[2];
    uint64_t n = 0;

    for (; dt_now() < end; n++) {
        do {
            OK(dt_cmp_swap(w->t.ep, 0, self, &seg, 1, &lock, 0));
            want_ok(w);
            if (*word_of(&w->mem, 0) != 0)
                sched_yield();
        } while (*word_of(&w->mem, 0) != 0);
        for (int k = 0; k < 2; k++) {
            OK(dat_ep_post_rdma_read(w->t.ep, 1, &value, dt_cookie(2), &guarded[k],
                                     DAT_COMPLETION_DEFAULT_FLAG));
            want_ok(w);
            seen[k] = ++*word_of(&w->mem, 64);
            OK(dat_ep_post_rdma_write(w->t.ep, 1, &value, dt_cookie(2), &guarded[k],
                                      DAT_COMPLETION_DEFAULT_FLAG));
            want_ok(w);
        }
        CHECK_EQ(seen[0], seen[1]);
        OK(dt_cmp_swap(w->t.ep, self, 0, &seg, 3, &lock, 0));
        want_ok(w);
        CHECK_EQ(*word_of(&w->mem, 0), self);
    }
    return n;
}

static void *work(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < N_WORDS; i++) {
        w->n_adds[i] = add_many(w, &w->peer[i], 3);
        w->n_locks[i] = lock_many(w, &w->peer[i]);
    }
    return NULL;
}

/* Endpoint and dispatchers for a thread; w->t has the instance's handles. */
static void worker_init(struct worker *w, const struct dt *t, unsigned id)
{
    w->t = *t;
    w->id = id;
    OK(dat_evd_create(t->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &w->t.conn_evd));
    OK(dat_evd_create(t->ia, 512, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &w->t.recv_evd));
    OK(dat_evd_create(t->ia, 512, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &w->t.req_evd));
    w->t.ep = dt_ep(&w->t);
    dt_alloc(&w->t, &w->mem, LEN, false);
}

static int kid(struct dt *t, const char *name, unsigned id)
{
    struct worker w[N_THREADS];
    struct dt_mem mem[N_WORDS];
    DAT_CONN_QUAL qual;

    dt_open_as(t, name, DAT_TRUE);
    dt_hear(t, mem, sizeof(mem));
    for (unsigned i = 0; i < N_THREADS; i++) {
        worker_init(&w[i], t, id * N_THREADS + i);
        memcpy(w[i].peer, mem, sizeof(mem));
        dt_hear(t, &qual, sizeof(qual));
        dt_connect(&w[i].t, w[i].t.ep, qual);
    }
    dt_meet(t);
    for (unsigned i = 0; i < N_THREADS; i++)
        CHECK_EQ(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        CHECK_EQ(pthread_join(w[i].thread, NULL), 0);
    for (unsigned i = 0; i < N_THREADS; i++) {
        dt_tell(t, w[i].n_adds, sizeof(w[i].n_adds));
        dt_tell(t, w[i].n_locks, sizeof(w[i].n_locks));
    }
    dt_close(t);
    return 0;
}

struct own {
    struct dt_mem *mem;
    pthread_t thread;
    uint64_t n;
};

/* The owner's instructions. */
static void *add_own(void *arg)
{
    struct own *own = arg;

    double end = dt_now() + SECONDS * 2 * N_WORDS;

    while (dt_now() < end) {
        for (int i = 0; i < 16; i++)
            __atomic_fetch_add(word_of(own->mem, COUNT), 5, __ATOMIC_SEQ_CST);
        own->n += 16;
        sched_yield(); /* the others shall come on */
    }
    return NULL;
}

/* Two endpoints of this instance, connected with each other. */
static void join_loop(struct dt *t, struct worker *w)
{
    DAT_EP_HANDLE other = dt_ep(t);
    DAT_CONN_QUAL qual;
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;

    OK(dat_psp_create_any(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    OK(dat_ep_connect(w->t.ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    event = dt_wait(t->cr_evd);
    OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, other, 0, NULL));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_want_conn(w->t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    OK(dat_psp_free(psp));
}

static void owner(struct dt *t, const char *name, const int *pipes)
{
    uint64_t n_adds[N_WORDS];
    uint64_t n_locks[N_WORDS];
    struct dt_mem mem[N_WORDS];
    struct own own[N_WORDS];
    struct worker loop;

    dt_open_as(t, name, DAT_TRUE);
    for (int i = 0; i < N_WORDS; i++)
        dt_alloc(t, &mem[i], LEN, i == 1);
    for (int k = 0; k < N_KIDS; k++) {
        t->pipe = pipes[k];
        dt_tell(t, mem, sizeof(mem));
        for (int i = 0; i < N_THREADS; i++) {
            DAT_PSP_HANDLE psp = dt_listen(t);

            dt_accept(t, dt_ep(t));
            OK(dat_psp_free(psp));
        }
    }
    worker_init(&loop, t, N_KIDS * N_THREADS);
    memcpy(loop.peer, mem, sizeof(mem));
    join_loop(t, &loop);
    for (int k = 0; k < N_KIDS; k++) {
        t->pipe = pipes[k];
        dt_meet(t);
    }
    for (int i = 0; i < N_WORDS; i++) {
        own[i] = (struct own){.mem = &mem[i]};
        CHECK_EQ(pthread_create(&own[i].thread, NULL, add_own, &own[i]), 0);
    }
    work(&loop);
    for (int i = 0; i < N_WORDS; i++)
        CHECK_EQ(pthread_join(own[i].thread, NULL), 0);
    for (int i = 0; i < N_WORDS; i++) {
        n_adds[i] = loop.n_adds[i];
        n_locks[i] = loop.n_locks[i];
    }
    for (int k = 0; k < N_KIDS * N_THREADS; k++) {
        uint64_t n[2][N_WORDS];

        t->pipe = pipes[k / N_THREADS];
        dt_hear(t, n, sizeof(n));
        for (int i = 0; i < N_WORDS; i++) {
            n_adds[i] += n[0][i];
            n_locks[i] += n[1][i];
        }
    }
    for (int i = 0; i < N_WORDS; i++) {
        CHECK_EQ(*word_of(&mem[i], COUNT), 3 * n_adds[i] + 5 * own[i].n);
        CHECK_EQ(*word_of(&mem[i], LOCK), 0);
        CHECK_EQ(*word_of(&mem[i], GUARDED), n_locks[i]);
        CHECK_EQ(*word_of(&mem[i], GUARDED_TOO), n_locks[i]);
    }
    dt_close(t);
}

int main(int argc, char **argv)
{
    const char *name = dt_name(argc, argv);
    struct dt t = {.pipe = -1};
    int pipes[N_KIDS];
    pid_t pid[N_KIDS];

    for (unsigned k = 0; k < N_KIDS; k++) {
        int sv[2];

        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
        pid[k] = fork();
        if (pid[k] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(sv[0]);
            t.pipe = sv[1];
            exit(kid(&t, name, k));
        }
        close(sv[1]);
        pipes[k] = sv[0];
    }
    owner(&t, name, pipes);
    for (int k = 0; k < N_KIDS; k++) {
        int status;

        CHECK_EQ(waitpid(pid[k], &status, 0), pid[k]);
        CHECK_EQ(status, 0);
    }
    return 0;
}
