/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto */
/*
 * Datagrams (util/datagram.h) among instances in an arena: a box is full when all of its slots are taken, and
 * who has found none is told when there are some, asleep or not; as many are told as are likely to find one.
 */
#include "dat_arena.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "util/datagram.h"

enum { N = 6, N_SLEEPS = 3000 };

enum {
    N_SHORT = DM_ARENA_SHORT_SLOTS + DM_ARENA_SPARE_SLOTS
}; /* so many datagrams that are short */

struct user {
    struct dt t;
    DAT_EVD_HANDLE wake;
    struct dm_datagrams way;
    void *box;    /* of the first one */
    uint64_t sum; /* of the numbers that have come */
};

static struct user users[N];
static struct dm_datagram *claimed[DM_ARENA_SLOTS + 1];

static void open_user(struct user *u, const char *name, uint32_t me)
{
    dt_open(&u->t, name);
    OK(dat_evd_create(u->t.ia, 16, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &u->wake));
    u->way = (struct dm_datagrams){.job = 7, .me = me, .wake_evd = (void *)u->wake};
    OK(dat_extension_op(u->t.ia, (DAT_EXTENDED_OP)DM_DATAGRAM_OP, &u->way));
}

static void take(void *arg, const struct dm_datagram *slot)
{
    struct user *u = arg;

    CHECK_EQ(slot->len, sizeof(uint32_t));
    CHECK_EQ(*(const uint32_t *)slot->data, slot->number ^ slot->source);
    u->sum += slot->number;
}

static int receive(struct user *u)
{
    return u->way.receive(u->way.arg, take, u);
}

/* Fill in a slot. */
static struct dm_datagram *claim_for(struct user *u, uint32_t number, uint32_t len)
{
    uint32_t cap = len;
    struct dm_datagram *slot = u->way.claim(u->way.arg, u->box, &cap);

    if (slot == NULL)
        return NULL;
    CHECK(cap >= len && cap <= DM_DATAGRAM_MAX);
    memset(slot->data, 0xff, cap); /* nobody else's */
    slot->source = u->way.me;
    slot->number = number;
    slot->len = sizeof(uint32_t);
    *(uint32_t *)slot->data = number ^ u->way.me;
    return slot;
}

static struct dm_datagram *claim(struct user *u, uint32_t number)
{
    return claim_for(u, number, sizeof(uint32_t));
}

static bool send_one(struct user *u, uint32_t number)
{
    struct dm_datagram *slot = claim(u, number);

    if (slot != NULL)
        u->way.send(u->way.arg, u->box, slot);
    return slot != NULL;
}

static bool is_told(const struct user *u)
{
    return atomic_load(u->way.due) != 0;
}

/* From all by turns, until there is no slot any more. */
static void fill(void)
{
    uint32_t n = 0;

    while (send_one(&users[1 + n % (N - 1)], n))
        n++;
    CHECK_EQ(n, N_SHORT);
    CHECK(is_told(&users[0]));
    CHECK_EQ(receive(&users[0]), N_SHORT);
    CHECK_EQ(users[0].sum, (uint64_t)n * (n - 1) / 2);
    CHECK(!is_told(&users[0]));
    CHECK_EQ(receive(&users[0]), 0);
    CHECK(is_told(&users[1 + n % (N - 1)])); /* who had found none */
    CHECK_EQ(receive(&users[1 + n % (N - 1)]), 0);
    CHECK(!is_told(&users[1 + n % (N - 1)]));
}

/* What is long finds as many slots as are long, and leaves the others for what is short. */
static void fill_long(void)
{
    uint32_t n = 0;

    while ((claimed[n] = claim_for(&users[1], n, DM_DATAGRAM_MAX)) != NULL)
        n++;
    CHECK_EQ(n, DM_ARENA_LONG_SLOTS);
    while ((claimed[n] = claim(&users[1], n)) != NULL)
        n++;
    CHECK_EQ(n, DM_ARENA_SLOTS);
    for (uint32_t i = 0; i < n; i++)
        users[1].way.send(users[1].way.arg, users[1].box, claimed[i]);
    users[0].sum = 0;
    CHECK_EQ(receive(&users[0]), DM_ARENA_SLOTS);
    CHECK_EQ(users[0].sum, (uint64_t)n * (n - 1) / 2);
    CHECK(is_told(&users[1]));
    CHECK_EQ(receive(&users[1]), 0);
}

/* All slots for short ones are claimed, and all but the first one wait for one. */
static void want_one(void)
{
    for (uint32_t i = 0; i < N_SHORT; i++)
        CHECK((claimed[i] = claim(&users[1], i)) != NULL);
    for (int i = 1; i < N; i++) {
        CHECK(claim(&users[i], 0) == NULL);
        CHECK(!is_told(&users[i]));
    }
}

static int n_told(void)
{
    int n = 0;

    for (int i = 1; i < N; i++)
        n += is_told(&users[i]);
    return n;
}

/* One slot is free, then another: each time one more is told, by its event where it sleeps. */
static void tell_one_by_one(void)
{
    DAT_EVENT event;

    for (int i = 1; i < N; i++)
        users[i].way.sleep(users[i].way.arg, true);
    for (int i = 1; i < N; i++) {
        CHECK_EQ(n_told(), i - 1);
        users[1].way.send(users[1].way.arg, users[1].box, claimed[N_SHORT / N * i]);
        CHECK_EQ(receive(&users[0]), 1);
        CHECK_EQ(n_told(), i);
    }
    for (int i = 1; i < N; i++) {
        event = dt_wait(users[i].wake);
        CHECK_EQ(event.event_number, DAT_SOFTWARE_EVENT);
        CHECK(send_one(&users[i], 3));
    }
    CHECK(!send_one(&users[1], 3));
}

/* ---- asleep ---- */

static DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
static _Atomic uint32_t n_read;

static void sleep_until_woken(struct user *u)
{
    DAT_EVD_HANDLE evd;
    DAT_EVENT event;

    if (cno == DAT_HANDLE_NULL) {
        event = dt_wait(u->wake);
        CHECK_EQ(event.event_number, DAT_SOFTWARE_EVENT);
    } else {
        OK(dat_cno_wait(cno, DT_WAIT_US, &evd));
        CHECK(evd == u->wake);
    }
}

static void *sleeper(void *arg)
{
    struct user *u = arg;
    DAT_EVENT event;

    for (uint32_t i = 0; i < N_SLEEPS; i++) {
        while (!is_told(u)) {
            u->way.sleep(u->way.arg, true);
            if (!is_told(u))
                sleep_until_woken(u);
            u->way.sleep(u->way.arg, false);
            while (dat_evd_dequeue(u->wake, &event) == DAT_SUCCESS) /* one may come late */
                continue;
        }
        CHECK_EQ(receive(u), 1);
        atomic_store(&n_read, i + 1);
    }
    return NULL;
}

/* Whoever sleeps, or is about to, is woken by each datagram; something else that wakes it changes nothing. */
static void wake_sleepers(void)
{
    const DAT_EVENT other = {.event_number = DAT_SOFTWARE_EVENT};
    pthread_t thread;

    atomic_store(&n_read, 0);
    CHECK_EQ(pthread_create(&thread, NULL, sleeper, &users[0]), 0);
    for (uint32_t i = 0; i < N_SLEEPS; i++) {
        if (i % 8 == 7)
            OK(dat_evd_post_se(users[0].wake, &other));
        for (uint32_t k = 0; k < i % 32; k++)
            sched_yield();
        CHECK(send_one(&users[1], i));
        while (atomic_load(&n_read) <= i)
            sched_yield();
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* In a queue, and by a notification object. */
static void wake_all_sleepers(void)
{
    wake_sleepers();
    OK(dat_cno_create(users[0].t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
    OK(dat_evd_modify_cno(users[0].wake, cno));
    wake_sleepers();
    OK(dat_evd_modify_cno(users[0].wake, DAT_HANDLE_NULL));
    OK(dat_cno_free(cno));
}

int main(int argc, char **argv)
{
    const char *name = dt_name(argc, argv);

    (void)dt_arena((size_t)1 << 30, N);
    for (uint32_t i = 0; i < N; i++)
        open_user(&users[i], name, i);
    for (int i = 0; i < N; i++)
        users[i].box = users[i].way.find(users[i].way.arg, 0);
    CHECK(users[1].box != NULL);
    CHECK(users[1].way.find(users[1].way.arg, N) == NULL);
    fill();
    fill_long();
    wake_all_sleepers();
    want_one();
    tell_one_by_one();
    for (int i = 0; i < N; i++)
        dt_close(&users[i].t);
    return 0;
}
