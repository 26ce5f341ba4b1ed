/* test: layers=util,dapl_adapt timeout=240 warn=it.goes.on.over */
/*
 * Rails that break, over a provider that breaks connections at any post and in many ways: two
 * "processes" of one program. Whatever happens, each byte of the pipes arrives once and in order,
 * and each RDMA transfer is done once, with its bytes in place and none later. Every
 * schedule follows from its number.
 *
 * adapt_move NUMBER [settings] runs one schedule.
 */
#include "dapl_adapt/conn/server.h"
#include "dapl_adapt/progress/dispatch.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"

#include "adapt_job.h"
#include "dapl_adapt/core/tx.h"
#include "fake_dat.h"

#define N                 2
#define TOTAL             6000
#define XFERS             6
#define XFER_MAX          5000
#define LIMIT_NS          20000000000u
#define SCHEDULES         (is_full ? 400 : 150) /* TEST_FULL=yes: more */
#define ROUNDS_TO_GO_BACK 20
#define POINTS            120
#define LATE_NUMBERS      (is_full ? 12 : 3)

static bool is_full;

/* A place for transfers: memory at both ends, used again and again. */
struct xfer {
    struct dm_rdma rdma;
    unsigned char src[XFER_MAX];
    unsigned char dst[XFER_MAX];
    struct dm_mr *mr[2]; /* of src, where the transfer starts, and of dst */
    size_t len;
    unsigned char mark; /* what the owner of the target wrote there after the transfer */
    bool is_busy;
    bool is_read;
    int n_done;
};

struct side {
    int rank;
    struct dm_adapt *adapt;
    uint64_t sent;
    uint64_t got;
    int n_failed;
    char why[512];
    unsigned take_less;
    struct xfer xfers[XFERS];
    int n_xfers; /* to be started */
    int n_ended;
};

static struct side sides[N];
static struct job_space space;
static struct job_proc procs[N];
static char dir[] = "/tmp/dm-move-XXXXXX";
static char conf_path[64];
static unsigned seed;
static unsigned schedule;
static bool is_narrow;   /* receives of the second rail have one segment */
static bool is_mixed;    /* the way of travelling changes with each move */
static uint64_t n_again; /* records and bytes that the counters say were sent again */
static uint64_t again_len;
static uint64_t n_backs; /* times that a connection went back to the first rail */

static unsigned next_random(void)
{
    seed = seed * 1103515245u + 12345u;
    return seed >> 12 & 0xfffff;
}

static unsigned char pattern(int from, uint64_t k)
{
    return (unsigned char)(k * 11 + (k >> 9) * 3 + (uint64_t)from * 101);
}

static void on_input(void *arg, int p, struct dm_conn *conn)
{
    struct side *side = arg;
    const void *data;
    size_t len;

    while ((len = dm_adapt_eager_peek(conn, &data)) > 0) {
        if (side->take_less > 0 && len > side->take_less)
            len = side->take_less;
        for (size_t i = 0; i < len; i++) {
            if (((const unsigned char *)data)[i] != pattern(p, side->got + i)) {
                printf("schedule %u: byte %llu of the stream\n", schedule,
                       (unsigned long long)(side->got + i));
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

static void on_writable(void *arg, int p, struct dm_conn *conn)
{
    (void)arg;
    (void)p;
    (void)conn;
}

static void on_failed(void *arg, int p, struct dm_conn *conn, int err)
{
    struct side *side = arg;

    (void)p;
    (void)conn;
    CHECK_EQ(err, DM_EPEER);
    side->n_failed++;
    snprintf(side->why, sizeof(side->why), "%s", dm_err_detail());
}

static int no_fence(void *arg)
{
    (void)arg;
    return DM_OK;
}

static void open_side(int r)
{
    struct dm_adapt_events ev = {&sides[r], on_input, on_writable, on_failed, NULL, NULL, NULL};
    static const int nodes[N] = {0, 1};
    struct dm_adapt_job job;

    memset(&sides[r], 0, sizeof(sides[r]));
    sides[r].rank = r;
    procs[r] = (struct job_proc){.space = &space, .rank = r, .size = N};
    job_describe(&procs[r], nodes, &job);
    job.kv.fence = no_fence;
    job.n_local = 1;
    CHECK_EQ(dm_adapt_open(&job, &ev, &sides[r].adapt), DM_OK);
    if (sides[r].adapt == NULL) {
        printf("open: %s\n", dm_err_detail());
        exit(1);
    }
    for (int i = 0; i < sides[r].adapt->rails.n_ias; i++)
        dm_conn_unserve(sides[r].adapt->rails.ias[i]); /* one thread does all: schedules repeat */
}

static struct dm_conn *conn_of(int r)
{
    return dm_adapt_conn(sides[r].adapt, 1 - r);
}

/* Between two rails nothing can be posted: the endpoint is about to go. */
static void check_room(int r)
{
    CHECK(!dm_conn_is_moving(conn_of(r)) || conn_of(r)->tx.n_avail == 0);
}

static void poll_both(void)
{
    for (int r = 0; r < N; r++) {
        if (is_mixed)
            sides[r].adapt->rings.wants_sendrecv = next_random() % 2;
        dm_adapt_poll(sides[r].adapt);
        dm_poll_rare(sides[r].adapt);
        check_room(r);
    }
}

static void open_both(unsigned number)
{
    memset(&space, 0, sizeof(space));
    schedule = number;
    seed = number * 2654435761u + 17;
    FAKE_CALL(fake.seed = number * 40503u + 3; fake.break_after = 0; fake.delay = 0;
              memset(fake.n_cut, 0, sizeof(fake.n_cut)); fake.n_not_listening = 0);
    for (int r = 0; r < N; r++)
        open_side(r);
}

static void close_both(void)
{
    uint64_t until = dm_clock_ns() + LIMIT_NS;

    FAKE_CALL(fake.delay = 0; fake.break_after = 0; fake.is_late = false);
    while (sides[0].adapt->poll.n_moving + sides[1].adapt->poll.n_moving > 0 &&
           dm_clock_ns() < until)
        poll_both();
    for (int r = 0; r < N; r++)
        dm_adapt_quiesce(sides[r].adapt);
    for (int r = 0; r < N; r++) {
        for (int i = 0; i < XFERS; i++) {
            if (sides[r].xfers[i].mr[0] == NULL)
                continue;
            dm_adapt_unreg(sides[r].adapt, sides[r].xfers[i].mr[0]);
            dm_adapt_unreg(sides[1 - r].adapt, sides[r].xfers[i].mr[1]);
        }
    }
    for (int r = 0; r < N; r++) {
        n_backs += sides[r].adapt->n_backs;
        for (int i = 0; i < sides[r].adapt->rails.n_ias; i++) {
            n_again += sides[r].adapt->rails.ias[i]->counts.n_again;
            again_len += sides[r].adapt->rails.ias[i]->counts.again_len;
        }
    }
    FAKE_CALL(fake_notice());
    job_close_both(sides[0].adapt, sides[1].adapt);
    CHECK_EQ(fake.n_lmrs, 0);
    CHECK(fake.eps == NULL);
    CHECK(fake.psps == NULL);
}

static void put_some(int r)
{
    static unsigned char buf[9000];
    struct side *side = &sides[r];
    struct iovec iov[3];
    size_t cap = next_random() % 5 == 0 ? sizeof(buf) : 300;
    size_t want = 1 + next_random() % cap;
    size_t used = 0;
    size_t taken = 0;
    void *place;

    if (want > TOTAL - side->sent)
        want = TOTAL - side->sent;
    for (size_t i = 0; i < want; i++)
        buf[i] = pattern(r, side->sent + i);
    if (next_random() % 2 == 0 && want <= dm_adapt_eager_max(conn_of(r))) {
        place = dm_adapt_eager_reserve(conn_of(r), want);
        if (place == NULL)
            return;
        memcpy(place, buf, want);
        CHECK_EQ(dm_adapt_eager_commit(conn_of(r), want), DM_OK);
        side->sent += want;
        return;
    }
    for (int i = 0; i < 3; i++) {
        size_t part = i == 2 ? want - used : next_random() % (want - used + 1);

        iov[i] = (struct iovec){buf + used, part};
        used += part;
    }
    CHECK_EQ(dm_adapt_eager_put(conn_of(r), iov, 3, &taken), DM_OK);
    side->sent += taken;
    if (dm_adapt_eager_flushed(conn_of(r))) /* the memory is ours again */
        memset(buf, 0xee, sizeof(buf));
    else
        CHECK(!"a part was not copied, though it may have to be sent again");
}

/* ---- transfers ---- */

static struct side *side_of(const struct xfer *xfer)
{
    return xfer >= sides[1].xfers ? &sides[1] : &sides[0];
}

static void on_done(struct dm_rdma *rdma, int err)
{
    struct xfer *xfer = (void *)rdma;
    unsigned char *target = xfer->is_read ? xfer->src : xfer->dst;

    CHECK_EQ(err, DM_OK);
    CHECK(xfer->is_busy);
    CHECK(memcmp(xfer->src, xfer->dst, xfer->len) == 0);
    xfer->is_busy = false;
    xfer->n_done++;
    side_of(xfer)->n_ended++;
    /* the program goes on: nothing may come over this */
    xfer->mark = (unsigned char)next_random();
    memset(target, xfer->mark, xfer->len);
}

/* Nothing has been written to the target since the transfer was done. */
static void check_mark(const struct xfer *xfer)
{
    const unsigned char *target = xfer->is_read ? xfer->src : xfer->dst;

    for (size_t i = 0; i < xfer->len && xfer->n_done > 0; i++) {
        if (target[i] != xfer->mark) {
            printf("schedule %u: byte %zu of %zu\n", schedule, i, xfer->len);
            CHECK(!"late bytes of a transfer that was done");
            return;
        }
    }
}

static void start_xfer(int r)
{
    struct side *side = &sides[r];
    struct xfer *xfer = &side->xfers[next_random() % XFERS];
    unsigned char *from;
    struct dm_rkey rkey;

    if (xfer->is_busy)
        return;
    check_mark(xfer);
    if (xfer->mr[0] == NULL) {
        CHECK_EQ(dm_adapt_reg(side->adapt, xfer->src, XFER_MAX, &xfer->mr[0]), DM_OK);
        CHECK_EQ(dm_adapt_reg(sides[1 - r].adapt, xfer->dst, XFER_MAX, &xfer->mr[1]), DM_OK);
    }
    dm_adapt_rkey(xfer->mr[1], &rkey);
    xfer->rdma.done = on_done;
    xfer->len = 1 + next_random() % XFER_MAX;
    xfer->is_read = next_random() % 2;
    xfer->is_busy = true;
    from = xfer->is_read ? xfer->dst : xfer->src;
    for (size_t i = 0; i < xfer->len; i++)
        from[i] = (unsigned char)next_random();
    side->n_xfers--;
    if (xfer->is_read)
        CHECK_EQ(dm_adapt_rdma_read(conn_of(r), &xfer->rdma, xfer->src, xfer->mr[0],
                                    (uint64_t)(uintptr_t)xfer->dst, &rkey, xfer->len),
                 DM_OK);
    else
        CHECK_EQ(dm_adapt_rdma_write(conn_of(r), &xfer->rdma, xfer->src, xfer->mr[0],
                                     (uint64_t)(uintptr_t)xfer->dst, &rkey, xfer->len),
                 DM_OK);
}

/* ---- schedules ---- */

static bool is_over(void)
{
    for (int r = 0; r < N; r++) {
        if (sides[r].n_failed > 0)
            return true;
    }
    for (int r = 0; r < N; r++) {
        if (sides[r].got < TOTAL || sides[r].n_xfers > 0)
            return false;
        for (int i = 0; i < XFERS; i++) {
            if (sides[r].xfers[i].is_busy)
                return false;
        }
    }
    return true;
}

/* One step of the program, at both sides. */
static void step(void)
{
    for (int r = 0; r < N; r++) {
        if (sides[r].sent < TOTAL && next_random() % 2 == 0)
            put_some(r);
        check_room(r);
        if (sides[r].n_xfers > 0 && next_random() % 4 == 0)
            start_xfer(r);
    }
    poll_both();
}

static void plan_break(unsigned after)
{
    static const int events[] = {DAT_CONNECTION_EVENT_UNREACHABLE, DAT_CONNECTION_EVENT_TIMED_OUT,
                                 DAT_CONNECTION_EVENT_NON_PEER_REJECTED};

    FAKE_CALL(fake.break_after = (int)after; fake.breaks_half = next_random() % 2;
              fake.breaks_all = next_random() % 2; fake.cut_event = events[next_random() % 3]);
    for (int r = 0; is_narrow && r < N; r++)
        sides[r].adapt->rails.ias[1]->limits.max_iov = 1;
}

static void finish_schedule(int n_breaks)
{
    uint64_t until = dm_clock_ns() + LIMIT_NS;
    struct side *side;

    while (!is_over() && dm_clock_ns() < until) {
        step();
        if (n_breaks > 0 && fake.break_after == 0) {
            n_breaks--;
            plan_break(1 + next_random() % 80);
            /* the rail is away for a while, so that some attempts fail */
            if (next_random() % 3 == 0)
                FAKE_CALL(fake.n_cut[next_random() % 2] = (int)(next_random() % 3));
        }
    }
    for (int r = 0; r < N; r++) {
        side = &sides[r];
        CHECK_EQ(side->n_failed, 0);
        CHECK_EQ(side->got, TOTAL);
        for (int i = 0; i < XFERS; i++) {
            CHECK(!side->xfers[i].is_busy);
            check_mark(&side->xfers[i]);
        }
        if (side->n_failed > 0)
            printf("schedule %u: %s\n", schedule, side->why);
        if (side->got < TOTAL && side->n_failed == 0)
            printf("schedule %u stands still: side %d has %llu, sent %llu\n", schedule, r,
                   (unsigned long long)side->got, (unsigned long long)side->sent);
    }
}

static void one_schedule(unsigned number)
{
    FAKE_CALL(fake.iov = (DAT_IOV_OWNERSHIP)(number % 3); fake.hold = number % 3);
    open_both(number);
    for (int r = 0; r < N; r++) {
        sides[r].take_less = next_random() % 3 == 0 ? 1 + next_random() % 100 : 0;
        sides[r].n_xfers = (int)(next_random() % 12);
    }
    FAKE_CALL(fake.delay = next_random() % 8;
              fake.is_late = next_random() % 2 == 0 && !fake.is_ordered);
    finish_schedule(1 + (int)(next_random() % 4));
    close_both();
}

static void schedules(void)
{
    for (unsigned i = 0; i < SCHEDULES && test_n_failed == 0; i++)
        one_schedule(i);
    CHECK(n_again > 0);
    CHECK(again_len > 0);
}

/* One break, after each number of posts in turn. */
static void points(void)
{
    for (unsigned i = 1; i <= POINTS && test_n_failed == 0; i++) {
        open_both(7);
        schedule = i;
        sides[0].n_xfers = sides[1].n_xfers = 4;
        FAKE_CALL(fake.delay = i % 3 * 3);
        plan_break(i);
        finish_schedule(0);
        close_both();
    }
}

/* The same where writes complete before they are placed, and the other end does not notice that it is over. */
static void late_points(void)
{
    for (unsigned i = 1; i <= LATE_NUMBERS * POINTS && test_n_failed == 0; i++) {
        open_both(i / POINTS);
        schedule = i;
        sides[0].n_xfers = sides[1].n_xfers = 12;
        FAKE_CALL(fake.delay = i % 3 * 3; fake.is_late = true);
        plan_break(i % POINTS);
        FAKE_CALL(fake.breaks_half = true);
        finish_schedule(0);
        close_both();
    }
}

static void mixed(void)
{
    is_mixed = true;
    schedules();
    points();
}

static void narrow(void)
{
    is_narrow = true;
    schedules();
    is_narrow = false;
}

static void all(void)
{
    schedules();
    points();
}

/* ---- the way back ---- */

static void connect_both(void)
{
    dm_adapt_connect(conn_of(0));
    while (!job_is_ready(conn_of(0)) || !job_is_ready(conn_of(1)))
        poll_both();
}

/* Messages that were placed and have not arrived are no records to who is written to then. */
static void placed(void)
{
    struct dm_rx *rx;

    for (unsigned n = 0; n < 12 && test_n_failed == 0; n++) {
        open_both(n);
        for (int r = 0; r < N; r++)
            sides[r].adapt->rings.wants_sendrecv = true;
        connect_both();
        rx = &conn_of(0)->rx;
        CHECK_EQ(rx->protocol, DM_RECORD_SEND);
        while (rx->n_consumed < n) /* the next one lies in any slot, of the first or second round */
            step();
        for (uint32_t i = 0; i < rx->n_slots; i++) {
            uint32_t slot = (rx->ring.slot + i) % rx->n_slots;
            uint64_t tag = dm_trailer_tag(rx->ring.gen + (slot < rx->ring.slot)), word = tag | 400;

            memcpy(rx->slots + (size_t)(slot + 1) * rx->stride - DM_TRAILER_LEN, &word,
                   sizeof(word));
        }
        for (int r = 0; r < N; r++)
            sides[r].adapt->rings.wants_sendrecv = false;
        fake_ep_disconnect(conn_of(0)->links->at[DM_LINK_PIPE].ep, DAT_CLOSE_ABRUPT_FLAG);
        finish_schedule(0);
        CHECK_EQ(rx->protocol, DM_RECORD_WRITE);
        close_both();
    }
}

/* Connections that go back as soon as they can, in the middle of whatever there is: some schedules last long enough. */
static void hasty(void)
{
    for (int i = 0; i < ROUNDS_TO_GO_BACK && n_backs == 0; i++)
        all();
    CHECK(n_backs > 0);
}

static bool are_on(const char *rail)
{
    for (int r = 0; r < N; r++) {
        if (conn_of(r)->state != DM_CONN_UP || strcmp(conn_of(r)->ia->name, rail) != 0)
            return false;
    }
    return true;
}

static uint64_t count_again_up(void)
{
    return sides[0].adapt->rails.ias[0]->counts.n_again_up +
           sides[1].adapt->rails.ias[0]->counts.n_again_up;
}

/*
 * A rail that stays away is tried again and again while the other one is used; when it is there the
 * connection goes back, once.
 */
static void back(void)
{
    const struct dm_rdmaq *rdmaq;
    uint64_t until;

    open_both(11);
    connect_both();
    CHECK(are_on("fake-a"));
    FAKE_CALL(fake.n_cut[0] = 1000000; fake.cut_event = DAT_CONNECTION_EVENT_TIMED_OUT);
    fake_ep_disconnect(conn_of(0)->links->at[DM_LINK_PIPE].ep, DAT_CLOSE_ABRUPT_FLAG);
    rdmaq = &conn_of(1)->links->rdmaq[DM_LINK_EXTRA - DM_LINK_RDMA]; /* over fake-a */
    until = dm_clock_ns() + LIMIT_NS;
    while (rdmaq->n_broken < 3 && dm_clock_ns() < until)
        poll_both();
    CHECK(rdmaq->n_broken >= 3);
    CHECK(are_on("fake-b"));
    CHECK_EQ(count_again_up(), 0);
    FAKE_CALL(fake.n_cut[0] = 0);
    while (!are_on("fake-a") && dm_clock_ns() < until)
        poll_both();
    CHECK(are_on("fake-a"));
    CHECK(count_again_up() > 0);
    CHECK_EQ(sides[0].adapt->n_backs + sides[1].adapt->n_backs, 1);
    finish_schedule(0);
    CHECK(are_on("fake-a"));
    close_both();
}

/* DATUM_RAIL_RETRY=0: it stays where it went. */
static void stay(void)
{
    open_both(12);
    connect_both();
    fake_ep_disconnect(conn_of(0)->links->at[DM_LINK_PIPE].ep, DAT_CLOSE_ABRUPT_FLAG);
    for (uint64_t until = dm_clock_ns() + LIMIT_NS; !are_on("fake-b") && dm_clock_ns() < until;)
        poll_both();
    finish_schedule(0);
    CHECK(are_on("fake-b"));
    close_both();
}

/* ---- the end of all rails ---- */

/* The other process is gone: nobody listens, so it is over soon, and every rail is named. */
static void gone(void)
{
    uint64_t start;

    open_both(1);
    connect_both();
    FAKE_CALL(fake.n_not_listening = 1000000);
    start = dm_clock_ns();
    fake_ep_disconnect(conn_of(0)->links->at[DM_LINK_PIPE].ep, DAT_CLOSE_ABRUPT_FLAG);
    while ((sides[0].n_failed == 0 || sides[1].n_failed == 0) && dm_clock_ns() - start < LIMIT_NS)
        poll_both();
    CHECK(dm_clock_ns() - start < 8000000000u); /* not DATUM_RECONNECT, which is 10 s */
    for (int r = 0; r < N; r++) {
        CHECK_EQ(sides[r].n_failed, 1);
        CHECK(strstr(sides[r].why, "on host here") != NULL);
        CHECK(strstr(sides[r].why, "connection lost over fake-a") != NULL);
        CHECK(strstr(sides[r].why, "fake-a: nobody listens") != NULL);
        CHECK(strstr(sides[r].why, "fake-b: nobody listens") != NULL);
    }
    close_both();
}

/* No rail answers: the time limit ends it. */
static void silent(void)
{
    uint64_t start;

    open_both(2);
    connect_both();
    FAKE_CALL(fake.n_cut[0] = fake.n_cut[1] = 1000000;
              fake.cut_event = DAT_CONNECTION_EVENT_TIMED_OUT);
    start = dm_clock_ns();
    fake_ep_disconnect(conn_of(0)->links->at[DM_LINK_PIPE].ep, DAT_CLOSE_ABRUPT_FLAG);
    while ((sides[0].n_failed == 0 || sides[1].n_failed == 0) && dm_clock_ns() - start < LIMIT_NS)
        poll_both();
    CHECK(dm_clock_ns() - start >= 300000000u);
    CHECK(dm_clock_ns() - start < LIMIT_NS);
    CHECK(strstr(sides[0].why, "DATUM_RECONNECT") != NULL);
    CHECK(strstr(sides[0].why, "fake-b: no answer in time") != NULL);
    close_both();
}

/* One of the two computes for longer than the limit; its thread answers, so it is waited for. */
static void busy(void)
{
    uint64_t start;

    open_both(3);
    connect_both();
    for (int i = 0; i < sides[1].adapt->rails.n_ias; i++)
        CHECK_EQ(dm_conn_serve(sides[1].adapt->rails.ias[i]), DM_OK);
    start = dm_clock_ns();
    fake_ep_disconnect(conn_of(0)->links->at[DM_LINK_PIPE].ep, DAT_CLOSE_ABRUPT_FLAG);
    while (dm_clock_ns() - start < 3000000000u) {
        dm_adapt_poll(sides[0].adapt);
        dm_poll_rare(sides[0].adapt);
    }
    CHECK_EQ(sides[0].n_failed, 0);
    finish_schedule(0);
    close_both();
}

/*
 * A rail inside the host sends large parts from where they are. When it breaks, a record that has
 * arrived is no loss, and one that has not is final, on both sides.
 */
static void local(void)
{
    static unsigned char buf[4800];
    int n_lost = 0;
    int n_moved = 0;
    struct iovec iov = {buf, sizeof(buf)};
    uint64_t until;
    size_t taken;

    fake.reach = "host";
    for (unsigned i = 0; i < POINTS && test_n_failed == 0; i++) {
        open_both(i);
        connect_both();
        for (size_t k = 0; k < sizeof(buf); k++)
            buf[k] = pattern(0, k);
        FAKE_CALL(fake.delay = 4);
        plan_break(1);
        CHECK_EQ(dm_adapt_eager_put(conn_of(0), &iov, 1, &taken), DM_OK);
        CHECK_EQ(taken, sizeof(buf));
        until = dm_clock_ns() + LIMIT_NS;
        while (!dm_adapt_eager_flushed(conn_of(0)) && dm_clock_ns() < until)
            poll_both();
        memset(buf, 0xee, sizeof(buf));
        sides[0].sent = sizeof(buf);
        while (sides[0].n_failed + sides[1].n_failed < 2 && dm_clock_ns() < until &&
               (conn_of(0)->failover.n_moves == 0 || sides[0].adapt->poll.n_moving > 0 ||
                sides[1].got < sizeof(buf)))
            poll_both();
        if (sides[0].n_failed > 0) {
            n_lost++;
            CHECK_EQ(sides[1].n_failed, 1);
            CHECK(strstr(sides[0].why, "fake-a broke while it sent from") != NULL);
            CHECK_EQ(sides[1].got, 0);
        } else {
            n_moved++;
            finish_schedule(0);
        }
        close_both();
    }
    CHECK(n_lost > 0);
    CHECK(n_moved > 0);
    fake.reach = NULL;
}

static void run(const char *settings, void (*fn)(void))
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

static unsigned wanted;

static void one(void)
{
    one_schedule(wanted);
}

static void one_mixed(void)
{
    is_mixed = true;
    one_schedule(wanted);
}

int main(int argc, char **argv)
{
    is_full = getenv("TEST_FULL") != NULL;
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
    fake_register(conf_path);
    putenv("DATUM_CONNECT=demand");
    putenv("DATUM_PROVIDER=fake-a,fake-b");
    putenv("DATUM_RING_SLOTS=6");
    putenv("DATUM_RING_SLOT_SIZE=400");
    putenv("DATUM_STRIPE=1k");
    if (argc > 1) {
        wanted = (unsigned)atoi(argv[1]);
        run(argc > 2 ? argv[2] : "DATUM_EAGER=rdma", argc > 3 ? one_mixed : one);
        return test_result();
    }
    run("DATUM_EAGER=rdma", all);
    run("DATUM_EAGER=sendrecv", all);
    run("DATUM_EAGER=basic", all);
    run("DATUM_EAGER=sendrecv", narrow);
    run("DATUM_EAGER=rdma", mixed);
    run("DATUM_EAGER=rdma", late_points);
    run("DATUM_EAGER=rdma", placed);
    run("DATUM_EAGER=rdma DATUM_RAILS=1 DATUM_RING_SLOTS=64 DATUM_RING_SLOT_SIZE=5000", all);
    run("DATUM_EAGER=rdma DATUM_RAIL_RETRY=50us", hasty);
    run("DATUM_EAGER=sendrecv DATUM_RAIL_RETRY=50us", hasty);
    run("DATUM_EAGER=rdma DATUM_RAIL_RETRY=5ms DATUM_RECONNECT=1s", back);
    run("DATUM_EAGER=rdma DATUM_RAIL_RETRY=0", stay);
    run("DATUM_EAGER=rdma", gone);
    run("DATUM_EAGER=sendrecv", gone);
    run("DATUM_EAGER=rdma DATUM_RECONNECT=300ms", silent);
    run("DATUM_EAGER=rdma DATUM_RECONNECT=1500ms", busy); /* a busy machine is no silence */
    run("DATUM_EAGER=rdma DATUM_RING_SLOT_SIZE=5000", local);
    unlink(conf_path);
    rmdir(dir);
    return test_result();
}
