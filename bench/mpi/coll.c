/*
 * Collectives over all ranks: seconds for n of them, one behind the other; the slowest rank counts.
 */
#include "bench.h"

/* The rooted ones take another root each time, so that they cannot run ahead of each other. */
#define REPEAT(b, n, call)                                                                         \
    double start;                                                                                  \
    int len = (int)(b)->len, n_doubles = len / (int)sizeof(double);                                \
    (void)len;                                                                                     \
    (void)n_doubles;                                                                               \
    MPI_Barrier((b)->comm);                                                                        \
    start = MPI_Wtime();                                                                           \
    for (int i = 0; i < (n); i++) {                                                                \
        int root = i % (b)->size;                                                                  \
        (void)root;                                                                                \
        call;                                                                                      \
    }                                                                                              \
    return MPI_Wtime() - start

static double barrier(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Barrier(b->comm));
}

static double bcast(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Bcast(b->rbuf, len, MPI_CHAR, root, b->comm));
}

static double reduce(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Reduce(b->sbuf, b->rbuf, n_doubles, MPI_DOUBLE, MPI_SUM, root, b->comm));
}

static double allreduce(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Allreduce(b->sbuf, b->rbuf, n_doubles, MPI_DOUBLE, MPI_SUM, b->comm));
}

static double reduce_scatter(struct bench *b, int n)
{
    REPEAT(b, n,
           MPI_Reduce_scatter_block(b->sbuf, b->rbuf, n_doubles, MPI_DOUBLE, MPI_SUM, b->comm));
}

static double scan(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Scan(b->sbuf, b->rbuf, n_doubles, MPI_DOUBLE, MPI_SUM, b->comm));
}

static double gather(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Gather(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, root, b->comm));
}

static double scatter(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Scatter(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, root, b->comm));
}

static double allgather(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Allgather(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, b->comm));
}

static double alltoall(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Alltoall(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, b->comm));
}

#define COLL(name_, least_, is_all)                                                                \
    .group = "coll", .unit = UNIT_US, .run = (name_), .per_run = 1, .least = (least_),             \
    .most = (size_t)1 << 28, .dflt_most = 1 << 20, .is_all_to_all = (is_all)

const struct test coll_tests[] = {
    {.name = "barrier",
     .title = "MPI_Barrier",
     .group = "coll",
     .unit = UNIT_US,
     .run = barrier,
     .per_run = 1},
    {.name = "bcast", .title = "MPI_Bcast, roots in turn", COLL(bcast, 1, 0)},
    {.name = "reduce",
     .title = "MPI_Reduce, sum of doubles, roots in turn",
     COLL(reduce, sizeof(double), 0)},
    {.name = "allreduce",
     .title = "MPI_Allreduce, sum of doubles",
     COLL(allreduce, sizeof(double), 0)},
    {.name = "reduce_scatter",
     .title = "MPI_Reduce_scatter_block, sum of doubles, size for each rank",
     COLL(reduce_scatter, sizeof(double), 1)},
    {.name = "scan", .title = "MPI_Scan, sum of doubles", COLL(scan, sizeof(double), 0)},
    {.name = "gather", .title = "MPI_Gather, roots in turn, size of each rank", COLL(gather, 1, 1)},
    {.name = "scatter",
     .title = "MPI_Scatter, roots in turn, size for each rank",
     COLL(scatter, 1, 1)},
    {.name = "allgather", .title = "MPI_Allgather, size of each rank", COLL(allgather, 1, 1)},
    {.name = "alltoall", .title = "MPI_Alltoall, size for each pair", COLL(alltoall, 1, 1)},
    {.name = NULL},
};
