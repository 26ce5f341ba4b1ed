/*
 * Point-to-point: rank 0 and the last rank, who are on two hosts if there are two.
 */
#include "bench.h"

enum { TAG = 1, TAG_ACK = 2 };

static double latency(struct bench *b, int n)
{
    int len = (int)b->len, peer = 1 - b->rank;
    double start = MPI_Wtime();

    for (int i = 0; i < n; i++) {
        if (b->rank == 0)
            MPI_Send(b->sbuf, len, MPI_CHAR, peer, TAG, b->comm);
        MPI_Recv(b->rbuf, len, MPI_CHAR, peer, TAG, b->comm, MPI_STATUS_IGNORE);
        if (b->rank != 0)
            MPI_Send(b->sbuf, len, MPI_CHAR, peer, TAG, b->comm);
    }
    return (MPI_Wtime() - start) / 2;
}

/* Both send at once, and neither goes on before both have received. */
static double sendrecv(struct bench *b, int n)
{
    int len = (int)b->len, peer = 1 - b->rank;
    double start = MPI_Wtime();

    for (int i = 0; i < n; i++)
        MPI_Sendrecv(b->sbuf, len, MPI_CHAR, peer, TAG, b->rbuf, len, MPI_CHAR, peer, TAG, b->comm,
                     MPI_STATUS_IGNORE);
    return MPI_Wtime() - start;
}

/* The receiver has everything. */
static void acknowledge(struct bench *b)
{
    char ack = 0;

    if (b->rank == 1)
        MPI_Send(&ack, 1, MPI_CHAR, 0, TAG_ACK, b->comm);
    else
        MPI_Recv(&ack, 1, MPI_CHAR, 1, TAG_ACK, b->comm, MPI_STATUS_IGNORE);
}

static double one_way(struct bench *b, int n)
{
    MPI_Request req[WINDOW_MAX];
    int len = (int)b->len;
    double start = MPI_Wtime();

    for (int i = 0; i < n; i++) {
        for (int w = 0; w < b->window; w++) {
            if (b->rank == 0)
                MPI_Isend(b->sbuf, len, MPI_CHAR, 1, TAG, b->comm, &req[w]);
            else
                MPI_Irecv(b->rbuf, len, MPI_CHAR, 0, TAG, b->comm, &req[w]);
        }
        MPI_Waitall(b->window, req, MPI_STATUSES_IGNORE);
        acknowledge(b);
    }
    return MPI_Wtime() - start;
}

static double both_ways(struct bench *b, int n)
{
    MPI_Request req[2 * WINDOW_MAX];
    int len = (int)b->len, peer = 1 - b->rank;
    double start = MPI_Wtime();

    for (int i = 0; i < n; i++) {
        for (int w = 0; w < b->window; w++) {
            MPI_Irecv(b->rbuf, len, MPI_CHAR, peer, TAG, b->comm, &req[w]);
            MPI_Isend(b->sbuf, len, MPI_CHAR, peer, TAG, b->comm, &req[b->window + w]);
        }
        MPI_Waitall(2 * b->window, req, MPI_STATUSES_IGNORE);
        acknowledge(b);
    }
    return MPI_Wtime() - start;
}

const struct test pt2pt_tests[] = {
    {.name = "latency",
     .group = "pt2pt",
     .title = "half a round trip of MPI_Send and MPI_Recv",
     .unit = UNIT_US,
     .n_ranks = 2,
     .most = (size_t)1 << 30,
     .dflt_most = 4 << 20,
     .run = latency,
     .per_run = 1},
    {.name = "sendrecv",
     .group = "pt2pt",
     .title = "MPI_Sendrecv, both ranks at once",
     .unit = UNIT_US,
     .n_ranks = 2,
     .most = (size_t)1 << 30,
     .dflt_most = 4 << 20,
     .run = sendrecv,
     .per_run = 1},
    {.name = "bw",
     .group = "pt2pt",
     .title = "MPI_Isend one way, many in flight",
     .unit = UNIT_MBS,
     .n_ranks = 2,
     .least = 1,
     .most = (size_t)1 << 30,
     .dflt_most = 4 << 20,
     .run = one_way,
     .per_run = 1,
     .is_windowed = 1},
    {.name = "bibw",
     .group = "pt2pt",
     .title = "MPI_Isend both ways, many in flight",
     .unit = UNIT_MBS,
     .n_ranks = 2,
     .least = 1,
     .most = (size_t)1 << 30,
     .dflt_most = 4 << 20,
     .run = both_ways,
     .per_run = 2,
     .is_windowed = 1},
    {.name = "rate",
     .group = "pt2pt",
     .title = "messages in a second one way, many in flight",
     .unit = UNIT_RATE,
     .n_ranks = 2,
     .most = (size_t)1 << 20,
     .dflt_most = 4096,
     .run = one_way,
     .per_run = 1,
     .is_windowed = 1},
    {.name = NULL},
};
