/* test: layers=util timeout=60 */
/* Copies in two ways: both ways copy all bytes and no other, overlapping or not, at any alignment. */
#include "util/copy_ways.h"

#include <stdlib.h>

#include "test.h"

#define MOST  ((size_t)1200 << 10)
#define GUARD 64

static struct dm_copy_ways ways;
static unsigned char *from, *to, *want;

static void copy_once(size_t len, size_t from_at, size_t to_at)
{
    for (size_t i = 0; i < len; i++)
        from[from_at + i] = (unsigned char)rand();
    memset(to, 0xee, MOST + 2 * GUARD);
    memset(want, 0xee, MOST + 2 * GUARD);
    memcpy(want + to_at, from + from_at, len);
    dm_move_by(&ways, to + to_at, from + from_at, len);
    CHECK(memcmp(to, want, MOST + 2 * GUARD) == 0);
}

static void copies(void)
{
    static const size_t lens[] = {0,
                                  1,
                                  DM_COPY_WAYS_MIN - 1,
                                  DM_COPY_WAYS_MIN,
                                  DM_COPY_LONG,
                                  2049,
                                  7000,
                                  20000,
                                  32 << 10,
                                  65537,
                                  128 << 10,
                                  (128 << 10) + 1,
                                  500 << 10,
                                  1024 << 10,
                                  (1024 << 10) + 7};

    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        for (int k = 0; k < 30; k++)
            copy_once(lens[i], (size_t)rand() % GUARD, (size_t)rand() % GUARD);
    for (int i = 0; i < DM_COPY_CLASSES; i++) /* each way was measured */
        CHECK(ways.trials[i].cost[0] > 0 && ways.trials[i].cost[1] > 0);
}

static void overlapping(void)
{
    for (int shift = -100; shift <= 100; shift += 20) {
        memcpy(want, from, MOST);
        memmove(want + 200 + shift, want + 200, 100000);
        dm_move_by(&ways, from + 200 + shift, from + 200, 100000);
        CHECK(memcmp(from, want, MOST) == 0);
    }
}

int main(void)
{
    from = malloc(MOST + 2 * GUARD);
    to = malloc(MOST + 2 * GUARD);
    want = malloc(MOST + 2 * GUARD);
    if (from == NULL || to == NULL || want == NULL)
        return 1;
    copies();
    overlapping();
    free(from);
    free(to);
    free(want);
    return test_result();
}
