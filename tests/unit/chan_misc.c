/* test: timeout=20 layers=util,channel */
/* The channel beside packets: oneself, lost peers, hooks, waiting, bulk. */
#include <sched.h>

#include "channel/channel.h"

#include "fake_adapt.h"
#include "test.h"
#include "util/cfg.h"
#include "util/clock.h"

static struct dm_chan *chans[2];

static void start(void)
{
    FAKE_DEFAULTS;
    for (int i = 0; i < 2; i++) {
        struct dm_adapt_job job = {.rank = i, .size = 2, .n_local = 2};

        CHECK_EQ(dm_chan_start(&job, &chans[i]), DM_OK);
    }
}

static void stop(void)
{
    for (int i = 0; i < 2; i++)
        CHECK_EQ(dm_chan_stop(chans[i]), DM_OK);
}

struct out {
    struct dm_chan_send send;
    int n_done;
    int err;
};

static void out_done(struct dm_chan_send *send, int err)
{
    ((struct out *)send)->n_done++;
    ((struct out *)send)->err = err;
}

static struct dm_pkt packet(size_t data_len)
{
    return (struct dm_pkt){.type = DM_PKT_EAGER,
                           .version = DM_PKT_VERSION,
                           .hdr_len = 8,
                           .data_len = (uint32_t)data_len};
}

/* ---- oneself ---- */

static struct {
    int n;
    int depth;
    int answers;
    size_t bytes;
    struct out answer;
    char *dst;
} me;

static void me_write(void *arg, size_t offset, const void *data, size_t len)
{
    (void)arg;
    if (len > 0)
        memcpy(me.dst + offset, data, len);
    me.bytes += len;
}

static void me_done(void *arg)
{
    (void)arg;
    me.n++;
}

/* The first three packets are answered, from inside the handler. */
static void me_handler(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                       size_t avail, struct dm_chan_sink *sink)
{
    struct dm_pkt answer = packet(0);

    (void)arg;
    CHECK_EQ(proc, 0);
    CHECK_EQ(me.depth, 0);
    me.depth++;
    if (me.answers < 3) {
        me.answers++;
        CHECK_EQ(dm_chan_send_now(chans[0], 0, &answer, NULL), DM_EAGAIN);
        CHECK_EQ(dm_chan_send_ctl(chans[0], 0, &answer), DM_OK);
    }
    if (avail == pkt->data_len) {
        me_write(NULL, 0, data, avail);
        me_done(NULL);
    } else {
        *sink = (struct dm_chan_sink){.write = me_write, .done = me_done};
    }
    me.depth--;
}

static char *src_data;

static void src_read(struct dm_chan_send *send, size_t offset, void *dst, size_t len)
{
    (void)send;
    memcpy(dst, src_data + offset, len);
}

static void talks_to_itself(void)
{
    size_t len = 100001;
    struct out out = {.send.done = out_done};
    struct dm_pkt pkt;

    start();
    me.dst = calloc(1, len);
    src_data = malloc(len);
    for (size_t i = 0; i < len; i++)
        src_data[i] = (char)(i * 13 + i / 256);
    dm_chan_on_packet(chans[0], DM_PKT_EAGER, me_handler, NULL);
    pkt = packet(5);
    /* The first send makes the peer object: the fast way may not be open yet. */
    if (dm_chan_send_now(chans[0], 0, &pkt, "12345") == DM_EAGAIN) {
        out.send.data = "12345";
        CHECK_EQ(dm_chan_send(chans[0], 0, &pkt, &out.send), DM_OK);
    }
    for (int i = 0; i < 10; i++)
        dm_chan_progress(chans[0]);
    CHECK_EQ(me.n, 4);
    CHECK_EQ(memcmp(me.dst, "12345", 5), 0);
    me.bytes = 0;
    CHECK_EQ(dm_chan_send_now(chans[0], 0, &pkt, "54321"), DM_OK);
    CHECK_EQ(me.n, 5);
    me.bytes = 0;
    pkt = packet(len);
    out = (struct out){.send = {.done = out_done, .data = NULL, .read = src_read}};
    dm_chan_send(chans[0], 0, &pkt, &out.send);
    for (int i = 0; i < 10; i++)
        dm_chan_progress(chans[0]);
    CHECK_EQ(out.n_done, 1);
    CHECK_EQ(out.err, DM_OK);
    CHECK_EQ(me.bytes, len);
    CHECK_EQ(memcmp(me.dst, src_data, len), 0);
    free(me.dst);
    free(src_data);
    stop();
}

/* ---- lost peers ---- */

/* Bytes in the pipe from rank 1 to rank 0, whatever they mean. */
static void put_bytes(const void *data, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)data, len};
    size_t n;

    CHECK_EQ(dm_adapt_eager_put(dm_adapt_conn(dm_chan_adapt(chans[1]), 0), &iov, 1, &n), DM_OK);
    CHECK_EQ(n, len);
}

static int n_lost;

static void on_lost(void *arg, int proc, int err)
{
    CHECK(arg == &n_lost);
    CHECK_EQ(proc, 1);
    CHECK_EQ(err, DM_EPEER);
    n_lost++;
}

static void lost_peer_gives_sends_back(void)
{
    struct out outs[3];
    struct dm_pkt pkt = packet(0);

    start();
    dm_chan_on_packet(chans[0], DM_PKT_EAGER, me_handler, NULL);
    dm_chan_on_lost(chans[0], on_lost, &n_lost);
    fake.is_unready = true;
    for (int i = 0; i < 2; i++) {
        outs[i] = (struct out){.send.done = out_done};
        dm_chan_send(chans[0], 1, &pkt, &outs[i].send);
    }
    CHECK(!dm_chan_is_lost(chans[0], 1));
    fake_procs[0]->conns[1].is_lost = true;
    dm_chan_progress(chans[0]);
    dm_chan_progress(chans[0]);
    CHECK_EQ(n_lost, 1);
    CHECK(dm_chan_is_lost(chans[0], 1));
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(outs[i].n_done, 1);
        CHECK_EQ(outs[i].err, DM_EPEER);
    }
    outs[2] = (struct out){.send.done = out_done};
    CHECK_EQ(dm_chan_send_now(chans[0], 1, &pkt, NULL), DM_EAGAIN);
    dm_chan_send(chans[0], 1, &pkt, &outs[2].send);
    CHECK_EQ(outs[2].err, DM_EPEER);
    fake_procs[0]->conns[1].is_lost = false;
    stop();
}

/* Lost at once: each is told with its own reason. */
static int n_gone;
static bool is_gone_free;

static void on_gone(void *arg, int proc, bool is_free)
{
    CHECK(arg == &n_gone);
    CHECK_EQ(proc, 1);
    is_gone_free = is_free;
    n_gone++;
}

/* What was queued comes back, nothing is remembered, and the next packet goes. */
static void closed_peer_is_forgotten(void)
{
    const struct dm_adapt_events *ev;
    struct dm_pkt pkt = packet(0);
    struct out outs[3];

    start();
    ev = &fake_procs[0]->ev;
    dm_chan_on_gone(chans[0], on_gone, &n_gone);
    for (int i = 0; i < 2; i++) {
        fake.is_unready = true;
        CHECK(ev->is_idle(ev->arg, 1));
        for (int k = 0; k < 2; k++) {
            outs[k] = (struct out){.send.done = out_done};
            dm_chan_send(chans[0], 1, &pkt, &outs[k].send);
        }
        CHECK(!ev->is_idle(ev->arg, 1));
        ev->gone(ev->arg, 1, i == 1);
        CHECK_EQ(ev->is_idle(ev->arg, 1), i == 1);
        CHECK_EQ(n_gone, i + 1);
        CHECK_EQ(is_gone_free, i == 1);
        for (int k = 0; k < 2; k++) { /* kept for the next connection, or given back */
            CHECK_EQ(outs[k].n_done, i);
            CHECK_EQ(outs[k].err, i == 1 ? DM_EPEER : DM_OK);
        }
        CHECK(!dm_chan_is_lost(chans[0], 1));
        fake.is_unready = false;
        outs[2] = (struct out){.send.done = out_done};
        dm_chan_send(chans[0], 1, &pkt, &outs[2].send);
        if (i == 0)
            ev->writable(ev->arg, 1, NULL);
        dm_chan_progress(chans[0]);
        for (int k = 0; k < 3; k++)
            CHECK_EQ(outs[k].n_done, 1);
        CHECK_EQ(outs[2].err, DM_OK);
    }
    stop();
}

static int n_whys;

static void on_lost_why(void *arg, int proc, int err)
{
    (void)arg;
    (void)err;
    CHECK(strcmp(dm_err_detail(), proc == 1 ? "1 left" : "2 left") == 0);
    n_whys++;
}

static void two_lost_peers(void)
{
    struct dm_chan *three[3];

    FAKE_DEFAULTS;
    for (int i = 0; i < 3; i++) {
        struct dm_adapt_job job = {.rank = i, .size = 3, .n_local = 3};

        CHECK_EQ(dm_chan_start(&job, &three[i]), DM_OK);
    }
    dm_chan_on_lost(three[0], on_lost_why, NULL);
    for (int i = 1; i < 3; i++)
        fake_procs[0]->conns[i].is_lost = true;
    dm_chan_progress(three[0]);
    dm_chan_progress(three[0]);
    CHECK_EQ(n_whys, 2);
    for (int i = 1; i < 3; i++)
        fake_procs[0]->conns[i].is_lost = false;
    for (int i = 0; i < 3; i++)
        CHECK_EQ(dm_chan_stop(three[i]), DM_OK);
}

static int n_sunk, n_sunk_done;

static void sunk_write(void *arg, size_t offset, const void *data, size_t len)
{
    (void)arg;
    (void)offset;
    (void)data;
    n_sunk += (int)len;
}

static void sunk_done(void *arg)
{
    (void)arg;
    n_sunk_done++;
}

static void sinking(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    (void)arg;
    (void)proc;
    (void)data;
    CHECK(avail < pkt->data_len);
    *sink = (struct dm_chan_sink){.write = sunk_write, .done = sunk_done};
}

static void half_a_packet_of_a_lost_peer(void)
{
    struct dm_pkt pkt = packet(1000);
    char half[500] = {0};

    start();
    dm_chan_on_packet(chans[0], DM_PKT_EAGER, sinking, NULL);
    n_lost = 0;
    dm_chan_on_lost(chans[0], on_lost, &n_lost);
    put_bytes(&pkt, sizeof(pkt));
    put_bytes(half, sizeof(half));
    dm_chan_progress(chans[0]);
    CHECK_EQ(n_sunk, 500);
    fake_procs[0]->conns[1].is_lost = true;
    dm_chan_progress(chans[0]);
    CHECK_EQ(n_lost, 1);
    put_bytes(half, sizeof(half));
    dm_chan_progress(chans[0]);
    CHECK_EQ(n_sunk, 500);
    CHECK_EQ(n_sunk_done, 0);
    stop();
}

/* ---- hooks, waiting, bulk ---- */

static int n_hook;

static int hook_fn(struct dm_chan_hook *hook)
{
    if (++n_hook == 3)
        dm_chan_hook_del(chans[0], hook);
    return 1;
}

static void hooks_run_while_registered(void)
{
    struct dm_chan_hook hook = {.fn = hook_fn}, other = {.fn = hook_fn};

    start();
    dm_chan_hook_add(chans[0], &hook);
    dm_chan_hook_add(chans[0], &hook);
    for (int i = 0; i < 5; i++)
        dm_chan_progress(chans[0]);
    CHECK_EQ(n_hook, 3);
    CHECK(!hook.is_on);
    dm_chan_hook_add(chans[0], &hook);
    dm_chan_hook_add(chans[0], &other);
    CHECK_EQ(dm_chan_progress(chans[0]), 2);
    dm_chan_hook_del(chans[0], &hook);
    CHECK_EQ(dm_chan_progress(chans[0]), 1);
    dm_chan_hook_del(chans[0], &other);
    CHECK_EQ(dm_chan_progress(chans[0]), 0);
    stop();
}

static void waiting_sleeps_in_time(void)
{
    int n;

    start();
    fake.is_oversubscribed = true;
    for (n = 0; n < 1000000 && fake.n_waits == 0; n++)
        dm_chan_progress_wait(chans[0]);
    CHECK_EQ(fake.n_waits, 1); /* after some yields */
    CHECK(n >= 2);
    /* Soon after: yielding was in vain, and is left out. */
    fake_procs[0]->conns[1].is_blocked = true;
    dm_chan_progress_wait(chans[0]);
    fake.n_waits = 0;
    for (n = 0; n < 10 && fake.n_waits == 0; n++)
        dm_chan_progress_wait(chans[0]);
    CHECK_EQ(fake.n_waits, 1);
    fake.is_oversubscribed = false;
    fake.n_waits = 0;
    /* Something happens: spinning starts anew, and the clock is not looked at for a while. */
    fake_procs[0]->conns[1].is_blocked = true;
    for (n = 0; n < 200; n++)
        dm_chan_progress_wait(chans[0]);
    CHECK_EQ(fake.n_waits, 0);
    /* But not for ever. */
    for (n = 0; n < 100000000 && fake.n_waits == 0; n++)
        dm_chan_progress_wait(chans[0]);
    CHECK(fake.n_waits > 0);
    stop();
}

static int n_yields;

/* In place of the system's. */
int sched_yield(void)
{
    n_yields++;
    return 0;
}

static int yields_in(int n_tests)
{
    n_yields = 0;
    for (int i = 0; i < n_tests; i++)
        CHECK_EQ(dm_chan_progress_test(chans[0]), 0);
    return n_yields;
}

/* Who is told when a peer has space does not yield until then. */
static void waiting_for_a_place_sleeps(void)
{
    start();
    fake.is_oversubscribed = fake.awaits_place = true;
    n_yields = 0;
    for (int n = 0; n < 10 && fake.n_waits == 0; n++)
        dm_chan_progress_wait(chans[0]);
    CHECK_EQ(fake.n_waits, 1);
    CHECK_EQ(n_yields, 0);
    fake.awaits_place = false;
    for (int n = 0; n < 100 && n_yields == 0; n++)
        dm_chan_progress_wait(chans[0]);
    CHECK(n_yields > 0);
    CHECK_EQ(fake.n_waits, 1);
    fake.is_oversubscribed = false;
    stop();
}

/* Tests give the core away soon, seldom where that is in vain, soon again where something comes. */
static void tests_yield_where_it_pays(void)
{
    start();
    fake.is_oversubscribed = true;
    CHECK_EQ(yields_in(DM_WAIT_IDLE_TESTS - 1), 0);
    CHECK_EQ(yields_in(1), 1);
    yields_in(100000);
    CHECK(yields_in(100000) < 100000 / DM_WAIT_IDLE_TESTS / 2);
    for (int i = 0; i < 20; i++) {
        fake_procs[0]->conns[1].is_blocked = true;
        CHECK(dm_chan_progress_test(chans[0]) > 0);
    }
    CHECK_EQ(yields_in(DM_WAIT_IDLE_TESTS), 1);
    fake.is_oversubscribed = false;
    CHECK_EQ(yields_in(100), 0);
    stop();
}

/* ---- cores ---- */

static cpu_set_t may_use;
static int moved_to, n_moves;

/* In place of the system's: where the channel goes, and back. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    CHECK_EQ(size, sizeof(*set));
    *set = may_use;
    return 0;
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    (void)pid;
    CHECK_EQ(size, sizeof(*set));
    if (n_moves++ % 2 != 0) {
        CHECK(CPU_EQUAL(set, &may_use)); /* it may run everywhere again */
        return 0;
    }
    for (int i = 0; i < CPU_SETSIZE; i++)
        moved_to = CPU_ISSET(i, set) ? i : moved_to;
    return 0;
}

int sched_getcpu(void)
{
    return 0;
}

static uint64_t stopped_at;

static uint64_t clock_stopped(void *arg)
{
    (void)arg;
    return stopped_at;
}

/* 8 processes, on these cores, -1: not known; where does number `me` go, that is on core 0? -1: it stays. */
static int spreads_to(const int *on, int me)
{
    static const struct dm_clock_source stopped = {.now = clock_stopped};
    struct dm_chan_core at[8][3];

    for (int i = 0; i < 8; i++)
        atomic_init(&at[i][0].number, (uint32_t)on[i] + 1);
    moved_to = -1;
    n_moves = 0;
    start();
    stopped_at = dm_clock_ns();
    dm_clock_use(&stopped);
    dm_chan_spread(chans[0], at[0], sizeof(at[0]), 8, me);
    CHECK_EQ(n_moves, moved_to < 0 ? 0 : 2);
    dm_chan_spread(chans[0], at[0], sizeof(at[0]), 8, me); /* not again so soon */
    dm_clock_use(NULL);
    CHECK_EQ(n_moves, moved_to < 0 ? 0 : 2);
    CHECK_EQ(at[me][0].number, 1);
    stop();
    return moved_to;
}

static void spreads_over_cores(void)
{
    static const int all[8] = {0}, some[8] = {0, 1, 0, 3, 0, 1, 0, 3};
    static const int rest[8] = {0, 9, 9, -1, -1, 9, 9, 0};
    static const int to[8] = {-1, -1, 1, 2, 3, 1, 2, 3};

    for (int i = 0; i < 4; i++)
        CPU_SET(i, &may_use);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(spreads_to(all, i), to[i]);
    CHECK_EQ(spreads_to(some, 2), -1);
    CHECK_EQ(spreads_to(some, 4), 2);
    CHECK_EQ(spreads_to(some, 6), 2);
    CHECK_EQ(spreads_to(rest, 7), 1); /* the others are where this one may not go */
    CPU_ZERO(&may_use);
    CPU_SET(0, &may_use);
    CHECK_EQ(spreads_to(all, 3), -1);
}

/* ---- bulk ---- */

static int n_rdma;

static void rdma_done(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    CHECK_EQ(err, DM_OK);
    n_rdma++;
}

static void bulk_to_anybody(void)
{
    struct dm_rdma rdma = {.done = rdma_done};
    struct dm_rkey key = {{0}};
    char a[8] = "0123456", b[8] = "", c[8] = "";

    start();
    for (int proc = 0; proc < 2; proc++) {
        CHECK_EQ(dm_chan_rdma_write(chans[0], proc, &rdma, a, NULL, (uintptr_t)b, &key, 8), DM_OK);
        CHECK_STR(b, a);
        CHECK_EQ(dm_chan_rdma_read(chans[0], proc, &rdma, c, NULL, (uintptr_t)b, &key, 8), DM_OK);
        CHECK_STR(c, a);
        memset(b, 0, 8);
        memset(c, 0, 8);
        CHECK_EQ(dm_chan_rndv(chans[0], proc), DM_RNDV_PIPE);
    }
    CHECK_EQ(n_rdma, 4);
    stop();
}

int main(void)
{
    dm_cfg_load(true);
    talks_to_itself();
    lost_peer_gives_sends_back();
    closed_peer_is_forgotten();
    two_lost_peers();
    half_a_packet_of_a_lost_peer();
    hooks_run_while_registered();
    waiting_sleeps_in_time();
    waiting_for_a_place_sleeps();
    tests_yield_where_it_pays();
    spreads_over_cores();
    bulk_to_anybody();
    return test_result();
}
