/* test: np=2,3 cfg=RMA_ATOMIC=auto|yes exit=nonzero timeout=20 warn=.* */
/*
 * A process that ends while it holds a lock: the job ends, whoever waits for the lock too.
 */
#include <unistd.h>

#include "mp_test.h"

int main(int argc, char **argv)
{
    long *mem;
    MPI_Win win;

    mp_start(&argc, &argv);
    MUST(MPI_Win_allocate(sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    if (mp_rank == 1)
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 1)
        _exit(7);
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    /* granted though its holder is dead: the time-out tells */
    for (;;)
        pause();
}
