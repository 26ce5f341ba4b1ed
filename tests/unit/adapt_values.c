/* test: layers=util,dapl_adapt timeout=60 */
/*
 * Writes that end with a message behind them (DATUM_FIN=chained), over a provider that delays what is
 * posted, and whose writes are done before they are placed.
 */
#include "adapt_two.h"

#define MOST DM_VALUES
#define LEN  3000

static unsigned char src[MOST * LEN], dst[MOST * LEN];
static int n_written, n_told;

static void on_written(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    CHECK_EQ(err, DM_OK);
    n_written++;
}

/* The messages come in the order of the writes, each after its data. */
static void on_told(struct dm_rdma *rdma, int err)
{
    const size_t at = (size_t)n_told * LEN;

    (void)rdma;
    CHECK_EQ(err, DM_OK);
    CHECK(memcmp(dst + at, src + at, LEN) == 0);
    n_told++;
}

static void on_lost(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    CHECK(err != DM_OK);
    n_told++;
}

/* Both sides, with an RDMA link that takes receives. */
static void open_linked(struct dm_rdma *first, uint32_t *value_p)
{
    open_both();
    connect_both();
    n_written = n_told = 0;
    first->done = on_told;
    while (dm_adapt_expect_value(conn_of(1), first, value_p) != DM_OK)
        poll_both();
    while (!conn_of(0)->links->at[DM_LINK_RDMA].may_post)
        poll_both();
    CHECK(!dm_conn_can_move(conn_of(0)));
}

static void chained(void)
{
    static struct dm_rdma writes[MOST], told[MOST], more;
    struct dm_rkey rkey;
    uint32_t value[MOST];
    struct dm_mr *mr;

    for (unsigned round = 0; round < 4; round++) {
        int n_sends, n_reads;

        open_linked(&told[0], &value[0]);
        FAKE_CALL(fake.delay = round % 2 * 4);
        FAKE_CALL(fake.is_late = round >= 2);
        for (size_t i = 0; i < sizeof(src); i++)
            src[i] = pattern(2, i + round);
        memset(dst, 0, sizeof(dst));
        CHECK_EQ(dm_adapt_reg(sides[1].adapt, dst, sizeof(dst), &mr), DM_OK);
        dm_adapt_rkey(mr, &rkey);
        for (int i = 1; i < MOST; i++) {
            told[i].done = on_told;
            CHECK_EQ(dm_adapt_expect_value(conn_of(1), &told[i], &value[i]), DM_OK);
        }
        more.done = on_told;
        CHECK_EQ(dm_adapt_expect_value(conn_of(1), &more, &value[0]), DM_EAGAIN);
        n_sends = fake.n_sends;
        n_reads = fake.n_reads;
        for (size_t i = 0; i < MOST; i++) {
            writes[i].done = on_written;
            CHECK_EQ(dm_adapt_rdma_write_value(conn_of(0), &writes[i], src + i * LEN, NULL,
                                               (uint64_t)(uintptr_t)dst + i * LEN, &rkey, LEN,
                                               value[i]),
                     DM_OK);
            /* at once: nothing is known to have completed */
            CHECK_EQ(n_written, 0);
            CHECK(i > 0 || fake.n_sends == n_sends + 1);
        }
        while (n_written < MOST || n_told < MOST)
            poll_both();
        CHECK_EQ(fake.n_sends, n_sends + MOST);
        CHECK_EQ(fake.n_reads, n_reads); /* nor did any read ask whether it is placed */
        CHECK(memcmp(dst, src, sizeof(dst)) == 0);
        dm_adapt_unreg(sides[1].adapt, mr);
        FAKE_CALL(fake.is_late = false);
        close_both();
    }
}

/* What was expected ends with the connection. */
static void lost(void)
{
    static struct dm_rdma told;
    uint32_t value;

    open_linked(&told, &value);
    told.done = on_lost;
    fake_ep_disconnect(conn_of(1)->links->at[DM_LINK_PIPE].ep, DAT_CLOSE_ABRUPT_FLAG);
    while (n_told < 1 || sides[0].n_failed < 1 || sides[1].n_failed < 1)
        poll_both();
    CHECK_EQ(n_told, 1);
    close_both();
}

/* Other settings that it does not go with. */
static void refused(void)
{
    struct dm_adapt_events ev = {&sides[0], on_input, on_writable, on_failed, NULL, NULL, NULL};
    static const int nodes[N] = {0, 0};
    struct dm_adapt_job job;

    procs[0] = (struct job_proc){.space = &space, .rank = 0, .size = N};
    job_describe(&procs[0], nodes, &job);
    CHECK_EQ(dm_adapt_open(&job, &ev, &sides[0].adapt), DM_ECONFIG);
    CHECK(strstr(dm_err_detail(), "DATUM_RNDV=write") != NULL);
}

int main(void)
{
    if (!two_begin())
        return 1;
    run("DATUM_EAGER=rdma DATUM_RNDV=write DATUM_FIN=chained", chained);
    run("DATUM_EAGER=sendrecv DATUM_RNDV=write DATUM_FIN=chained", chained);
    run("DATUM_RNDV=write DATUM_FIN=chained", lost);
    run("DATUM_FIN=chained", refused);
    run("DATUM_FIN=chained DATUM_RNDV=read", refused);
    return two_end();
}
