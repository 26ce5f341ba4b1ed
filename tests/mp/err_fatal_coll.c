/* test: np=2,3,5 exit=nonzero timeout=20 warn=rank.1 */
/*
 * A rank is killed while the others wait for it in a barrier, in a loop of them: the job ends.
 */
#include <signal.h>

#include "mp_test.h"

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    for (int i = 0;; i++) {
        if (i == 1000 && mp_rank == 1)
            raise(SIGKILL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}
