/*
 * The registration cache by itself, exact: only the same range is found, ranges may overlap, and what
 * lies under unmapped memory goes.
 */
#include <stdlib.h>

#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/provider/region.h"
#include "test.h"

static struct dm_reg_cache cache;

static struct dm_mr *add(uintptr_t start, uintptr_t end)
{
    struct dm_mr *mr = calloc(1, sizeof(*mr));

    mr->start = start;
    mr->end = end;
    mr->n_refs = 1;
    mr->fd = -1;
    dm_list_init(&mr->lru);
    dm_reg_cache_insert(&cache, mr);
    dm_reg_cache_put(&cache, mr, true);
    return mr;
}

/* Is it there, as this entry? */
static bool finds(uintptr_t start, size_t len, const struct dm_mr *want)
{
    struct dm_mr *mr = dm_reg_cache_find(&cache, start, len);

    if (mr != NULL)
        dm_reg_cache_put(&cache, mr, true);
    return mr == want;
}

static void overlaps(void)
{
    const struct dm_mr *whole, *half, *tail, *twin;

    dm_reg_cache_init(&cache, SIZE_MAX, true);
    whole = add(1000, 9000);
    half = add(1000, 5000);
    tail = add(5000, 9000);
    CHECK(finds(1000, 8000, whole));
    CHECK(finds(1000, 4000, half));
    CHECK(finds(5000, 4000, tail));
    CHECK(finds(1000, 3999, NULL));
    CHECK(finds(1000, 8001, NULL));
    CHECK(finds(1001, 100, NULL));
    CHECK(finds(1, 100, NULL));
    CHECK(finds(9000, 100, NULL));
    CHECK_EQ(cache.n_hits, 3);
    CHECK_EQ(cache.idle_len, 16000);
    twin = add(1000, 5000); /* takes the place of the other */
    CHECK(finds(1000, 4000, twin));
    CHECK_EQ(cache.idle_len, 16000);
    dm_reg_cache_invalidate(&cache, 5000, 1);
    CHECK(finds(1000, 8000, NULL));
    CHECK(finds(5000, 4000, NULL));
    CHECK(finds(1000, 4000, twin));
    dm_reg_cache_invalidate(&cache, 0, 1000);
    dm_reg_cache_invalidate(&cache, 5000, 5000);
    CHECK(finds(1000, 4000, twin));
    CHECK(dm_reg_cache_evict(&cache));
    CHECK(finds(1000, 4000, NULL));
    CHECK_EQ(cache.idle_len, 0);
    dm_reg_cache_fini(&cache);
}

/* The same of intervals: one entry for an address. */
static void intervals(void)
{
    const struct dm_mr *whole;

    dm_reg_cache_init(&cache, SIZE_MAX, false);
    whole = add(1000, 9000);
    CHECK(finds(1000, 8000, whole));
    CHECK(finds(4000, 10, whole));
    whole = add(500, 1500);
    CHECK(finds(4000, 10, NULL));
    CHECK(finds(500, 1000, whole));
    dm_reg_cache_fini(&cache);
}

int main(void)
{
    overlaps();
    intervals();
    return test_result();
}
