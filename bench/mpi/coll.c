/*
 * Collectives over all ranks: seconds for n of them, one behind the other; the slowest rank counts.
 */
#include <stdlib.h>

#include "bench.h"
#include "coll.h"

/* Blocks for all ranks of which every other one is a half longer than len, and the rest that much shorter. */
static struct blocks {
    int *scounts, *sdispls; /* alltoallv: what goes to each rank, and so what comes */
    int *counts, *displs;   /* of each rank */
    int *doubles;           /* reduce_scatter: of len bytes in all */
} v;

static void make_blocks(const struct bench *b)
{
    int len = (int)b->len, half = len / 2, each = len / (int)sizeof(double) / b->size;
    int at = 0, s_at = 0;

    free(v.scounts);
    v.scounts = calloc(5 * (size_t)b->size, sizeof(int));
    if (v.scounts == NULL)
        MPI_Abort(b->comm, 1);
    v.sdispls = v.scounts + b->size;
    v.counts = v.sdispls + b->size;
    v.displs = v.counts + b->size;
    v.doubles = v.displs + b->size;
    for (int i = 0; i < b->size; i++) {
        v.scounts[i] = len + ((i + b->rank) % 2 == 0 ? half : -half);
        v.counts[i] = len + (i % 2 == 0 ? half : -half);
        v.doubles[i] = each + (i + 1 == b->size && i % 2 == 0 ? 0
                               : i % 2 == 0                   ? each / 2
                                                              : -(each / 2));
        v.sdispls[i] = s_at;
        v.displs[i] = at;
        s_at += v.scounts[i];
        at += v.counts[i];
    }
}

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

static double reduce_scatter_block(struct bench *b, int n)
{
    int each = (int)b->len / (int)sizeof(double) / b->size;

    REPEAT(b, n, MPI_Reduce_scatter_block(b->sbuf, b->rbuf, each, MPI_DOUBLE, MPI_SUM, b->comm));
}

static double reduce_scatter(struct bench *b, int n)
{
    make_blocks(b);
    REPEAT(b, n, MPI_Reduce_scatter(b->sbuf, b->rbuf, v.doubles, MPI_DOUBLE, MPI_SUM, b->comm));
}

static double scan(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Scan(b->sbuf, b->rbuf, n_doubles, MPI_DOUBLE, MPI_SUM, turn));
}

static double exscan(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Exscan(b->sbuf, b->rbuf, n_doubles, MPI_DOUBLE, MPI_SUM, turn));
}

static double gather(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Gather(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, root, b->comm));
}

static double gatherv(struct bench *b, int n)
{
    make_blocks(b);
    REPEAT(b, n,
           MPI_Gatherv(b->sbuf, v.counts[b->rank], MPI_CHAR, b->rbuf, v.counts, v.displs, MPI_CHAR,
                       root, b->comm));
}

static double scatter(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Scatter(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, root, b->comm));
}

static double scatterv(struct bench *b, int n)
{
    make_blocks(b);
    REPEAT(b, n,
           MPI_Scatterv(b->sbuf, v.counts, v.displs, MPI_CHAR, b->rbuf, v.counts[b->rank], MPI_CHAR,
                        root, b->comm));
}

static double allgather(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Allgather(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, b->comm));
}

static double allgatherv(struct bench *b, int n)
{
    make_blocks(b);
    REPEAT(b, n,
           MPI_Allgatherv(b->sbuf, v.counts[b->rank], MPI_CHAR, b->rbuf, v.counts, v.displs,
                          MPI_CHAR, b->comm));
}

static double alltoall(struct bench *b, int n)
{
    REPEAT(b, n, MPI_Alltoall(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, b->comm));
}

static double alltoallv(struct bench *b, int n)
{
    make_blocks(b);
    REPEAT(b, n,
           MPI_Alltoallv(b->sbuf, v.scounts, v.sdispls, MPI_CHAR, b->rbuf, v.scounts, v.sdispls,
                         MPI_CHAR, b->comm));
}

const struct test coll_tests[] = {
    {.name = "barrier",
     .title = "MPI_Barrier",
     .group = "coll",
     .unit = UNIT_US,
     .run = barrier,
     .per_run = 1},
    {.name = "bcast", .title = "MPI_Bcast, roots in turn", COLL("coll", bcast, 1, 0)},
    {.name = "reduce",
     .title = "MPI_Reduce, sum of doubles, roots in turn",
     COLL("coll", reduce, sizeof(double), 0)},
    {.name = "allreduce",
     .title = "MPI_Allreduce, sum of doubles",
     COLL("coll", allreduce, sizeof(double), 0)},
    {.name = "reduce_scatter",
     .title = "MPI_Reduce_scatter, sum of doubles, size of all blocks, which differ by a half",
     COLL("coll", reduce_scatter, sizeof(double), 0),
     .is_divided = 1},
    {.name = "reduce_scatter_block",
     .title = "MPI_Reduce_scatter_block, sum of doubles, size of all blocks",
     COLL("coll", reduce_scatter_block, sizeof(double), 0),
     .is_divided = 1},
    {.name = "scan",
     .title = "MPI_Scan, sum of doubles, up and down by turns",
     COLL("coll", scan, sizeof(double), 0)},
    {.name = "exscan",
     .title = "MPI_Exscan, sum of doubles, up and down by turns",
     COLL("coll", exscan, sizeof(double), 0)},
    {.name = "gather",
     .title = "MPI_Gather, roots in turn, size of each rank",
     COLL("coll", gather, 1, 1)},
    {.name = "gatherv",
     .title = "MPI_Gatherv, roots in turn, size of each rank, half more or less",
     COLL("coll", gatherv, 1, 1)},
    {.name = "scatter",
     .title = "MPI_Scatter, roots in turn, size for each rank",
     COLL("coll", scatter, 1, 1)},
    {.name = "scatterv",
     .title = "MPI_Scatterv, roots in turn, size for each rank, half more or less",
     COLL("coll", scatterv, 1, 1)},
    {.name = "allgather",
     .title = "MPI_Allgather, size of each rank",
     COLL("coll", allgather, 1, 1)},
    {.name = "allgatherv",
     .title = "MPI_Allgatherv, size of each rank, half more or less",
     COLL("coll", allgatherv, 1, 1)},
    {.name = "alltoall", .title = "MPI_Alltoall, size for each pair", COLL("coll", alltoall, 1, 1)},
    {.name = "alltoallv",
     .title = "MPI_Alltoallv, size for each pair, half more or less",
     COLL("coll", alltoallv, 1, 1)},
    {.name = NULL},
};
