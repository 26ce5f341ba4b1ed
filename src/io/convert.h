/*
 * Moves with a data representation that converts: by parts, or by way of memory that holds a whole
 * access as it is in the file.
 */
#ifndef DM_IO_CONVERT_H
#define DM_IO_CONVERT_H

#include "io/move.h"

/* A move whose data are held as they are in the file. */
struct dm_staged {
    char *mem;          /* NULL: none are */
    struct dm_move own; /* the move as it was */
};

/* By parts; move makes each. m->done counts bytes of memory, of whole elements. */
int dm_convert_run(struct dm_move *m, int (*move)(struct dm_move *part));
/* Is it short enough to be held? */
bool dm_convert_is_short(const struct dm_move *m);
/*
 * The move becomes one of bytes that need no conversion, for a thread or for other processes. Is it not
 * short, and need not be staged, or is there no memory, it stays and is_refused is set. After an error,
 * of a conversion or for want of memory, it moves nothing.
 */
int dm_convert_stage(struct dm_move *m, struct dm_staged *s, bool must);
/* It is over: data that were read go to memory; m is as it was, and done counts bytes of memory. */
int dm_convert_unstage(struct dm_move *m, struct dm_staged *s);

#endif
