/*
 * One transfer of one process between memory of any layout and a view of the file.
 *
 * It needs no lock and sends nothing, so that a thread of the library may run it. What it uses of
 * datatypes and views does not change.
 */
#ifndef DM_IO_MOVE_H
#define DM_IO_MOVE_H

#include "io/disk.h"
#include "io/hints.h"
#include "io/view.h"

#define DM_IO_PAGE 4096 /* of the file, that processes touch and share */

/* How the bytes went; counted for DATUM_STATS. */
enum dm_io_way {
    DM_WAY_CONTIG, /* the file's bytes are one range */
    DM_WAY_EXACT,  /* each range by itself */
    DM_WAY_SIEVE,  /* a part of the file with its holes, read at once */
    DM_WAY_MAPPED, /* copied from or to a mapping of the file */
    DM_WAY_TWO_PHASE,
    DM_WAY_GATHERED, /* of these, what a process gathered for others of its host */
    DM_N_WAYS
};

struct dm_move {
    const struct dm_disk *disk;
    const struct dm_hints *hints;
    const struct dm_view *view;
    bool is_write;
    void *buf; /* only read from when is_write */
    size_t count;
    struct dm_type *type;
    uint64_t pos;              /* in the view */
    uint64_t first;            /* of a write: the packed byte to begin with, where that may be */
    uint64_t len;              /* bytes to move: of the first elements at buf, packed */
    bool is_refused;           /* it goes with no exchange */
    uint64_t done;             /* set: bytes that were moved; reading less is the end of the file */
    uint64_t n_way[DM_N_WAYS]; /* added to: bytes by each way */
};

/* Where packed byte `at` of contiguous memory is. */
static inline char *dm_move_mem(const struct dm_move *m, uint64_t at)
{
    return (char *)((uintptr_t)m->buf + (uintptr_t)m->type->true_lb + at);
}

/* DM_ERR_IO, DM_ERR_NO_SPACE, ...; DM_ENOMEM. m->done is right in any case. */
int dm_move_run(struct dm_move *m);
/*
 * A part of it, from m->done on, which is 0 at first; a few hundred microseconds of a local file. True:
 * it is over, with *err_p. What is left may be done by another thread.
 */
bool dm_move_part(struct dm_move *m, int *err_p);
/*
 * All of it, if that takes less than to have a thread do it: a short range of a file that this host has in memory.
 * False: nothing was done.
 */
bool dm_move_at_once(struct dm_move *m, int *err_p);

#endif
