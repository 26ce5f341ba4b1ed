/*
 * Endless traffic between all ranks (or -n ROUNDS): messages of every size class to both
 * neighbours, a collective, puts. Rank 0 prints "running" after the first round.
 * -x RANK: that rank leaves with exit(3) and without MPI_Finalize in round 10.
 * -a RANK: that rank calls MPI_Abort(7) in round 10. -w RANK: that rank computes
 * for ever without MPI calls from round 10 on. Data is checked: exit 1 when wrong.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check(const char *buf, int n, int want)
{
    for (int i = 0; i < n; i++) {
        if (buf[i] != (char)(want + i)) {
            fprintf(stderr, "wrong byte %d\n", i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static char out[300000], in[300000];
    static const int lens[] = {0, 1, 8, 1000, 20000, 300000};
    int rank, size, c, rounds = 0, leaver = -1, aborter = -1, worker = -1;
    long *mem, one = 1;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while ((c = getopt(argc, argv, "n:x:a:w:")) != -1) {
        int v = atoi(optarg);

        if (c == 'n')
            rounds = v;
        else if (c == 'x')
            leaver = v;
        else if (c == 'a')
            aborter = v;
        else
            worker = v;
    }
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    *mem = 0;
    for (int r = 0; rounds == 0 || r < rounds; r++) {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        long sum = 0;

        for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
            for (int i = 0; i < lens[l]; i++)
                out[i] = (char)(rank + r + i);
            MPI_Sendrecv(out, lens[l], MPI_CHAR, right, r, in, lens[l], MPI_CHAR, left, r,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check(in, lens[l], left + r);
        }
        MPI_Win_fence(0, win);
        MPI_Accumulate(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_fence(0, win);
        MPI_Allreduce(mem, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (sum != (long)(r + 1) * size)
            MPI_Abort(MPI_COMM_WORLD, 1);
        if (r == 0 && rank == 0) {
            puts("running");
            fflush(stdout);
        }
        if (r == 10 && rank == leaver)
            exit(3);
        if (r == 10 && rank == aborter)
            MPI_Abort(MPI_COMM_WORLD, 7);
        if (r == 10 && rank == worker) {
            for (volatile long spin = 0;; spin++)
                ;
        }
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
