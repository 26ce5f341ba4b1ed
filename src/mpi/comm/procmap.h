/*
 * From process numbers to ranks of a group, in constant time.
 */
#ifndef DM_MPI_COMM_PROCMAP_H
#define DM_MPI_COMM_PROCMAP_H

#include "mpi/core/core.h"

struct dm_procmap {
    const struct dm_group *group;
    int *ranks; /* by process number, or NULL: the group answers fast enough itself */
    int n;
};

/* For about n_questions questions. DM_ENOMEM. The group must live as long. */
int dm_procmap_open(struct dm_procmap *map, const struct dm_group *group, int n_questions);
void dm_procmap_close(struct dm_procmap *map);
/* Rank of a process in the group, or MPI_UNDEFINED. */
int dm_procmap_rank(const struct dm_procmap *map, int proc);

#endif
