/* test: timeout=60 layers=util,channel */
/*
 * DATUM_RNDV=zerocopy: long packets are offered and read, both ways at once, over pipes that are cut anywhere;
 * what cannot be registered or read is copied; the order stays; a lost peer is told of when the read is over.
 */
#include "channel/channel.h"

#include <stdlib.h>

#include "fake_adapt.h"
#include "test.h"
#include "util/cfg.h"

enum { N_MSG = 12, LONG_LEN = 40000, BIG_LEN = (2 << 20) + 3 };

static struct dm_chan *chans[2];
static const size_t lens[] = {0, 64, LONG_LEN, 8, BIG_LEN, 1000};
#define N_LENS (sizeof(lens) / sizeof(lens[0]))

static unsigned char byte_of(int number, size_t at)
{
    return (unsigned char)((size_t)number * 31 + at * 7 + at / 251);
}

/* What a process gets from the other one. */
static struct inbox {
    int next; /* number of the next packet */
    int n_done;
    size_t got;
    bool has_place;
    unsigned char *buf;
} in[2];

static void in_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct inbox *me = arg;

    CHECK_EQ(offset, me->got);
    if (data != NULL)
        memcpy(me->buf + offset, data, len);
    else
        CHECK(me->has_place);
    me->got += len;
}

static void in_done(void *arg)
{
    struct inbox *me = arg;
    int number = me->next - 1, n_wrong = 0;

    CHECK_EQ(me->got, lens[(size_t)number % N_LENS]);
    for (size_t i = 0; i < me->got; i++)
        n_wrong += me->buf[i] != byte_of(number, i);
    CHECK_EQ(n_wrong, 0);
    me->n_done++;
}

static void on_packet(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                      struct dm_chan_sink *sink)
{
    struct inbox *me = arg;

    (void)proc;
    CHECK_EQ(me->n_done, me->next); /* the one before is all there */
    CHECK_EQ(pkt->flags, me->next);
    CHECK_EQ(pkt->data_len, lens[(size_t)me->next % N_LENS]);
    me->next++;
    me->got = 0;
    if (avail == pkt->data_len) {
        in_write(me, 0, data, avail);
        in_done(me);
    } else {
        *sink = (struct dm_chan_sink){.arg = me,
                                      .place = me->has_place ? (char *)me->buf : NULL,
                                      .write = in_write,
                                      .done = in_done};
    }
}

struct out {
    struct dm_chan_send send;
    int n_done, err;
    unsigned char *data;
};

static void out_done(struct dm_chan_send *send, int err)
{
    ((struct out *)send)->n_done++;
    ((struct out *)send)->err = err;
}

static void post(struct out *out, int from, int number)
{
    size_t len = lens[(size_t)number % N_LENS];
    struct dm_pkt pkt = {.type = DM_PKT_EAGER,
                         .version = DM_PKT_VERSION,
                         .hdr_len = sizeof(pkt),
                         .flags = (uint8_t)number,
                         .data_len = (uint32_t)len};

    *out = (struct out){.data = malloc(len + 1)};
    for (size_t i = 0; i < len; i++)
        out->data[i] = byte_of(number, i);
    out->send.done = out_done;
    out->send.data = out->data;
    CHECK_EQ(dm_chan_send(chans[from], 1 - from, &pkt, &out->send), DM_OK);
}

static void start(bool has_place)
{
    for (int i = 0; i < 2; i++) {
        struct dm_adapt_job job = {.rank = i, .size = 2, .n_local = 2};

        CHECK_EQ(dm_chan_start(&job, &chans[i]), DM_OK);
        in[i] = (struct inbox){.has_place = has_place, .buf = malloc(BIG_LEN)};
        dm_chan_on_packet(chans[i], DM_PKT_EAGER, on_packet, &in[i]);
    }
}

static void stop(void)
{
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(dm_chan_stop(chans[i]), DM_OK);
        free(in[i].buf);
    }
    CHECK_EQ(fake.n_registered, 0);
}

/* N_MSG packets from each to the other. */
static void run(bool has_place)
{
    static struct out outs[2][N_MSG];

    start(has_place);
    for (int i = 0; i < N_MSG; i++)
        for (int from = 0; from < 2; from++)
            post(&outs[from][i], from, i);
    for (int i = 0; i < 10000000 && in[0].n_done + in[1].n_done < 2 * N_MSG; i++) {
        dm_chan_progress(chans[0]);
        dm_chan_progress(chans[1]);
    }
    for (int i = 0; i < 100; i++) { /* the last answers */
        dm_chan_progress(chans[0]);
        dm_chan_progress(chans[1]);
    }
    for (int from = 0; from < 2; from++) {
        CHECK_EQ(in[from].n_done, N_MSG);
        for (int i = 0; i < N_MSG; i++) {
            CHECK_EQ(outs[from][i].n_done, 1);
            CHECK_EQ(outs[from][i].err, DM_OK);
            free(outs[from][i].data);
        }
    }
    stop();
}

static void defaults(void)
{
    FAKE_DEFAULTS;
    fake.may_register = true;
}

/* 2 of 6 packets are longer than a record; without a place the big one takes 3 reads. */
static void long_ones_are_read(void)
{
    static const size_t cuts[] = {SIZE_MAX, 1000, 100, 33, 8};

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
        for (size_t n = 1; n <= 3; n++) {
            defaults();
            fake.take_max = cuts[i];
            fake.n_records = n;
            run(true);
            CHECK_EQ(fake.n_reads, 2 * N_MSG / 3);
            defaults();
            fake.give_max = cuts[i];
            fake.n_records = n;
            run(false);
            CHECK_EQ(fake.n_reads, 2 * N_MSG / 3 * 2);
        }
}

static void what_is_not_read_is_copied(void)
{
    FAKE_DEFAULTS;
    run(true);
    CHECK_EQ(fake.n_reads, 0);
    for (int n = 1; n <= 6; n++) {
        defaults();
        fake.n_bad_reads = n;
        run(n % 2 == 0);
        CHECK_EQ(fake.n_bad_reads, 0);
    }
}

/* The second piece of three fails: what was read is not sent again. */
static void a_read_that_fails_half_way(void)
{
    struct out out;

    defaults();
    start(false);
    fake.is_read_late = true;
    in[1].next = in[1].n_done = 4;
    post(&out, 0, 4);
    for (int piece = 0; piece < 2; piece++) {
        struct dm_rdma *read = NULL;

        dm_chan_progress(chans[1]);
        read = fake.late_read;
        CHECK(read != NULL);
        fake.late_read = NULL;
        if (read != NULL)
            fake_read_over(read, piece == 0 ? DM_OK : DM_EPROVIDER);
    }
    CHECK_EQ(in[1].got, 1 << 20);
    for (int i = 0; i < 1000; i++) {
        dm_chan_progress(chans[0]);
        dm_chan_progress(chans[1]);
    }
    CHECK_EQ(in[1].n_done, 5);
    CHECK_EQ(out.n_done, 1);
    CHECK_EQ(fake.n_reads, 2);
    free(out.data);
    stop();
}

/* A put that is under way has taken nothing; what was posted later waits for it. */
static void the_order_stays(void)
{
    struct out outs[2];
    struct dm_pkt pkt = {.type = DM_PKT_EAGER, .version = DM_PKT_VERSION, .hdr_len = sizeof(pkt)};

    defaults();
    start(true);
    fake.is_read_late = true;
    in[1].next = in[1].n_done = 2;
    post(&outs[0], 0, 2);
    post(&outs[1], 0, 3);
    for (int i = 0; i < 10; i++) {
        dm_chan_progress(chans[0]);
        dm_chan_progress(chans[1]);
    }
    CHECK_EQ(in[1].next, 3);
    CHECK_EQ(in[1].n_done, 2);
    CHECK_EQ(outs[0].n_done + outs[1].n_done, 0);
    CHECK_EQ(dm_chan_send_now(chans[0], 1, &pkt, NULL), DM_EAGAIN);
    if (fake.late_read != NULL)
        fake_read_over(fake.late_read, DM_OK);
    CHECK_EQ(in[1].n_done, 3);
    CHECK_EQ(outs[0].n_done, 0); /* before it hears so */
    for (int i = 0; i < 10; i++) {
        dm_chan_progress(chans[0]);
        dm_chan_progress(chans[1]);
    }
    CHECK_EQ(in[1].n_done, 4);
    CHECK_EQ(outs[0].n_done, 1);
    CHECK_EQ(outs[1].n_done, 1);
    free(outs[0].data);
    free(outs[1].data);
    stop();
}

static int n_lost;

static void on_lost(void *arg, int proc, int err)
{
    (void)arg;
    (void)proc;
    CHECK_EQ(err, DM_EPEER);
    n_lost++;
}

static void lose_each_other(void)
{
    for (int i = 0; i < 2; i++) {
        dm_chan_on_lost(chans[i], on_lost, NULL);
        fake_procs[i]->conns[1 - i].is_lost = true;
    }
    for (int n = 0; n < 3; n++)
        for (int i = 0; i < 2; i++)
            dm_chan_progress(chans[i]);
}

/* The read writes to memory that is the caller's again when it hears of the loss. */
static void a_lost_peer_is_told_of_after_the_read(void)
{
    struct out out;

    defaults();
    start(true);
    n_lost = 0;
    fake.is_read_late = true;
    in[1].next = in[1].n_done = 2;
    post(&out, 0, 2);
    dm_chan_progress(chans[1]);
    lose_each_other();
    CHECK_EQ(n_lost, 1); /* the sender's */
    CHECK_EQ(out.n_done, 1);
    CHECK_EQ(out.err, DM_EPEER);
    CHECK(dm_chan_is_lost(chans[1], 0));
    if (fake.late_read != NULL)
        fake_read_over(fake.late_read, DM_EPEER);
    CHECK_EQ(n_lost, 1);
    dm_chan_progress(chans[1]);
    CHECK_EQ(n_lost, 2);
    dm_chan_progress(chans[1]);
    CHECK_EQ(n_lost, 2);
    CHECK_EQ(in[1].n_done, 2);
    for (int i = 0; i < 2; i++)
        fake_procs[i]->conns[1 - i].is_lost = false;
    free(out.data);
    stop();
}

int main(void)
{
    setenv("DATUM_RNDV", "zerocopy", 1);
    dm_cfg_load(true);
    long_ones_are_read();
    what_is_not_read_is_copied();
    a_read_that_fails_half_way();
    the_order_stays();
    a_lost_peer_is_told_of_after_the_read();
    return test_result();
}
