/* test: np=2,4,5 cfg=RMA_ATOMIC=auto|yes timeout=60 */
/*
 * Windows that are used as soon as this process has made them, and freed as soon as its locks are
 * given back.
 */
#include "mp_test.h"

#define ROUNDS 40

int main(int argc, char **argv)
{
    int mem[4] = {0};

    mp_start(&argc, &argv);
    for (int r = 0; r < ROUNDS; r++) {
        MPI_Win win;

        MUST(MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        if (r % 2 != 0) {
            MUST(MPI_Win_lock_all(0, win));
            MUST(MPI_Win_unlock_all(win));
        } else if (mp_rank != 0) {
            MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            MUST(MPI_Win_unlock(0, win));
        }
        MUST(MPI_Win_free(&win));
    }
    return mp_finish();
}
