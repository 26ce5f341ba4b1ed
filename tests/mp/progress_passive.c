/* test: np=2,3 cfg=PROGRESS=adaptive|thread timeout=60 */
/*
 * Puts and gets of an allocated window need nothing of the target, which computes until the last of
 * them is there.
 */
#include "mp_test.h"

#define LIMIT 20.0
#define N     1000

static MP_LOOKS void compute_until(const volatile double *at, double want)
{
    double start = MPI_Wtime();

    while (*at != want && MPI_Wtime() - start < LIMIT)
        ;
    CHECK(*at == want);
}

int main(int argc, char **argv)
{
    volatile double *flag;
    double *mem, buf[N];
    MPI_Win win;

    mp_start(&argc, &argv);
    MUST(MPI_Win_allocate((N + 1) * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                          &mem, &win));
    flag = &mem[N];
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < N; i++)
            mem[i] = i;
        *flag = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (mp_rank == 0) {
            compute_until(flag, round);
        } else if (mp_rank == 1) {
            double last = round;

            memset(buf, 0, sizeof(buf));
            MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win));
            MUST(MPI_Get(buf, N, MPI_DOUBLE, 0, 0, N, MPI_DOUBLE, win));
            MUST(MPI_Win_flush(0, win));
            for (int i = 0; i < N; i++) {
                CHECK(buf[i] == i);
                buf[i] += round;
            }
            MUST(MPI_Put(buf, N, MPI_DOUBLE, 0, 0, N, MPI_DOUBLE, win));
            MUST(MPI_Win_flush(0, win));
            MUST(MPI_Put(&last, 1, MPI_DOUBLE, 0, N, 1, MPI_DOUBLE, win));
            MUST(MPI_Win_unlock(0, win));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; mp_rank == 0 && i < N; i++)
            CHECK(mem[i] == i + round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    return mp_finish();
}
