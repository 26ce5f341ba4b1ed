/* test: layers=util,dapl_adapt timeout=20 */
/* Reading or the pipe, chosen by what they took: over machines that are made up. */
#include "dapl_adapt/ways.h"

#include "test.h"

#define LEN ((size_t)256 << 10)

/* GB/s of reading and of the pipe: cores that share a cache, and cores that do not */
static const double near[DM_N_WAYS] = {8, 22};
static const double far[DM_N_WAYS] = {6, 2};

static uint64_t now = 1000;

static uint64_t took(double gbs, size_t len)
{
    return (uint64_t)((double)len / gbs);
}

/* n messages one after the other; every slow-th (0: none) loses a time slice. How many by the pipe. */
static int messages(struct dm_ways *ways, const double *gbs, int n, size_t len, int slow)
{
    int n_piped = 0;

    for (int i = 0; i < n; i++) {
        enum dm_way way = dm_ways_begin(ways, len, now);

        now += took(gbs[way], len) + (slow > 0 && i % slow == 0 ? 3000000 : 0);
        dm_ways_end(ways, way, len, now);
        now += 1000;
        n_piped += way == DM_WAY_PIPE;
    }
    return n_piped;
}

/* Windows of messages, all announced first; those to be read are read at once. */
static int windows(struct dm_ways *ways, const double *gbs, int n, int depth)
{
    int n_piped = 0;

    for (int i = 0; i < n; i++) {
        int n_open = 0;

        for (int k = 0; k < depth; k++) {
            enum dm_way way = dm_ways_begin(ways, LEN, now);

            if (way == DM_WAY_READ) {
                now += took(gbs[way], LEN);
                dm_ways_end(ways, way, LEN, now);
            } else {
                n_open++;
            }
        }
        for (int k = 0; k < n_open; k++) {
            now += took(gbs[DM_WAY_PIPE], LEN);
            dm_ways_end(ways, DM_WAY_PIPE, LEN, now);
        }
        n_piped += n_open;
    }
    return n_piped;
}

static void changes(void)
{
    struct dm_ways ways;

    /* A measurement that was wrong is found out; then the machine changes, twice. */
    dm_ways_init(&ways, 9, 2, now);
    (void)messages(&ways, near, 2000, LEN, 0);
    CHECK(messages(&ways, near, 10000, LEN, 0) > 9900);
    CHECK(messages(&ways, far, 10000, LEN, 0) < 300);
    (void)messages(&ways, near, 20000, LEN, 0);
    CHECK(messages(&ways, near, 10000, LEN, 0) > 9900);
    CHECK(ways.n_changes == 3);
}

static void streams(void)
{
    struct dm_ways ways;

    dm_ways_init(&ways, 6, 12, now);
    (void)windows(&ways, near, 20, 64);
    CHECK(windows(&ways, near, 100, 64) > 6300);
    (void)windows(&ways, far, 20, 64);
    CHECK(windows(&ways, far, 100, 64) < 400);
    (void)windows(&ways, near, 200, 64);
    CHECK(windows(&ways, near, 100, 64) > 6300);
}

/* Time slices lost now and then, whichever the way, do not make it forget the better. */
static void noise(void)
{
    struct dm_ways ways;

    dm_ways_init(&ways, 6, 12, now);
    CHECK(messages(&ways, near, 10000, LEN, 50) > 9000);
    CHECK(messages(&ways, far, 10000, LEN, 50) < 1000);
}

/* A message that failed says nothing of speed, and nothing stays open after it. */
static void failures(void)
{
    struct dm_ways ways;
    enum dm_way way;
    double was;

    dm_ways_init(&ways, 6, 12, now);
    was = ways.classes[1].ns[DM_WAY_PIPE];
    way = dm_ways_begin(&ways, LEN, now);
    now += 1000000;
    dm_ways_end(&ways, way, 0, now);
    CHECK(way == DM_WAY_PIPE);
    CHECK(ways.classes[1].ns[DM_WAY_PIPE] == was);
    CHECK(ways.open[DM_WAY_PIPE].n == 0);
}

int main(void)
{
    changes();
    streams();
    noise();
    failures();
    return test_result();
}
