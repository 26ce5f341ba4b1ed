/*
 * Between the files with the bodies of the collective functions.
 */
#ifndef DM_MPI_COLL_BODY_H
#define DM_MPI_COLL_BODY_H

#include "mpi/coll/select.h"

/* The error of a collective (its name) that only works inside one group. */
int dm_coll_no_inter(const char *name);

#endif
