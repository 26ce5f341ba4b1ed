/* test: layers=util timeout=20 */
/* Which of two ways is faster: with costs that are made up. */
#include "util/trial.h"

#include "test.h"

static struct dm_trial trial;

/* n uses with those costs by way; every tenth sample has lost a time slice. How many by way 1. */
static int uses(int n, double cost0, double cost1)
{
    static int n_samples;
    int n_1 = 0;

    for (int i = 0; i < n; i++) {
        double cost = trial.way == 1 ? cost1 : cost0;

        n_1 += trial.way == 1;
        if (dm_trial_is_due(&trial))
            (void)dm_trial_sample(&trial, n_samples++ % 10 == 0 ? 1e6 : cost);
    }
    return n_1;
}

static void takes_the_faster(void)
{
    CHECK(uses(10000, 10, 20) < 100);
    uses(5000, 20, 10);
    CHECK(uses(10000, 20, 10) > 9900);
    uses(5000, 10, 20);
    CHECK(uses(10000, 10, 20) < 100);
    CHECK(uses(10000, 10, 9) < 100); /* no reason to change */
}

/* Trials that change nothing become rare, but do not end. */
static void becomes_rare(void)
{
    int n_due = 0;

    uses(100000, 10, 20);
    for (int i = 0; i < 100000; i++) {
        if (!dm_trial_is_due(&trial))
            continue;
        n_due++;
        (void)dm_trial_sample(&trial, trial.way == 1 ? 20 : 10);
    }
    CHECK(n_due >= 200 && n_due <= 300);
}

static void gives_up(void)
{
    while (!dm_trial_is_due(&trial) || !trial.is_trial)
        if (trial.left == 0)
            (void)dm_trial_sample(&trial, 10);
    CHECK_EQ(trial.way, 1);
    dm_trial_give_up(&trial);
    CHECK_EQ(trial.way, 0);
    CHECK(!dm_trial_is_due(&trial));
}

static void two_samples(void)
{
    struct dm_trial_least least = {0};

    dm_trial_least_add(&least, 3);
    CHECK(least.best == 3 && isinf(least.next));
    dm_trial_least_add(&least, 5);
    dm_trial_least_add(&least, 1);
    CHECK(least.best == 1 && least.next == 3 && least.n == 3);
}

/* The first four uses touch new memory, whichever way they go. */
static void starts_cold(void)
{
    struct dm_trial cold = {0};
    int n = 0;

    while (cold.pause == 0) {
        CHECK(dm_trial_is_due(&cold));
        (void)dm_trial_sample(&cold, n++ < 4 ? 1000 : cold.way == 1 ? 20 : 10);
    }
    CHECK_EQ(cold.way, 0);
}

int main(void)
{
    starts_cold();
    takes_the_faster();
    becomes_rare();
    gives_up();
    two_samples();
    return test_result();
}
