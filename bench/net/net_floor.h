/*
 * What net_socket and net_fabric share: ping-pong and stream between two ranks by floor_all, which the
 * program defines with its FLOOR (its name), floor_open and floor_close.
 */
#ifndef NET_FLOOR_H
#define NET_FLOOR_H

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ROUNDS 101
#define WINDOW     16

/* Connect the two ranks; buf is the memory that will be used. */
static void floor_open(int rank, const char *address, char *buf, size_t len);
/* Send or receive all of it, spinning. */
static void floor_all(char *buf, long len, int is_send);
static void floor_close(void);

static void die(const char *what)
{
    fprintf(stderr, FLOOR ": %s: %s\n", what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double exchange(char *buf, long len, int n, int rank)
{
    double start = MPI_Wtime();

    for (int i = 0; i < n; i++) {
        floor_all(buf, len, rank == 0);
        floor_all(buf, len, rank != 0);
    }
    return (MPI_Wtime() - start) * 1e6 / n / 2;
}

static double stream(char *buf, long len, int n, int rank)
{
    double start = MPI_Wtime();

    for (int i = 0; i < n * WINDOW; i++)
        floor_all(buf, len, rank == 0);
    floor_all(buf, 1, rank != 0);
    return (double)len * n * WINDOW / (MPI_Wtime() - start) / 1e6;
}

int main(int argc, char **argv)
{
    long min = 8, max = 4 << 20;
    int n_rounds = 5, rank, size, c;
    const char *address = NULL;
    char *buf;

    MPI_Init(&argc, &argv);
    while ((c = getopt(argc, argv, "s:r:a:")) != -1) {
        if (c == 's' && sscanf(optarg, "%ld:%ld", &min, &max) == 2 && min > 0 && max >= min)
            continue;
        if (c == 'r' && (n_rounds = atoi(optarg)) > 0 && n_rounds <= MAX_ROUNDS)
            continue;
        if (c != 'a') {
            fprintf(stderr, "usage: " FLOOR " [-s MIN:MAX] [-r ROUNDS] [-a ADDRESS]\n");
            MPI_Abort(MPI_COMM_WORLD, 2);
            return 2;
        }
        address = optarg;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    buf = malloc((size_t)max);
    if (size != 2 || buf == NULL) {
        fprintf(stderr, FLOOR ": needs 2 ranks and a buffer of %ld bytes\n", max);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    memset(buf, 1, (size_t)max);
    floor_open(rank, address, buf, (size_t)max);
    for (int is_rate = 0; is_rate < 2; is_rate++) {
        for (long len = min; len <= max; len *= 2) {
            double t[MAX_ROUNDS] = {0};
            int n = (int)((is_rate ? 16e6 : 64e6) / (double)len);
            int n_max = is_rate ? 2000 : 20000;

            n = n > n_max ? n_max : n < 4 ? 4 : n;
            for (int r = -1; r < n_rounds; r++)
                t[r < 0 ? 0 : r] = (is_rate ? stream : exchange)(buf, len, n, rank);
            qsort(t, (size_t)n_rounds, sizeof(t[0]), by_value);
            if (rank == 0)
                printf("%s %ld %.4f %.4f\n", is_rate ? "bandwidth" : "latency", len,
                       t[n_rounds / 2], is_rate ? t[n_rounds - 1] : t[0]);
        }
    }
    floor_close();
    MPI_Finalize();
    return 0;
}

#endif
