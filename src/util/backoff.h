/*
 * Back-off of something that is worth trying but was in vain: after n failures in a row the next
 * 1, 3, 7 ... tries are left out, at most `max` of them. A success starts anew. No memory of its own.
 */
#ifndef DM_UTIL_BACKOFF_H
#define DM_UTIL_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct dm_backoff {
    uint32_t left; /* tries still to be left out */
    uint32_t last; /* how many the last failure has asked for */
};

/* Leave this try out? Counts it. */
static inline bool dm_backoff_skips(struct dm_backoff *b)
{
    if (b->left == 0)
        return false;
    b->left--;
    return true;
}

static inline void dm_backoff_failed(struct dm_backoff *b, uint32_t max)
{
    b->last = b->last < max ? b->last * 2 + 1 : max;
    b->left = b->last;
}

static inline void dm_backoff_worked(struct dm_backoff *b)
{
    b->left = b->last = 0;
}

#endif
