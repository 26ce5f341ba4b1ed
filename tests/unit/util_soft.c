/* test: layers=util timeout=20 */
/* Triplets of numbers of processes, beside a list of their numbers. */
#include "util/soft.h"

#include <stdio.h>
#include <stdlib.h>

#include "test.h"
#include "util/err.h"

static int largest(const char *soft, int max)
{
    int n = -7;

    CHECK_EQ(dm_soft_largest(soft, max, &n), DM_OK);
    return n;
}

/* What Fortran makes of a triplet. */
static int counted(int first, int last, int step, int max)
{
    int best = -1;

    for (int i = first; step > 0 ? i <= last : i >= last; i += step)
        if (i >= 0 && i <= max && i > best)
            best = i;
    return best;
}

static void all_triplets(void)
{
    char text[64];

    for (int first = -3; first < 7; first++)
        for (int last = -3; last < 7; last++)
            for (int step = -3; step <= 3; step++)
                for (int max = 0; max < 8 && step != 0; max++) {
                    snprintf(text, sizeof(text), "%d:%d:%d", first, last, step);
                    CHECK_EQ(largest(text, max), counted(first, last, step, max));
                }
}

static void lists(void)
{
    CHECK_EQ(largest("3", 5), 3);
    CHECK_EQ(largest("3", 2), -1);
    CHECK_EQ(largest("0:1000000000", 8), 8);
    CHECK_EQ(largest("9,2,4:5", 8), 5);
    CHECK_EQ(largest(" 1 , 2:8:2 ", 7), 6);
    CHECK_EQ(largest("1:2147483647:2147483646", 2147483647), 2147483647);
}

static void no_lists(void)
{
    static const char *const texts[] = {
        "",    ",",     "1,",      "a",          "1:",
        "1:b", "1:2:0", "1:2:3:4", "1 2",        "1;2",
        "-",   "::",    "1::2",    "2147483648", "99999999999999999999"};
    int n;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        CHECK_EQ(dm_soft_largest(texts[i], 8, &n), DM_ERR_INFO_VALUE);
}

int main(void)
{
    all_triplets();
    lists();
    no_lists();
    return test_result();
}
