/*
 * Rank 0 stays away from MPI for SECONDS, asleep; the others wait for it in MPI. Each prints how much processor
 * time that took, in per cent, and how often it slept. With "fork" a child is made, which exits; with "die"
 * rank 1 dies meanwhile.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct used {
    double cpu;
    double sleeps;
};

static struct used used(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (struct used){.cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                                (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6,
                         .sleeps = (double)use.ru_nvcsw};
}

static void make_child(void)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        exit(0);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        printf("child %d ended with %d\n", (int)pid, status);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    struct used before, after;
    double start;
    int rank, seconds = atoi(argv[1]);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "fork") == 0)
        make_child();
    MPI_Barrier(MPI_COMM_WORLD);
    before = used();
    start = MPI_Wtime();
    if (rank == 1 && strcmp(what, "die") == 0)
        _exit(0);
    if (rank == 0)
        sleep((unsigned)seconds);
    MPI_Barrier(MPI_COMM_WORLD);
    after = used();
    start = MPI_Wtime() - start;
    printf("rank %d used %.1f %%, %.0f sleeps a second\n", rank,
           (after.cpu - before.cpu) / start * 100, (after.sleeps - before.sleeps) / start);
    MPI_Finalize();
    return 0;
}
