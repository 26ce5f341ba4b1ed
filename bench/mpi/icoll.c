/*
 * Nonblocking collectives over all ranks, each waited for at once: seconds for n of them, one behind the other; the
 * slowest rank counts.
 */
#include "coll.h"

#define REPEAT_AND_WAIT(b, n, call)                                                                \
    MPI_Request req = MPI_REQUEST_NULL;                                                            \
    REPEAT(b, n, call; MPI_Wait(&req, MPI_STATUS_IGNORE))

static double ibarrier(struct bench *b, int n)
{
    REPEAT_AND_WAIT(b, n, MPI_Ibarrier(b->comm, &req));
}

static double ibcast(struct bench *b, int n)
{
    REPEAT_AND_WAIT(b, n, MPI_Ibcast(b->rbuf, len, MPI_CHAR, root, b->comm, &req));
}

static double ireduce(struct bench *b, int n)
{
    REPEAT_AND_WAIT(
        b, n, MPI_Ireduce(b->sbuf, b->rbuf, n_doubles, MPI_DOUBLE, MPI_SUM, root, b->comm, &req));
}

static double iallreduce(struct bench *b, int n)
{
    REPEAT_AND_WAIT(
        b, n, MPI_Iallreduce(b->sbuf, b->rbuf, n_doubles, MPI_DOUBLE, MPI_SUM, b->comm, &req));
}

static double ireduce_scatter_block(struct bench *b, int n)
{
    int each = (int)b->len / (int)sizeof(double) / b->size;

    REPEAT_AND_WAIT(
        b, n,
        MPI_Ireduce_scatter_block(b->sbuf, b->rbuf, each, MPI_DOUBLE, MPI_SUM, b->comm, &req));
}

static double iscan(struct bench *b, int n)
{
    REPEAT_AND_WAIT(b, n, MPI_Iscan(b->sbuf, b->rbuf, n_doubles, MPI_DOUBLE, MPI_SUM, turn, &req));
}

static double igather(struct bench *b, int n)
{
    REPEAT_AND_WAIT(
        b, n, MPI_Igather(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, root, b->comm, &req));
}

static double iscatter(struct bench *b, int n)
{
    REPEAT_AND_WAIT(
        b, n, MPI_Iscatter(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, root, b->comm, &req));
}

static double iallgather(struct bench *b, int n)
{
    REPEAT_AND_WAIT(b, n,
                    MPI_Iallgather(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, b->comm, &req));
}

static double ialltoall(struct bench *b, int n)
{
    REPEAT_AND_WAIT(b, n,
                    MPI_Ialltoall(b->sbuf, len, MPI_CHAR, b->rbuf, len, MPI_CHAR, b->comm, &req));
}

#define ICOLL(name_, least_, is_all) .name = #name_, COLL("icoll", name_, least_, is_all)

const struct test icoll_tests[] = {
    {.name = "ibarrier",
     .title = "MPI_Ibarrier and wait",
     .group = "icoll",
     .unit = UNIT_US,
     .run = ibarrier,
     .per_run = 1},
    {.title = "MPI_Ibcast and wait, roots in turn", ICOLL(ibcast, 1, 0)},
    {.title = "MPI_Ireduce and wait, sum of doubles, roots in turn",
     ICOLL(ireduce, sizeof(double), 0)},
    {.title = "MPI_Iallreduce and wait, sum of doubles", ICOLL(iallreduce, sizeof(double), 0)},
    {.title = "MPI_Ireduce_scatter_block and wait, sum of doubles, size of all blocks",
     ICOLL(ireduce_scatter_block, sizeof(double), 0),
     .is_divided = 1},
    {.title = "MPI_Iscan and wait, sum of doubles, up and down by turns",
     ICOLL(iscan, sizeof(double), 0)},
    {.title = "MPI_Igather and wait, roots in turn, size of each rank", ICOLL(igather, 1, 1)},
    {.title = "MPI_Iscatter and wait, roots in turn, size for each rank", ICOLL(iscatter, 1, 1)},
    {.title = "MPI_Iallgather and wait, size of each rank", ICOLL(iallgather, 1, 1)},
    {.title = "MPI_Ialltoall and wait, size for each pair", ICOLL(ialltoall, 1, 1)},
    {.name = NULL},
};
