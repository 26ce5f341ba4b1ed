/*
 * Ping-pong and one-way bandwidth between two ranks, plain MPI: the same
 * executable runs on any library of the MPICH ABI, and rebuilt on any other.
 *
 *   mpiexec -n 2 pingpong [-l] [-b] [-s MIN:MAX] [-r ROUNDS] [-n MOST] [-p]
 *
 *   -l latency only, -b bandwidth only (both by default)
 *   -s sizes in bytes, doubling from MIN to MAX (default 8:4194304)
 *   -r rounds per size (default 7); each line gives the median and the minimum
 *      (latency) or maximum (bandwidth) over the rounds
 *   -n at most so many exchanges in a round, and a tenth of it windows (default 20000)
 *   -p pin rank i to the i-th core that the process may use
 *
 * Output lines: "latency SIZE MEDIAN MIN" in microseconds per half round trip,
 * "bandwidth SIZE MEDIAN MAX" in MB/s (10^6 bytes).
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ROUNDS 101
#define WINDOW     16

struct options {
    int do_latency, do_bandwidth, is_pinned, n_rounds, most;
    long min, max;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void pin(int rank)
{
    cpu_set_t all, one;
    int n = 0, want;

    if (sched_getaffinity(0, sizeof(all), &all) != 0)
        return;
    want = rank % CPU_COUNT(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && n++ == want) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof(one), &one);
            return;
        }
    }
}

/* Microseconds per half round trip over n exchanges. */
static double exchange(char *sbuf, char *rbuf, int len, int n, int rank)
{
    double start = MPI_Wtime();

    for (int i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Send(sbuf, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(rbuf, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(rbuf, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(sbuf, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) * 1e6 / n / 2;
}

/* MB/s of n windows of messages from rank 0 to rank 1. */
static double stream(char *sbuf, char *rbuf, int len, int n, int rank)
{
    MPI_Request req[WINDOW];
    double start = MPI_Wtime();
    char ack = 0;

    for (int i = 0; i < n; i++) {
        for (int w = 0; w < WINDOW; w++) {
            if (rank == 0)
                MPI_Isend(sbuf, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[w]);
            else
                MPI_Irecv(rbuf, len, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req[w]);
        }
        MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE);
    }
    if (rank == 0)
        MPI_Recv(&ack, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&ack, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    return (double)len * n * WINDOW / (MPI_Wtime() - start) / 1e6;
}

typedef double measure(char *sbuf, char *rbuf, int len, int n, int rank);

static void run(const char *name, measure *fn, const struct options *opt, double bytes_per_round,
                int max_n, int rank, int is_rate)
{
    char *sbuf, *rbuf;

    if (posix_memalign((void **)&sbuf, 4096, (size_t)opt->max) != 0 ||
        posix_memalign((void **)&rbuf, 4096, (size_t)opt->max) != 0) {
        fprintf(stderr, "pingpong: no memory for two buffers of %ld bytes\n", opt->max);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    memset(sbuf, 1, (size_t)opt->max);
    memset(rbuf, 2, (size_t)opt->max);
    for (long len = opt->min; len <= opt->max; len *= 2) {
        double t[MAX_ROUNDS] = {0};
        int n = (int)(bytes_per_round / (double)len);

        n = n > max_n ? max_n : n < 4 ? 4 : n;
        fn(sbuf, rbuf, (int)len, n / 4 + 1, rank);
        for (int r = 0; r < opt->n_rounds; r++)
            t[r] = fn(sbuf, rbuf, (int)len, n, rank);
        qsort(t, (size_t)opt->n_rounds, sizeof(t[0]), by_value);
        if (rank == 0) {
            printf("%s %ld %.4f %.4f\n", name, len, t[opt->n_rounds / 2],
                   is_rate ? t[opt->n_rounds - 1] : t[0]);
            fflush(stdout);
        }
    }
    free(sbuf);
    free(rbuf);
}

static void usage(void)
{
    fprintf(stderr,
            "usage: pingpong [-l] [-b] [-s MIN:MAX] [-r ROUNDS] [-n MOST] [-p]   (with 2 ranks)\n");
    exit(2);
}

int main(int argc, char **argv)
{
    struct options opt = {.n_rounds = 7, .min = 8, .max = 4 << 20, .most = 20000};
    int rank, size, c;

    MPI_Init(&argc, &argv);
    while ((c = getopt(argc, argv, "lbs:r:n:p")) != -1) {
        switch (c) {
        case 'l':
            opt.do_latency = 1;
            break;
        case 'b':
            opt.do_bandwidth = 1;
            break;
        case 's':
            if (sscanf(optarg, "%ld:%ld", &opt.min, &opt.max) != 2 || opt.min < 1 ||
                opt.max < opt.min)
                usage();
            break;
        case 'r':
            opt.n_rounds = atoi(optarg);
            if (opt.n_rounds < 1 || opt.n_rounds > MAX_ROUNDS)
                usage();
            break;
        case 'n':
            opt.most = atoi(optarg);
            if (opt.most < 10)
                usage();
            break;
        case 'p':
            opt.is_pinned = 1;
            break;
        default:
            usage();
        }
    }
    if (!opt.do_latency && !opt.do_bandwidth)
        opt.do_latency = opt.do_bandwidth = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2)
        usage();
    if (opt.is_pinned)
        pin(rank);
    if (opt.do_latency)
        run("latency", exchange, &opt, 64e6, opt.most, rank, 0);
    if (opt.do_bandwidth)
        run("bandwidth", stream, &opt, 16e6, opt.most / 10, rank, 1);
    MPI_Finalize();
    return 0;
}
