/* test: layers=util,onesided timeout=20 */
/* With the target's help or without, chosen by what both took: over machines that are made up. */
#include "onesided/path_select.h"

#include "test.h"

#define LEN 4096

static struct dm_rma_select sel;
static const char win[2];
static uint64_t now = 1000;

/* n epochs of `many` puts each, which take so many ns by side; 0: the target does not help. How many without it. */
static int epochs(int n, int many, uint64_t helped, uint64_t alone)
{
    int n_alone = 0;

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < many; k++) {
            enum dm_rma_side side = dm_rma_select_begin(&sel, &win[0], LEN, true);

            if (dm_rma_select_is_timed(&sel))
                sel.since = now;
            if (side == DM_RMA_HELPED && helped == 0)
                sel.is_void = true; /* cancelled, and done in another way */
            now += side == DM_RMA_ALONE ? alone : helped;
            n_alone += side == DM_RMA_ALONE;
        }
        if (sel.open->trial.left > 0 && (many > 1) == sel.are_many[1]) {
            dm_rma_select_end(&sel, &win[0]);
            CHECK(sel.open == NULL);
        } else {
            dm_rma_select_sampled(&sel, now);
        }
    }
    return n_alone;
}

static void takes_the_faster(void)
{
    CHECK(epochs(50, 1, 600, 3000) < 20); /* first samples of both */
    CHECK(epochs(10000, 1, 600, 3000) < 100);
    epochs(5000, 1, 3000, 600); /* the processes have moved */
    CHECK(epochs(10000, 1, 3000, 600) > 9900);
    epochs(5000, 1, 600, 3000);
    CHECK(epochs(10000, 1, 600, 3000) < 100);
    /* a little better is no reason to change */
    CHECK(epochs(10000, 1, 3000, 2900) < 100);
}

static void many_are_another_case(void)
{
    epochs(5000, 8, 2000, 500);
    CHECK(epochs(1000, 8, 2000, 500) > 7800);
    epochs(10, 1, 600, 3000);
    CHECK(epochs(1000, 1, 600, 3000) < 50);
    epochs(10, 8, 2000, 500);
    CHECK(epochs(1000, 8, 2000, 500) > 7800);
}

/* Nothing is learnt where the target computes: the paths themselves back off. */
static void target_that_does_not_help(void)
{
    epochs(10, 1, 600, 3000);
    CHECK_EQ(epochs(1000, 1, 0, 700), 0);
}

static void other_windows(void)
{
    CHECK_EQ(dm_rma_select_begin(&sel, &win[0], LEN, false), DM_RMA_HELPED);
    dm_rma_select_end(&sel, &win[1]);
    CHECK(sel.open != NULL);
    dm_rma_select_begin(&sel, &win[1], LEN, false);
    CHECK(sel.is_void);
    dm_rma_select_end(&sel, &win[0]); /* it may be gone without a flush */
    CHECK(sel.open != NULL);
    dm_rma_select_end(&sel, &win[1]);
    CHECK(sel.open == NULL);
    dm_rma_select_begin(&sel, &win[1], LEN, false);
    CHECK(!sel.is_void);
    dm_rma_select_end(&sel, &win[1]);
}

int main(void)
{
    takes_the_faster();
    many_are_another_case();
    target_that_does_not_help();
    other_windows();
    return test_result();
}
