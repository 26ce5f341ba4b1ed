/*
 * What the collectives keep between calls.
 */
#ifndef DM_MPI_COLL_COLL_STATE_H
#define DM_MPI_COLL_COLL_STATE_H

#include "mpi/coll/choices.h"
#include "util/copy_ways.h"

struct dm_coll_state {
    struct dm_type *byte; /* MPI_BYTE */
    void *spare;          /* a block of temporary memory, or NULL */
    size_t spare_len;
    struct dm_coll_choice *all;             /* memory of the rows */
    struct dm_coll_choice *rows[DM_COLL_N]; /* by which algorithms are chosen: choices.h */
    struct dm_copy_ways copies;             /* to slots of segments */
    bool explains;                          /* tell which of them are taken */
    int n_segments;                         /* that this process is in */
    struct dm_list kept;      /* segments for the next communicator (mpi/node/kept.h) */
    bool is_keeping;          /* not after the end: the communicators of the world go later */
    struct dm_list ready;     /* schedules that can go on */
    struct dm_list left;      /* those that wait for the program's thread */
    struct dm_chan_hook hook; /* on while there are any */
};
extern struct dm_coll_state dm_coll_state;

#endif
