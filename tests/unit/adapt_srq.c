/* test: layers=util,dapl_adapt timeout=90 */
/*
 * Receives that peers share: credits in sum are never more than receives, who is busy has more, the lack
 * of them slows senders and breaks nothing, a loss gives them back; and providers without such queues.
 * The fake provider ends the test when a message finds no receive.
 */
#include "adapt_two.h"

#include "dapl_adapt/conn/receives.h"
#include "dapl_adapt/provider/srq.h"

enum { MANY = 16, PEERS = MANY - 1, TOTAL = 6000 };

/* Party 0 is everybody's peer. */
struct party {
    int rank;
    struct dm_adapt *adapt;
    uint64_t sent[MANY];
    uint64_t got[MANY];
    int n_failed;
    bool is_deaf; /* reads nothing */
};

static struct party parties[MANY];
static struct job_proc many_procs[MANY];

static unsigned char byte_of(int from, int to, uint64_t k)
{
    return (unsigned char)(k * 7 + (k >> 8) * 5 + (uint64_t)(from * 31 + to * 17));
}

static void many_input(void *arg, int p, struct dm_conn *conn)
{
    struct party *party = arg;
    const void *data;
    size_t len;

    while (!party->is_deaf && (len = dm_adapt_eager_peek(conn, &data)) > 0) {
        for (size_t i = 0; i < len; i++) {
            if (((const unsigned char *)data)[i] != byte_of(p, party->rank, party->got[p] + i)) {
                CHECK(!"byte of the stream");
                break;
            }
        }
        party->got[p] += len;
        dm_adapt_eager_consume(conn, len);
    }
}

static void many_failed(void *arg, int p, struct dm_conn *conn, int err)
{
    struct party *party = arg;

    (void)p;
    (void)conn;
    CHECK_EQ(err, DM_EPEER);
    party->n_failed++;
}

static void many_writable(void *arg, int p, struct dm_conn *conn)
{
    (void)arg;
    (void)p;
    CHECK(job_is_ready(conn));
}

static struct dm_conn *many_conn(int from, int to)
{
    return dm_adapt_conn(parties[from].adapt, to);
}

static void many_poll(void)
{
    for (int r = 0; r < MANY; r++)
        dm_adapt_poll(parties[r].adapt);
}

static void many_open(void)
{
    static const int nodes[MANY];
    struct dm_adapt_job job;

    memset(&space, 0, sizeof(space));
    for (int r = 0; r < MANY; r++) {
        struct dm_adapt_events ev = {&parties[r], many_input, many_writable, many_failed,
                                     NULL,        NULL,       NULL};

        parties[r] = (struct party){.rank = r};
        many_procs[r] = (struct job_proc){.space = &space, .rank = r, .size = MANY};
        job_describe(&many_procs[r], nodes, &job);
        job.kv.fence = no_fence;
        job.n_local = 1;
        CHECK_EQ(dm_adapt_open(&job, &ev, &parties[r].adapt), DM_OK);
    }
    for (int r = 1; r < MANY; r++) {
        dm_adapt_connect(many_conn(r, 0));
        while (!job_is_ready(many_conn(r, 0)) || !job_is_ready(many_conn(0, r)))
            many_poll();
    }
}

static void many_close(void)
{
    pthread_t threads[MANY];

    FAKE_CALL(fake.delay = 0);
    for (int r = 0; r < MANY; r++)
        dm_adapt_quiesce(parties[r].adapt);
    for (int r = 0; r < MANY; r++)
        CHECK_EQ(pthread_create(&threads[r], NULL, job_close, parties[r].adapt), 0);
    for (int r = 0; r < MANY; r++)
        pthread_join(threads[r], NULL);
    CHECK_EQ(fake.n_srqs, 0);
    CHECK_EQ(fake.n_lmrs, 0);
    CHECK(fake.eps == NULL);
}

static const struct dm_rail_srq *srq_of(const struct dm_adapt *adapt)
{
    return adapt->rails.ias[0]->memory.srq;
}

/* What is granted and what is spare are together all receives; what is borrowed and free all that is sent from. */
static void check_grants(const struct dm_adapt *adapt, uint32_t n_peers)
{
    const struct dm_rail_srq *srq = srq_of(adapt);
    const struct dm_conn *conn;
    uint32_t more = 0, n_held = 0, n_more = 0;

    dm_conn_for_each (conn, adapt) {
        n_held += conn->tx.loan.n_held;
        n_more += conn->tx.loan.n_held > DM_RX_GRANT ? conn->tx.loan.n_held - DM_RX_GRANT : 0;
        if (conn->rx.grant == 0)
            continue;
        CHECK(conn->rx.grant >= DM_RX_GRANT && conn->rx.grant <= conn->ring.n_slots);
        more += conn->rx.grant - DM_RX_GRANT;
    }
    CHECK_EQ(more + srq->n_spare + DM_RX_GRANT * n_peers, srq->n);
    CHECK_EQ(n_held + srq->n_free, srq->n);
    CHECK_EQ(n_more + srq->n_common + DM_RX_GRANT * n_peers, srq->n);
}

/* Of the next bytes as many as it takes, up to cap. */
static void many_put(int from, int to, uint64_t total, size_t cap)
{
    uint64_t *sent = &parties[from].sent[to];
    size_t len = 1 + next_random() % cap, taken;
    unsigned char buf[4096];
    struct iovec iov;

    if (len > total - *sent)
        len = total - *sent;
    for (size_t i = 0; i < len; i++)
        buf[i] = byte_of(from, to, *sent + i);
    iov = (struct iovec){buf, len};
    if (len == 0 || dm_adapt_eager_put(many_conn(from, to), &iov, 1, &taken) != DM_OK)
        return;
    *sent += taken;
}

static bool many_is_done(uint64_t total, int but)
{
    for (int r = 1; r < MANY; r++) {
        if (r != but && (parties[0].got[r] < total || parties[r].got[0] < total))
            return false;
    }
    return true;
}

/* All to party 0 and back. */
static void many_stream(uint64_t total, size_t cap, int but)
{
    uint64_t start = dm_clock_ns();

    while (!many_is_done(total, but)) {
        for (int r = 1; r < MANY; r++) {
            if (r == but)
                continue;
            many_put(r, 0, total, cap);
            many_put(0, r, total, cap);
        }
        many_poll();
        check_grants(parties[0].adapt, PEERS);
        if (dm_clock_ns() - start > 30000000000u) {
            CHECK(!"the streams stand still");
            break;
        }
    }
}

/* Everybody sends to one that does not read; when it reads, all is there. */
static void exhausted(void)
{
    for (unsigned round = 0; round < 2; round++) {
        many_open();
        FAKE_CALL(fake.delay = round * 3);
        parties[0].is_deaf = true;
        for (int i = 0; i < 2000; i++) {
            for (int r = 1; r < MANY; r++)
                many_put(r, 0, TOTAL, 300);
            many_poll();
        }
        for (int r = 1; r < MANY; r++) {
            CHECK(many_conn(0, r)->ring.has_srq && many_conn(r, 0)->ring.peer_has_srq);
            CHECK_EQ(many_conn(r, 0)->tx.n_avail, 0);
            CHECK(parties[r].sent[0] > 0 && parties[r].sent[0] < TOTAL);
        }
        CHECK(fake.n_unposted >=
              2 * PEERS); /* they keep one back each, and wait for news of the first */
        CHECK(fake.n_unposted <= (int)srq_of(parties[0].adapt)->n - PEERS);
        check_grants(parties[0].adapt, PEERS);
        parties[0].is_deaf = false;
        many_stream(TOTAL, 300, 0);
        CHECK_EQ(srq_of(parties[0].adapt)->n_messages > 0, true);
        for (int r = 0; r < MANY; r++)
            CHECK_EQ(parties[r].n_failed, 0);
        many_close();
        fake.n_unposted = 0;
    }
}

/* One is busy and has more than the others; when all are, there is something for each. */
static void busy_one(void)
{
    const struct dm_rail_srq *srq;
    uint32_t alone;

    many_open();
    srq = srq_of(parties[0].adapt);
    while (parties[0].got[1] < TOTAL) {
        many_put(1, 0, TOTAL, 100);
        many_poll();
    }
    alone = many_conn(0, 1)->rx.grant;
    CHECK_EQ(alone > DM_RX_GRANT, srq->n > DM_RX_GRANT * PEERS);
    CHECK(many_conn(0, 2)->rx.grant <= DM_RX_GRANT + 1);
    many_stream(TOTAL, 100, 0);
    CHECK(many_conn(0, 1)->rx.grant <= alone);
    check_grants(parties[0].adapt, PEERS);
    many_close();
}

/* With one spare receive it goes from hand to hand. */
static void one_spare(void)
{
    many_open();
    CHECK_EQ(srq_of(parties[0].adapt)->n, DM_RX_GRANT * PEERS + 1);
    many_stream(TOTAL, 50, 0);
    CHECK(srq_of(parties[0].adapt)->n_kept > 0);
    CHECK_EQ(srq_of(parties[0].adapt)->least_spare, 0);
    many_close();
}

/* Nobody hears that anything was sent: there is something to send from to each, for certain. */
static void sends_pending(void)
{
    many_open();
    FAKE_CALL(fake.hold = 1u << 30);
    for (int r = 1; r < MANY; r++) {
        for (int i = 0; i < 30; i++)
            many_put(0, r, TOTAL, 100);
        CHECK(parties[0].sent[r] > 0);
        CHECK(many_conn(0, r)->tx.loan.n_held >= 2);
        check_grants(parties[0].adapt, PEERS);
    }
    FAKE_CALL(fake.hold = 0);
    many_stream(TOTAL, 100, 0);
    CHECK(srq_of(parties[0].adapt)->n_free >= srq_of(parties[0].adapt)->n - 2 * PEERS);
    many_close();
}

/* A connection breaks: what it had goes to the others, and what comes late is nobody's. */
static void one_lost(void)
{
    uint32_t n_spare;
    int victim = 3;

    many_open();
    while (parties[0].got[victim] < TOTAL / 2) {
        many_put(victim, 0, TOTAL / 2, 100);
        many_poll();
    }
    n_spare = srq_of(parties[0].adapt)->n_spare + many_conn(0, victim)->rx.grant - DM_RX_GRANT;
    FAKE_CALL(fake_break(many_conn(victim, 0)->links->at[DM_LINK_PIPE].ep));
    while (parties[0].n_failed == 0 || parties[victim].n_failed == 0)
        many_poll();
    CHECK_EQ(srq_of(parties[0].adapt)->n_spare, n_spare);
    many_stream(TOTAL, 300, victim);
    CHECK_EQ(parties[0].n_failed, 1);
    many_close();
}

/* More records than credits: that peer is lost, and nobody else. */
static void cheat(void)
{
    many_open();
    parties[0].is_deaf = true;
    for (int i = 0; i < 40 && parties[0].n_failed == 0; i++) {
        many_conn(1, 0)->tx.n_avail = 2;
        many_put(1, 0, TOTAL, 1);
        many_poll();
    }
    parties[0].is_deaf = false;
    for (int i = 0; i < 3000; i++)
        many_poll();
    CHECK_EQ(parties[0].n_failed, 1);
    CHECK(strstr(dm_conn_why(many_conn(0, 1)), "more records") != NULL);
    many_stream(TOTAL, 300, 1);
    many_close();
}

/* ---- two sides ---- */

static void two_stream(void)
{
    for (unsigned round = 0; round < 4; round++) {
        open_both();
        FAKE_CALL(fake.delay = round % 2 * 4);
        FAKE_CALL(fake.hold = round / 2 * 3);
        sides[1].take_less = round == 3 ? 5 : 0;
        connect_both();
        CHECK(conn_of(0)->ring.has_srq && conn_of(1)->ring.peer_has_srq);
        CHECK(!dm_conn_can_move(conn_of(0)) && !dm_conn_can_move(conn_of(1)));
        stream(40000, 9000); /* in pieces */
        check_grants(sides[0].adapt, 1);
        CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
        FAKE_CALL(fake.hold = 0);
        close_both();
        CHECK_EQ(fake.n_srqs, 0);
    }
}

/* One of two cannot; whoever connects. */
static void two_mixed(void)
{
    for (int r = 0; r < N; r++) {
        open_both();
        strcpy(sides[r].adapt->rails.ias[0]->memory.no_srq, "a test");
        connect_both();
        CHECK(!conn_of(r)->ring.has_srq && conn_of(1 - r)->ring.has_srq);
        CHECK(conn_of(r)->is_sendrecv && conn_of(1 - r)->is_sendrecv);
        CHECK(!dm_conn_can_move(conn_of(0)) && !dm_conn_can_move(conn_of(1)));
        stream(30000, 700);
        close_both();
    }
}

/* None at all, or none so long: receives of their own, and the reason. */
static void two_without(void)
{
    const struct dm_ia *ia;

    open_both();
    FAKE_CALL(fake.max_srq = -1);
    connect_both();
    ia = sides[0].adapt->rails.ias[0];
    CHECK(!conn_of(0)->ring.has_srq && !conn_of(0)->ring.peer_has_srq);
    CHECK(strstr(dm_receives_why_own(ia), "dat_srq_create") != NULL);
    stream(10000, 700);
    close_both();
    open_both();
    FAKE_CALL(fake.max_srq = DM_RX_GRANT - 1);
    connect_both();
    CHECK(!conn_of(0)->ring.has_srq);
    stream(10000, 700);
    close_both();
    open_both();
    FAKE_CALL(fake.max_srq = DM_RX_GRANT + 1);
    connect_both();
    CHECK(conn_of(0)->ring.has_srq);
    CHECK_EQ(srq_of(sides[0].adapt)->n, DM_RX_GRANT);
    stream(10000, 700);
    close_both();
    FAKE_CALL(fake.max_srq = 0);
}

/* With adapters, whose receives complete in any order, nobody shares. */
static void two_pinning(void)
{
    open_both();
    for (int r = 0; r < N; r++)
        sides[r].adapt->rails.ias[0]->caps.is_pinning = true;
    CHECK(strstr(dm_receives_why_own(sides[0].adapt->rails.ias[0]), "in any order") != NULL);
    CHECK(dm_receives_why_own(sides[0].adapt->rails.ias[1]) == NULL);
    connect_both();
    CHECK(!conn_of(0)->ring.has_srq && !conn_of(0)->ring.peer_has_srq);
    CHECK(conn_of(0)->is_sendrecv);
    stream(10000, 700);
    for (int r = 0; r < N; r++)
        sides[r].adapt->rails.ias[0]->caps.is_pinning = false;
    close_both();
}

static void two_refused(void)
{
    struct dm_adapt_events ev = {&sides[0], on_input, on_writable, on_failed, NULL, NULL, NULL};
    struct dm_adapt *adapt = NULL;
    struct dm_adapt_job job;

    procs[0] = (struct job_proc){.space = &space, .rank = 0, .size = N};
    job_describe(&procs[0], NULL, &job);
    job.kv.fence = no_fence;
    CHECK_EQ(dm_adapt_open(&job, &ev, &adapt), DM_ECONFIG);
    CHECK(strstr(dm_err_detail(), "DATUM_SRQ=yes") != NULL);
}

int main(void)
{
    if (!two_begin())
        return 1;
    run("DATUM_SRQ=yes", two_stream);
    run("DATUM_SRQ=yes DATUM_RING_SLOTS=4 DATUM_RING_SLOT_SIZE=200", two_stream);
    run("DATUM_SRQ=yes", two_mixed);
    run("DATUM_SRQ=yes", two_without);
    run("DATUM_SRQ=yes", two_pinning);
    run("DATUM_SRQ=yes DATUM_EAGER=rdma", two_refused);
    run("DATUM_SRQ=yes DATUM_EAGER=basic", two_refused);
    run("DATUM_SRQ=yes DATUM_SRQ_SIZE=4k", exhausted);
    run("DATUM_SRQ=yes DATUM_SRQ_SIZE=16k", exhausted);
    run("DATUM_SRQ=yes", exhausted);
    run("DATUM_SRQ=yes DATUM_SRQ_SIZE=4k", busy_one);
    run("DATUM_SRQ=yes DATUM_SRQ_SIZE=16k", busy_one);
    run("DATUM_SRQ=yes DATUM_SRQ_SIZE=4k", sends_pending);
    run("DATUM_SRQ=yes DATUM_SRQ_SIZE=7808", one_spare);
    run("DATUM_SRQ=yes DATUM_SRQ_SIZE=16k", one_lost);
    run("DATUM_SRQ=yes", cheat);
    fake.iov = DAT_IOV_PROVIDER_MOD;
    run("DATUM_SRQ=yes DATUM_SRQ_SIZE=16k", exhausted);
    run("DATUM_SRQ=yes", two_stream);
    return two_end();
}
