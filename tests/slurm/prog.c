/* What the scripts here start: prog HOW [NUMBER]. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everybody's rank arrives, whoever is where. */
static void check_sum(int rank, int size)
{
    int sum = 0;

    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size * (size - 1) / 2) {
        printf("rank %d: the sum of %d ranks is %d\n", rank, size, sum);
        exit(1);
    }
}

static void print_facts(int rank, int size)
{
    int *universe;
    int has_universe;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &has_universe);
    printf("rank %d of %d, universe %d\n", rank, size, has_universe ? *universe : -1);
}

/* Rank 1 ends in this way, the others wait for it. */
static void end(const char *how, int number)
{
    if (strcmp(how, "kill") == 0)
        raise(number);
    if (strcmp(how, "exit") == 0)
        exit(number);
    if (strcmp(how, "_exit") == 0)
        _exit(number);
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, number);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "facts";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    int rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check_sum(rank, size);
    if (strcmp(how, "facts") == 0)
        print_facts(rank, size);
    else if (strcmp(how, "status") != 0 && rank == 1)
        end(how, number);
    /* A sleeping survivor hears of a death when it is in MPI. */
    if (strcmp(how, "facts") != 0 && strcmp(how, "status") != 0)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return strcmp(how, "status") == 0 && rank == size - 1 ? number : 0;
}
