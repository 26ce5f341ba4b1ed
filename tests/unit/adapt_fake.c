/* test: layers=util,dapl_adapt timeout=60 */
/*
 * The adaptation layer over a provider that delays, fails and refuses: two
 * "processes" of one program, each a layer of its own.
 */
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

static unsigned next_random(void)
{
    static unsigned seed = 7;

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
    struct side *side = arg;

    (void)p;
    CHECK(dm_adapt_is_ready(conn));
    side->n_writable++;
}

static void on_failed(void *arg, int p, struct dm_conn *conn, int err)
{
    struct side *side = arg;

    (void)p;
    (void)conn;
    side->n_failed++;
    side->err = err;
}

static int no_fence(void *arg)
{
    (void)arg;
    return DM_OK;
}

static void open_side(int r)
{
    struct dm_adapt_events ev = {&sides[r], on_input, on_writable, on_failed, NULL, NULL};
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

static void open_both(void)
{
    memset(&space, 0, sizeof(space));
    for (int r = 0; r < N; r++)
        open_side(r);
}

static void poll_both(void)
{
    for (int r = 0; r < N; r++)
        dm_adapt_poll(sides[r].adapt);
}

static void close_both(void)
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
static void put_some(int r, uint64_t total, unsigned char *buf, size_t cap)
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
static void stream(uint64_t total, size_t cap)
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

/* Partial takes, wrap-around, late execution; in the mode that the settings say. */
static void streams(void)
{
    for (unsigned delay = 0; delay < 7; delay += 3) {
        for (unsigned less = 0; less < 200; less += 63) {
            open_both();
            FAKE_CALL(fake.delay = delay);
            sides[0].take_less = less;
            sides[1].take_less = less / 2;
            stream(60000, less > 0 ? 500 : 9000);
            CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
            close_both();
        }
    }
}

/* Every length at every offset of the ring, with reserve and with shorter commits. */
static void lengths(void)
{
    struct dm_conn *conn;
    unsigned char *place;
    size_t max;

    open_both();
    dm_adapt_connect(conn_of(0));
    while (!dm_adapt_is_ready(conn_of(0)) || !dm_adapt_is_ready(conn_of(1)))
        poll_both();
    conn = conn_of(0);
    max = conn->tx.max;
    CHECK(dm_adapt_eager_max(conn) <= max);
    CHECK(dm_adapt_eager_reserve(conn, max + 1) == NULL);
    for (size_t ask = 1; ask <= max; ask++) {
        for (size_t len = ask > 70 ? ask - 70 : 1; len <= ask; len += 7) {
            while ((place = dm_adapt_eager_reserve(conn, ask)) == NULL)
                poll_both();
            CHECK(((uintptr_t)place & 7) == 0);
            for (size_t i = 0; i < len; i++)
                place[i] = pattern(0, sides[0].sent + i);
            CHECK_EQ(dm_adapt_eager_commit(conn, len), DM_OK);
            sides[0].sent += len;
        }
    }
    while (sides[1].got < sides[0].sent)
        poll_both();
    CHECK_EQ(sides[1].got, sides[0].sent);
    close_both();
}

/* Tags differ from generation to generation, in their last byte, also where they wrap. */
static void tags(void)
{
    static const uint32_t gens[] = {0, 1, 254, 255, 256, 65534, 65535, 65536, 0xfffffe, 0xffffff};

    for (size_t i = 0; i < sizeof(gens) / sizeof(*gens); i++) {
        CHECK(dm_trailer_tag(gens[i]) != dm_trailer_tag(gens[i] + 1));
        CHECK(dm_trailer_tag(gens[i]) >> 56 != dm_trailer_tag(gens[i] + 1) >> 56);
        CHECK_EQ(dm_trailer_tag(gens[i]) & 0xffffffffffu, 0);
    }
    CHECK(dm_trailer_tag(1) != 0);
    CHECK_EQ(dm_record_space(1), 56);
    CHECK_EQ(dm_record_space(56), 56);
    CHECK_EQ(dm_record_space(57), 120);
}

/* A pair that is idle one way gets credits by messages of their own; two ways they ride along. */
static void credits(bool is_sendrecv)
{
    uint32_t n_slots;
    int before;
    char byte;
    struct iovec iov = {&byte, 1};
    size_t taken;

    open_both();
    dm_adapt_connect(conn_of(0));
    while (!dm_adapt_is_ready(conn_of(0)) || !dm_adapt_is_ready(conn_of(1)))
        poll_both();
    n_slots = sides[0].adapt->rings.n_slots;
    before = fake.n_writes + fake.n_sends;
    for (int i = 0; i < 100 * (int)n_slots; i++) {
        byte = (char)pattern(0, sides[0].sent);
        do {
            CHECK_EQ(dm_adapt_eager_put(conn_of(0), &iov, 1, &taken), DM_OK);
            poll_both();
        } while (taken == 0);
        sides[0].sent++;
    }
    /* one message in half a ring goes back */
    before = fake.n_writes + fake.n_sends - before - 100 * (int)n_slots;
    CHECK(before >= 100 && before <= 220);
    before = fake.n_writes + fake.n_sends;
    while (sides[1].got < sides[0].sent)
        poll_both();
    for (int i = 0; i < 100 * (int)n_slots; i++) {
        for (int r = 0; r < N; r++) {
            byte = (char)pattern(r, sides[r].sent);
            CHECK_EQ(dm_adapt_eager_put(conn_of(r), &iov, 1, &taken), DM_OK);
            CHECK_EQ(taken, 1);
            sides[r].sent++;
            poll_both();
        }
    }
    /* ping-pong: one write per message, nothing else */
    CHECK_EQ(fake.n_writes + fake.n_sends - before, 200 * (int)n_slots);
    CHECK(is_sendrecv ? fake.n_sends > 0 : fake.n_writes > 0);
    close_both();
}

static void connect_both(void)
{
    dm_adapt_connect(conn_of(0));
    while (!dm_adapt_is_ready(conn_of(0)) || !dm_adapt_is_ready(conn_of(1)))
        poll_both();
}

/* As many bytes as go, one a record and at most n; the peer is not asked. */
static uint64_t put_bytes(int r, uint64_t n)
{
    uint64_t k;
    char *place;

    for (k = 0; k < n && (place = dm_adapt_eager_reserve(conn_of(r), 1)) != NULL; k++) {
        *place = (char)pattern(r, sides[r].sent++);
        CHECK_EQ(dm_adapt_eager_commit(conn_of(r), 1), DM_OK);
    }
    return k;
}

/*
 * A record that is read late, after so many of ours that the credit in it could pass for a new one: the
 * peer, which does not read now, must not be sent more than it has room for.
 */
static void late_reader(void)
{
    uint32_t n_slots;
    uint64_t room;

    open_both();
    connect_both();
    n_slots = sides[0].adapt->rings.n_slots;
    CHECK_EQ(put_bytes(1, 1), 1);
    for (int i = 0; i < 100; i++)
        dm_adapt_poll(sides[1].adapt);
    for (uint64_t n = 0; n < 65536 + 2 - n_slots / 2;) {
        n += put_bytes(0, 1);
        dm_poll_drain(sides[0].adapt);
        dm_adapt_poll(sides[1].adapt);
    }
    for (int i = 0; i < 100; i++)
        dm_adapt_poll(sides[1].adapt);
    CHECK_EQ(sides[1].got, sides[0].sent);
    CHECK_EQ(put_bytes(0, n_slots / 2), n_slots / 2);
    CHECK_EQ(sides[0].got, 0);
    dm_adapt_poll(sides[0].adapt);
    CHECK_EQ(sides[0].got, 1);
    room = put_bytes(0, 2 * n_slots);
    CHECK(room <= n_slots - n_slots / 2);
    for (int i = 0; i < 1000 && sides[1].got < sides[0].sent; i++)
        poll_both();
    CHECK_EQ(sides[1].got, sides[0].sent);
    close_both();
}

/* As if so many records and generations had gone before; nothing is under way. */
static void pass_time(int r, uint32_t n_records, uint32_t n_gens)
{
    struct dm_conn *conn = conn_of(r);
    struct dm_rx *rx = &conn_of(1 - r)->rx;

    conn->tx.n_posted += n_records;
    conn->tx.sq.done += n_records;
    conn->tx.n_before += n_records;
    conn->credits.acked_by_peer += n_records;
    conn->credits.looked += n_records;
    conn->rx.peer_credit = (conn->rx.peer_credit + n_records) & 0xffff;
    conn->credits.written += n_records;
    atomic_store(&conn->ctl->credit, atomic_load(&conn->ctl->credit) + n_records);
    rx->n_consumed += n_records;
    rx->n_credited += n_records;
    conn->tx.gen += n_gens;
    conn->tx.tag = dm_trailer_tag(conn->tx.gen);
    rx->gen += n_gens;
    rx->tag = dm_trailer_tag(rx->gen);
}

/* Counters of records and generations pass their largest values; both ways, and one way. */
static void wraps(void)
{
    static const uint32_t gens[] = {0xfffff0, 0xfffffff0, 0xfff0};
    unsigned char buf[500];

    for (size_t i = 0; i < sizeof(gens) / sizeof(*gens); i++) {
        open_both();
        FAKE_CALL(fake.delay = (unsigned)i);
        connect_both();
        for (int k = 0; k < 1000; k++)
            poll_both();
        for (int r = 0; r < N; r++)
            pass_time(r, 0u - 100u - (uint32_t)i, gens[i]);
        stream(40000, sizeof(buf));
        for (int k = 0; k < 1000; k++)
            poll_both();
        for (int r = 0; r < N; r++)
            pass_time(r, 0u - 100u - conn_of(r)->tx.n_posted, 0);
        while (sides[0].sent < 80000) {
            put_some(0, 80000, buf, sizeof(buf));
            poll_both();
        }
        stream(80000, sizeof(buf));
        CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
        close_both();
    }
}

/* The basic design: data, head and tail. */
static void three_writes(void)
{
    struct iovec iov = {NULL, 1};
    size_t taken;
    char byte;
    int before;

    open_both();
    dm_adapt_connect(conn_of(0));
    while (!dm_adapt_is_ready(conn_of(0)) || !dm_adapt_is_ready(conn_of(1)))
        poll_both();
    before = fake.n_writes;
    iov.iov_base = &byte;
    for (int i = 0; i < 1000; i++) {
        byte = (char)pattern(i % N, sides[i % N].sent);
        CHECK_EQ(dm_adapt_eager_put(conn_of(i % N), &iov, 1, &taken), DM_OK);
        CHECK_EQ(taken, 1);
        sides[i % N].sent++;
        poll_both();
    }
    while (sides[0].got < sides[1].sent || sides[1].got < sides[0].sent)
        poll_both();
    CHECK_EQ(fake.n_writes - before, 3000);
    CHECK_EQ(fake.n_sends, 0);
    close_both();
}

/* Nothing is taken when the ring is full; credits make it writable again. */
static void full(void)
{
    char buf[64] = {0};
    struct iovec iov = {buf, 64};
    size_t taken = 1;
    int n = 0;

    open_both();
    dm_adapt_connect(conn_of(0));
    while (!dm_adapt_is_ready(conn_of(0)) || !dm_adapt_is_ready(conn_of(1)))
        poll_both();
    for (int i = 0; i < 64; i++)
        buf[i] = 0;
    sides[0].n_writable = 0;
    while (taken > 0 && n < 100000) {
        for (int i = 0; i < 64; i++)
            buf[i] = (char)pattern(0, sides[0].sent + (uint64_t)i);
        CHECK_EQ(dm_adapt_eager_put(conn_of(0), &iov, 1, &taken), DM_OK);
        sides[0].sent += taken;
        n++;
        dm_adapt_poll(sides[0].adapt);
    }
    CHECK(n <= (int)sides[0].adapt->rings.n_slots + 1);
    CHECK_EQ(sides[0].n_writable, 0);
    CHECK(dm_adapt_eager_reserve(conn_of(0), 8) == NULL);
    for (int i = 0; i < 100; i++)
        poll_both();
    CHECK_EQ(sides[0].n_writable, 1);
    CHECK_EQ(sides[1].got, sides[0].sent);
    CHECK(dm_adapt_eager_reserve(conn_of(0), 8) != NULL);
    CHECK_EQ(dm_adapt_eager_commit(conn_of(0), 0), DM_OK);
    close_both();
}

/*
 * Little memory may be locked: both ends get by with smaller rings, the smaller of what each
 * has; nothing is lost, and large parts are copied.
 */
static void short_memory(void)
{
    static const size_t limits[] = {2000000, 700000, 90000, 40000, 20000, 6000};
    const struct dm_conn *conn;
    size_t before = SIZE_MAX;
    size_t len;

    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        open_both();
        FAKE_CALL(fake.max_locked = (size_t)2 * DM_PROBE_LEN + limits[i]);
        CHECK_EQ(dm_adapt_connect(conn_of((int)i % 2)), DM_OK);
        stream(200000, 20000);
        conn = conn_of(0);
        CHECK_EQ(conn->ring.n_slots, conn_of(1)->ring.n_slots);
        CHECK_EQ(conn->ring.slot_size, conn_of(1)->ring.slot_size);
        CHECK_EQ(conn->tx.n_slots, conn_of(1)->rx.n_slots);
        CHECK_EQ(conn->tx.stride, conn_of(1)->rx.stride);
        len = (size_t)conn->ring.n_slots * conn->ring.slot_size;
        CHECK(len < before);
        before = len;
        CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
        FAKE_CALL(fake.max_locked = 0);
        close_both();
    }
}

/* Not even the smallest rings: the message has the limit and what to do. */
static void no_memory(void)
{
    open_both();
    FAKE_CALL(fake.max_locked = (size_t)2 * DM_PROBE_LEN + 4096);
    CHECK_EQ(dm_adapt_connect(conn_of(0)), DM_EPROVIDER);
    CHECK(strstr(dm_err_detail(), "ulimit -l") != NULL);
    CHECK(strstr(dm_err_detail(), "rank 1 on host here") != NULL);
    for (int i = 0; i < 100; i++)
        dm_adapt_poll(sides[0].adapt);
    CHECK_EQ(sides[0].n_failed, 1);
    FAKE_CALL(fake.max_locked = 0);
    close_both();
}

/* Memory is short before anything is open: nothing to measure with, and it works without. */
static void no_probe_memory(void)
{
    FAKE_CALL(fake.max_locked = 100000);
    open_both();
    CHECK(sides[0].adapt->mem.probe_lmr[0].handle == DAT_HANDLE_NULL);
    CHECK_EQ(dm_adapt_connect(conn_of(0)), DM_OK);
    stream(100000, 20000);
    CHECK_EQ(dm_adapt_rndv(conn_of(0)), DM_RNDV_READ);
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    FAKE_CALL(fake.max_locked = 0);
    close_both();
}

/* Small queues: rings that fit them. */
static void small_queues(void)
{
    FAKE_CALL(fake.max_dtos = 16);
    open_both();
    CHECK_EQ(dm_adapt_connect(conn_of(0)), DM_OK);
    stream(100000, 3000);
    CHECK_EQ(conn_of(0)->ring.n_slots, 14);
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    close_both();
    FAKE_CALL(fake.max_dtos = 0);
    FAKE_CALL(fake.max_evd = 150);
    open_both();
    CHECK_EQ(dm_adapt_connect(conn_of(0)), DM_OK);
    stream(100000, 3000);
    CHECK(conn_of(0)->ring.n_slots < 64);
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    close_both();
    FAKE_CALL(fake.max_evd = 0);
}

/* Both connect at once, refusals and time-outs on the way: one connection comes out. */
static void crossing(int n_not_listening, int n_lost, int n_unreachable)
{
    open_both();
    FAKE_CALL(fake.n_not_listening = n_not_listening);
    FAKE_CALL(fake.n_lost = n_lost);
    FAKE_CALL(fake.n_unreachable = n_unreachable);
    CHECK_EQ(dm_adapt_connect(conn_of(0)), DM_OK);
    CHECK_EQ(dm_adapt_connect(conn_of(1)), DM_OK);
    stream(5000, 300);
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    FAKE_CALL(fake.n_not_listening = fake.n_lost = fake.n_unreachable = 0);
    close_both();
}

/* The first rail never answers: the second one carries everything. */
static void second_rail(void)
{
    crossing(0, 0, 1000);
    CHECK(fake.n_connects < 1000);
}

static void nobody(void)
{
    uint64_t start = dm_clock_ns();

    open_both();
    FAKE_CALL(fake.n_not_listening = 1000000);
    CHECK_EQ(dm_adapt_connect(conn_of(0)), DM_OK);
    while (sides[0].n_failed == 0 && dm_clock_ns() - start < 10000000000u)
        dm_adapt_poll(sides[0].adapt);
    CHECK_EQ(sides[0].n_failed, 1);
    CHECK_EQ(sides[0].err, DM_ECONN);
    CHECK(strstr(dm_err_detail(), "rank 1 on host here") != NULL);
    FAKE_CALL(fake.n_not_listening = 0);
    close_both();
}

/* Unknown peers connect: each is refused, nothing else happens. */
static void unknown_peers(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    struct dm_ia *ia;
    struct dm_conn_private priv;
    DAT_EVD_HANDLE evd;
    DAT_EP_HANDLE ep;
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_EP_ATTR attr;

    open_both();
    ia = sides[0].adapt->rails.ias[0];
    memset(&attr, 0, sizeof(attr));
    memcpy(&addr, ia->net.addr, sizeof(addr));
    fake_evd_create(NULL, 8, NULL, DAT_EVD_CONNECTION_FLAG, &evd);
    for (int i = 0; i < 7; i++) {
        dm_conn_prepare(conn_of(0), &conn_of(0)->link[DM_LINK_PIPE], ia);
        dm_conn_private_fill(conn_of(0), DM_LINK_PIPE, DM_PRIVATE_CONNECT, &priv);
        fake_ep_free(conn_of(0)->link[DM_LINK_PIPE].ep);
        conn_of(0)->link[DM_LINK_PIPE].ep = DAT_HANDLE_NULL;
        priv.rank = 1; /* right so far */
        priv.magic += i == 0;
        priv.job += i == 1;
        priv.rank += i == 2;
        priv.rank -= i == 3;
        priv.version += i == 4;
        priv.slot_size += i == 5 ? DM_RING_SIZE_LARGE : 0;
        fake_ep_create(NULL, NULL, evd, evd, evd, &attr, &ep);
        fake_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&addr, ia->cm.qual, 1000000,
                        i == 6 ? 8 : (int)sizeof(priv), &priv, DAT_QOS_BEST_EFFORT, 0);
        CHECK_EQ(fake_evd_wait(evd, 5000000, 1, &event, &n_more), DAT_SUCCESS);
        CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
        fake_ep_free(ep);
    }
    fake_evd_free(evd);
    stream(1000, 100);
    close_both();
}

/* Providers that do not open: an error that names them, never another one instead. */
static void closed(void)
{
    struct dm_adapt_events ev = {&sides[0], on_input, on_writable, on_failed, NULL, NULL};
    struct dm_adapt *adapt = NULL;
    struct dm_adapt_job job;

    FAKE_CALL(fake.fails_open = true);
    procs[0] = (struct job_proc){.space = &space, .rank = 0, .size = N};
    job_describe(&procs[0], NULL, &job);
    job.kv.fence = no_fence;
    CHECK_EQ(dm_adapt_open(&job, &ev, &adapt), DM_EPROVIDER);
    CHECK(adapt == NULL);
    CHECK(strstr(dm_err_detail(), "fake-a") != NULL);
    CHECK(strstr(dm_err_detail(), dm_cfg()->provider[0] != '\0' ? "DATUM_PROVIDER" : conf_path) !=
          NULL);
}

static int n_listed;

static void on_provider(void *arg, const struct dm_provider_info *info)
{
    (void)arg;
    if (info->is_builtin)
        return;
    n_listed++;
    CHECK_EQ(info->is_usable, !fake.fails_open);
    CHECK_EQ(strcmp(info->verdict, "ok") == 0, info->is_usable);
    CHECK_STR(info->library, "in-process");
}

static void listed(void)
{
    CHECK_EQ(dm_adapt_list_providers(on_provider, NULL), DM_OK);
    fake.fails_open = true;
    CHECK_EQ(dm_adapt_list_providers(on_provider, NULL), DM_OK);
    CHECK_EQ(n_listed, 4);
}

/* ---- RDMA ---- */

static int n_done;
static int n_bad;

static void on_done(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    n_done++;
    n_bad += err != DM_OK;
}

/* Short ones, with a page's end in them at their source; src[at] is to be the first byte of a page. */
static void shorts(const unsigned char *src, struct dm_mr *mine, unsigned char *dst,
                   const struct dm_rkey *rkey, size_t at, bool is_read)
{
    static struct dm_rdma rdma[24];
    unsigned char back[24 * 24] = {0};
    int n_before = n_done;

    for (size_t n = 1; n <= 24; n++) {
        size_t from = at + (n - 1) * 4096 - n / 2;
        uint64_t there = (uint64_t)(uintptr_t)dst + from;

        rdma[n - 1].done = on_done;
        if (is_read)
            CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[n - 1], back + 24 * (n - 1), NULL, there,
                                        rkey, n),
                     DM_OK);
        else
            CHECK_EQ(
                dm_adapt_rdma_write(conn_of(0), &rdma[n - 1], src + from, mine, there, rkey, n),
                DM_OK);
    }
    while (n_done < n_before + 24)
        poll_both();
    for (size_t n = 1; n <= 24; n++) {
        size_t from = at + (n - 1) * 4096 - n / 2;

        CHECK(memcmp(is_read ? back + 24 * (n - 1) : dst + from, src + from, n) == 0);
    }
}

/* Larger than the provider moves at once, more than its queue takes, connected on demand. */
static void bulk(void)
{
    static struct dm_rdma rdma[100];
    size_t len = 300000;
    unsigned char *src = malloc(len);
    unsigned char *dst = calloc(1, len);
    unsigned char *back = calloc(1, len);
    struct dm_rkey rkey;
    struct dm_mr *mr;
    struct dm_mr *mine;

    for (unsigned round = 0; round < 4; round++) {
        unsigned delay = round % 2 * 4;

        open_both();
        FAKE_CALL(fake.delay = delay);
        FAKE_CALL(fake.is_late = round >= 2);
        n_done = n_bad = 0;
        for (size_t i = 0; i < len; i++)
            src[i] = pattern(2, i + round);
        CHECK_EQ(dm_adapt_reg(sides[1].adapt, dst, len, &mr), DM_OK);
        CHECK_EQ(dm_adapt_reg(sides[0].adapt, src, len, &mine), DM_OK);
        dm_adapt_rkey(mr, &rkey);
        for (size_t i = 0; i < 100; i++) {
            rdma[i].done = on_done;
            CHECK_EQ(dm_adapt_rdma_write(conn_of(0), &rdma[i], src + i * 3000, mine,
                                         (uint64_t)(uintptr_t)dst + i * 3000, &rkey, 3000),
                     DM_OK);
        }
        while (n_done < 100)
            poll_both();
        CHECK(memcmp(src, dst, len) == 0);
        CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[0], back, NULL, (uint64_t)(uintptr_t)dst,
                                    &rkey, len),
                 DM_OK);
        CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[1], back, NULL, (uint64_t)(uintptr_t)dst,
                                    &rkey, 0),
                 DM_OK);
        CHECK_EQ(n_done, 101);
        while (n_done < 102)
            poll_both();
        CHECK(memcmp(back, dst, len) == 0);
        shorts(src, mine, dst, &rkey, 4096 - (uintptr_t)dst % 4096, true);
        memset(dst, 0, len);
        shorts(src, mine, dst, &rkey, 4096 - (uintptr_t)src % 4096, false);
        CHECK_EQ(n_bad, 0);
        dm_adapt_unreg(sides[0].adapt, mine);
        dm_adapt_unreg(sides[1].adapt, mr);
        FAKE_CALL(fake.is_late = false);
        close_both();
    }
    free(src);
    free(dst);
    free(back);
}

/* A lost connection: transfers end with an error, once each; puts fail; told once. */
static void loss(void)
{
    static struct dm_rdma rdma[80];
    static unsigned char mem[4096];
    struct dm_rkey rkey;
    struct dm_mr *mr;
    char byte = 0;
    struct iovec iov = {&byte, 1};
    uint64_t until;
    size_t taken;

    open_both();
    dm_adapt_connect(conn_of(0));
    stream(1000, 100);
    CHECK_EQ(dm_adapt_reg(sides[1].adapt, mem, sizeof(mem), &mr), DM_OK);
    dm_adapt_rkey(mr, &rkey);
    n_done = n_bad = 0;
    rdma[0].done = on_done;
    CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[0], mem + 2048, NULL, (uint64_t)(uintptr_t)mem,
                                &rkey, 100),
             DM_OK);
    while (n_done < 1)
        poll_both();
    FAKE_CALL(fake.delay = 1000000); /* nothing moves from here on */
    for (int i = 0; i < 80; i++) {
        rdma[i].done = on_done;
        CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[i], mem + 2048, NULL,
                                    (uint64_t)(uintptr_t)mem, &rkey, 100),
                 DM_OK);
    }
    fake_ep_disconnect(conn_of(1)->link[DM_LINK_PIPE].ep, DAT_CLOSE_ABRUPT_FLAG);
    until = dm_clock_ns() + 10000000000u;
    while ((sides[0].n_failed == 0 || sides[1].n_failed == 0 || n_done < 81) &&
           dm_clock_ns() < until)
        poll_both();
    for (int i = 0; i < 5000; i++)
        poll_both();
    CHECK_EQ(n_done, 81);
    CHECK_EQ(n_bad, 80);
    CHECK_EQ(sides[0].n_failed, 1);
    CHECK_EQ(sides[1].n_failed, 1);
    CHECK_EQ(sides[0].err, DM_EPEER);
    CHECK_EQ(dm_adapt_eager_put(conn_of(0), &iov, 1, &taken), DM_EPEER);
    CHECK(dm_adapt_eager_reserve(conn_of(0), 1) == NULL);
    CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[0], mem, NULL, 0, &rkey, 1), DM_EPEER);
    dm_adapt_unreg(sides[1].adapt, mr);
    close_both();
}

/* ---- registration cache ---- */

/* Memory that nobody registers is memory all the same; peers get no keys. */
static void refused_memory(struct dm_adapt *adapt)
{
    struct dm_mr *a;
    struct dm_mr *b;
    void *ptr;

    while (dm_reg_cache_evict(&adapt->mem.cache))
        continue;
    FAKE_CALL(fake.max_lmrs = fake.n_lmrs);
    CHECK_EQ(dm_adapt_mem_alloc(adapt, 2 << 20, &ptr, &a), DM_OK); /* more than is there */
    CHECK(!dm_adapt_is_registered(a));
    memset(ptr, 1, 10000);
    CHECK_EQ(dm_adapt_reg(adapt, ptr, 100, &b), DM_EAGAIN);
    FAKE_CALL(fake.max_lmrs = 0);
    CHECK_EQ(dm_adapt_reg(adapt, ptr, 100, &b), DM_OK); /* there is room later */
    CHECK(b != a);
    dm_adapt_unreg(adapt, b);
    dm_adapt_mem_free(adapt, ptr);
}

static void reg_cache(void)
{
    struct dm_adapt *adapt;
    size_t page = 4096;
    char *mem = aligned_alloc(page, 64 * page);
    struct dm_mr *a;
    struct dm_mr *b;
    struct dm_mr *c;
    void *ptr;
    int base;

    FAKE_CALL(fake.refuses_shared = true);
    open_both();
    adapt = sides[0].adapt;
    base = fake.n_lmrs;
    CHECK_EQ(dm_adapt_reg(adapt, mem + 100, 200, &a), DM_OK);
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 150, 10, &b), DM_OK);
    CHECK(a == b); /* a part of a known region */
    CHECK_EQ(dm_adapt_reg(adapt, mem + 4000, 200, &c), DM_OK);
    CHECK(c != a); /* grows over the next page; the old one lives while it is used */
    CHECK_EQ(fake.n_lmrs, base + 2 * adapt->rails.n_ias);
    dm_adapt_unreg(adapt, a);
    dm_adapt_unreg(adapt, b);
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias);
    CHECK_EQ(dm_adapt_reg(adapt, mem, 2 * page, &a), DM_OK);
    CHECK(a == c);
    dm_adapt_unreg(adapt, a);
    dm_adapt_unreg(adapt, c);
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias); /* kept */
    CHECK_EQ(dm_adapt_reg(adapt, mem + 1, 0, &a), DM_OK);
    dm_adapt_unreg(adapt, a);
    /* out of registrations: idle ones go, used ones do not */
    FAKE_CALL(fake.max_lmrs = base + 2 * adapt->rails.n_ias);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 8 * page, page, &a), DM_OK);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 16 * page, page, &b), DM_OK);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 24 * page, page, &c), DM_EAGAIN);
    dm_adapt_unreg(adapt, a);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 24 * page, page, &c), DM_OK);
    dm_adapt_unreg(adapt, b);
    dm_adapt_unreg(adapt, c);
    FAKE_CALL(fake.max_lmrs = 0);
    /* the limit of what is kept unused: 20 pages by the settings of this test */
    for (int i = 0; i < 32; i++) {
        CHECK_EQ(dm_adapt_reg(adapt, mem + 2 * (size_t)i * page, page, &a), DM_OK);
        dm_adapt_unreg(adapt, a);
    }
    CHECK_EQ(fake.n_lmrs, base + 20 * adapt->rails.n_ias);
    CHECK_EQ(dm_adapt_reg(adapt, mem, 64 * page, &a), DM_OK); /* takes all of them in */
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias);
    dm_reg_cache_invalidate(&adapt->mem.cache, (uintptr_t)mem + 5, 1);
    CHECK_EQ(dm_adapt_reg(adapt, mem, 10, &b), DM_OK);
    CHECK(a != b);
    dm_adapt_unreg(adapt, a);
    dm_adapt_unreg(adapt, b);
    CHECK_EQ(dm_adapt_mem_alloc(adapt, 100, &ptr, &a), DM_OK);
    CHECK_EQ((uintptr_t)ptr % 64, 0);
    CHECK_EQ(dm_adapt_reg(adapt, (char *)ptr + 8, 50, &b), DM_OK);
    CHECK(a == b);
    dm_adapt_unreg(adapt, b);
    CHECK(dm_adapt_is_registered(a));
    dm_adapt_mem_free(adapt, ptr);
    refused_memory(adapt);
    close_both();
    FAKE_CALL(fake.refuses_shared = false);
    free(mem);
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

static void basics(void)
{
    tags();
    full();
    streams();
}

static void credits_ring(void)
{
    credits(false);
}

static void credits_sr(void)
{
    credits(true);
}

static void connections(void)
{
    crossing(0, 0, 0);
    crossing(3, 0, 0);
    crossing(0, 3, 0);
    crossing(2, 2, 1);
    second_rail();
}

int main(void)
{
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
    fake_register(conf_path);
    putenv("DATUM_CONNECT=demand");
    putenv("DATUM_PROVIDER=fake-a,fake-b");
    for (int i = 4; i <= 8; i += 2) {
        char settings[100];

        snprintf(settings, sizeof(settings),
                 "DATUM_EAGER=rdma DATUM_RING_SLOTS=%d DATUM_RING_SLOT_SIZE=%d", i, 64 * i);
        run(settings, basics);
        snprintf(settings, sizeof(settings),
                 "DATUM_EAGER=basic DATUM_RING_SLOTS=%d DATUM_RING_SLOT_SIZE=%d", i, 64 * i);
        run(settings, basics);
        snprintf(settings, sizeof(settings),
                 "DATUM_EAGER=sendrecv DATUM_RING_SLOTS=%d DATUM_RING_SLOT_SIZE=%d", i, 64 * i);
        run(settings, basics);
    }
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=64 DATUM_RING_SLOT_SIZE=16k", basics);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=5 DATUM_RING_SLOT_SIZE=256", lengths);
    run("DATUM_EAGER=sendrecv DATUM_RING_SLOTS=5 DATUM_RING_SLOT_SIZE=256", lengths);
    run("DATUM_EAGER=basic DATUM_RING_SLOTS=5 DATUM_RING_SLOT_SIZE=256", lengths);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=5 DATUM_CHUNK=200", lengths);
    run("DATUM_EAGER=basic DATUM_CHUNK=70000", basics);
    run("DATUM_EAGER=basic DATUM_RING_SLOTS=16", three_writes);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=16", credits_ring);
    run("DATUM_EAGER=sendrecv DATUM_RING_SLOTS=16", credits_sr);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=16", late_reader);
    run("DATUM_EAGER=basic DATUM_RING_SLOTS=16", late_reader);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=7", wraps);
    run("DATUM_EAGER=basic DATUM_RING_SLOTS=7", wraps);
    run("DATUM_EAGER=sendrecv DATUM_RING_SLOTS=7", wraps);
    run("DATUM_EAGER=rdma", connections);
    run("DATUM_EAGER=sendrecv", connections);
    run("DATUM_EAGER=basic", connections);
    run("DATUM_EAGER=rdma DATUM_TIMEOUT=300ms", nobody);
    run("DATUM_EAGER=rdma", unknown_peers);
    run("DATUM_PROVIDER=fake-a", closed);
    run("DATUM_PROVIDER=", closed);
    run("DATUM_PROVIDER=", listed);
    run("DATUM_EAGER=rdma", short_memory);
    run("DATUM_EAGER=sendrecv", short_memory);
    run("DATUM_EAGER=basic", short_memory);
    run("DATUM_EAGER=rdma", no_memory);
    run("DATUM_EAGER=rdma", no_probe_memory);
    run("DATUM_EAGER=rdma", small_queues);
    run("DATUM_EAGER=sendrecv", small_queues);
    run("DATUM_EAGER=basic", small_queues);
    run("DATUM_EAGER=rdma", bulk);
    run("DATUM_EAGER=sendrecv", bulk);
    run("DATUM_EAGER=rdma DATUM_RECONNECT=0", loss);
    run("DATUM_EAGER=sendrecv DATUM_RECONNECT=0", loss);
    run("DATUM_EAGER=basic DATUM_RECONNECT=0", loss);
    run("DATUM_REG_CACHE_SIZE=81920", reg_cache);
    unlink(conf_path);
    rmdir(dir);
    return test_result();
}
