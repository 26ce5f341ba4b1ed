/* test: layers=util timeout=30 */
/* The hash table against a plain array. */
#include "util/hash.h"

#include <stdbool.h>
#include <stdlib.h>

#include "test.h"
#include "util/err.h"

#define N_KEYS 500

/* Keys in steps, as addresses and packed handles come, and the extremes. */
static uint64_t key_of(int i)
{
    if (i == 0)
        return 0;
    if (i == 1)
        return UINT64_MAX;
    return i % 2 == 0 ? (uint64_t)i << 12 : (uint64_t)i << 40;
}

static void empty_table(void)
{
    struct dm_hash hash;
    size_t pos = 0;
    uint64_t key;

    dm_hash_init(&hash);
    CHECK(dm_hash_get(&hash, 1) == NULL);
    CHECK(dm_hash_del(&hash, 1) == NULL);
    CHECK(dm_hash_next(&hash, &pos, &key) == NULL);
    dm_hash_fini(&hash);
}

static void random_steps(void)
{
    static int vals[2][N_KEYS];
    static int *expect[N_KEYS];
    struct dm_hash hash;
    size_t n = 0;
    size_t pos = 0;
    uint64_t key;

    srand(1);
    dm_hash_init(&hash);
    for (int step = 0; step < 50000 && test_n_failed == 0; step++) {
        int i = rand() % N_KEYS;
        int *val = &vals[rand() % 2][i];

        if (rand() % 2 == 0) {
            CHECK_EQ(dm_hash_put(&hash, key_of(i), val), DM_OK);
            n += expect[i] == NULL;
            expect[i] = val;
        } else {
            CHECK(dm_hash_del(&hash, key_of(i)) == expect[i]);
            n -= expect[i] != NULL;
            expect[i] = NULL;
        }
        i = rand() % N_KEYS;
        CHECK(dm_hash_get(&hash, key_of(i)) == expect[i]);
        CHECK_EQ(hash.n_used, n);
    }
    while (dm_hash_next(&hash, &pos, &key) != NULL)
        n--;
    CHECK_EQ(n, 0);
    for (int i = 0; i < N_KEYS; i++)
        CHECK(dm_hash_get(&hash, key_of(i)) == expect[i]);
    dm_hash_fini(&hash);
}

int main(void)
{
    empty_table();
    random_steps();
    return test_result();
}
