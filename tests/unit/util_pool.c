/* test: layers=util timeout=10 */
/* The object pool: growth, limit, reuse, alignment. */
#include "util/pool.h"

#include <stdint.h>

#include "test.h"
#include "util/err.h"

#define N 100

static void objects_are_distinct_and_reused(void)
{
    struct dm_pool pool;
    char *objs[N];

    dm_pool_init(&pool, 24, 7, 0);
    for (int i = 0; i < N; i++) {
        objs[i] = dm_pool_get(&pool);
        CHECK(objs[i] != NULL);
        CHECK_EQ((uintptr_t)objs[i] % 16, 0);
        memset(objs[i], i, 24);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 24; j++)
            CHECK_EQ(objs[i][j], i);
    CHECK_EQ(pool.n_used, N);
    CHECK_EQ(pool.n_total, 105);
    dm_pool_put(&pool, objs[3]);
    dm_pool_put(&pool, objs[9]);
    CHECK(dm_pool_get(&pool) == objs[9]);
    CHECK(dm_pool_get(&pool) == objs[3]);
    for (int i = 0; i < N; i++)
        dm_pool_put(&pool, objs[i]);
    CHECK_EQ(pool.n_used, 0);
    CHECK_EQ(pool.n_total, 105);
    dm_pool_fini(&pool);
}

static void limit_holds(void)
{
    struct dm_pool pool;
    void *obj;

    dm_pool_init(&pool, 1, 4, 6);
    CHECK_EQ(dm_pool_reserve(&pool, 6), DM_OK);
    CHECK_EQ(pool.n_total, 6);
    CHECK_EQ(dm_pool_reserve(&pool, 7), DM_ENOMEM);
    for (int i = 0; i < 6; i++)
        CHECK(dm_pool_get(&pool) != NULL);
    CHECK(dm_pool_get(&pool) == NULL);
    CHECK_EQ(pool.n_used, 6);
    dm_pool_fini(&pool);
    /* An ended pool is an empty one. */
    obj = dm_pool_get(&pool);
    CHECK(obj != NULL);
    dm_pool_put(&pool, obj);
    dm_pool_fini(&pool);
}

static void lines_are_aligned(void)
{
    struct dm_pool pool;

    dm_pool_init(&pool, 128, 3, 0);
    for (int i = 0; i < 10; i++)
        CHECK_EQ((uintptr_t)dm_pool_get(&pool) % 64, 0);
    dm_pool_fini(&pool);
}

int main(void)
{
    objects_are_distinct_and_reused();
    limit_holds();
    lines_are_aligned();
    return test_result();
}
