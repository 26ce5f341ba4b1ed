/* test: layers=util,dapl_adapt timeout=60 */
/*
 * What a provider's words about threads and reads oblige to: one that is not thread-safe gets one
 * call at a time, and none gets more reads than it, or the peer's, has places for.
 */
#include "dapl_adapt/progress/dispatch.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"

#include "adapt_job.h"
#include "fake_dat.h"

#define N       2
#define N_READS 24
#define READ    5000
#define LONG_NS UINT64_C(20000000000)

static struct job_space space;
static struct job_proc procs[N];
static struct dm_adapt *adapts[N];
static uint64_t n_got;
static int n_failed;
static char dir[] = "/tmp/dm-serial-XXXXXX";
static char conf_path[64];

static void on_input(void *arg, int p, struct dm_conn *conn)
{
    const void *data;
    size_t len;

    (void)arg;
    (void)p;
    while ((len = dm_adapt_eager_peek(conn, &data)) > 0) {
        n_got += len;
        dm_adapt_eager_consume(conn, len);
    }
}

static void on_writable(void *arg, int p, struct dm_conn *conn)
{
    (void)arg;
    (void)p;
    (void)conn;
}

static void on_failed(void *arg, int p, struct dm_conn *conn, int err)
{
    (void)arg;
    (void)p;
    (void)err;
    printf("lost: %s\n", dm_conn_why(conn));
    n_failed++;
}

static int no_fence(void *arg)
{
    (void)arg;
    return DM_OK;
}

static void open_both(void)
{
    static const int nodes[N] = {0, 1};
    struct dm_adapt_events ev = {NULL, on_input, on_writable, on_failed, NULL, NULL, NULL};
    struct dm_adapt_job job;

    memset(&space, 0, sizeof(space));
    n_failed = 0;
    n_got = 0;
    for (int r = 0; r < N; r++) {
        procs[r] = (struct job_proc){.space = &space, .rank = r, .size = N};
        job_describe(&procs[r], nodes, &job);
        job.kv.fence = no_fence;
        job.n_local = 1;
        adapts[r] = NULL;
        CHECK_EQ(dm_adapt_open(&job, &ev, &adapts[r]), DM_OK);
        if (adapts[r] == NULL) {
            printf("open: %s\n", dm_err_detail());
            exit(1);
        }
    }
}

static void poll_both(void)
{
    for (int r = 0; r < N; r++) {
        dm_adapt_poll(adapts[r]);
        dm_poll_rare(adapts[r]); /* looks into every queue */
    }
}

static void close_both(void)
{
    FAKE_CALL(fake.delay = 0; fake.is_slow = false);
    for (int r = 0; r < N; r++)
        dm_adapt_quiesce(adapts[r]);
    for (int r = N - 1; r >= 0; r--) /* the one that connected first */
        CHECK_EQ(dm_adapt_close(adapts[r]), DM_OK);
}

static void connect_both(void)
{
    uint64_t start = dm_clock_ns();
    struct dm_conn *conn[N];

    for (int r = 0; r < N; r++) {
        conn[r] = dm_adapt_conn(adapts[r], 1 - r);
        dm_adapt_connect(conn[r]);
    }
    while (!job_is_ready(conn[0]) || !job_is_ready(conn[1])) {
        poll_both();
        if (dm_clock_ns() - start > LONG_NS) {
            CHECK(!"connecting takes for ever");
            return;
        }
    }
}

/* Both sides connect, send and register while the servers' threads answer. */
static int overlaps(const char *threads)
{
    char mem[4096] = {0};
    struct iovec iov = {mem, 200};
    uint64_t n_sent = 0;
    struct dm_mr *mr;
    size_t taken;
    int n = 0;

    FAKE_CALL(fake.threads = threads);
    for (int round = 0; round < 10; round++) {
        open_both();
        FAKE_CALL(fake.is_slow = true; fake.n_overlaps = 0);
        connect_both();
        for (int i = 0; i < 30; i++) {
            CHECK_EQ(dm_adapt_eager_put(dm_adapt_conn(adapts[0], 1), &iov, 1, &taken), DM_OK);
            n_sent += taken;
            CHECK_EQ(dm_adapt_reg(adapts[1], mem, sizeof(mem), &mr), DM_OK);
            dm_adapt_unreg(adapts[1], mr);
            poll_both();
        }
        for (int i = 0; i < 1000 && n_got < n_sent; i++)
            poll_both();
        CHECK_EQ(n_got, n_sent);
        CHECK_EQ(n_failed, 0);
        FAKE_CALL(n += fake.n_overlaps);
        close_both();
        n_sent = 0;
    }
    return n;
}

static void serial(void)
{
    CHECK_EQ(overlaps(NULL), 0);
    CHECK_EQ(overlaps("none"), 0);
    CHECK(overlaps("objects") > 0); /* it is possible, and would be seen */
    FAKE_CALL(fake.threads = NULL);
}

static int n_done;

static void on_done(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    CHECK_EQ(err, DM_OK);
    n_done++;
}

/* Many reads at once, of which at most `most` may be outstanding. */
static void reads(int out, int in, int most)
{
    static struct dm_rdma rdma[N_READS];
    static char from[N_READS * READ];
    static char to[N_READS * READ];
    uint64_t start = dm_clock_ns();
    struct dm_rkey rkey;
    struct dm_mr *mr;

    n_done = 0;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i * 7 + (i >> 9));
    memset(to, 0, sizeof(to));
    FAKE_CALL(fake.max_reads = out; fake.max_reads_in = in);
    open_both();
    connect_both();
    FAKE_CALL(fake.most_reads = 0; fake.delay = 4);
    CHECK_EQ(dm_adapt_reg(adapts[1], from, sizeof(from), &mr), DM_OK);
    dm_adapt_rkey(mr, &rkey);
    for (int i = 0; i < N_READS; i++) {
        rdma[i].done = on_done;
        CHECK_EQ(dm_adapt_rdma_read(dm_adapt_conn(adapts[0], 1), &rdma[i], to + i * READ, NULL,
                                    (uint64_t)(uintptr_t)(from + i * READ), &rkey, READ),
                 DM_OK);
    }
    while (n_done < N_READS && n_failed == 0 && dm_clock_ns() - start < LONG_NS)
        poll_both();
    CHECK_EQ(n_done, N_READS);
    CHECK(memcmp(from, to, sizeof(to)) == 0);
    CHECK_EQ(n_failed, 0);
    CHECK(fake.most_reads <= most);
    CHECK(fake.most_reads >= (most < 2 ? most : 2)); /* not one by one either */
    dm_adapt_unreg(adapts[1], mr);
    close_both();
    FAKE_CALL(fake.max_reads = fake.max_reads_in = 0);
}

static void depth(void)
{
    reads(1, 0, 1);
    reads(3, 0, 3);
    reads(0, 0, 16);
    reads(8, 2, 2); /* the peer's limit */
    reads(2, 8, 2);
}

int main(void)
{
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
    fake_register(conf_path);
    putenv("DATUM_CONNECT=demand");
    putenv("DATUM_PROVIDER=fake-a");
    putenv("DATUM_RECONNECT=0");
    putenv("DATUM_EAGER=rdma");
    CHECK_EQ(dm_cfg_load(true), DM_OK);
    serial();
    depth();
    unlink(conf_path);
    rmdir(dir);
    return test_result();
}
