/*
 * Cutting a transfer into shares by speed. Ways may be of any kind: what counts is how fast they were.
 *
 * A slow way with a share that is not worth it would make the whole late. So it gets none, and a little
 * now and then, since speeds change.
 */
#include "dapl_adapt/rma/shares.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALIGN    UINT64_C(4096)
#define DUE_PART 4 /* a way that is due gets so much of the whole at most */

static bool shares_are_known(const struct dm_share_way *ways, int n)
{
    bool is_so = true;

    for (int i = 0; i < n; i++)
        is_so = is_so && ways[i].speed > 0;
    return is_so;
}

/* Those that take part have a share of at least 1, for now. */
static double shares_sum(const struct dm_share_way *ways, int n, bool is_known)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        if (ways[i].len > 0)
            sum += is_known ? ways[i].speed : 1;
    }
    return sum;
}

static int shares_slowest(const struct dm_share_way *ways, int n, bool is_known)
{
    int slowest = -1;

    for (int i = 0; i < n; i++) {
        if (ways[i].len > 0 && (slowest < 0 || !is_known || ways[i].speed <= ways[slowest].speed))
            slowest = i;
    }
    return slowest;
}

/* Who takes part: the slowest are left out as long as their share is too small. How many. */
static int shares_choose(uint64_t len, uint64_t min, struct dm_share_way *ways, int n,
                         bool is_known)
{
    int n_left = n;

    for (int i = 0; i < n; i++)
        ways[i].len = 1;
    while (n_left > 1) {
        int slowest = shares_slowest(ways, n, is_known);
        double part = (is_known ? ways[slowest].speed : 1) / shares_sum(ways, n, is_known);

        if ((double)len * part >= (double)min)
            break;
        ways[slowest].len = 0;
        n_left--;
    }
    return n_left;
}

int dm_shares_cut(uint64_t len, uint64_t min, struct dm_share_way *ways, int n)
{
    bool is_known = shares_are_known(ways, n);
    int n_left = shares_choose(len, min, ways, n, is_known);
    double sum = shares_sum(ways, n, is_known);
    uint64_t left = len;
    bool has_due = false;
    int most = -1;

    for (int i = 0; i < n; i++) {
        if (ways[i].len == 0 && ways[i].is_due && !has_due && len / DUE_PART >= min) {
            has_due = true;
            ways[i].len = min;
            n_left++;
        } else if (ways[i].len > 0) {
            ways[i].len = (uint64_t)((double)len * (is_known ? ways[i].speed : 1) / sum);
            most = most < 0 || ways[i].len > ways[most].len ? i : most;
        }
    }
    /* the largest takes what is over, or gives what the one that is due gets */
    for (int i = 0; i < n; i++) {
        if (i == most || ways[i].len == 0)
            continue;
        if (ways[i].len > ALIGN)
            ways[i].len -= ways[i].len % ALIGN;
        left -= ways[i].len;
    }
    ways[most].len = left;
    return n_left;
}
