/* test: layers=util timeout=10 */
/*
 * Time from a source: it is what the source says, copies are told to it, and real time goes on from there.
 */
#include "util/clock.h"

#include "test.h"

static uint64_t virtual_now;
static size_t n_copied;

static uint64_t source_now(void *arg)
{
    CHECK(arg == &virtual_now);
    return virtual_now;
}

static void source_copied(void *arg, size_t len)
{
    CHECK(arg == &virtual_now);
    n_copied += len;
}

int main(void)
{
    const struct dm_clock_source source = {
        .arg = &virtual_now, .now = source_now, .copied = source_copied};
    uint64_t real = dm_clock_ns();

    CHECK(!dm_clock_is_virtual());
    dm_clock_copied(5);
    CHECK_EQ(n_copied, 0);
    virtual_now = 4000;
    dm_clock_use(&source);
    CHECK(dm_clock_is_virtual());
    CHECK_EQ(dm_clock_ns(), 4000);
    CHECK_EQ(dm_clock_after(3), 7000);
    CHECK(dm_clock_s() == 4000 * 1e-9);
    CHECK(dm_clock_tick() == 1e-9);
    dm_clock_copied(5);
    dm_clock_copied(7);
    CHECK_EQ(n_copied, 12);
    virtual_now = 9000;
    dm_clock_use(NULL);
    CHECK(!dm_clock_is_virtual());
    CHECK(dm_clock_ns() >= 9000);
    CHECK(dm_clock_ns() < real); /* a machine's clock is further */
    CHECK(dm_clock_s() >= 9000 * 1e-9);
    real = dm_clock_ns();
    while (dm_clock_ns() == real)
        continue;
    CHECK(dm_clock_ns() > real);
    return test_result();
}
