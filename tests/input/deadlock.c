/* Ranks that wait for each other for ever, or only for long: argument 1. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LONG_S 2

static int rank, size, x;
static char big[1 << 20];

static void receive_from(int source, int tag)
{
    MPI_Recv(&x, 1, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A file is opened by rank 0 only; the others are in a call of another communicator. */
static void open_and_barrier(void)
{
    MPI_Comm other;
    MPI_File fh;

    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (rank == 0)
        MPI_File_open(MPI_COMM_WORLD, "deadlock.tmp", MPI_MODE_CREATE | MPI_MODE_RDWR,
                      MPI_INFO_NULL, &fh);
    else
        MPI_Barrier(other);
}

static void sum(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int n;

    MPI_Type_size(*type, &n);
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Ranks 0 and 1 reduce, and wait for rank 2. */
static void reduce_and_receive(void)
{
    MPI_Op op;
    int sums;

    MPI_Op_create(sum, 1, &op);
    if (rank == 2)
        receive_from(0, 5);
    else
        MPI_Allreduce(&x, &sums, 1, MPI_INT, op, MPI_COMM_WORLD);
}

static int delete_and_barrier(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    return MPI_Barrier(MPI_COMM_WORLD);
}

static void free_and_receive(void)
{
    MPI_Comm other;
    int keyval;

    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_and_barrier, &keyval, NULL);
    MPI_Comm_set_attr(other, keyval, NULL);
    if (rank == 0)
        receive_from(1, 5);
    else
        MPI_Comm_free(&other);
}

static void for_ever(const char *how)
{
    int next = (rank + 1) % size, i;
    MPI_Request reqs[2];

    if (strcmp(how, "recv") == 0)
        receive_from(next, 5);
    if (strcmp(how, "any") == 0)
        receive_from(MPI_ANY_SOURCE, MPI_ANY_TAG);
    if (strcmp(how, "send") == 0)
        MPI_Send(big, sizeof(big), MPI_BYTE, next, 5, MPI_COMM_WORLD);
    if (strcmp(how, "ssend") == 0)
        MPI_Ssend(big, 4, MPI_BYTE, next, 5, MPI_COMM_WORLD);
    if (strcmp(how, "probe") == 0)
        MPI_Probe(next, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(how, "waitany") == 0) {
        for (i = 0; i < 2; i++)
            MPI_Irecv(&x, 1, MPI_INT, next, 5 + i, MPI_COMM_WORLD, &reqs[i]);
        MPI_Waitany(2, reqs, &i, MPI_STATUS_IGNORE);
    }
    /* Rank 2 is no part of it: it sleeps, and says when that ended early. */
    if (strcmp(how, "two") == 0 && rank < 2) {
        MPI_Send(big, 3 + rank, MPI_SHORT, 1 - rank, 6, MPI_COMM_WORLD);
        receive_from(1 - rank, 5);
    }
    while (strcmp(how, "two") == 0 && rank == 2)
        if (sleep(1) != 0)
            fprintf(stderr, "woken early\n");
    if (strcmp(how, "barrier") == 0) {
        if (rank == 0)
            receive_from(1, 5);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    }
    if (strcmp(how, "file") == 0)
        open_and_barrier();
    if (strcmp(how, "outer") == 0)
        reduce_and_receive();
    if (strcmp(how, "inner") == 0)
        free_and_receive();
    if (strcmp(how, "finalize") == 0 && rank == 0)
        receive_from(1, 5);
}

static void look_for_long(void)
{
    double since = MPI_Wtime();
    int flag;

    while (MPI_Wtime() - since < LONG_S)
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* All but rank 0 wait, which computes, or looks, and then ends it. */
static void for_long(const char *how)
{
    int is_late = strcmp(how, "late") == 0;

    if (rank == 0 && (is_late || strcmp(how, "late_barrier") == 0))
        sleep(LONG_S);
    if (rank == 0 && strcmp(how, "looking") == 0)
        look_for_long();
    if (strcmp(how, "late_barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (is_late || strcmp(how, "looking") == 0) {
        for (int i = 1; rank == 0 && i < size; i++)
            MPI_Send(&x, 1, MPI_INT, i, 5, MPI_COMM_WORLD);
        if (rank != 0)
            receive_from(0, 5);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for_ever(argv[1]);
    for_long(argv[1]);
    MPI_Finalize();
    return 0;
}
