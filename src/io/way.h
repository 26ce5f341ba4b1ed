/*
 * Which way a transfer of one process goes where the file's bytes are not one range: a part of the file at a time,
 * judged by its first ranges; and what that costs.
 */
#ifndef DM_IO_WAY_H
#define DM_IO_WAY_H

#include "io/move.h"

/* What of the view lies in [low, high) of the file, from m->done on. */
struct dm_way_window {
    int64_t low, high;
    uint64_t len; /* bytes of the view in it */
};

/* The next window of at most `space` bytes of the file. */
void dm_way_next(const struct dm_move *m, uint64_t space, struct dm_way_window *w);
/* Mean length of its ranges. */
uint64_t dm_way_piece(const struct dm_move *m, const struct dm_way_window *w);
/* Is it read with its holes, which are small beside a system call, a wait for the disk, or a message? */
bool dm_way_is_sieved(const struct dm_move *m, const struct dm_way_window *w);
/* Is it worth a mapping: pieces that are short, and not few in many pages? */
bool dm_way_is_mapped(const struct dm_move *m, const struct dm_way_window *w);

/*
 * What a move, which has not begun, costs beside what its bytes cost in one range: nanoseconds of the
 * processor. is_oversubscribed: more processes than cores, which wait for each other's pages.
 */
uint64_t dm_way_cost(const struct dm_move *m, bool is_oversubscribed);

#endif
