/*
 * One-sided operations between two ranks, plain MPI-3: passive target, one
 * lock_all for everything, rank 1 waits in a barrier.
 *
 *   mpiexec -n 2 onesided [-s MIN:MAX] [-r ROUNDS]
 *
 * Output lines "WHAT SIZE MEDIAN BEST": put_latency, get_latency, acc_latency
 * (operation and flush, us), put_bandwidth and get_bandwidth (32 operations and a flush, MB/s).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ROUNDS 101
#define WINDOW     32

enum what { PUT, GET, ACC, PUT_BW, GET_BW, N_WHAT };

static const char *const names[N_WHAT] = {"put_latency", "get_latency", "acc_latency",
                                          "put_bandwidth", "get_bandwidth"};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure(enum what what, char *buf, int len, int n, MPI_Win win)
{
    int is_bw = what == PUT_BW || what == GET_BW;
    double start = MPI_Wtime(), us;

    for (int i = 0; i < n; i++) {
        for (int w = 0; w < (is_bw ? WINDOW : 1); w++) {
            if (what == PUT || what == PUT_BW)
                MPI_Put(buf, len, MPI_BYTE, 1, 0, len, MPI_BYTE, win);
            else if (what == GET || what == GET_BW)
                MPI_Get(buf, len, MPI_BYTE, 1, 0, len, MPI_BYTE, win);
            else
                MPI_Accumulate(buf, len / 8, MPI_LONG, 1, 0, len / 8, MPI_LONG, MPI_SUM, win);
        }
        MPI_Win_flush(1, win);
    }
    us = (MPI_Wtime() - start) * 1e6;
    return is_bw ? (double)len * n * WINDOW / us : us / n;
}

int main(int argc, char **argv)
{
    long min = 8, max = 4 << 20;
    int n_rounds = 5, rank, size, c;
    char *base, *buf;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    while ((c = getopt(argc, argv, "s:r:")) != -1) {
        if (c == 's' && sscanf(optarg, "%ld:%ld", &min, &max) == 2 && min >= 8 && max >= min)
            continue;
        if (c == 'r' && (n_rounds = atoi(optarg)) > 0 && n_rounds <= MAX_ROUNDS)
            continue;
        fprintf(stderr, "usage: onesided [-s MIN:MAX] [-r ROUNDS]   (MIN at least 8)\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Alloc_mem(max, MPI_INFO_NULL, &buf);
    memset(buf, 0, (size_t)max);
    MPI_Win_allocate(max, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock_all(0, win);
    for (int what = 0; rank == 0 && size > 1 && what < N_WHAT; what++) {
        for (long len = min; len <= max; len *= 4) {
            double t[MAX_ROUNDS] = {0};
            int is_bw = what >= PUT_BW;
            int n = (int)((is_bw ? 2e6 : 32e6) / (double)len);
            int n_max = is_bw ? 300 : 3000;

            n = n > n_max ? n_max : n < 4 ? 4 : n;
            for (int r = -1; r < n_rounds; r++)
                t[r < 0 ? 0 : r] = measure(what, buf, (int)len, n, win);
            qsort(t, (size_t)n_rounds, sizeof(t[0]), by_value);
            printf("%s %ld %.4f %.4f\n", names[what], len, t[n_rounds / 2],
                   is_bw ? t[n_rounds - 1] : t[0]);
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Free_mem(buf);
    MPI_Finalize();
    return 0;
}
