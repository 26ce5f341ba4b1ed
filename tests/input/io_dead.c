/*
 * Atomic mode of a file: a rank is killed while it has the lock, which the others want. They get an error, then and
 * later. Arguments: which rank, the file; the folder is for files that tell who is how far.
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, victim;

static void say(const char *what, int who)
{
    char name[64];

    snprintf(name, sizeof(name), "%s.%d", what, who);
    close(open(name, O_CREAT | O_WRONLY, 0600));
}

static void await(const char *what, int who)
{
    char name[64];

    snprintf(name, sizeof(name), "%s.%d", what, who);
    while (access(name, F_OK) != 0)
        usleep(1000);
}

/* Called inside of the lock. */
static int end(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position,
               void *extra)
{
    (void)type, (void)extra;
    memcpy(file, (int *)user + position, (size_t)count * sizeof(int));
    if (rank != victim)
        return MPI_SUCCESS;
    say("held", 0);
    for (int i = 0; i < size; i++)
        if (i != victim)
            await("coming", i);
    usleep(100000); /* most wait by then; who comes later gets the same error */
    kill(getpid(), SIGKILL);
    return MPI_SUCCESS;
}

static int extent(MPI_Datatype type, MPI_Aint *extent_p, void *extra)
{
    (void)type, (void)extra;
    *extent_p = sizeof(int);
    return MPI_SUCCESS;
}

static const char *write_one(MPI_File fh)
{
    static char text[MPI_MAX_ERROR_STRING];
    int err = MPI_File_write_at(fh, rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    int class = 0, len = 0;

    if (err == MPI_SUCCESS)
        return "no error";
    MPI_Error_class(err, &class);
    MPI_Error_string(err, text, &len);
    return class == MPI_ERR_OTHER ? text : "another error";
}

int main(int argc, char **argv)
{
    MPI_File fh;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    victim = atoi(argv[1]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Register_datarep("end", MPI_CONVERSION_FN_NULL, end, extent, NULL);
    if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &fh) != MPI_SUCCESS)
        return 2;
    MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "end", MPI_INFO_NULL);
    MPI_File_set_atomicity(fh, 1);
    if (rank != victim) {
        await("held", 0);
        say("coming", rank);
    }
    printf("rank %d: %s\n", rank, write_one(fh));
    printf("rank %d again: %s\n", rank, write_one(fh));
    fflush(stdout);
    _exit(0);
}
