/* test: layers=util,dapl_adapt timeout=60 */
/*
 * Datagrams before records: those of a peer are read in the order of their numbers, whole or in parts, however
 * they come; its first record is not read before the last of them, though it is there earlier. A peer that sends
 * much, or what is long, gets no more of them. One that has died with a full box is lost.
 */
#include "dapl_adapt/eager/datagram.h"

#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/public/pipe.h"
#include "test.h"
#include "util/arena.h"

enum { N = 4, N_MANY = 10000, LONG = 8000, SHORT = 100 };

static struct dm_adapt *adapt;
static struct dm_conn *conn;
static _Atomic uint64_t due;
static DM_ALIGNED(64) unsigned char box[N][DM_ARENA_LONG_LEN]; /* of this process */
static int n_in_box;
static DM_ALIGNED(64) unsigned char space[2][DM_ARENA_LONG_LEN];
static struct dm_datagram *const slots[2] = {(void *)space[0], (void *)space[1]}; /* short, long */
static int n_sent, n_back;
static char got[64];           /* all that was read */
static size_t most;            /* of it at a time */
static bool is_full, has_died; /* the peer's box; the peer */

static void *way_find(void *arg, uint32_t number)
{
    (void)arg;
    return number == 1 ? box : NULL;
}

static struct dm_datagram *way_claim(void *arg, void *any, uint32_t *cap_p)
{
    bool is_long = *cap_p > SHORT;

    (void)arg;
    (void)any;
    if (is_full)
        return NULL;
    *cap_p = is_long ? DM_DATAGRAM_MAX : SHORT;
    return slots[is_long];
}

static bool way_has_died(void *arg, void *any)
{
    (void)arg;
    CHECK(any == box);
    return has_died;
}

static void way_send(void *arg, void *any, const struct dm_datagram *slot)
{
    (void)arg;
    (void)any;
    CHECK(slot == slots[0] || slot == slots[1]);
    if (slot->len == 0)
        n_back++;
    else
        n_sent++;
}

static int way_receive(void *arg, void (*take)(void *, const struct dm_datagram *), void *take_arg)
{
    int n = n_in_box;

    (void)arg;
    due = 0;
    for (n_in_box = 0; n_in_box < n; n_in_box++)
        take(take_arg, (const void *)box[n_in_box]);
    n_in_box = 0;
    return n;
}

/* As the upper layer does: one packet at a time. */
static void input(void *arg, int proc, struct dm_conn *of)
{
    const void *data;
    size_t len = dm_adapt_eager_peek(of, &data);

    (void)arg;
    CHECK(proc == 1 && of == conn);
    len = len < most ? len : most;
    strncat(got, data, len);
    if (len > 0)
        dm_adapt_eager_consume(of, len);
}

static void put(uint32_t number, const char *text)
{
    struct dm_datagram *slot = (void *)box[n_in_box++];

    slot->source = 1;
    slot->number = number;
    slot->len = (uint32_t)strlen(text);
    memcpy(slot->data, text, slot->len);
    due = 1;
}

static void begin(void)
{
    static _Atomic(struct dm_conn *) conns[2];

    adapt = calloc(1, sizeof(*adapt));
    CHECK(adapt != NULL);
    adapt->job.size = 2;
    adapt->conns = conns;
    adapt->rings.stride = dm_slot_stride(LONG);
    adapt->ev.input = input;
    dm_list_init(&adapt->poll.datagrams.unread);
    dm_list_init(&adapt->poll.datagrams.blocked);
    adapt->poll.datagrams.is_on = true;
    adapt->poll.datagrams.way = (struct dm_datagrams){.due = &due,
                                                      .find = way_find,
                                                      .claim = way_claim,
                                                      .send = way_send,
                                                      .has_died = way_has_died,
                                                      .receive = way_receive};
    conn = dm_conn_make(adapt, 1);
    CHECK(conn != NULL);
}

static void poll_all(void)
{
    for (int i = 0; i < 64; i++)
        (void)dm_eager_datagrams_poll(adapt);
}

static void test_order(void)
{
    most = 2;
    put(1, "def");
    put(3, "h");
    put(0, "abc");
    poll_all();
    CHECK(strcmp(got, "abcdef") == 0);
    put(2, "g");
    poll_all();
    CHECK(strcmp(got, "abcdefgh") == 0);
}

/* There is a pipe: the count of datagrams comes before the record. */
static void test_record(void)
{
    static struct dm_ctl ctl;
    const void *data;

    conn->was_up = true;
    conn->ctl = &ctl;
    CHECK(dm_adapt_eager_peek(conn, &data) == 0);
    CHECK(conn->rx.has_datagrams);
    put(5, "j");
    put(4, "i");
    ctl.datagrams = 6 + 1;
    CHECK_EQ(dm_adapt_eager_peek(conn, &data), 1); /* it has taken them */
    CHECK(*(const char *)data == 'i');
    poll_all();
    CHECK(strcmp(got, "abcdefghij") == 0);
    CHECK(dm_adapt_eager_peek(conn, &data) == 0);
    CHECK(!conn->rx.has_datagrams);
    conn->was_up = false;
}

static void test_sending(void)
{
    int n = 0;

    CHECK(dm_eager_datagram_reserve(conn, 1) == slots[0]->data);
    dm_eager_datagram_commit(conn, 1);
    CHECK(n_sent == 1 && slots[0]->number == 0 && slots[0]->len == 1);
    CHECK(dm_eager_datagram_reserve(conn, SHORT) == slots[0]->data); /* and then it is longer */
    CHECK(dm_eager_datagram_reserve(conn, SHORT + 1) == slots[1]->data);
    CHECK(n_back == 1 && n_sent == 1);
    CHECK(dm_eager_datagram_reserve(conn, 1) == slots[1]->data); /* which takes this, too */
    dm_eager_datagram_commit(conn, 1);
    CHECK(n_back == 1 && n_sent == 2);
    CHECK_EQ(slots[1]->number, ++n);
    while (n < N_MANY && dm_eager_datagram_reserve(conn, DM_DATAGRAM_MAX) != NULL) {
        dm_eager_datagram_commit(conn, 1);
        CHECK_EQ(slots[1]->number, ++n);
    }
    CHECK(n > 0 && n < N_MANY);
    conn->tx.datagrams.is_over = false;
    conn->tx.datagrams.n_sent = 0;
    CHECK(dm_eager_datagram_reserve(conn, DM_DATAGRAM_MAX + 1) == NULL);
    CHECK(dm_eager_datagram_reserve(conn, 1) == NULL); /* it would come before */
}

/* A peer whose box is full is asked for each time, whoever's turn it is. */
static void test_death(void)
{
    is_full = true;
    conn->tx.datagrams.is_over = false;
    conn->tx.datagrams.n_sent = 1;
    CHECK(dm_eager_datagram_reserve(conn, 1) == NULL);
    CHECK(dm_eager_datagram_waits(conn));
    adapt->poll.datagrams.watched = conn; /* the last one */
    dm_eager_datagrams_watch(adapt);
    CHECK(!dm_conn_is_lost(conn));
    has_died = true;
    adapt->poll.datagrams.watched = conn;
    dm_eager_datagrams_watch(adapt);
    CHECK(dm_conn_is_lost(conn));
}

int main(void)
{
    begin();
    test_order();
    test_record();
    test_sending();
    test_death();
    free(conn->loss.why);
    free(conn);
    free(adapt);
    return test_result();
}
