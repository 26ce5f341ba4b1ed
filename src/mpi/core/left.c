/*
 * Which processes of other jobs have left: a byte for each number above those of this job, as many as
 * were ever needed.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/core/core_priv.h"

static struct {
    bool *has_left; /* by process number, from the size of the job on */
    int n;
} procs;

void dm_world_set_left(int proc, bool has_left)
{
    int i = proc - dm_world.size;

    if (i >= procs.n && has_left) {
        bool *more = realloc(procs.has_left, (size_t)(2 * i + 8) * sizeof(*more));

        if (more == NULL)
            return; /* whoever waits for it waits until its connection is found to be gone */
        memset(more + procs.n, 0, (size_t)(2 * i + 8 - procs.n) * sizeof(*more));
        procs.has_left = more;
        procs.n = 2 * i + 8;
    }
    if (i >= 0 && i < procs.n)
        procs.has_left[i] = has_left;
}

bool dm_world_has_left(int proc)
{
    int i = proc - dm_world.size;

    return i >= 0 && i < procs.n && procs.has_left[i];
}

void dm_left_stop(void)
{
    free(procs.has_left);
    procs.has_left = NULL;
    procs.n = 0;
}
