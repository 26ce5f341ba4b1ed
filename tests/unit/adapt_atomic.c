/* test: layers=util,dapl_adapt timeout=120 warn=it.goes.on.over */
/*
 * Words that are changed by a provider's atomic operations, over one that breaks connections: two
 * "processes" of one program add to each other's words and their own, by fetch-and-adds and, in memory
 * of their own, by compare-and-swaps. What is told to be done was done once, what may have been done
 * at most once, and nothing takes another rail.
 */
#include "dapl_adapt/conn/server.h"
#include "dapl_adapt/progress/dispatch.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"

#include "adapt_job.h"
#include "dapl_adapt/rma/atomic.h"
#include "fake_dat.h"

#define N         2
#define ADDS      4 /* at one time */
#define TURNS     60
#define SCHEDULES (is_full ? 60 : 30) /* TEST_FULL=yes: more */
#define LIMIT_NS  20000000000u

struct add {
    struct dm_rdma rdma;
    struct dm_word_op op;
    uint64_t old;
    int err;
    int owner;
    bool is_busy;
};

struct side {
    struct dm_adapt *adapt;
    struct dm_words *words;
    struct dm_word_key key;
    _Alignas(8) uint64_t mem[3]; /* the words, if they are swapped */
    struct add adds[ADDS];
    int n_left; /* to be started */
    int n_failed;
    uint64_t n_done; /* to its word 1, as told */
    uint64_t n_unknown;
    uint64_t seen[N * TURNS + 1]; /* how often an old value came back */
};

static struct side sides[N];
static struct job_space space;
static struct job_proc procs[N];
static char dir[] = "/tmp/dm-atomic-XXXXXX";
static char conf_path[64];
static unsigned seed;
static bool are_swapped;
static bool is_full;
static uint64_t guess[N];                      /* what the words may be */
static uint64_t n_missed;                      /* swaps that found something else */
static uint64_t n_unknown, n_again, n_refused; /* in all schedules */

static unsigned next_random(void)
{
    seed = seed * 1103515245u + 12345u;
    return seed >> 12 & 0xfffff;
}

static void on_input(void *arg, int p, struct dm_conn *conn)
{
    const void *data;
    size_t len;

    (void)arg;
    (void)p;
    while ((len = dm_adapt_eager_peek(conn, &data)) > 0)
        dm_adapt_eager_consume(conn, len);
}

static void on_writable(void *arg, int p, struct dm_conn *conn)
{
    (void)arg;
    (void)p;
    (void)conn;
}

static void on_failed(void *arg, int p, struct dm_conn *conn, int err)
{
    (void)p;
    (void)conn;
    (void)err;
    ((struct side *)arg)->n_failed++;
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

static void poll_both(void)
{
    for (int r = 0; r < N; r++) {
        dm_adapt_poll(sides[r].adapt);
        dm_poll_rare(sides[r].adapt);
    }
}

static void open_both(unsigned number)
{
    memset(&space, 0, sizeof(space));
    seed = number * 2654435761u + 17;
    FAKE_CALL(fake.seed = number * 40503u + 3; fake.break_after = 0; fake.delay = 0;
              memset(fake.n_cut, 0, sizeof(fake.n_cut));
              memset(fake.n_atomics, 0, sizeof(fake.n_atomics)));
    for (int r = 0; r < N; r++)
        open_side(r);
}

static void close_both(void)
{
    uint64_t until = dm_clock_ns() + LIMIT_NS;

    FAKE_CALL(fake.delay = 0; fake.break_after = 0);
    while (sides[0].adapt->poll.n_moving + sides[1].adapt->poll.n_moving > 0 &&
           dm_clock_ns() < until)
        poll_both();
    for (int r = 0; r < N; r++) {
        if (sides[r].words != NULL)
            dm_adapt_words_free(sides[r].adapt, sides[r].words);
        dm_adapt_quiesce(sides[r].adapt);
    }
    FAKE_CALL(fake_notice());
    job_close_both(sides[0].adapt, sides[1].adapt);
    CHECK_EQ(fake.n_lmrs, 0);
    CHECK(fake.eps == NULL);
    CHECK(fake.psps == NULL);
}

static void make_words(void)
{
    for (int r = 0; r < N; r++) {
        struct side *side = &sides[r];

        guess[r] = 0;
        side->words = are_swapped ? dm_adapt_words_at(side->adapt, side->mem, sizeof(side->mem),
                                                      true, false, &side->key)
                                  : dm_adapt_words_new(side->adapt, 3, true, false, &side->key);
        CHECK(side->words != NULL);
    }
    CHECK(sides[0].key.rail != 0);
    CHECK_EQ(sides[0].key.rail, sides[1].key.rail);
}

static void on_done(struct dm_rdma *rdma, int err)
{
    struct add *add = (void *)rdma;
    struct side *owner = &sides[add->owner];

    CHECK(add->is_busy);
    add->is_busy = false;
    add->err = err;
    if (err == DM_OK)
        guess[add->owner] = add->old + (!add->op.is_swap || add->old == add->op.compare);
    if (err == DM_OK && add->op.is_swap && add->old != add->op.compare) {
        n_missed++;
    } else if (err == DM_OK) {
        owner->n_done++;
        CHECK(add->old <= N * TURNS);
        if (add->old <= N * TURNS)
            owner->seen[add->old]++;
    } else if (err == DM_EPEER) {
        owner->n_unknown++;
    } else {
        CHECK_EQ(err, DM_EAGAIN);
        n_again++;
    }
}

/* One more, by that side, to either word; not now, if the rail is away. */
static void start_add(int r)
{
    struct add *add = &sides[r].adds[next_random() % ADDS];
    int err;

    if (add->is_busy)
        return;
    add->owner = (int)(next_random() % N);
    add->rdma.done = on_done;
    add->is_busy = true;
    add->op = (struct dm_word_op){.which = 1, .value = 1};
    if (are_swapped && next_random() % 4 != 0) {
        add->op.is_swap = true;
        add->op.compare = guess[add->owner];
        add->op.value = add->op.compare + 1;
    }
    err = dm_adapt_word_op(sides[r].adapt, add->owner, &add->rdma, sides[r].words,
                           &sides[add->owner].key, &add->op, &add->old);
    if (err == DM_OK) {
        sides[r].n_left--;
        return;
    }
    CHECK(err == DM_EAGAIN || err == (add->owner == r ? DM_EPROVIDER : DM_EPEER));
    n_refused += err != DM_EAGAIN;
    add->is_busy = false;
}

static bool is_over(void)
{
    for (int r = 0; r < N; r++) {
        if (sides[r].n_left > 0 && sides[r].n_failed == 0)
            return false;
        for (int i = 0; i < ADDS; i++) {
            if (sides[r].adds[i].is_busy)
                return false;
        }
    }
    return true;
}

/* What the word says is what was told. */
static void check_word(int r)
{
    struct side *side = &sides[r];
    struct add look = {.rdma.done = on_done, .is_busy = true, .owner = r};
    uint64_t value;

    look.op.which = 1;
    CHECK_EQ(
        dm_adapt_word_op(side->adapt, r, &look.rdma, side->words, &side->key, &look.op, &look.old),
        DM_OK);
    CHECK(!look.is_busy);
    value = look.old;
    side->seen[value]--;
    side->n_done--;
    CHECK(value >= side->n_done && value <= side->n_done + side->n_unknown);
    for (uint64_t i = 0; i <= N * TURNS; i++)
        CHECK(side->seen[i] <= 1);
    n_unknown += side->n_unknown;
}

/* breaks: 0 none, else so many; while the rail is away nobody may take the other one. */
static void one_schedule(unsigned number, int n_breaks)
{
    uint64_t until = dm_clock_ns() + LIMIT_NS;

    open_both(number);
    make_words();
    for (int r = 0; r < N; r++)
        sides[r].n_left = TURNS;
    FAKE_CALL(fake.delay = next_random() % 8);
    while (!is_over() && dm_clock_ns() < until) {
        for (int r = 0; r < N; r++) {
            if (sides[r].n_left > 0)
                start_add(r);
        }
        poll_both();
        if (n_breaks > 0 && fake.break_after == 0 && next_random() % 4 == 0) {
            n_breaks--;
            FAKE_CALL(fake.break_after = 1 + (int)(next_random() % 40);
                      fake.breaks_half = next_random() % 2;
                      fake.cut_event = DAT_CONNECTION_EVENT_UNREACHABLE;
                      fake.n_cut[0] = next_random() % 4 == 0 ? 1 : 0);
        }
    }
    CHECK(is_over());
    for (int r = 0; r < N; r++) {
        CHECK_EQ(sides[r].n_failed, 0);
        CHECK_EQ(sides[r].adapt->n_backs, 0); /* what is under way would be lost */
        check_word(r);
    }
    CHECK(fake.n_atomics[0] > 0);
    CHECK_EQ(fake.n_atomics[1], 0);
    close_both();
}

static void calm(void)
{
    for (unsigned i = 0; i < 8 && test_n_failed == 0; i++) {
        are_swapped = i % 2 == 1;
        one_schedule(i, 0);
    }
    CHECK(n_missed > 0);
    CHECK_EQ(n_unknown + n_again + n_refused, 0);
}

static void breaking(void)
{
    for (unsigned i = 0; i < SCHEDULES && test_n_failed == 0; i++) {
        are_swapped = i % 2 == 1;
        one_schedule(i, 1 + (int)(i % 3));
    }
    CHECK(n_unknown > 0);
}

/* The other process ends: operations on its word end with an error, on the own one they go on. */
static void loss(void)
{
    struct add add = {.rdma.done = on_done, .op = {.which = 1, .value = 1}};
    uint64_t until = dm_clock_ns() + LIMIT_NS;
    int err = DM_EAGAIN;

    open_both(5);
    make_words();
    add.owner = 1;
    add.is_busy = true;
    while (err == DM_EAGAIN && dm_clock_ns() < until) {
        err = dm_adapt_word_op(sides[0].adapt, 1, &add.rdma, sides[0].words, &sides[1].key, &add.op,
                               &add.old);
        poll_both();
    }
    CHECK_EQ(err, DM_OK);
    while (add.is_busy && dm_clock_ns() < until)
        poll_both();
    CHECK_EQ(add.err, DM_OK);
    FAKE_CALL(fake.delay = 100000);
    add.is_busy = true;
    CHECK_EQ(dm_adapt_word_op(sides[0].adapt, 1, &add.rdma, sides[0].words, &sides[1].key, &add.op,
                              &add.old),
             DM_OK);
    fake_ep_disconnect(dm_adapt_conn(sides[1].adapt, 0)->links->at[DM_LINK_RDMA].ep,
                       DAT_CLOSE_ABRUPT_FLAG);
    while ((add.is_busy || sides[0].n_failed == 0) && dm_clock_ns() < until)
        poll_both();
    CHECK(!add.is_busy);
    CHECK_EQ(add.err, DM_EPEER);
    FAKE_CALL(fake.delay = 0);
    CHECK_EQ(dm_adapt_word_op(sides[0].adapt, 1, &add.rdma, sides[0].words, &sides[1].key, &add.op,
                              &add.old),
             DM_EPEER);
    add.owner = 0;
    add.is_busy = true;
    CHECK_EQ(dm_adapt_word_op(sides[0].adapt, 0, &add.rdma, sides[0].words, &sides[0].key, &add.op,
                              &add.old),
             DM_OK);
    CHECK(!add.is_busy);
    close_both();
}

/* A provider that names the extensions and cannot do it, or does not name them. */
static void none(void)
{
    for (int i = 0; i < 2; i++) {
        FAKE_CALL(fake.breaks_atomics = i == 0; fake.has_atomics = i == 0);
        open_both(9);
        CHECK(dm_adapt_words_new(sides[0].adapt, 3, true, true, &sides[0].key) == NULL);
        CHECK_EQ(sides[0].key.rail, 0);
        CHECK_EQ(fake.n_atomics[0] > 0, i == 0);
        close_both();
    }
    FAKE_CALL(fake.breaks_atomics = false; fake.has_atomics = fake.has_no_swaps = true);
    open_both(9);
    CHECK(dm_adapt_words_at(sides[0].adapt, sides[0].mem, sizeof(sides[0].mem), true, true,
                            &sides[0].key) == NULL);
    CHECK_EQ(sides[0].key.rail, 0);
    make_words();
    close_both();
}

static void run(const char *settings, void (*fn)(void))
{
    pid_t pid;
    int status = 0;
    char *copy = strdup(settings);
    char *save = NULL;

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

int main(void)
{
    is_full = getenv("TEST_FULL") != NULL;
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
    fake_register(conf_path);
    fake.is_ordered = fake.has_atomics = true;
    putenv("DATUM_CONNECT=demand");
    putenv("DATUM_PROVIDER=fake-a,fake-b");
    putenv("DATUM_RAIL_RETRY=20ms");
    putenv("DATUM_RING_SLOTS=6");
    putenv("DATUM_RING_SLOT_SIZE=400");
    run("DATUM_EAGER=rdma", calm);
    fake.iov = DAT_IOV_PROVIDER_MOD; /* triplets are the provider's until completion */
    run("DATUM_EAGER=sendrecv", calm);
    run("DATUM_EAGER=rdma", breaking);
    run("DATUM_EAGER=sendrecv", breaking);
    run("DATUM_RECONNECT=0", loss);
    run("DATUM_EAGER=rdma", none);
    unlink(conf_path);
    rmdir(dir);
    return test_result();
}
