/* test: layers=util,dapl_adapt timeout=20 */
/* Reading or the pipe, chosen by what they took: over machines that are made up. */
#include "dapl_adapt/provider/rndv_select.h"

#include "test.h"

#define LEN   ((size_t)256 << 10)
#define CLASS 3 /* of that length */

/* GB/s of reading and of the pipe: cores that share a cache, and cores that do not */
static const double near[DM_RNDV_SELECT_PROTOS] = {[DM_RNDV_READ] = 8, [DM_RNDV_PIPE] = 22};
static const double far[DM_RNDV_SELECT_PROTOS] = {[DM_RNDV_READ] = 6, [DM_RNDV_PIPE] = 2};

static uint64_t now = 1000;

static uint64_t took(double gbs, size_t len)
{
    return (uint64_t)((double)len / gbs);
}

/* n messages one after the other; every slow-th (0: none) loses a time slice. How many by the pipe. */
static int messages(struct dm_rndv_select *select, const double *gbs, int n, size_t len, int slow)
{
    int n_piped = 0;

    for (int i = 0; i < n; i++) {
        enum dm_rndv proto = dm_rndv_select_begin(select, len, false, now);

        now += took(gbs[proto], len) + (slow > 0 && i % slow == 0 ? 3000000 : 0);
        dm_rndv_select_end(select, proto, len, now);
        now += 1000;
        n_piped += proto == DM_RNDV_PIPE;
    }
    return n_piped;
}

/* Windows of messages, all announced first; those to be read are read at once. */
static int windows(struct dm_rndv_select *select, const double *gbs, int n, int depth)
{
    int n_piped = 0;

    for (int i = 0; i < n; i++) {
        int n_open = 0;

        for (int k = 0; k < depth; k++) {
            enum dm_rndv proto = dm_rndv_select_begin(select, LEN, false, now);

            if (proto == DM_RNDV_READ) {
                now += took(gbs[proto], LEN);
                dm_rndv_select_end(select, proto, LEN, now);
            } else {
                n_open++;
            }
        }
        for (int k = 0; k < n_open; k++) {
            now += took(gbs[DM_RNDV_PIPE], LEN);
            dm_rndv_select_end(select, DM_RNDV_PIPE, LEN, now);
        }
        n_piped += n_open;
    }
    return n_piped;
}

static void changes(void)
{
    struct dm_rndv_select select;

    /* A measurement that was wrong is found out; then the machine changes, twice. */
    dm_rndv_select_init(&select, 9, 2, false, now);
    (void)messages(&select, near, 2000, LEN, 0);
    CHECK(messages(&select, near, 10000, LEN, 0) > 9900);
    CHECK(messages(&select, far, 10000, LEN, 0) < 300);
    (void)messages(&select, near, 20000, LEN, 0);
    CHECK(messages(&select, near, 10000, LEN, 0) > 9900);
    CHECK(select.n_changes == 3);
}

/* The pipe's rings are new memory, and take forty times as long until they have been used. */
static void cold(void)
{
    double new[DM_RNDV_SELECT_PROTOS] = {[DM_RNDV_READ] = 8, [DM_RNDV_PIPE] = 0.5};
    struct dm_rndv_select select;
    size_t len = (size_t)16 << 10;
    int n = 0;

    dm_rndv_select_init(&select, 9, 2, true, now);
    for (int i = 0; i < 64; n++)
        i += messages(&select, new, 1, len, 0);
    CHECK_EQ(select.n_trials, 1);
    (void)messages(&select, near, 3000, len, 0);
    CHECK(messages(&select, near, 10000, len, 0) > 9900);
    CHECK(select.n_changes == 1);
    CHECK(n < 1000);
}

static void streams(void)
{
    struct dm_rndv_select select;

    dm_rndv_select_init(&select, 6, 12, false, now);
    (void)windows(&select, near, 20, 64);
    CHECK(windows(&select, near, 100, 64) > 6300);
    (void)windows(&select, far, 20, 64);
    CHECK(windows(&select, far, 100, 64) < 400);
    (void)windows(&select, near, 200, 64);
    CHECK(windows(&select, near, 100, 64) > 6300);
}

/* Time slices lost now and then, whichever the way, do not make it forget the better. */
static void noise(void)
{
    struct dm_rndv_select select;

    dm_rndv_select_init(&select, 6, 12, false, now);
    CHECK(messages(&select, near, 10000, LEN, 50) > 9000);
    CHECK(messages(&select, far, 10000, LEN, 50) < 1000);
}

/* A message that failed says nothing of speed, and nothing stays open after it. */
static void failures(void)
{
    struct dm_rndv_select select;
    enum dm_rndv proto;
    double was;

    dm_rndv_select_init(&select, 6, 12, false, now);
    was = select.classes[CLASS].ns[DM_RNDV_PIPE];
    proto = dm_rndv_select_begin(&select, LEN, false, now);
    now += 1000000;
    dm_rndv_select_end(&select, proto, 0, now);
    CHECK(proto == DM_RNDV_PIPE);
    CHECK(select.classes[CLASS].ns[DM_RNDV_PIPE] == was);
    CHECK(select.open[DM_RNDV_PIPE].n == 0);
}

/* What is taken as long as nothing is known but a measurement that leaves a doubt. */
static void doubt(void)
{
    struct dm_rndv_select select;

    dm_rndv_select_init(&select, 6, 4, false, now);
    CHECK(dm_rndv_select_begin(&select, LEN, false, now) == DM_RNDV_PIPE);
    dm_rndv_select_init(&select, 6, 4, true, now);
    CHECK(dm_rndv_select_begin(&select, LEN, false, now) == DM_RNDV_READ);
    dm_rndv_select_init(&select, 4, 10, true, now);
    CHECK(dm_rndv_select_begin(&select, LEN, false, now) == DM_RNDV_READ);
    dm_rndv_select_init(&select, 4, 14, true, now);
    CHECK(dm_rndv_select_begin(&select, LEN, false, now) == DM_RNDV_PIPE);
}

/* Exchanges are another case: nothing that is learnt from messages one way counts, nor the other way round. */
static void exchanges(void)
{
    struct dm_rndv_select select;
    enum dm_rndv proto;

    dm_rndv_select_init(&select, 4, 10, true, now);
    CHECK(dm_rndv_select_begin(&select, LEN, true, now) == DM_RNDV_PIPE); /* none is split */
    dm_rndv_select_end(&select, DM_RNDV_PIPE, LEN, now + 1);
    (void)messages(&select, far, 10000, LEN, 0);
    proto = dm_rndv_select_begin(&select, LEN, true, now);
    CHECK(proto == DM_RNDV_PIPE || select.classes[DM_RNDV_SELECT_LENGTHS + CLASS].is_trial);
    dm_rndv_select_end(&select, proto, 0, now);
    CHECK(dm_rndv_select_begin(&select, LEN, false, now) == DM_RNDV_READ);
}

/*
 * n exchanges of two processes, of which the second does as the first; a mixed one is as slow as the slower
 * protocol, and the program needs `extra` ns between two where it reads. How many by the pipe.
 */
static int pairs(struct dm_rndv_select *both, const double *gbs, uint64_t extra, int n)
{
    int n_piped = 0;

    for (int i = 0; i < n; i++) {
        enum dm_rndv agreed = dm_rndv_select_now(&both[0], LEN);
        enum dm_rndv proto = dm_rndv_select_begin(&both[0], LEN, true, now);
        uint64_t ns = took(gbs[proto], LEN);

        dm_rndv_select_follow(&both[1], LEN, agreed);
        if (took(gbs[agreed], LEN) > ns)
            ns = took(gbs[agreed], LEN);
        now += ns;
        dm_rndv_select_end(&both[0], proto, LEN, now);
        now += proto == DM_RNDV_READ || agreed == DM_RNDV_READ ? extra : 0;
        CHECK(dm_rndv_select_now(&both[1], LEN) == agreed);
        n_piped += proto == DM_RNDV_PIPE;
    }
    return n_piped;
}

static void agreed(void)
{
    static const double equal[DM_RNDV_SELECT_PROTOS] = {[DM_RNDV_READ] = 8, [DM_RNDV_PIPE] = 8};
    struct dm_rndv_select both[2];

    for (int i = 0; i < 2; i++)
        dm_rndv_select_init(&both[i], 9, 2, false, now);
    CHECK(pairs(both, equal, 0, 5000) < 500);
    /* neither is faster by itself, but the program is, after the pipe */
    (void)pairs(both, equal, 20000, 5000);
    CHECK(pairs(both, equal, 20000, 5000) > 4900);
    (void)pairs(both, far, 0, 20000);
    CHECK(pairs(both, far, 0, 5000) < 100);
}

/* A guess that is too good does not win: what it is a guess of is measured, too. */
static void guesses(void)
{
    static const double machine[DM_RNDV_SELECT_PROTOS] = {[DM_RNDV_READ] = 8, [DM_RNDV_PIPE] = 10};
    struct dm_rndv_select select;

    dm_rndv_select_init(&select, 11, 10, true, now);
    now += 1000000;
    (void)messages(&select, machine, 32, LEN, 0);
    CHECK_EQ(messages(&select, machine, 10, LEN, 0), 10);
}

/* Another message is on its way all the time, which spoils the samples: a trial ends all the same. */
static void spoilt(void)
{
    struct dm_rndv_select select;

    dm_rndv_select_init(&select, 6, 2, true, now);
    CHECK(dm_rndv_select_begin(&select, 8 * LEN, false, now) == DM_RNDV_READ);
    (void)messages(&select, far, 20000, LEN, 0);
    CHECK(messages(&select, far, 10000, LEN, 0) < 1000);
}

int main(void)
{
    guesses();
    spoilt();
    agreed();
    exchanges();
    doubt();
    changes();
    cold();
    streams();
    noise();
    failures();
    return test_result();
}
