/*
 * What the usual benchmark programs print: sizes in turn, few calls to warm up, then the mean of all. So
 * first uses count that a minimum over rounds hides: new memory, connections, choices that are still learnt.
 *
 *   mpiexec -n N usual [-s MIN:MAX] CASE...
 *
 * Two ranks: latency, bandwidth; put, get, accumulate (memory of MPI_Win_allocate), put_create,
 * get_create (of the program). Any number: the collectives of the table below.
 *
 * Output lines: "CASE SIZE VALUE", in microseconds, bandwidth in MB/s (10^6 bytes). Sizes are those of one block.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT      8192 /* bytes; longer ones are done less often */
#define WINDOW     64
#define MOST_BYTES ((size_t)4 << 20)

static int rank, n_ranks;
static char *out, *in; /* a block for each rank */

/* How often, and how often before. */
struct times {
    int n, n_first;
};

/* ---- two ranks, one after the other ---- */

static void one_way(int len, int n)
{
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Send(out, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, len, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void window(int len, int n)
{
    MPI_Request reqs[WINDOW];
    char ack = 0;

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < WINDOW; k++) {
            if (rank == 0)
                MPI_Isend(out, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &reqs[k]);
            else
                MPI_Irecv(in, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &reqs[k]);
        }
        MPI_Waitall(WINDOW, reqs, MPI_STATUSES_IGNORE);
        if (rank == 1)
            MPI_Send(&ack, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(&ack, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static double two_sided(const char *name, int len)
{
    int is_window = strcmp(name, "bandwidth") == 0;
    struct times t = len > SHORT ? (struct times){is_window ? 20 : 1000, is_window ? 2 : 10}
                                 : (struct times){is_window ? 100 : 10000, is_window ? 10 : 100};
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    (is_window ? window : one_way)(len, t.n_first);
    start = MPI_Wtime();
    (is_window ? window : one_way)(len, t.n);
    start = MPI_Wtime() - start;
    return is_window ? (double)len * WINDOW * t.n / start / 1e6 : start * 1e6 / t.n / 2;
}

/* ---- one-sided, with a window for each size ---- */

static void transfer(const char *name, int len, MPI_Win win)
{
    if (strncmp(name, "put", 3) == 0)
        MPI_Put(out, len, MPI_BYTE, 1, 0, len, MPI_BYTE, win);
    else if (strncmp(name, "get", 3) == 0)
        MPI_Get(in, len, MPI_BYTE, 1, 0, len, MPI_BYTE, win);
    else
        MPI_Accumulate(out, len / 8, MPI_INT64_T, 1, 0, len / 8, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(1, win);
}

static double one_sided(const char *name, int len)
{
    struct times t = len > SHORT ? (struct times){1000, 10} : (struct times){10000, 100};
    int is_own = strstr(name, "_create") != NULL;
    char *part = is_own ? calloc(1, (size_t)len) : NULL;
    double start = 0;
    MPI_Win win;

    if (is_own)
        MPI_Win_create(part, len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else
        MPI_Win_allocate(len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    memset(part, 0, (size_t)len);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        for (int i = 0; i < t.n_first + t.n; i++) {
            if (i == t.n_first)
                start = MPI_Wtime();
            transfer(name, len, win);
        }
        start = MPI_Wtime() - start;
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    if (is_own)
        free(part);
    return start * 1e6 / t.n;
}

/* ---- collectives, a barrier after each ---- */

static MPI_Request coll(const char *name, int len)
{
    int n = len / (int)sizeof(float);
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_Comm world = MPI_COMM_WORLD;

    if (strcmp(name, "allreduce") == 0)
        MPI_Allreduce(out, in, n, MPI_FLOAT, MPI_SUM, world);
    else if (strcmp(name, "reduce") == 0)
        MPI_Reduce(out, in, n, MPI_FLOAT, MPI_SUM, 0, world);
    else if (strcmp(name, "bcast") == 0)
        MPI_Bcast(out, len, MPI_BYTE, 0, world);
    else if (strcmp(name, "allgather") == 0)
        MPI_Allgather(out, len, MPI_BYTE, in, len, MPI_BYTE, world);
    else if (strcmp(name, "alltoall") == 0)
        MPI_Alltoall(out, len, MPI_BYTE, in, len, MPI_BYTE, world);
    else if (strcmp(name, "iallreduce") == 0)
        MPI_Iallreduce(out, in, n, MPI_FLOAT, MPI_SUM, world, &req);
    else if (strcmp(name, "ibcast") == 0)
        MPI_Ibcast(out, len, MPI_BYTE, 0, world, &req);
    else if (strcmp(name, "iallgather") == 0)
        MPI_Iallgather(out, len, MPI_BYTE, in, len, MPI_BYTE, world, &req);
    else
        MPI_Ialltoall(out, len, MPI_BYTE, in, len, MPI_BYTE, world, &req);
    return req;
}

static double collective(const char *name, int len)
{
    struct times t = len > SHORT ? (struct times){100, 10} : (struct times){1000, 100};
    double sum = 0, all = 0;

    for (int i = 0; i < t.n_first + t.n; i++) {
        double start = MPI_Wtime();
        MPI_Request req = coll(name, len);

        MPI_Wait(&req, MPI_STATUS_IGNORE);
        if (i >= t.n_first)
            sum += MPI_Wtime() - start;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return all * 1e6 / t.n / n_ranks;
}

/* ---- the program ---- */

static const struct usual_case {
    const char *name;
    double (*run)(const char *name, int len);
} cases[] = {
    {"latency", two_sided},     {"bandwidth", two_sided},  {"put", one_sided},
    {"get", one_sided},         {"accumulate", one_sided}, {"put_create", one_sided},
    {"get_create", one_sided},  {"allreduce", collective}, {"reduce", collective},
    {"bcast", collective},      {"allgather", collective}, {"alltoall", collective},
    {"iallreduce", collective}, {"ibcast", collective},    {"iallgather", collective},
    {"ialltoall", collective},
};

static void run_case(const char *name, long min, long max)
{
    const struct usual_case *c = cases, *end = cases + sizeof(cases) / sizeof(cases[0]);

    while (c < end && strcmp(c->name, name) != 0)
        c++;
    if (c == end || (n_ranks != 2 && c->run != collective)) {
        fprintf(stderr, "usual: %s: no case for %d ranks\n", name, n_ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return;
    }
    for (long len = min; len <= max; len *= 2) {
        double value = c->run(name, (int)len);

        if (rank == 0)
            printf("%s %ld %.4g\n", name, len, value);
    }
}

int main(int argc, char **argv)
{
    long min = 8, max = 1 << 20;
    int i = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (argc > 2 && strcmp(argv[1], "-s") == 0) {
        if (sscanf(argv[2], "%ld:%ld", &min, &max) != 2 || min < 8 || max > (long)MOST_BYTES)
            min = 0;
        i = 3;
    }
    if (i >= argc || min == 0) {
        if (rank == 0)
            fprintf(stderr, "usage: usual [-s MIN:MAX] CASE... (8 to %zu bytes)\n", MOST_BYTES);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    out = malloc((size_t)max * (size_t)n_ranks);
    in = malloc((size_t)max * (size_t)n_ranks);
    memset(out, 0, (size_t)max * (size_t)n_ranks);
    memset(in, 0, (size_t)max * (size_t)n_ranks);
    for (; i < argc; i++)
        run_case(argv[i], min, max);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
