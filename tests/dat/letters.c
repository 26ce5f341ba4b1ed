/* test: kind=dat prov=datum-shm san=no timeout=120 params=copy=auto */
/*
 * Handshakes through inboxes with a side that the test plays: it accepts with what cannot be used, has no
 * place for its event, has given its memory to another connection, reads no letters for long, cannot open the
 * other's segment, or claims slots and is seen no more. Who has accepted learns that it was in vain, what must
 * arrive arrives, and no slot is lost.
 */
#include "dat_fake.h"

#include <sys/resource.h>

enum { N_DEAD = 4, N_ALIVE = 4, N_MANY = 300, N_NOISE = 3000, N_POLLED = 20 };
#define FAKE_ID  UINT64_C(0x4711000000000002)
#define DEAD_ID  UINT64_C(0x4712000000000002)
#define ALIVE_ID UINT64_C(0x4713000000000002)

static const char *name;

/* One that has asked, and what it has said. */
struct asker {
    struct dt t;
    struct fake fake;
    struct dm_shm_letter request;
    struct fake_seg seg;
};

static void begin(struct asker *a)
{
    dt_open(&a->t, name);
    fake_open(&a->fake, FAKE_ID);
    fake_ask(&a->t, a->t.ep, a->fake.qual);
    a->request = fake_read(&a->fake);
    CHECK_EQ(a->request.msg.type, DM_CTRL_REQUEST);
    a->seg = fake_map(&a->request);
}

static void end(struct asker *a)
{
    fake_unmap(&a->seg);
    dt_close(&a->t);
    fake_close(&a->fake);
}

/* The one that has accepted learns that nobody is connected with it. */
static void want_gone(struct asker *a)
{
    struct dm_shm_letter letter = fake_read(&a->fake);

    CHECK_EQ(letter.msg.type, DM_CTRL_GONE);
    CHECK_EQ(letter.to, FAKE_CONN);
    fake_want_taken(&a->seg, 0);
}

/* An endpoint that cannot be; then one whose dispatcher does not come back from where it is moved to. */
static void accepted_in_vain(void)
{
    struct dm_shm_ctrl bad = {.type = DM_CTRL_ACCEPT, .conn = FAKE_CONN, .ep = 1};
    struct dm_shm_ctrl moving = {.type = DM_CTRL_ACCEPT, .conn = FAKE_CONN};
    struct asker a;

    begin(&a);
    fake_answer(&a.fake, &a.seg, &a.request, &bad);
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    want_gone(&a);
    end(&a);
    begin(&a);
    a.fake.ep->conn_ring = 0;
    moving.ep = (uint64_t)((char *)a.fake.ep - (char *)a.fake.hdr);
    fake_answer(&a.fake, &a.seg, &a.request, &moving);
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    want_gone(&a);
    end(&a);
}

/* Who waits no more when the acceptance comes says so as well. */
static void given_up(void)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_ACCEPT, .conn = FAKE_CONN};
    struct asker a;

    begin(&a);
    OK(dat_ep_free(a.t.ep));
    msg.ep = (uint64_t)((char *)a.fake.ep - (char *)a.fake.hdr);
    fake_answer(&a.fake, &a.seg, &a.request, &msg);
    want_gone(&a);
    end(&a);
}

static void fill_ring(struct fake *fake)
{
    for (uint64_t i = 0; i < fake->ring->size; i++)
        fake->ring->slots[i].state = dm_slot_state(fake->ring->size, i, 1, DM_SLOT_FULL);
    fake->ring->tail = fake->ring->size;
}

/* It has no place for the event, and no slot for the letter that says that this is lost. */
static void confirmed_without_event(void)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_ACCEPT, .conn = FAKE_CONN};
    double last = dt_now() + 1e-6 * DT_WAIT_US;
    bool is_told = false;
    struct asker a;

    begin(&a);
    for (int i = 0; i < DM_SHM_INBOX_SLOTS; i++)
        a.fake.hdr->inbox.from[i] = ALIVE_ID;
    fill_ring(&a.fake);
    msg.ep = (uint64_t)((char *)a.fake.ep - (char *)a.fake.hdr);
    fake_answer(&a.fake, &a.seg, &a.request, &msg);
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    while (!is_told && dt_now() < last) {
        for (uint32_t i = 0; i < atomic_load(&a.fake.ep->n_ctrl); i++)
            is_told |= a.fake.ep->ctrl[i].type == DM_CTRL_CONFIRM_LOST;
        dt_sleep_ms(1);
    }
    CHECK(is_told);
    CHECK_EQ(a.fake.ep->link, dm_shm_link_word(FAKE_CONN, DM_LINK_UP));
    end(&a);
}

/* Its link is up some instructions after the event of that. */
static void want_up(const struct asker *a)
{
    double last = dt_now() + 1e-6 * DT_WAIT_US;

    while (atomic_load(&a->fake.ep->link) != dm_shm_link_word(FAKE_CONN, DM_LINK_UP) &&
           dt_now() < last)
        dt_sleep_ms(1);
    CHECK_EQ(a->fake.ep->link, dm_shm_link_word(FAKE_CONN, DM_LINK_UP));
}

/*
 * Connected, and then the memory of the other endpoint is given to another connection, before this side hears
 * that its own has ended: nothing that it still does is seen there.
 */
static void reused(void)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_ACCEPT, .conn = FAKE_CONN};
    struct dm_shm_link_ep before;
    struct asker a;

    begin(&a);
    fake_post_recv(&a.fake);
    msg.ep = (uint64_t)((char *)a.fake.ep - (char *)a.fake.hdr);
    fake_answer(&a.fake, &a.seg, &a.request, &msg);
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    want_up(&a);
    OK(dat_ep_post_send(a.t.ep, 0, NULL, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    CHECK_EQ(a.fake.ep->recv_head, 1);
    fake_post_recv(&a.fake);
    atomic_store(&a.fake.ep->link, dm_shm_link_word(FAKE_CONN + 4, DM_LINK_UP));
    memcpy(&before, a.fake.ep, sizeof(before));
    OK(dat_ep_post_send(a.t.ep, 0, NULL, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_disconnect(a.t.ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    CHECK_EQ(memcmp(&before, a.fake.ep, sizeof(before)), 0);
    end(&a);
}

/* How often this thread has slept. */
static long n_sleeps(void)
{
    struct rusage usage;

    CHECK_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
}

/* One acceptance, which a poll may read. False: the thread was awake, and has read it. */
static bool is_polled(void)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_ACCEPT, .conn = FAKE_CONN};
    struct asker a;
    DAT_EVENT event;
    bool is_late;
    long before;

    begin(&a);
    fill_ring(&a.fake);
    msg.ep = (uint64_t)((char *)a.fake.ep - (char *)a.fake.hdr);
    atomic_store(&a.seg.hdr->inbox.is_rung, 1); /* so that the thread does not know */
    before = n_sleeps();
    fake_answer(&a.fake, &a.seg, &a.request, &msg);
    is_late = dat_evd_dequeue(a.t.conn_evd, &event) != DAT_SUCCESS;
    CHECK_EQ(n_sleeps(), before);
    want_up(&a);
    if (is_late)
        dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    end(&a);
    return is_late;
}

/* A poll reads an acceptance by one that has no place for its event: it does not wait for that, the
 * provider's thread does. */
static void polled(void)
{
    int n = 0;

    while (!is_polled())
        CHECK(++n < N_POLLED);
}

/* It cannot open our segment, and nobody listens by a socket. */
static void apart(void)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_APART};
    struct asker a;

    begin(&a);
    CHECK_EQ(fake_n_taken(&a.seg), 1); /* for the answer */
    msg.conn = a.request.msg.conn;
    fake_ring(&a.fake, a.seg.hdr->id, &msg);
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    fake_want_taken(&a.seg, 0);
    end(&a);
}

/* Slots of one that has died before it has filled them; those of one that lives stay its own. */
static void claimed_and_died(void)
{
    struct dm_shm_ctrl reject = {.type = DM_CTRL_REJECT, .status = 1};
    int door = fake_door(ALIVE_ID);
    struct asker a;

    begin(&a);
    for (uint32_t i = 0; i < N_DEAD + N_ALIVE; i++) { /* one of them is for the answer */
        uint64_t none = 0;

        (void)atomic_compare_exchange_strong(&a.seg.hdr->inbox.from[i], &none,
                                             i < N_DEAD ? DEAD_ID : ALIVE_ID);
    }
    fake_want_taken(&a.seg, N_ALIVE + 1);
    for (uint32_t i = N_DEAD; i < N_DEAD + N_ALIVE; i++)
        CHECK_EQ(a.seg.hdr->inbox.from[i], ALIVE_ID);
    fake_answer(&a.fake, &a.seg, &a.request, &reject);
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    end(&a);
    close(door);
}

/* Many requests to one that has no space for them, and then answers none. Another still gets through. */
static void many_without_answer(void)
{
    struct dt t = {.pipe = -1}, other = {.pipe = -1};
    struct fake fake;
    DAT_CONN_QUAL qual;
    DAT_EVENT event;
    DAT_PSP_HANDLE psp;

    dt_open(&t, name);
    OK(dat_psp_create_any(t.ia, &qual, t.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    fake_open(&fake, FAKE_ID);
    for (int i = 0; i < DM_SHM_INBOX_SLOTS; i++)
        fake.hdr->inbox.from[i] = ALIVE_ID;
    for (int i = 0; i < N_MANY; i++)
        fake_ask(&t, dt_ep(&t), fake.qual);
    for (int i = 0; i < DM_SHM_INBOX_SLOTS; i++)
        fake.hdr->inbox.from[i] = 0;
    for (int i = 0; i < DM_SHM_INBOX_SLOTS / 2; i++)
        CHECK_EQ(fake_read(&fake).msg.type, DM_CTRL_REQUEST);
    dt_open(&other, name);
    fake_ask(&other, other.ep, qual);
    event = dt_wait(t.cr_evd);
    OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
    dt_want_conn(other.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    dt_close(&other);
    dt_close(&t);
    fake_close(&fake);
}

/* Who was to ring was killed before it could. The next one finds that somebody has rung. */
static void never_rung(void)
{
    struct dm_shm_ctrl reject = {.type = DM_CTRL_REJECT, .status = 1};
    struct dt other = {.pipe = -1};
    DAT_CONN_QUAL qual;
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    struct asker a;

    begin(&a);
    OK(dat_psp_create_any(a.t.ia, &qual, a.t.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    fake_answer(&a.fake, &a.seg, &a.request, &reject);
    dt_want_conn(a.t.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED); /* it has no peer now */
    dt_sleep_ms(600); /* the last look at that, see src/providers/shm/transport/guard.c */
    atomic_store(&a.seg.hdr->inbox.is_rung, 1);
    dt_open(&other, name);
    fake_ask(&other, other.ep, qual);
    event = dt_wait(a.t.cr_evd);
    OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
    dt_want_conn(other.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    dt_close(&other);
    end(&a);
}

static uint64_t next_random(uint64_t n)
{
    static uint64_t seed = 5;

    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* A letter of which nothing, or nearly everything, is right. */
static struct dm_shm_letter random_letter(const struct asker *a, DAT_CONN_QUAL qual)
{
    struct dm_shm_letter letter;
    unsigned char *byte = (unsigned char *)&letter;
    uint64_t right = next_random(256);

    for (size_t i = 0; i < sizeof(letter); i++)
        byte[i] = (unsigned char)next_random(256);
    letter.msg.type = (uint32_t)next_random(32);
    letter.msg.data_len = (uint32_t)next_random(right % 4 == 0 ? UINT32_MAX : DM_PRIVATE_MAX);
    letter.to = (right & 1) != 0 ? a->request.msg.conn : letter.to;
    letter.pid = (right & 2) != 0 ? (int32_t)getpid() : letter.pid;
    letter.fd = (right & 4) != 0 ? a->fake.fd : (int32_t)next_random(64);
    letter.msg.id = (right & 8) != 0 ? a->fake.hdr->id : letter.msg.id;
    letter.msg.version = (right & 16) != 0 ? DM_SHM_VERSION : letter.msg.version;
    letter.msg.ep = (right & 32) != 0 ? (uint64_t)((char *)a->fake.ep - (char *)a->fake.hdr)
                                      : next_random(1 << 20) * 64;
    letter.qual = (right & 64) != 0 ? qual : letter.qual;
    letter.reply = (uint32_t)next_random((right & 128) != 0 ? DM_SHM_INBOX_SLOTS : UINT32_MAX);
    return letter;
}

/* Put it into the last slots. It is read, whatever it says. */
static void write_noise(struct asker *a, uint32_t slot, const struct dm_shm_letter *letter)
{
    const struct dm_shm_ctrl ring = {.type = DM_CTRL_DOORBELL};
    struct dm_shm_inbox *inbox = &a->seg.hdr->inbox;
    double last = dt_now() + 1e-6 * DT_WAIT_US;

    while (atomic_load(&inbox->from[slot]) != 0) {
        CHECK(dt_now() < last);
        dt_sleep_ms(1);
    }
    atomic_store(&inbox->from[slot], FAKE_ID | DM_SHM_FILLING);
    memcpy(fake_slot(a->seg.hdr, slot), letter, sizeof(*letter));
    atomic_fetch_or(&inbox->full[slot / 64], UINT64_C(1) << slot % 64);
    atomic_store(&inbox->is_due, 1);
    if (atomic_exchange(&inbox->is_rung, 1) == 0)
        fake_ring(&a->fake, a->seg.hdr->id, &ring);
}

/* What comes of it may be any event, and any answer. */
static void drain(struct asker *a)
{
    struct dm_shm_letter letter;
    DAT_EVENT event;

    while (dat_evd_dequeue(a->t.cr_evd, &event) == DAT_SUCCESS)
        (void)dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL);
    while (dat_evd_dequeue(a->t.conn_evd, &event) == DAT_SUCCESS)
        ;
    for (uint32_t slot = 0; slot < DM_SHM_INBOX_SLOTS; slot++)
        (void)fake_take(&a->fake, slot, &letter);
    atomic_store(&a->fake.hdr->inbox.is_rung, 0);
    while (recv(a->fake.door, &letter, sizeof(letter), MSG_DONTWAIT) > 0)
        ;
}

/* Others connect as before, and no slot is lost but the one for an answer. */
static void noise(void)
{
    struct dt other = {.pipe = -1};
    DAT_CONN_QUAL qual;
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    struct asker a;
    double last;

    begin(&a);
    OK(dat_psp_create_any(a.t.ia, &qual, a.t.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    for (uint32_t i = 0; i < N_NOISE; i++) {
        struct dm_shm_letter letter = random_letter(&a, qual);

        write_noise(&a, DM_SHM_INBOX_SLOTS - 1 - i % 8, &letter);
        drain(&a);
    }
    dt_open(&other, name);
    fake_ask(&other, other.ep, qual);
    last = dt_now() + 1e-6 * DT_WAIT_US;
    while (dat_evd_dequeue(other.conn_evd, &event) != DAT_SUCCESS) {
        CHECK(dt_now() < last);
        if (dat_evd_dequeue(a.t.cr_evd, &event) == DAT_SUCCESS)
            OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
        else
            dt_sleep_ms(1);
    }
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
    fake_want_taken(&a.seg, 1);
    dt_close(&other);
    end(&a);
}

int main(int argc, char **argv)
{
    name = dt_name(argc, argv);
    accepted_in_vain();
    given_up();
    confirmed_without_event();
    reused();
    polled();
    apart();
    claimed_and_died();
    many_without_answer();
    never_rung();
    noise();
    return 0;
}
