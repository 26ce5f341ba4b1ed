/* test: layers=util,dapl_adapt timeout=120 */
/*
 * The adaptation layer alone between processes, over the provider that is in force:
 * streams checked byte by byte in both ways of travelling, RDMA, blocking, loss.
 */
#include "dapl_adapt/dapl_adapt.h"

#include "adapt_job.h"

struct peer {
    struct job_proc *proc;
    struct dm_adapt *adapt;
    uint64_t sent[JOB_MAX];
    uint64_t got[JOB_MAX];
    uint64_t total;
    unsigned seed;
    int n_failed;
    int err;
    char why[512];
    int n_writable;
    bool is_bad;
    bool is_timing;
    int n_pings;
};

static struct peer me;

static unsigned next_random(void)
{
    me.seed = me.seed * 1103515245u + 12345u;
    return me.seed >> 8 & 0x7fffff;
}

/* Byte k of the stream from a to b. */
static unsigned char pattern(int a, int b, uint64_t k)
{
    return (unsigned char)(k * 7 + (k >> 8) * 31 + (uint64_t)(a * 13 + b * 5));
}

static void on_input(void *arg, int p, struct dm_conn *conn)
{
    const unsigned char *data;
    const void *ptr;
    size_t len;
    size_t take;

    (void)arg;
    if (me.is_timing) {
        while ((len = dm_adapt_eager_peek(conn, &ptr)) > 0) {
            me.n_pings++;
            dm_adapt_eager_consume(conn, len);
        }
        return;
    }
    while ((len = dm_adapt_eager_peek(conn, &ptr)) > 0) {
        data = ptr;
        take = next_random() % 3 == 0 ? 1 + next_random() % len : len;
        for (size_t i = 0; i < take; i++) {
            if (data[i] != pattern(p, me.proc->rank, me.got[p] + i) && !me.is_bad) {
                me.is_bad = true;
                printf("rank %d: wrong byte %llu from %d\n", me.proc->rank,
                       (unsigned long long)(me.got[p] + i), p);
            }
        }
        me.got[p] += take;
        dm_adapt_eager_consume(conn, take);
        if (next_random() % 8 == 0)
            return; /* more in the next poll */
    }
}

static void on_writable(void *arg, int p, struct dm_conn *conn)
{
    (void)arg;
    (void)p;
    (void)conn;
    me.n_writable++;
}

static void on_failed(void *arg, int p, struct dm_conn *conn, int err)
{
    (void)arg;
    (void)conn;
    me.n_failed++;
    me.err = err;
    snprintf(me.why, sizeof(me.why), "%s", dm_err_detail());
    if (me.n_failed > 1)
        printf("rank %d: lost %d too: %s\n", me.proc->rank, p, me.why);
    CHECK(p != me.proc->rank);
}

static bool open_layer(struct job_proc *proc)
{
    static int nodes[JOB_MAX];
    struct dm_adapt_events ev = {NULL, on_input, on_writable, on_failed, NULL, NULL, NULL};
    struct dm_adapt_job job;
    int err;

    memset(&me, 0, sizeof(me));
    me.proc = proc;
    me.seed = (unsigned)proc->rank * 77 + 5;
    job_describe(proc, nodes, &job);
    err = dm_adapt_open(&job, &ev, &me.adapt);
    CHECK_EQ(err, DM_OK);
    if (err != DM_OK)
        printf("rank %d: open: %s\n", proc->rank, dm_err_detail());
    return err == DM_OK;
}

static void close_layer(void)
{
    dm_adapt_quiesce(me.adapt);
    CHECK_EQ(me.n_failed, 0);
    CHECK(!me.is_bad);
    pthread_barrier_wait(&me.proc->space->barrier);
    CHECK_EQ(dm_adapt_close(me.adapt), DM_OK);
}

static void progress(void)
{
    if (dm_adapt_poll(me.adapt) > 0)
        return;
    if (dm_adapt_is_oversubscribed(me.adapt))
        dm_adapt_wait(me.adapt, 1000);
}

/* Fill the pipe to p as far as it takes now. */
static void send_some(int p, unsigned char *buf, size_t cap)
{
    struct dm_conn *conn = dm_adapt_conn(me.adapt, p);
    struct iovec iov[4];
    uint64_t left = me.total - me.sent[p];
    size_t want = 1 + next_random() % (next_random() % 4 == 0 ? cap : 300);
    size_t used = 0;
    size_t taken = 0;
    char *place;

    if (want > left)
        want = left;
    for (size_t i = 0; i < want; i++)
        buf[i] = pattern(me.proc->rank, p, me.sent[p] + i);
    if (next_random() % 2 == 0 && want <= dm_adapt_eager_max(conn)) {
        size_t ask = want + next_random() % (dm_adapt_eager_max(conn) - want + 1);

        place = dm_adapt_eager_reserve(conn, ask);
        if (place == NULL)
            return;
        memcpy(place, buf, want);
        CHECK_EQ(dm_adapt_eager_commit(conn, want), DM_OK);
        me.sent[p] += want;
        return;
    }
    for (int i = 0; i < 4; i++) {
        size_t part = i == 3 ? want - used : next_random() % (want - used + 1);

        iov[i].iov_base = buf + used;
        iov[i].iov_len = part;
        used += part;
    }
    CHECK_EQ(dm_adapt_eager_put(conn, iov, 4, &taken), DM_OK);
    CHECK(taken <= want);
    me.sent[p] += taken;
    while (!dm_adapt_eager_flushed(conn) && me.n_failed == 0)
        progress();
}

static void stream_main(struct job_proc *proc)
{
    size_t cap = 200000;
    unsigned char *buf = malloc(cap);
    bool is_done = false;

    if (buf == NULL || !open_layer(proc))
        exit(1);
    me.total = 1000000;
    while (!is_done && me.n_failed == 0) {
        is_done = true;
        for (int p = 0; p < proc->size; p++) {
            if (p == proc->rank)
                continue;
            if (me.sent[p] < me.total)
                send_some(p, buf, cap);
            if (me.sent[p] < me.total || me.got[p] < me.total)
                is_done = false;
        }
        progress();
    }
    close_layer();
    free(buf);
}

/* ---- RDMA ---- */

static int n_done;
static int last_err;

static void on_done(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    n_done++;
    if (err != DM_OK)
        last_err = err;
}

struct window {
    uint64_t addr;
    struct dm_rkey rkey;
};

#define WIN_LEN (1 << 20)

static void rdma_over(struct job_proc *proc, struct window *wins, unsigned char *mem, size_t len)
{
    struct dm_rdma rdma[8];
    unsigned char *src = malloc(len);
    unsigned char *dst = malloc(len);
    int n_posted = 0;
    int p = (proc->rank + 1) % proc->size;
    struct dm_conn *conn = dm_adapt_conn(me.adapt, p);

    n_done = last_err = 0;
    for (size_t i = 0; i < len; i++)
        src[i] = pattern(proc->rank, p, i);
    memset(dst, 0, len);
    for (int i = 0; i < 8; i++)
        rdma[i].done = on_done;
    /* eight pieces of odd sizes, one empty */
    for (size_t i = 0; i < 8; i++) {
        size_t a = i == 0 ? 0 : len * i / 8 + i;
        size_t b = i == 7 ? len : len * (i + 1) / 8 + i + 1;

        CHECK_EQ(dm_adapt_rdma_write(conn, &rdma[i], src + a, NULL, wins[p].addr + a, &wins[p].rkey,
                                     b - a),
                 DM_OK);
        n_posted++;
    }
    while (n_done < n_posted && me.n_failed == 0)
        progress();
    CHECK_EQ(last_err, DM_OK);
    CHECK_EQ(dm_adapt_rdma_read(conn, &rdma[0], dst, NULL, wins[p].addr, &wins[p].rkey, len),
             DM_OK);
    while (n_done < n_posted + 1 && me.n_failed == 0)
        progress();
    CHECK_EQ(last_err, DM_OK);
    CHECK(memcmp(src, dst, len) == 0);
    CHECK_EQ(dm_adapt_rdma_read(conn, &rdma[0], dst, NULL, wins[p].addr, &wins[p].rkey, 0), DM_OK);
    CHECK_EQ(n_done, n_posted + 2);
    pthread_barrier_wait(&proc->space->barrier);
    p = (proc->rank + proc->size - 1) % proc->size;
    for (size_t i = 0; i < len; i++) {
        if (mem[i] != pattern(p, proc->rank, i)) {
            CHECK(!"window content");
            break;
        }
    }
    free(src);
    free(dst);
}

static void share_window(struct job_proc *proc, struct window *wins, void *mem, struct dm_mr *mr)
{
    static int n_shares;
    char text[200];
    char key[32];

    wins[proc->rank].addr = (uint64_t)(uintptr_t)mem;
    dm_adapt_rkey(mr, &wins[proc->rank].rkey);
    snprintf(text, sizeof(text), "%llx %x %x %x %x", (unsigned long long)wins[proc->rank].addr,
             wins[proc->rank].rkey.ctx[0], wins[proc->rank].rkey.ctx[1],
             wins[proc->rank].rkey.ctx[2], wins[proc->rank].rkey.ctx[3]);
    snprintf(key, sizeof(key), "win-%d-%d", n_shares, proc->rank);
    job_put(proc, key, text);
    job_fence(proc);
    for (int p = 0; p < proc->size; p++) {
        unsigned long long addr;

        snprintf(key, sizeof(key), "win-%d-%d", n_shares, p);
        CHECK_EQ(job_get(proc, key, text, sizeof(text)), DM_OK);
        CHECK_EQ(sscanf(text, "%llx %x %x %x %x", &addr, &wins[p].rkey.ctx[0], &wins[p].rkey.ctx[1],
                        &wins[p].rkey.ctx[2], &wins[p].rkey.ctx[3]),
                 5);
        wins[p].addr = addr;
    }
    n_shares++;
}

/* Where processes take turns, long messages that come from several peers, or in exchanges, are read and not timed. */
static void check_turns(const struct job_proc *proc)
{
    for (int i = 0; i < 6; i++) {
        struct dm_conn *conn = dm_adapt_conn(me.adapt, (proc->rank + 1 + i % 2) % proc->size);
        struct dm_rndv_select *select = NULL;

        CHECK_EQ(dm_adapt_rndv_begin(conn, WIN_LEN, &select), DM_RNDV_READ);
        CHECK(select == NULL);
        CHECK_EQ(dm_adapt_rndv_exchange(conn, WIN_LEN, DM_RNDV_PIPE, &select), DM_RNDV_READ);
        CHECK_EQ(dm_adapt_rndv_exchange(conn, WIN_LEN, DM_RNDV_AUTO, &select), DM_RNDV_READ);
        CHECK(select == NULL);
    }
}

static void rdma_main(struct job_proc *proc)
{
    struct window wins[JOB_MAX];
    struct dm_mr *mr;
    void *mem;
    enum dm_rndv way = DM_RNDV_AUTO;

    if (!open_layer(proc))
        exit(1);
    CHECK_EQ(dm_adapt_mem_alloc(me.adapt, WIN_LEN, &mem, &mr), DM_OK);
    share_window(proc, wins, mem, mr);
    rdma_over(proc, wins, mem, WIN_LEN);
    pthread_barrier_wait(&proc->space->barrier);
    dm_adapt_mem_free(me.adapt, mem);
    mem = malloc(WIN_LEN);
    CHECK_EQ(dm_adapt_reg(me.adapt, mem, WIN_LEN, &mr), DM_OK);
    share_window(proc, wins, mem, mr);
    rdma_over(proc, wins, mem, WIN_LEN - 77);
    pthread_barrier_wait(&proc->space->barrier);
    dm_adapt_unreg(me.adapt, mr);
    free(mem);
    /* measured a few times at most, then it stays */
    for (int i = 0; i < 10; i++) {
        progress();
        way = dm_adapt_rndv(dm_adapt_conn(me.adapt, (proc->rank + 1) % proc->size));
    }
    for (int p = 0; p < proc->size; p++)
        CHECK(p == proc->rank || dm_adapt_rndv(dm_adapt_conn(me.adapt, p)) == way);
    if (proc->size > 2 && way == DM_RNDV_READ && dm_adapt_is_oversubscribed(me.adapt))
        check_turns(proc);
    if (dm_cfg()->explain && proc->rank == 0)
        dm_adapt_explain(me.adapt);
    pthread_barrier_wait(&proc->space->barrier);
    close_layer();
}

/* ---- loss ---- */

static void loss_main(struct job_proc *proc)
{
    uint64_t start;
    int victim = proc->size - 1;

    if (!open_layer(proc))
        exit(1);
    /* everybody is connected to everybody before the victim goes */
    me.total = 1;
    for (int p = 0; p < proc->size; p++) {
        unsigned char byte = pattern(proc->rank, p, 0);
        struct iovec iov = {&byte, 1};
        size_t taken = 0;

        while (p != proc->rank && taken == 0) {
            CHECK_EQ(dm_adapt_eager_put(dm_adapt_conn(me.adapt, p), &iov, 1, &taken), DM_OK);
            progress();
        }
    }
    for (int p = 0; p < proc->size; p++) {
        while (p != proc->rank && me.got[p] < 1)
            progress();
    }
    pthread_barrier_wait(&proc->space->barrier);
    if (proc->rank == victim)
        kill(getpid(), SIGKILL);
    start = dm_clock_ns();
    while (me.n_failed == 0 && dm_clock_ns() - start < 5000000000u) {
        if (dm_adapt_poll(me.adapt) == 0)
            dm_adapt_wait(me.adapt, 5000000);
    }
    CHECK_EQ(me.n_failed, 1);
    CHECK_EQ(me.err, DM_EPEER);
    CHECK(strstr(me.why, "on host here") != NULL && strstr(me.why, "connection lost") != NULL);
    CHECK(dm_clock_ns() - start < 1500000000u);
    CHECK(!job_is_ready(dm_adapt_conn(me.adapt, victim)));
    for (int i = 0; i < 3000; i++)
        dm_adapt_poll(me.adapt);
    CHECK_EQ(me.n_failed, 1); /* once */
    dm_adapt_quiesce(me.adapt);
    __atomic_add_fetch(&proc->space->shared[0], 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&proc->space->shared[0], __ATOMIC_SEQ_CST) < victim)
        dm_adapt_poll(me.adapt);
    CHECK_EQ(dm_adapt_close(me.adapt), DM_OK);
}

/* ---- blocking: half of the processes sleep until they are sent something ---- */

static void block_main(struct job_proc *proc)
{
    int p = proc->rank ^ 1;
    struct dm_conn *conn;
    unsigned char byte;
    struct iovec iov = {&byte, 1};
    uint64_t start;
    size_t taken;

    if (!open_layer(proc))
        exit(1);
    conn = dm_adapt_conn(me.adapt, p);
    start = dm_clock_ns();
    for (int i = 0; i < 200; i++) {
        if ((i & 1) == (proc->rank & 1)) {
            byte = pattern(proc->rank, p, me.sent[p]);
            do {
                CHECK_EQ(dm_adapt_eager_put(conn, &iov, 1, &taken), DM_OK);
                dm_adapt_poll(me.adapt);
            } while (taken == 0);
            me.sent[p]++;
        } else {
            while (me.got[p] < (uint64_t)(i / 2) + 1 && me.n_failed == 0) {
                if (dm_adapt_poll(me.adapt) == 0)
                    dm_adapt_wait(me.adapt, 5000000);
            }
        }
    }
    /* 200 hand-overs, none of which may wait for a time-out of the waiting side */
    CHECK(dm_clock_ns() - start < 3000000000u);
    close_layer();
}

/* ---- timing, printed only ---- */

static void pingpong_main(struct job_proc *proc)
{
    struct dm_conn *conn;
    int n = 200000;
    uint64_t start = 0;
    char *place;

    if (proc->size == 2) {
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(proc->rank, &set);
        sched_setaffinity(0, sizeof(set), &set);
    }
    if (!open_layer(proc))
        exit(1);
    me.is_timing = true;
    conn = dm_adapt_conn(me.adapt, proc->rank ^ 1);
    for (int i = -1000; i < n; i++) {
        if (i == 0)
            start = dm_clock_ns();
        for (int k = 0; k < 2; k++) {
            if (k == proc->rank) {
                while ((place = dm_adapt_eager_reserve(conn, 32)) == NULL)
                    dm_adapt_poll(me.adapt);
                memset(place, i, 32);
                dm_adapt_eager_commit(conn, 32);
            } else {
                me.n_pings = 0;
                while (me.n_pings == 0)
                    dm_adapt_poll(me.adapt);
            }
        }
    }
    if (proc->rank == 0)
        printf("half round trip of 32 bytes: %.4f us\n",
               (double)(dm_clock_ns() - start) / n / 2000);
    close_layer();
}

static const char *ways[] = {
    "DATUM_EAGER=rdma DATUM_CONNECT=start",     "DATUM_EAGER=rdma DATUM_CONNECT=demand",
    "DATUM_EAGER=sendrecv DATUM_CONNECT=start", "DATUM_EAGER=sendrecv DATUM_CONNECT=demand",
    "DATUM_SRQ=yes DATUM_CONNECT=start",        "DATUM_SRQ=yes DATUM_CONNECT=demand",
};

int main(int argc, char **argv)
{
    int n_failed = 0;
    char settings[300];

    if (argc > 1 && strcmp(argv[1], "pingpong") == 0)
        return job_run("pingpong", 2, argc > 2 ? argv[2] : ways[0], pingpong_main);
    if (argc > 1 && strcmp(argv[1], "stream") == 0)
        return job_run("stream", argc > 3 ? atoi(argv[3]) : 2, argc > 2 ? argv[2] : ways[0],
                       stream_main);
    if (argc > 1 && strcmp(argv[1], "rdma") == 0)
        return job_run("rdma", 3, argc > 2 ? argv[2] : ways[0], rdma_main);
    if (argc > 1 && strcmp(argv[1], "loss") == 0)
        return job_run("loss", 3, argc > 2 ? argv[2] : ways[0], loss_main);
    if (argc > 1 && strcmp(argv[1], "block") == 0)
        return job_run("block", 4, argc > 2 ? argv[2] : ways[0], block_main);
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        n_failed += job_run("stream", 2, ways[i], stream_main);
        snprintf(settings, sizeof(settings), "%s DATUM_RING_SLOTS=4 DATUM_RING_SLOT_SIZE=1000",
                 ways[i]);
        n_failed += job_run("tiny rings", 3, settings, stream_main);
        n_failed += job_run("stream of four", 4, ways[i], stream_main);
        n_failed += job_run("rdma", 3, ways[i], rdma_main);
        n_failed += job_run("rdma both ways", 2, ways[i], rdma_main);
        n_failed += job_run("loss", 3, ways[i], loss_main);
        n_failed += job_run("blocking", 4, ways[i], block_main);
    }
    return n_failed > 0;
}
