/* test: layers=util,dapl_adapt timeout=20 */
/* Shares of transfers over ways of different speed: they are all of it, and end together. */
#include "dapl_adapt/rma/shares.h"

#include "test.h"

#define MIN ((uint64_t)256 << 10)
#define MIB ((uint64_t)1 << 20)

static unsigned seed = 7;

static unsigned next_random(void)
{
    seed = seed * 1103515245u + 12345u;
    return seed >> 12 & 0xfffff;
}

static uint64_t total(const struct dm_share_way *ways, int n, int *n_p)
{
    uint64_t sum = 0;

    *n_p = 0;
    for (int i = 0; i < n; i++) {
        sum += ways[i].len;
        *n_p += ways[i].len > 0;
    }
    return sum;
}

static void cut(uint64_t len, struct dm_share_way *ways, int n, int want)
{
    int n_shares = dm_shares_cut(len, MIN, ways, n), counted;

    CHECK_EQ(total(ways, n, &counted), len);
    CHECK_EQ(n_shares, counted);
    CHECK_EQ(n_shares, want);
}

static void equal(void)
{
    struct dm_share_way ways[4] = {{.speed = 0}};

    cut(4 * MIB, ways, 2, 2); /* nothing is known */
    CHECK_EQ(ways[0].len, 2 * MIB);
    cut(MIB / 2, ways, 2, 2);
    cut(MIB / 2 - 1, ways, 2, 1);
    CHECK_EQ(ways[1].len, 0); /* the first is preferred */
    cut(MIB, ways, 4, 4);
    cut(MIB - 4096, ways, 4, 3);
    ways[2].speed = 3; /* of one alone that says nothing */
    cut(4 * MIB, ways, 4, 4);
    CHECK_EQ(ways[2].len, MIB);
}

static void different(void)
{
    struct dm_share_way ways[] = {{.speed = 1}, {.speed = 3}};

    cut(4 * MIB, ways, 2, 2);
    CHECK_EQ(ways[0].len, MIB);
    CHECK_EQ(ways[1].len, 3 * MIB);
    cut(MIB, ways, 2, 2);
    cut(MIB - 4096, ways, 2, 1); /* the first one is not worth it */
    CHECK_EQ(ways[0].len, 0);
    ways[0].is_due = true;
    cut(MIB - 4096, ways, 2, 1); /* nor measured, by more than a quarter */
    ways[0].speed = 0.01;
    cut(4 * MIB, ways, 2, 2);
    CHECK_EQ(ways[0].len, MIN);
    ways[0].is_due = false;
    cut(400 * MIB, ways, 2, 2); /* of this it gets more than that */
    CHECK(ways[0].len > MIN && ways[0].len < 2 * MIB);
}

/* Whatever they are: no way takes longer than the whole would by another, shares are not small. */
static void random_ways(void)
{
    for (int i = 0; i < 20000 && test_n_failed == 0; i++) {
        struct dm_share_way ways[4] = {{.speed = 0}};
        int n = 1 + (int)(next_random() % 4), n_due = 0, n_shares;
        uint64_t len = MIN + next_random() % (1u << (10 + next_random() % 16));
        double best = 0, most = 0;

        for (int k = 0; k < n; k++) {
            ways[k].speed = 0.001 + (double)(next_random() % (1u << next_random() % 16)) / 100;
            ways[k].is_due = next_random() % 4 == 0;
            n_due += ways[k].is_due;
            best = ways[k].speed > best ? ways[k].speed : best;
        }
        n_shares = dm_shares_cut(len, MIN, ways, n);
        CHECK(n_shares >= 1 && n_shares <= n);
        CHECK_EQ(total(ways, n, &n_shares), len);
        for (int k = 0; k < n; k++) {
            double took = (double)ways[k].len / ways[k].speed;

            CHECK(ways[k].len == 0 || n_shares == 1 || ways[k].len > MIN / 4);
            most = took > most ? took : most;
        }
        if (n_due == 0)
            CHECK(most <= (double)(len + 4 * 4096) / best);
    }
}

int main(void)
{
    equal();
    different();
    random_ways();
    return test_result();
}
