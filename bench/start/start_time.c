/*
 * What it takes to start processes and to meet others, for bench/start/run; any MPI.
 *
 *   start_time init              ranks start, meet in a barrier, and end
 *   start_time spawn N           a process is spawned, answers, parts; N times
 *   start_time accept FILE N     N times: accept, answer, part; the port is in FILE
 *   start_time connect FILE N    the other side
 *
 * Lines "microseconds" of each but the first time.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void start_die(const char *what)
{
    fprintf(stderr, "start_time: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A message and its answer: the communicator is usable. */
static void start_talk(MPI_Comm inter, int is_first)
{
    int word = 7;

    if (is_first)
        MPI_Send(&word, 1, MPI_INT, 0, 0, inter);
    MPI_Recv(&word, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    if (!is_first)
        MPI_Send(&word, 1, MPI_INT, 0, 0, inter);
}

static void start_spawn(char *self, int n)
{
    char *argv[] = {"child", NULL};

    for (int i = 0; i <= n; i++) {
        double from = MPI_Wtime();
        MPI_Comm inter;

        MPI_Comm_spawn(self, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
        start_talk(inter, 1);
        if (i > 0)
            printf("%.1f\n", (MPI_Wtime() - from) * 1e6);
        MPI_Comm_disconnect(&inter);
    }
}

static void start_write(const char *path, const char *port)
{
    char other[4096];
    FILE *f;

    snprintf(other, sizeof(other), "%s.new", path);
    f = fopen(other, "w");
    if (f == NULL || fputs(port, f) < 0 || fclose(f) != 0 || rename(other, path) != 0)
        start_die("the file of the port cannot be written");
}

static void start_read(const char *path, char *port)
{
    FILE *f;

    while ((f = fopen(path, "r")) == NULL)
        usleep(10000);
    if (fgets(port, MPI_MAX_PORT_NAME, f) == NULL)
        start_die("the file of the port cannot be read");
    fclose(f);
}

static void start_meet(int accepts, const char *path, int n)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;

    if (accepts) {
        MPI_Open_port(MPI_INFO_NULL, port);
        start_write(path, port);
    } else {
        start_read(path, port);
    }
    for (int i = 0; i <= n; i++) {
        double from = MPI_Wtime();

        if (accepts)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        start_talk(inter, !accepts);
        if (i > 0 && !accepts)
            printf("%.1f\n", (MPI_Wtime() - from) * 1e6);
        MPI_Comm_disconnect(&inter);
    }
    if (accepts)
        MPI_Close_port(port);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    const char *what = argc > 1 ? argv[1] : "";

    MPI_Init(&argc, &argv);
    if (strcmp(what, "init") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(what, "child") == 0) {
        MPI_Comm_get_parent(&parent);
        start_talk(parent, 0);
        MPI_Comm_disconnect(&parent);
    } else if (strcmp(what, "spawn") == 0 && argc == 3) {
        start_spawn(argv[0], atoi(argv[2]));
    } else if ((strcmp(what, "accept") == 0 || strcmp(what, "connect") == 0) && argc == 4) {
        start_meet(strcmp(what, "accept") == 0, argv[2], atoi(argv[3]));
    } else {
        start_die("usage: start_time init | spawn N | accept FILE N | connect FILE N");
    }
    MPI_Finalize();
    return 0;
}
