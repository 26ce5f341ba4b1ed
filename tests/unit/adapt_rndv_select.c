/* test: layers=util,dapl_adapt timeout=20 */
/* Reading or the pipe, chosen by what they took: over machines that are made up. */
#include "dapl_adapt/provider/rndv_select.h"

#include "test.h"

#define LEN ((size_t)256 << 10)

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
        enum dm_rndv proto = dm_rndv_select_begin(select, len, now);

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
            enum dm_rndv proto = dm_rndv_select_begin(select, LEN, now);

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
    was = select.classes[1].ns[DM_RNDV_PIPE];
    proto = dm_rndv_select_begin(&select, LEN, now);
    now += 1000000;
    dm_rndv_select_end(&select, proto, 0, now);
    CHECK(proto == DM_RNDV_PIPE);
    CHECK(select.classes[1].ns[DM_RNDV_PIPE] == was);
    CHECK(select.open[DM_RNDV_PIPE].n == 0);
}

/* What is taken as long as nothing is known but a measurement that leaves a doubt. */
static void doubt(void)
{
    struct dm_rndv_select select;

    dm_rndv_select_init(&select, 6, 4, false, now);
    CHECK(dm_rndv_select_begin(&select, LEN, now) == DM_RNDV_PIPE);
    dm_rndv_select_init(&select, 6, 4, true, now);
    CHECK(dm_rndv_select_begin(&select, LEN, now) == DM_RNDV_READ);
    dm_rndv_select_init(&select, 4, 10, true, now);
    CHECK(dm_rndv_select_begin(&select, LEN, now) == DM_RNDV_READ);
    dm_rndv_select_init(&select, 4, 14, true, now);
    CHECK(dm_rndv_select_begin(&select, LEN, now) == DM_RNDV_PIPE);
}

int main(void)
{
    doubt();
    changes();
    streams();
    noise();
    failures();
    return test_result();
}
