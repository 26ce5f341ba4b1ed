/*
 * Two ranks that stand still with known queues, for mqs.sh: they say so in the file that is named, and
 * wait until it is gone.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { LARGE = 4 << 20 };
static char large[LARGE], space[64];

/* The last message to come is received; those before it have come, too. */
static void await_last(MPI_Comm comm)
{
    MPI_Recv(space, 0, MPI_CHAR, 0, 99, comm, MPI_STATUS_IGNORE);
}

static void stand_still(const char *dir, int rank)
{
    char name[4096];

    snprintf(name, sizeof(name), "%s/at.%d", dir, rank);
    close(open(name, O_CREAT | O_WRONLY, 0600));
    while (access(name, F_OK) == 0)
        usleep(10000);
}

int main(int argc, char **argv)
{
    MPI_Request reqs[3];
    MPI_Comm comm;
    int rank, n = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "workers");
    if (argc < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0) {
        MPI_Send(space, 11, MPI_CHAR, 1, 3, comm);
        MPI_Send(space, 12, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
        MPI_Send(space, 13, MPI_CHAR, 1, 4, comm);
        MPI_Isend(large, LARGE, MPI_CHAR, 1, 7, comm, &reqs[n++]); /* a rendezvous */
        MPI_Send(space, 0, MPI_CHAR, 1, 99, comm);
        MPI_Probe(1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Irecv(space, 21, MPI_CHAR, 0, 5, comm, &reqs[n++]);
        MPI_Irecv(space + 32, 22, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &reqs[n++]);
        MPI_Irecv(space + 60, 2, MPI_CHAR, MPI_ANY_SOURCE, 6, comm, &reqs[n++]);
        await_last(comm);
        MPI_Send(space, 14, MPI_CHAR, 0, 8, MPI_COMM_WORLD);
    }
    stand_still(argv[1], rank);
    if (rank == 0) {
        MPI_Send(space, 2, MPI_CHAR, 1, 5, comm);
        MPI_Send(space, 2, MPI_CHAR, 1, 6, comm);
        MPI_Recv(space, 14, MPI_CHAR, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send(space, 2, MPI_CHAR, 0, 1, MPI_COMM_SELF);
        MPI_Recv(space, 64, MPI_CHAR, 0, 3, comm, MPI_STATUS_IGNORE);
        MPI_Recv(space, 64, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(space, 64, MPI_CHAR, 0, 4, comm, MPI_STATUS_IGNORE);
        MPI_Recv(large, LARGE, MPI_CHAR, 0, 7, comm, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
