/*
 * Processes as others know them: process numbers are each process's own, so what is sent between
 * jobs says who a process is and how to reach it.
 */
#ifndef DM_MPI_COMM_PROCS_H
#define DM_MPI_COMM_PROCS_H

#include "mpi/core/core.h"

#define DM_PROCS_PACKED_MAX 768 /* bytes of one process */

/*
 * This process in a form that any process understands, reachable from everywhere. A list is one
 * behind the other. What keeps its address from being known.
 */
int dm_procs_pack_own(char bytes[DM_PROCS_PACKED_MAX], size_t *len_p);
/*
 * The numbers here of the n processes that are described, with a reference on each that is of
 * another job. DM_EINTERN for nonsense, DM_ECONN for a process that cannot be reached from here;
 * then there are no references.
 */
int dm_procs_unpack(const void *buf, size_t len, int n, int *procs);
/* Give back the references of dm_procs_unpack. */
void dm_procs_put(int n, const int *procs);
/* An order of processes that all of them see alike: below 0, 0, above 0. */
int dm_procs_compare(int a, int b);
/*
 * Of the two groups of an intercommunicator: does the local one come first in that order? Both
 * sides say so of the same one.
 */
bool dm_procs_is_first(const struct dm_comm *comm);
/*
 * A number for this process's host that all of comm, both groups of an intercommunicator, have alike
 * and that no other host has.
 */
int dm_procs_host_color(const struct dm_comm *comm);

#endif
