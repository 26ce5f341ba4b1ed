/*
 * The registration cache by itself. Exact: only the same range is found, ranges may overlap, and what
 * lies under unmapped memory goes. By pages: what begins at the first page and is not longer. Guarded: nothing without
 * asking.
 */
#include <stdlib.h>

#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/provider/region.h"
#include "test.h"

#define PAGE 4096

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

    dm_reg_cache_init(&cache, SIZE_MAX, DM_REG_EXACT, PAGE);
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

    dm_reg_cache_init(&cache, SIZE_MAX, DM_REG_INTERVAL, PAGE);
    whole = add(1000, 9000);
    CHECK(finds(1000, 8000, whole));
    CHECK(finds(4000, 10, whole));
    whole = add(500, 1500);
    CHECK(finds(4000, 10, NULL));
    CHECK(finds(500, 1000, whole));
    dm_reg_cache_fini(&cache);
}

/* The paper's: the same first page and no more pages than the entry has. */
static void pages(void)
{
    const struct dm_mr *whole, *inner, *more;

    dm_reg_cache_init(&cache, SIZE_MAX, DM_REG_PAGE, PAGE);
    whole = add(PAGE, 5 * PAGE);
    CHECK(finds(PAGE, 4 * PAGE, whole));
    CHECK(finds(PAGE + 100, 4 * PAGE - 100, whole));
    CHECK(finds(PAGE + 100, 4 * PAGE - 99, NULL));
    CHECK(finds(3 * PAGE, PAGE, NULL)); /* inside, and begins at another page */
    inner = add(3 * PAGE, 4 * PAGE);
    CHECK(finds(3 * PAGE, PAGE, inner));
    CHECK(finds(PAGE, 4 * PAGE, whole)); /* both stay */
    more = add(PAGE, 9 * PAGE);
    CHECK(finds(PAGE, 4 * PAGE, more)); /* one for each page: the longer one */
    CHECK_EQ(cache.idle_len, 9 * PAGE);
    dm_reg_cache_invalidate(&cache, 3 * PAGE + 1, 1);
    CHECK(finds(PAGE, PAGE, NULL));
    CHECK(finds(3 * PAGE, PAGE, NULL));
    CHECK_EQ(cache.idle_len, 0);
    dm_reg_cache_fini(&cache);
}

static bool keep_own(void *arg, struct dm_mr *mr)
{
    ++*(int *)arg;
    return mr->is_alloc;
}

/* Unless the news were taken only the library's memory is found; changes do not concern that. */
static void guarded(void)
{
    struct dm_mr *whole, *own, *held;
    int n_seen = 0;

    dm_reg_cache_init(&cache, SIZE_MAX, DM_REG_INTERVAL, PAGE);
    whole = add(PAGE, 3 * PAGE);
    own = add(5 * PAGE, 6 * PAGE);
    own->is_alloc = true;
    CHECK(finds(PAGE, PAGE, whole));
    dm_reg_cache_guard(&cache);
    CHECK(finds(PAGE, PAGE, NULL));
    CHECK(dm_reg_cache_find_guarded(&cache, PAGE, PAGE, false) == NULL);
    held = dm_reg_cache_find_guarded(&cache, PAGE, PAGE, true);
    CHECK(held == whole);
    CHECK(dm_reg_cache_find_guarded(&cache, 5 * PAGE, 9, false) == own);
    dm_reg_cache_put(&cache, own, true);
    dm_reg_cache_forget_changed(&cache, 0, PAGE);
    CHECK_EQ(cache.n_changed, 0);
    dm_reg_cache_forget_changed(&cache, 3 * PAGE - 1, 9 * PAGE);
    CHECK_EQ(cache.n_changed, 1);
    CHECK(dm_reg_cache_find_guarded(&cache, PAGE, PAGE, true) == NULL);
    dm_reg_cache_sift(&cache, keep_own, &n_seen);
    CHECK_EQ(n_seen, 2); /* what is in use is shown, too */
    dm_reg_cache_put(&cache, held, true);
    n_seen = 0;
    dm_reg_cache_sift(&cache, keep_own, &n_seen);
    CHECK_EQ(n_seen, 1);
    CHECK_EQ(cache.idle_len, PAGE);
    dm_reg_cache_fini(&cache);
}

int main(void)
{
    overlaps();
    intervals();
    pages();
    guarded();
    return test_result();
}
