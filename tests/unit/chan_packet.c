/* test: timeout=60 layers=util,channel */
/* Packets over a pipe that is cut at every byte: order, headers, payloads, credits. */
#include "channel/channel.h"

#include "fake_adapt.h"
#include "test.h"
#include "util/cfg.h"

#define N_MSG 24

static struct dm_chan *chans[2];

/* A packet with its number in the header; payload bytes follow from number and position. */
struct numbered {
    struct dm_pkt pkt;
    uint64_t words[3];
};

static const size_t lens[] = {0, 1, 7, 8, 9, 63, 64, 100, 257, 3000, 5001, 40000};
#define N_LENS (sizeof(lens) / sizeof(lens[0]))

static unsigned char byte_of(int number, size_t at)
{
    return (unsigned char)((size_t)number * 31 + at * 7 + at / 251);
}

static struct {
    int from;
    int next; /* number of the next packet */
    int n_done;
    int n_in_place;
    size_t written;
} rx;

static void rx_write(void *arg, size_t offset, const void *data, size_t len)
{
    int number = *(int *)arg;
    const unsigned char *p = data;

    CHECK_EQ(offset, rx.written);
    for (size_t i = 0; i < len; i++)
        if (p[i] != byte_of(number, offset + i)) {
            CHECK(!"payload is wrong");
            break;
        }
    rx.written += len;
}

static int rx_number;

static void rx_done(void *arg)
{
    CHECK_EQ(rx.written, lens[*(int *)arg % N_LENS]);
    rx.n_done++;
}

static void on_packet(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                      struct dm_chan_sink *sink)
{
    const struct numbered *n = (const struct numbered *)(const void *)pkt;

    CHECK(arg == &rx);
    CHECK_EQ(proc, rx.from);
    CHECK_EQ(pkt->hdr_len, 8 * (1 + rx.next % 4));
    for (int i = 0; i < pkt->hdr_len / 8 - 1; i++)
        CHECK_EQ(n->words[i], (uint64_t)rx.next * 1000 + (uint64_t)i);
    CHECK_EQ(pkt->data_len, lens[(size_t)rx.next % N_LENS]);
    CHECK_EQ(pkt->flags, rx.next);
    rx_number = rx.next++;
    rx.written = 0;
    if (avail == pkt->data_len) {
        rx.n_in_place++;
        rx_write(&rx_number, 0, data, avail);
        rx_done(&rx_number);
    } else {
        CHECK(avail < pkt->data_len);
        *sink = (struct dm_chan_sink){.arg = &rx_number, .write = rx_write, .done = rx_done};
    }
}

struct out {
    struct dm_chan_send send;
    int number;
    int n_done;
    unsigned char *data;
};

static void out_done(struct dm_chan_send *send, int err)
{
    CHECK_EQ(err, DM_OK);
    ((struct out *)send)->n_done++;
}

static void out_read(struct dm_chan_send *send, size_t offset, void *dst, size_t len)
{
    memcpy(dst, ((struct out *)send)->data + offset, len);
}

static struct numbered make(int number)
{
    struct numbered n;

    memset(&n, 0, sizeof(n));
    n.pkt.type = DM_PKT_EAGER;
    n.pkt.version = DM_PKT_VERSION;
    n.pkt.hdr_len = (uint8_t)(8 * (1 + number % 4));
    n.pkt.flags = (uint8_t)number;
    n.pkt.data_len = (uint32_t)lens[(size_t)number % N_LENS];
    for (int i = 0; i < 3; i++)
        n.words[i] = (uint64_t)number * 1000 + (uint64_t)i;
    return n;
}

static void start(void)
{
    for (int i = 0; i < 2; i++) {
        struct dm_adapt_job job = {.rank = i, .size = 2, .n_local = 2};

        CHECK_EQ(dm_chan_start(&job, &chans[i]), DM_OK);
    }
    memset(&rx, 0, sizeof(rx));
    dm_chan_on_packet(chans[1], DM_PKT_EAGER, on_packet, &rx);
}

static void stop(void)
{
    for (int i = 0; i < 2; i++)
        CHECK_EQ(dm_chan_stop(chans[i]), DM_OK);
}

/* Send all lengths by all ways, with the pipe as it is set, and see them arrive. */
static void run(void)
{
    struct out outs[N_MSG];

    start();
    for (int i = 0; i < N_MSG; i++) {
        struct numbered n = make(i);
        int err = DM_EAGAIN;

        outs[i] = (struct out){.number = i, .data = malloc(n.pkt.data_len + 1)};
        for (size_t k = 0; k < n.pkt.data_len; k++)
            outs[i].data[k] = byte_of(i, k);
        outs[i].send.done = out_done;
        outs[i].send.data = i % 3 == 0 ? NULL : outs[i].data;
        outs[i].send.read = out_read;
        if (n.pkt.data_len == 0 && i % 2 == 0)
            err = dm_chan_send_ctl(chans[0], 1, &n.pkt);
        else if (i % 5 == 0)
            err = dm_chan_send_now(chans[0], 1, &n.pkt, outs[i].data);
        else if (i % 7 == 0) {
            void *place = dm_chan_reserve(chans[0], 1, &n.pkt);

            if (place != NULL) {
                memcpy(place, outs[i].data, n.pkt.data_len);
                err = dm_chan_commit(chans[0], 1);
            }
        }
        if (err == DM_EAGAIN)
            err = dm_chan_send(chans[0], 1, &n.pkt, &outs[i].send);
        else
            outs[i].n_done = 1;
        CHECK_EQ(err, DM_OK);
    }
    for (int i = 0; i < 1000000 && rx.n_done < N_MSG; i++) {
        dm_chan_progress(chans[0]);
        dm_chan_progress(chans[1]);
    }
    CHECK_EQ(rx.n_done, N_MSG);
    for (int i = 0; i < N_MSG; i++) {
        CHECK_EQ(outs[i].n_done, 1);
        free(outs[i].data);
    }
    stop();
}

static void whole_records_arrive_in_place(void)
{
    FAKE_DEFAULTS;
    fake.eager_max = 65536;
    run();
    CHECK_EQ(rx.n_in_place, N_MSG);
}

static void cut_at_every_byte(void)
{
    for (size_t take = 1; take <= 72; take++) {
        FAKE_DEFAULTS;
        fake.take_max = take;
        fake.eager_max = take;
        run();
    }
    for (size_t give = 1; give <= 72; give++) {
        FAKE_DEFAULTS;
        fake.give_max = give;
        run();
        CHECK(rx.n_in_place < N_MSG);
    }
}

static void mixed_cuts_and_few_credits(void)
{
    static const size_t cuts[] = {1, 3, 8, 31, 33, 100, 4096};

    for (size_t i = 0; i < 7; i++)
        for (size_t k = 0; k < 7; k++)
            for (size_t n = 1; n <= 3; n++) {
                FAKE_DEFAULTS;
                fake.take_max = cuts[i];
                fake.give_max = cuts[k];
                fake.eager_max = cuts[(i + k) % 7];
                fake.n_records = n;
                run();
            }
}

static void fast_path_refuses_when_others_wait(void)
{
    struct numbered a = make(0), b = make(1);
    struct out out = {.send.done = out_done};
    unsigned char one = byte_of(1, 0);

    FAKE_DEFAULTS;
    fake.is_unready = true;
    start();
    CHECK_EQ(dm_chan_send_now(chans[0], 1, &a.pkt, NULL), DM_EAGAIN);
    CHECK_EQ(dm_chan_send(chans[0], 1, &a.pkt, &out.send), DM_OK);
    CHECK_EQ(out.n_done, 0);
    fake.is_unready = false;
    /* The way is free, but somebody is before us. */
    CHECK_EQ(dm_chan_send_now(chans[0], 1, &b.pkt, &one), DM_EAGAIN);
    CHECK(dm_chan_reserve(chans[0], 1, &b.pkt) == NULL);
    dm_chan_progress(chans[0]);
    CHECK_EQ(out.n_done, 1);
    CHECK_EQ(dm_chan_send_now(chans[0], 1, &b.pkt, &one), DM_OK);
    dm_chan_progress(chans[1]);
    dm_chan_progress(chans[1]);
    CHECK_EQ(rx.next, 2);
    stop();
}

/* Records hold whole packets, the next one where a header may lie: here 0 and 1, 2, 3 and 4, 5, 6 and 7, 8. */
static void those_who_waited_go_together(void)
{
    struct out outs[9];
    unsigned char data[9][512];

    FAKE_DEFAULTS;
    fake.is_unready = true;
    start();
    for (int i = 0; i < 9; i++) {
        struct numbered n = make(i);

        for (size_t k = 0; k < n.pkt.data_len; k++)
            data[i][k] = byte_of(i, k);
        outs[i] = (struct out){.number = i, .data = data[i]};
        outs[i].send.done = out_done;
        outs[i].send.data = i % 2 == 0 ? data[i] : NULL;
        outs[i].send.read = out_read;
        CHECK_EQ(dm_chan_send(chans[0], 1, &n.pkt, &outs[i].send), DM_OK);
    }
    fake.is_unready = false;
    dm_chan_progress(chans[0]);
    CHECK_EQ(fake_procs[1]->conns[0].n_unread, 6);
    for (int i = 0; i < 9; i++)
        CHECK_EQ(outs[i].n_done, 1);
    for (int i = 0; i < 9; i++)
        dm_chan_progress(chans[1]);
    CHECK_EQ(rx.n_done, 9);
    CHECK_EQ(rx.n_in_place, 9);
    stop();
}

static struct out answers[N_MSG];

/* Answers each packet by the one of the same number. */
static void on_question(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                        size_t avail, struct dm_chan_sink *sink)
{
    struct out *out = &answers[pkt->flags];
    struct numbered n = make(pkt->flags);

    (void)arg, (void)data, (void)avail, (void)sink;
    CHECK_EQ(dm_chan_answer(chans[1], proc, &n.pkt, &out->send), DM_OK);
}

/* n questions that have come are answered in so many records. */
static void answer(int n, size_t n_records)
{
    unsigned char data[N_MSG][512];

    start();
    rx.from = 1;
    dm_chan_on_packet(chans[0], DM_PKT_EAGER, on_packet, &rx);
    dm_chan_on_packet(chans[1], DM_PKT_EAGER, on_question, NULL);
    for (int i = 0; i < n; i++) {
        struct numbered question = make(i);

        question.pkt.data_len = 0;
        CHECK_EQ(dm_chan_send_ctl(chans[0], 1, &question.pkt), DM_OK);
        for (size_t k = 0; k < lens[i]; k++)
            data[i][k] = byte_of(i, k);
        answers[i] = (struct out){.number = i, .data = data[i]};
        answers[i].send.done = out_done;
        answers[i].send.data = data[i];
    }
    for (int i = 0; i < n; i++)
        dm_chan_progress(chans[1]);
    CHECK_EQ(fake_procs[0]->conns[1].n_unread, n_records);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(answers[i].n_done, 1);
        dm_chan_progress(chans[0]);
    }
    CHECK_EQ(rx.n_done, n);
    stop();
}

/* Where each record costs system calls: 0 and 1 byte; 7; 8 and 9; 63; 64 and 100; 257. */
static void answers_go_together(void)
{
    FAKE_DEFAULTS;
    answer(9, 9);
    FAKE_DEFAULTS;
    fake.is_software = true;
    answer(9, 6);
    answer(1, 1);
}

static void memory_in_use_is_not_given_back(void)
{
    struct numbered n = make(9); /* 3000 bytes: from the caller's memory */
    struct out out = {.send.done = out_done};
    unsigned char data[3000];

    FAKE_DEFAULTS;
    start();
    rx.next = 9;
    for (size_t k = 0; k < sizeof(data); k++)
        data[k] = byte_of(9, k);
    out.send.data = data;
    fake.is_sticky = true;
    dm_chan_send(chans[0], 1, &n.pkt, &out.send);
    for (int i = 0; i < 10; i++) {
        dm_chan_progress(chans[0]);
        dm_chan_progress(chans[1]);
    }
    CHECK_EQ(rx.n_done, 1);
    CHECK_EQ(out.n_done, 0);
    fake_procs[0]->conns[1].is_stuck = false;
    dm_chan_progress(chans[0]);
    CHECK_EQ(out.n_done, 1);
    stop();
}

/* A packet of 7 bytes that are changed after the call; DM_EAGAIN: it has not been taken. */
static int send_changed(int number)
{
    struct numbered n = make(number);
    unsigned char data[8] = {0};
    int err;

    n.pkt.data_len = 7;
    for (size_t k = 0; k < 7; k++)
        data[k] = byte_of(number, k);
    err = dm_chan_send_now(chans[0], 1, &n.pkt, data);
    if (err == DM_EAGAIN)
        err = dm_chan_send_copy(chans[0], 1, &n.pkt, data);
    memset(data, 0xee, sizeof(data));
    return err;
}

static int n_short;

static void on_short(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                     struct dm_chan_sink *sink)
{
    (void)arg, (void)proc, (void)sink;
    if (pkt->data_len == 0) /* the one that connects */
        return;
    CHECK_EQ(pkt->flags, (uint8_t)n_short);
    CHECK_EQ(avail, 7);
    for (size_t k = 0; k < 7; k++)
        CHECK_EQ(((const unsigned char *)data)[k], byte_of(n_short, k));
    n_short++;
}

/* All that are taken arrive; returns how many. */
static int take_and_receive(void)
{
    int n = 0;

    n_short = 0;
    while (n < 1000 && send_changed(n) == DM_OK)
        n++;
    for (int i = 0; i < 1000 && n_short < n; i++) {
        dm_chan_progress(chans[1]);
        dm_chan_progress(chans[0]);
    }
    CHECK_EQ(n_short, n);
    return n;
}

/* A slow reader: so many as fit into the pipe, and, where processes share cores, copies up to a limit. */
static void short_ones_are_copied(void)
{
    struct numbered first = make(0);
    int n;

    FAKE_DEFAULTS;
    fake.n_records = 4;
    start();
    dm_chan_on_packet(chans[1], DM_PKT_EAGER, on_short, NULL);
    CHECK_EQ(dm_chan_send_ctl(chans[0], 1, &first.pkt), DM_OK);
    dm_chan_progress(chans[1]);
    CHECK_EQ(take_and_receive(), 4);
    fake.is_oversubscribed = true;
    n = take_and_receive();
    CHECK(n > 100 && n < 1000);
    CHECK_EQ(take_and_receive(), n); /* none is counted any more */
    fake.is_unready = true;
    CHECK_EQ(send_changed(0), DM_EAGAIN);
    fake.is_unready = false;
    stop();
}

int main(void)
{
    dm_cfg_load(true);
    whole_records_arrive_in_place();
    cut_at_every_byte();
    mixed_cuts_and_few_credits();
    fast_path_refuses_when_others_wait();
    those_who_waited_go_together();
    answers_go_together();
    short_ones_are_copied();
    memory_in_use_is_not_given_back();
    return test_result();
}
