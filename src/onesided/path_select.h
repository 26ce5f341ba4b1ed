/*
 * Private memory of a process of the same host: with the target's help, or by RDMA alone? Help costs messages between
 * two cores, RDMA a system call; which of the two is faster depends on the machine, on where the two processes run at
 * the moment, and on whether transfers come one by one or many before a flush. So what lies between two flushes is timed
 * now and then, with the path in use and then with the other one. By classes of length, for puts and gets. No
 * locks: the caller's global lock guards it. Units: bytes, ns.
 */
#ifndef DM_ONESIDED_PATH_SELECT_H
#define DM_ONESIDED_PATH_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/clock.h"
#include "util/port.h"
#include "util/trial.h"

#define DM_RMA_SELECT_CLASSES 6   /* of lengths: up to 2, 8, 16, 64, 256 KiB, more */
#define DM_RMA_SELECT_SHORT   512 /* up to here the target's help is faster everywhere */

/* What the target does (assists, split copies), or RDMA without it. */
enum dm_rma_side { DM_RMA_HELPED, DM_RMA_ALONE };

struct dm_rma_select_class {
    struct dm_trial trial; /* ns of a transfer; its way is a dm_rma_side; uses are flushes */
    uint8_t n_void;        /* what was to be a sample, since the last one */
};

struct dm_rma_select {
    struct dm_rma_select_class classes[2][2][DM_RMA_SELECT_CLASSES]; /* is_put; are many */
    struct dm_rma_select_class *open; /* of the transfers since the last flush, or NULL */
    const void *win;                  /* that they belong to */
    bool are_many[2];                 /* before the last flush; by is_put */
    bool is_put;
    bool is_void; /* of several kinds, or by another path than was chosen */
    uint32_t n;
    uint64_t since; /* the caller stores here when the first one began, if it is timed */
};

/* (path_select.c) */
int dm_rma_select_class_of(size_t len);
void dm_rma_select_sampled(struct dm_rma_select *select, uint64_t now);

/* The next transfer of that length of the window: how. */
static inline enum dm_rma_side dm_rma_select_begin(struct dm_rma_select *select, const void *win,
                                                   size_t len, bool is_put)
{
    struct dm_rma_select_class *c =
        &select->classes[is_put][select->are_many[is_put]][dm_rma_select_class_of(len)];

    if (select->open != NULL && select->win == win) {
        select->n++;
        select->is_void |= select->open != c;
        return (enum dm_rma_side)c->trial.way;
    }
    select->is_void =
        select->open != NULL; /* those of another window, which may never be flushed */
    select->open = c;
    select->win = win;
    select->is_put = is_put;
    select->n = 1;
    return (enum dm_rma_side)c->trial.way;
}

/* The first transfer since a flush begins, and how long it takes until the next one will count. */
static inline bool dm_rma_select_is_timed(const struct dm_rma_select *select)
{
    return select->n == 1 && select->open->trial.left == 0;
}

/* A flush of the window is over. */
static inline void dm_rma_select_end(struct dm_rma_select *select, const void *win)
{
    struct dm_rma_select_class *c = select->open;

    if (c == NULL || select->win != win)
        return;
    if (dm_likely(c->trial.left > 0 && (select->n > 1) == select->are_many[select->is_put])) {
        c->trial.left--;
        select->open = NULL;
    } else {
        dm_rma_select_sampled(select, dm_clock_ns());
    }
}

#endif
