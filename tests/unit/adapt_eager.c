/* test: layers=util,dapl_adapt timeout=60 */
/* Streams of bytes over the ring, the basic design and sendrecv: order, credits, wraps, short memory. */
#include "adapt_two.h"
#include "dapl_adapt/eager/place.h"

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
    while (!job_is_ready(conn_of(0)) || !job_is_ready(conn_of(1)))
        poll_both();
    conn = conn_of(0);
    max = conn->ring.stride - DM_TRAILER_LEN;
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

/* A byte each way; who has got one answers, so that credits for it go along. */
static void ping_pong(int n)
{
    char byte;
    struct iovec iov = {&byte, 1};
    size_t taken;

    for (int i = 0; i < n; i++) {
        for (int r = 0; r < N; r++) {
            byte = (char)pattern(r, sides[r].sent);
            CHECK_EQ(dm_adapt_eager_put(conn_of(r), &iov, 1, &taken), DM_OK);
            CHECK_EQ(taken, 1);
            sides[r].sent++;
            poll_both();
        }
    }
}

/* A pair that is idle one way gets credits by messages of their own; two ways they ride along. */
static void credits(bool is_sendrecv)
{
    uint32_t n_slots;
    int before;
    char byte;
    struct iovec iov = {&byte, 1};
    size_t taken;

    fake.is_ordered = true; /* no iWARP: nothing is written that the clock asks for (conn/prod.c) */
    open_both();
    connect_both();
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
    while (sides[1].got < sides[0].sent)
        poll_both();
    ping_pong(1); /* what is owed for those goes along */
    before = fake.n_writes + fake.n_sends;
    ping_pong(100 * (int)n_slots);
    /* ping-pong: one write per message, nothing else */
    CHECK_EQ(fake.n_writes + fake.n_sends - before, 200 * (int)n_slots);
    CHECK(is_sendrecv ? fake.n_sends > 0 : fake.n_writes > 0);
    close_both();
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

    fake.is_ordered = true; /* no iWARP: nothing is written that the clock asks for (conn/prod.c) */
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
    conn->tx.n_filled += n_records;
    conn->tx.sq.done += n_records;
    conn->tx.n_before += n_records;
    conn->credits.acked_by_peer += n_records;
    conn->credits.looked += n_records;
    conn->rx.peer_credit = (conn->rx.peer_credit + n_records) & 0xffff;
    conn->credits.written += n_records;
    atomic_store(&conn->ctl->credit, atomic_load(&conn->ctl->credit) + n_records);
    rx->n_consumed += n_records;
    rx->n_credited += n_records;
    conn->tx.place.asked += n_records;
    conn->tx.place.left += n_records;
    conn->tx.place.entered += n_records;
    conn->tx.ring.gen += n_gens;
    conn->tx.ring.tag = dm_trailer_tag(conn->tx.ring.gen);
    conn->tx.idle.gen += n_gens;
    conn->tx.idle.tag = dm_trailer_tag(conn->tx.idle.gen);
    rx->ring.gen += n_gens;
    rx->ring.tag = dm_trailer_tag(rx->ring.gen);
    rx->idle.gen += n_gens;
    rx->idle.tag = dm_trailer_tag(rx->idle.gen);
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
            pass_time(r, 0u - 100u - conn_of(r)->tx.n_filled, 0);
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
    const uint64_t *heads;
    struct iovec iov = {NULL, 1};
    size_t taken;
    char byte;
    int before;

    open_both();
    dm_adapt_connect(conn_of(0));
    while (!job_is_ready(conn_of(0)) || !job_is_ready(conn_of(1)))
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
    /* heads do not tell of tails */
    heads = (const void *)(conn_of(1)->region.ptr +
                           dm_region_len(conn_of(1)->ring.n_slots, conn_of(1)->ring.stride));
    for (uint32_t i = 0; i < conn_of(1)->ring.n_slots; i++) {
        CHECK(heads[i] != 0);
        CHECK_EQ(heads[i] >> DM_TRAILER_CREDIT & 0xffff, 0);
    }
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
    while (!job_is_ready(conn_of(0)) || !job_is_ready(conn_of(1)))
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
    CHECK(n <= (int)conn_of(0)->tx.place.n_cells + 1);
    CHECK(!conn_of(0)->tx.place.has_cells || n >= (int)conn_of(0)->tx.place.n_begin);
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
        CHECK_EQ(conn->tx.place.is_packed  ? (int32_t)conn->ring.stride
                 : conn->tx.place.in_cells ? conn->tx.idle.stride
                                           : conn->tx.ring.stride,
                 conn_of(1)->rx.stride);
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

/* A record of len bytes, and the peer reads it. */
static void send_record(int r, size_t len)
{
    unsigned char *place;

    while ((place = dm_adapt_eager_reserve(conn_of(r), len)) == NULL)
        poll_both();
    for (size_t i = 0; i < len; i++)
        place[i] = pattern(r, sides[r].sent + i);
    CHECK_EQ(dm_adapt_eager_commit(conn_of(r), len), DM_OK);
    sides[r].sent += len;
    for (int i = 0; i < 1000 && sides[1 - r].got < sides[r].sent; i++)
        poll_both();
    CHECK_EQ(sides[1 - r].got, sides[r].sent);
}

/* The length of a record that is just too long for cells. */
static size_t above_cells(void)
{
    return dm_eager_place_cells_max(&conn_of(0)->tx) + 1;
}

/* With more slots than a peer has for itself: short records in cells, short rounds through the slots. */
static void rings(void)
{
    const struct dm_tx *tx;
    uint32_t n_sent = 0;

    open_both();
    connect_both();
    tx = &conn_of(0)->tx;
    CHECK(tx->place.has_cells && tx->place.in_cells);
    for (uint32_t i = 0; i < 3 * tx->n_slots; i++)
        send_record((int)i % 2, 1 + i % DM_CELL_MAX);
    CHECK(tx->place.in_cells);
    CHECK_EQ(tx->idle.slot, 0);
    CHECK_EQ(tx->idle.gen, 1);
    for (int i = 0; i < 1000; i++)
        send_record(i % 2, above_cells());
    CHECK(!tx->place.in_cells);
    /* As if it had been entered before all counts went round. */
    conn_of(0)->tx.place.left = conn_of(0)->tx.place.entered = tx->n_filled + 0xff;
    for (int i = 0; i < 1000; i++)
        send_record(0, above_cells());
    CHECK(tx->n_filled - tx->place.entered >= 1000);
    CHECK(tx->place.last <= 24 && tx->ring.slot < 24 && tx->ring.gen > 1);
    for (int i = 0; i < 8; i++)
        send_record(0, 9);
    CHECK(tx->place.in_cells);
    /* A reader that is busy: as many as there is room for, then the sender is told to go on. */
    while (n_sent < tx->n_slots && dm_adapt_eager_reserve(conn_of(0), 200) != NULL) {
        for (int i = 0; i < 200; i++)
            (tx->ring.trailer - tx->reserved)[i] = (char)pattern(0, sides[0].sent + (uint64_t)i);
        CHECK_EQ(dm_adapt_eager_commit(conn_of(0), 200), DM_OK);
        sides[0].sent += 200;
        n_sent++;
    }
    CHECK(n_sent > 0 && n_sent < tx->n_slots);
    for (int i = 0; i < 1000 && sides[1].got < sides[0].sent; i++)
        poll_both();
    CHECK_EQ(sides[1].got, sides[0].sent);
    send_record(0, 200);
    stream(sides[0].sent + 200000, 400);
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    close_both();
}

/* Until the peer has read everything. */
static void read_all(void)
{
    while (sides[0].got < sides[1].sent || sides[1].got < sides[0].sent)
        poll_both();
    ping_pong(1); /* which says so */
}

/* A record of so many bytes, if there is a place for it now. */
static bool send_if_possible(int r, size_t len)
{
    unsigned char *place = dm_adapt_eager_reserve(conn_of(r), len);

    if (place == NULL)
        return false;
    for (size_t i = 0; i < len; i++)
        place[i] = pattern(r, sides[r].sent + i);
    CHECK_EQ(dm_adapt_eager_commit(conn_of(r), len), DM_OK);
    sides[r].sent += len;
    return true;
}

/* Bursts of short records with long ones among them, of which the peer reads nothing, or some, before the next. */
static void send_bursts(bool is_oversubscribed)
{
    size_t n_full = 0;

    open_both();
    for (int r = 0; r < N; r++)
        sides[r].adapt->is_oversubscribed = is_oversubscribed;
    connect_both();
    for (int i = 0; i < 6000; i++) {
        int r = i % 7 == 0;
        unsigned n = next_random() % (next_random() % 2 == 0 ? 300 : 20);
        unsigned one_long_in = 1 + next_random() % (i / 1000 % 2 == 0 ? 8 : 80);

        for (unsigned k = 0; k < n; k++) {
            bool is_long = next_random() % one_long_in == 0;

            n_full += !send_if_possible(r, 1 + next_random() % (is_long ? 3000 : DM_CELL_MAX));
            if (next_random() % 64 == 0)
                dm_adapt_poll(sides[r].adapt);
        }
        for (unsigned k = next_random() % 3; k > 0; k--)
            poll_both();
    }
    read_all();
    CHECK(n_full > 100);
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    close_both();
}

/* What a receiver takes for an empty record in a cell, of some round. */
static uint64_t lookalike(uint64_t k)
{
    return dm_trailer_tag((uint32_t)(k / 5 % 97) + 1);
}

/*
 * Records of many lengths whose data look like trailers of later rounds: each place where a record may end has
 * had all of them before.
 */
static void lookalikes(void)
{
    const struct dm_tx *tx;
    uint64_t n_words = 0, n_read = 0;

    open_both();
    for (int r = 0; r < N; r++)
        sides[r].adapt->is_oversubscribed = true;
    connect_both();
    tx = &conn_of(0)->tx;
    while (tx->ring.gen < 300 && test_n_failed == 0) {
        size_t n = 1 + next_random() % (next_random() % 2 == 0 ? 15 : above_cells() / 8 - 1);
        uint64_t *place = dm_adapt_eager_reserve(conn_of(0), n * 8);
        const void *data;
        size_t len;

        for (size_t i = 0; place != NULL && i < n; i++)
            place[i] = lookalike(n_words++);
        if (place != NULL)
            CHECK_EQ(dm_adapt_eager_commit(conn_of(0), n * 8), DM_OK);
        if (place != NULL && next_random() % 3 > 0)
            continue;
        while ((len = dm_adapt_eager_peek(conn_of(1), &data)) > 0) {
            for (size_t i = 0; i < len / 8; i++)
                CHECK_EQ(((const uint64_t *)data)[i], lookalike(n_read++));
            dm_adapt_eager_consume(conn_of(1), len);
        }
        CHECK_EQ(n_read, n_words);
        dm_poll_drain(sides[0].adapt);
    }
    CHECK(tx->ring.is_mixed);
    close_both();
}

/* Cells whose records of the round before are unread stay as they are, also after records in slots. */
static void back_to_cells(void)
{
    const struct dm_tx *tx;
    uint32_t n, n_sent = 0;

    open_both();
    for (int r = 0; r < N; r++)
        sides[r].adapt->is_oversubscribed = true;
    connect_both();
    tx = &conn_of(0)->tx;
    do
        ping_pong(1);
    while (tx->place.last_cells == tx->place.n_cells ||
           tx->ring.slot != tx->place.last_cells / 2 + 1);
    n = tx->place.last_cells;
    for (; tx->ring.slot != 0; n_sent++)
        CHECK(send_if_possible(0, 1));
    CHECK_EQ(tx->place.last_cells, n);
    for (; n_sent < n - 3; n_sent++)
        CHECK(send_if_possible(0, 1));
    CHECK(send_if_possible(0, above_cells()));
    CHECK(!tx->place.in_cells);
    for (uint32_t i = 0; i < n && send_if_possible(0, 1); i++)
        continue;
    CHECK(tx->place.in_cells);
    CHECK(!send_if_possible(0, 1));
    for (int i = 0; i < 1000 && sides[1].got < sides[0].sent; i++)
        poll_both();
    CHECK_EQ(sides[1].got, sides[0].sent);
    read_all();
    close_both();
}

static void bursts(void)
{
    send_bursts(false);
    send_bursts(true);
}

/* Half as many as there are slots, before the peer reads. */
static void burst(size_t len)
{
    for (uint32_t i = 0; i < conn_of(0)->tx.n_slots / 2; i++)
        (void)send_if_possible(0, len);
    read_all();
}

/* One of few peers has slots alone once it sends much, and in bursts that need them. */
static void hot(void)
{
    const struct dm_tx *tx;

    open_both();
    connect_both();
    tx = &conn_of(0)->tx;
    for (uint32_t i = 0; i < 2000; i++)
        send_record((int)i % 2, 1);
    CHECK(tx->place.in_cells);
    CHECK_EQ(tx->idle.gen, 1); /* no page of the slots was touched */
    CHECK_EQ(tx->idle.slot, 0);
    for (uint32_t i = 0; i < 8192; i++)
        send_record((int)i % 2, 1);
    CHECK(tx->place.in_cells);
    CHECK_EQ(tx->idle.gen, 1);
    CHECK_EQ(tx->idle.slot, 0);
    for (int i = 0; i < 100; i++)
        burst(1);
    CHECK(!tx->place.in_cells);
    CHECK_EQ(tx->place.last, tx->n_slots);
    close_both();
}

/* Or often what is too long for cells. */
static void hot_by_length(void)
{
    const struct dm_tx *tx;

    open_both();
    connect_both();
    tx = &conn_of(0)->tx;
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 6; k++)
            send_record(0, k == 0 ? above_cells() : 1);
        CHECK(tx->place.in_cells); /* again after each */
    }
    for (int i = 0; i < 10; i++)
        burst(above_cells());
    for (uint32_t i = 0; i < tx->n_slots; i++)
        send_record(0, 1);
    CHECK(!tx->place.in_cells);
    CHECK_EQ(tx->place.last, tx->n_slots);
    close_both();
}

/* Who sends few long records, and whose peer reads them, is told so, and goes round few slots. */
static void first_rounds(void)
{
    const struct dm_tx *tx;
    uint32_t most = 0;

    open_both();
    connect_both();
    tx = &conn_of(0)->tx;
    for (int i = 0; i < 40; i++) {
        send_record(0, 10000);
        if (tx->ring.slot > most)
            most = tx->ring.slot;
    }
    CHECK(!tx->place.in_cells);
    CHECK(tx->ring.gen >= 2);
    CHECK(most <= 20);
    close_both();
}

/* Is nothing in the ring of slots, nor in the buffer that they are sent from? */
static bool slots_are_untouched(const struct dm_conn *conn)
{
    const struct dm_conn_ring *ring = &conn->ring;

    for (size_t i = dm_region_ring(ring->n_slots, ring->stride);
         i < dm_region_len(ring->n_slots, ring->stride); i++)
        if (conn->region.ptr[i] != 0)
            return false;
    return true;
}

/* Short messages are in cells, and nowhere else; what is longer goes between them. */
static void packed(void)
{
    open_both();
    connect_both();
    CHECK(conn_of(0)->tx.place.is_packed && conn_of(1)->rx.cells != NULL);
    for (int i = 0; i < 300; i++)
        send_record(i % 2, (size_t)(1 + i % DM_CELL_MAX));
    CHECK(slots_are_untouched(conn_of(0)) && slots_are_untouched(conn_of(1)));
    for (int i = 0; i < 300; i++)
        send_record(i % 2, (size_t)(DM_CELL_MAX - 3 + i % 7));
    CHECK(!slots_are_untouched(conn_of(0)));
    CHECK(dm_adapt_eager_reserve(conn_of(0), DM_CELL_MAX + 1) != NULL); /* but nothing is sent */
    CHECK_EQ(dm_adapt_eager_commit(conn_of(0), 0), DM_OK);
    for (int i = 0; i < 100; i++)
        send_record(0, 1);
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    close_both();
}

/* What does not go on over another rail. */
static void fixed(const char *slots, void (*fn)(void))
{
    char settings[100];

    snprintf(settings, sizeof(settings), "DATUM_EAGER=rdma DATUM_RECONNECT=0 DATUM_RING_SLOTS=%s",
             slots);
    run(settings, fn);
}

/* Triplets are the provider's until completion, which is seen late. */
static void kept(void)
{
    FAKE_CALL(fake.iov = DAT_IOV_PROVIDER_MOD; fake.hold = 4);
    basics();
    FAKE_CALL(fake.iov = DAT_IOV_PROVIDER_NOMOD; fake.hold = 0);
    basics();
}

/* Completions are counted by queue: records that come are those of receives. */
static void queues(void)
{
    const struct dm_ia *ia;
    uint64_t n_before;

    open_both();
    connect_both();
    ia = sides[1].adapt->rails.ias[0];
    CHECK_EQ(ia->recv_evd != ia->dto_evd, dm_cfg()->cq == DM_CQ_SPLIT);
    n_before = ia->counts.n_taken[ia->recv_evd != ia->dto_evd ? DM_SIDE_RECV : DM_SIDE_REQUEST];
    for (int i = 0; i < 100; i++)
        send_record(0, 8);
    if (dm_cfg()->cq == DM_CQ_SPLIT) {
        CHECK_EQ(ia->counts.n_taken[DM_SIDE_RECV] - n_before, 100);
        CHECK(ia->counts.n_taken[DM_SIDE_REQUEST] < 100);
    } else {
        CHECK_EQ(ia->counts.n_taken[DM_SIDE_RECV], 0);
        CHECK(ia->counts.n_taken[DM_SIDE_REQUEST] - n_before >= 100);
    }
    close_both();
    streams();
}

int main(void)
{
    if (!two_begin())
        return 1;
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
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=6 DATUM_RING_SLOT_SIZE=5000", kept);
    run("DATUM_EAGER=basic DATUM_RING_SLOTS=6 DATUM_RING_SLOT_SIZE=5000", kept);
    run("DATUM_EAGER=sendrecv DATUM_RING_SLOTS=6 DATUM_RING_SLOT_SIZE=5000", kept);
    fixed("6 DATUM_RING_SLOT_SIZE=5000", kept);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=5 DATUM_RING_SLOT_SIZE=256", lengths);
    run("DATUM_EAGER=sendrecv DATUM_RING_SLOTS=5 DATUM_RING_SLOT_SIZE=256", lengths);
    run("DATUM_EAGER=basic DATUM_RING_SLOTS=5 DATUM_RING_SLOT_SIZE=256", lengths);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=5 DATUM_CHUNK=200", lengths);
    run("DATUM_EAGER=basic DATUM_CHUNK=70000", basics);
    run("DATUM_EAGER=basic DATUM_RING_SLOTS=16", three_writes);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=16", credits_ring);
    run("DATUM_EAGER=sendrecv DATUM_RING_SLOTS=16", credits_sr);
    run("DATUM_EAGER=sendrecv DATUM_RING_SLOTS=16", packed);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=16", late_reader);
    run("DATUM_EAGER=basic DATUM_RING_SLOTS=16", late_reader);
    run("DATUM_EAGER=rdma DATUM_RING_SLOTS=7", wraps);
    run("DATUM_EAGER=basic DATUM_RING_SLOTS=7", wraps);
    run("DATUM_EAGER=sendrecv DATUM_RING_SLOTS=7", wraps);
    fixed("600 DATUM_RING_SLOT_SIZE=1k", rings);
    fixed("32", back_to_cells);
    fixed("64", back_to_cells);
    fixed("16", bursts);
    fixed("32", bursts);
    fixed("64", bursts);
    fixed("600 DATUM_RING_SLOT_SIZE=1k", bursts);
    fixed("64", lookalikes);
    fixed("32 DATUM_RING_SLOT_SIZE=1k", lookalikes);
    run("DATUM_EAGER=sendrecv DATUM_RING_SLOTS=32", bursts);
    fake.write_taken = "65536"; /* all are sent from the same bytes */
    fixed("5", bursts);
    fixed("32", bursts);
    fixed("600 DATUM_RING_SLOT_SIZE=1k", bursts);
    fixed("64", back_to_cells);
    fixed("64", lookalikes);
    fake.write_taken = NULL;
    fixed("16", hot);
    fixed("64", hot);
    fixed("64", hot_by_length);
    fixed("64", first_rounds);
    fixed("4 DATUM_RING_SLOT_SIZE=256", basics);
    fixed("64", basics);
    fixed("600 DATUM_RING_SLOT_SIZE=1k", basics);
    fixed("5 DATUM_RING_SLOT_SIZE=256", lengths);
    fixed("600 DATUM_RING_SLOT_SIZE=256", lengths);
    fixed("16", credits_ring);
    fixed("16", late_reader);
    fixed("7", wraps);
    fixed("600 DATUM_RING_SLOT_SIZE=1k", wraps);
    run("DATUM_EAGER=sendrecv DATUM_CQ=shared", queues);
    run("DATUM_EAGER=sendrecv DATUM_CQ=split DATUM_PROGRESS=poll", queues);
    run("DATUM_EAGER=rdma", short_memory);
    run("DATUM_EAGER=sendrecv", short_memory);
    run("DATUM_EAGER=basic", short_memory);
    run("DATUM_EAGER=rdma", no_memory);
    run("DATUM_EAGER=rdma", no_probe_memory);
    run("DATUM_EAGER=rdma", small_queues);
    run("DATUM_EAGER=sendrecv", small_queues);
    run("DATUM_EAGER=basic", small_queues);
    return two_end();
}
