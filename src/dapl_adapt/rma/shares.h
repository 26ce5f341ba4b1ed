/*
 * The shares of a transfer over several ways, by their speed.
 */
#ifndef DM_DAPL_ADAPT_RMA_SHARES_H
#define DM_DAPL_ADAPT_RMA_SHARES_H

#include <stdbool.h>
#include <stdint.h>

/* One way, and what it gets. */
struct dm_share_way {
    double speed; /* bytes per nanosecond, or anything alike for all; 0: not known */
    bool is_due;  /* slow when it was measured last; it gets a little, to be measured again */
    uint64_t len; /* out: 0 is nothing */
};

/*
 * Cut len bytes into shares that end at the same time, none below min unless it is the only one. A way
 * whose share would be is left out; one that is due gets min all the same, if that is little. With a speed that is not known all are taken for
 * equal. How many ways get something.
 */
int dm_shares_cut(uint64_t len, uint64_t min, struct dm_share_way *ways, int n);

#endif
