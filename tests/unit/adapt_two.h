/*
 * Two sides over a provider that delays, fails and refuses: two "processes" of one program, each
 * an adaptation layer of its own, that send streams of bytes to each other.
 */
#ifndef DM_TESTS_UNIT_ADAPT_TWO_H
#define DM_TESTS_UNIT_ADAPT_TWO_H

#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/prepare.h"
#include "dapl_adapt/progress/dispatch.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/conn/ring.h"

#include "adapt_job.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "fake_dat.h"

#define N 2

struct side {
    int rank;
    struct dm_adapt *adapt;
    uint64_t sent;
    uint64_t got;
    int n_failed;
    int n_writable;
    int err;
    unsigned take_less; /* consume at most so many bytes at a time, 0: all */
};

static struct side sides[N];
static struct job_space space;
static struct job_proc procs[N];
static char dir[] = "/tmp/dm-adapt-XXXXXX";
static char conf_path[64];

static inline unsigned next_random(void)
{
    static unsigned seed = 7;

    seed = seed * 1103515245u + 12345u;
    return seed >> 12 & 0xfffff;
}

static inline unsigned char pattern(int from, uint64_t k)
{
    return (unsigned char)(k * 11 + (k >> 9) * 3 + (uint64_t)from * 101);
}

static inline void on_input(void *arg, int p, struct dm_conn *conn)
{
    struct side *side = arg;
    const void *data;
    size_t len;

    while ((len = dm_adapt_eager_peek(conn, &data)) > 0) {
        if (side->take_less > 0 && len > side->take_less)
            len = side->take_less;
        for (size_t i = 0; i < len; i++) {
            if (((const unsigned char *)data)[i] != pattern(p, side->got + i)) {
                CHECK(!"byte of the stream");
                break;
            }
        }
        side->got += len;
        dm_adapt_eager_consume(conn, len);
        if (side->take_less > 0)
            return;
    }
}

static inline void on_writable(void *arg, int p, struct dm_conn *conn)
{
    struct side *side = arg;

    (void)p;
    CHECK(job_is_ready(conn));
    side->n_writable++;
}

static inline void on_failed(void *arg, int p, struct dm_conn *conn, int err)
{
    struct side *side = arg;

    (void)p;
    (void)conn;
    side->n_failed++;
    side->err = err;
}

static inline int no_fence(void *arg)
{
    (void)arg;
    return DM_OK;
}

static inline void open_side(int r)
{
    struct dm_adapt_events ev = {&sides[r], on_input, on_writable, on_failed, NULL, NULL, NULL};
    static const int nodes[N] = {0, 0};
    struct dm_adapt_job job;

    memset(&sides[r], 0, sizeof(sides[r]));
    sides[r].rank = r;
    procs[r] = (struct job_proc){.space = &space, .rank = r, .size = N};
    job_describe(&procs[r], nodes, &job);
    job.kv.fence = no_fence;
    job.n_local = 1; /* crowding is not the matter here */
    CHECK_EQ(dm_adapt_open(&job, &ev, &sides[r].adapt), DM_OK);
    if (sides[r].adapt == NULL) {
        printf("open: %s\n", dm_err_detail());
        exit(1);
    }
}

static inline void open_both(void)
{
    memset(&space, 0, sizeof(space));
    for (int r = 0; r < N; r++)
        open_side(r);
}

static inline void poll_both(void)
{
    for (int r = 0; r < N; r++)
        dm_adapt_poll(sides[r].adapt);
}

static inline void close_both(void)
{
    FAKE_CALL(fake.delay = 0);
    for (int r = 0; r < N; r++)
        dm_adapt_quiesce(sides[r].adapt);
    job_close_both(sides[0].adapt, sides[1].adapt);
    CHECK_EQ(fake.n_lmrs, 0);
    CHECK(fake.eps == NULL);
    CHECK(fake.psps == NULL);
}

static struct dm_conn *conn_of(int r)
{
    return dm_adapt_conn(sides[r].adapt, 1 - r);
}

/* Offer the next bytes of the stream in a list of odd parts. */
static inline void put_some(int r, uint64_t total, unsigned char *buf, size_t cap)
{
    struct side *side = &sides[r];
    struct iovec iov[5];
    size_t want = 1 + next_random() % cap;
    size_t used = 0;
    size_t taken;

    if (want > total - side->sent)
        want = total - side->sent;
    for (size_t i = 0; i < want; i++)
        buf[i] = pattern(r, side->sent + i);
    for (int i = 0; i < 5; i++) {
        size_t part = i == 4 ? want - used : next_random() % (want - used + 1);

        iov[i] = (struct iovec){buf + used, part};
        used += part;
    }
    CHECK_EQ(dm_adapt_eager_put(conn_of(r), iov, 5, &taken), DM_OK);
    side->sent += taken;
    while (!dm_adapt_eager_flushed(conn_of(r)))
        poll_both();
}

/* Streams both ways until all has arrived; a standstill fails. */
static inline void stream(uint64_t total, size_t cap)
{
    unsigned char *buf = malloc(cap);
    uint64_t start = dm_clock_ns();

    while (sides[0].got < total || sides[1].got < total) {
        for (int r = 0; r < N; r++) {
            if (sides[r].sent < total)
                put_some(r, total, buf, cap);
        }
        poll_both();
        if (dm_clock_ns() - start > 20000000000u) {
            CHECK(!"the stream stands still");
            break;
        }
    }
    free(buf);
}

static inline void connect_both(void)
{
    dm_adapt_connect(conn_of(0));
    while (!job_is_ready(conn_of(0)) || !job_is_ready(conn_of(1)))
        poll_both();
}

/* fn in a process of its own with these settings, as the layer reads them once. */
static inline void run(const char *settings, void (*fn)(void))
{
    pid_t pid;
    int status = 0;
    char *copy = strdup(settings);
    char *save = NULL;

    fake.is_ordered = strstr(settings, "basic") != NULL; /* it relies on that */
    fflush(stdout);
    pid = fork(); /* settings are read once */
    if (pid == 0) {
        test_n_failed = 0;
        for (char *s = strtok_r(copy, " ", &save); s != NULL; s = strtok_r(NULL, " ", &save))
            putenv(s);
        if (dm_cfg_load(true) != DM_OK)
            exit(1);
        fn();
        fflush(stdout);
        exit(test_result());
    }
    waitpid(pid, &status, 0);
    if (status != 0)
        printf("%s: status 0x%x\n", settings, status);
    CHECK_EQ(status, 0);
    free(copy);
}

/* The fake provider, and settings that all runs share; two_end removes what it made. */
static inline bool two_begin(void)
{
    if (mkdtemp(dir) == NULL)
        return false;
    snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
    fake_register(conf_path);
    putenv("DATUM_CONNECT=demand");
    putenv("DATUM_PROVIDER=fake-a,fake-b");
    return true;
}

static inline int two_end(void)
{
    unlink(conf_path);
    rmdir(dir);
    return test_result();
}

#endif
