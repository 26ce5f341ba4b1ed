/*
 * Overlap: how much of a transfer's time is hidden behind computing, without calls of MPI in between,
 * of as much work as takes as long as the transfer alone. 100: all of it. What takes time away from the computing
 * (a thread of the library on the same core) is not hidden.
 */
#include "bench.h"

enum { TAG = 1 };

typedef int starter(struct bench *b, MPI_Request *req);

static int exchange(struct bench *b, MPI_Request *req)
{
    int len = (int)b->len, peer = 1 - b->rank;

    MPI_Irecv(b->rbuf, len, MPI_CHAR, peer, TAG, b->comm, &req[0]);
    MPI_Isend(b->sbuf, len, MPI_CHAR, peer, TAG, b->comm, &req[1]);
    return 2;
}

static int iallreduce(struct bench *b, MPI_Request *req)
{
    MPI_Iallreduce(b->sbuf, b->rbuf, (int)(b->len / sizeof(double)), MPI_DOUBLE, MPI_SUM, b->comm,
                   req);
    return 1;
}

static int ialltoall(struct bench *b, MPI_Request *req)
{
    MPI_Ialltoall(b->sbuf, (int)b->len, MPI_CHAR, b->rbuf, (int)b->len, MPI_CHAR, b->comm, req);
    return 1;
}

static int ibcast(struct bench *b, MPI_Request *req)
{
    MPI_Ibcast(b->rbuf, (int)b->len, MPI_CHAR, 0, b->comm, req);
    return 1;
}

static volatile double sink;

static void compute(double loops)
{
    double x = sink + 2;

    for (long i = 0; i < (long)loops; i++)
        x = x * 0.999999 + 1e-6;
    sink = x;
}

/* Loops in a second, by the fastest of some tries. */
static double speed(void)
{
    static double best;

    for (int i = 0; best == 0 || i < 3; i++) {
        double start = MPI_Wtime(), seconds;

        compute(200000);
        seconds = MPI_Wtime() - start;
        if (seconds > 0 && 200000 / seconds > best)
            best = 200000 / seconds;
    }
    return best;
}

/* Seconds of n transfers (NULL: none) with so much computing in each. */
static double with_work(struct bench *b, int n, starter *start, double loops)
{
    MPI_Request req[2];
    double begin;

    MPI_Barrier(b->comm);
    begin = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        int n_req = start != NULL ? start(b, req) : 0;

        compute(loops);
        MPI_Waitall(n_req, req, MPI_STATUSES_IGNORE);
    }
    return MPI_Wtime() - begin;
}

/* Returns the time with computing; all ranks compute as long as the slowest transfer takes. */
static double run(struct bench *b, int n, starter *start)
{
    double alone = with_work(b, n, start, 0) / n, loops = speed(), work;

    MPI_Allreduce(&alone, &b->alone, 1, MPI_DOUBLE, MPI_MAX, b->comm);
    loops *= b->alone;
    work = with_work(b, n, NULL, loops) / n;
    MPI_Allreduce(&work, &b->work, 1, MPI_DOUBLE, MPI_MAX, b->comm);
    return with_work(b, n, start, loops);
}

static double run_exchange(struct bench *b, int n)
{
    return run(b, n, exchange);
}

static double run_iallreduce(struct bench *b, int n)
{
    return run(b, n, iallreduce);
}

static double run_ialltoall(struct bench *b, int n)
{
    return run(b, n, ialltoall);
}

static double run_ibcast(struct bench *b, int n)
{
    return run(b, n, ibcast);
}

static double hidden(struct bench *b, int n, double seconds)
{
    double share = b->alone > 0 ? (b->alone + b->work - seconds / n) / b->alone * 100 : 0;

    return share < 0 ? 0 : share > 100 ? 100 : share;
}

#define OVERLAP(run_, ranks, least_)                                                               \
    .group = "overlap", .unit = UNIT_PERCENT, .run = (run_), .figure = hidden, .per_run = 1,       \
    .n_ranks = (ranks), .least = (least_), .most = (size_t)1 << 28, .dflt_most = 4 << 20

const struct test overlap_tests[] = {
    {.name = "overlap", .title = "hidden of MPI_Isend and MPI_Irecv", OVERLAP(run_exchange, 2, 1)},
    {.name = "overlap_iallreduce",
     .title = "hidden of MPI_Iallreduce",
     OVERLAP(run_iallreduce, 0, sizeof(double))},
    {.name = "overlap_ibcast", .title = "hidden of MPI_Ibcast", OVERLAP(run_ibcast, 0, 1)},
    {.name = "overlap_ialltoall",
     .title = "hidden of MPI_Ialltoall, size for each pair",
     OVERLAP(run_ialltoall, 0, 1),
     .is_all_to_all = 1},
    {.name = NULL},
};
