/*
 * One access to a file, of the kind that the first argument names; each rank says what came of it. The
 * second argument: automatic, or enable, which lets collectives exchange data.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096 };

static int rank, size, data[N], back[N];
static MPI_File fh;

static void say(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (code == MPI_SUCCESS) {
        printf("rank %d: %s: good\n", rank, what);
    } else {
        MPI_Error_string(code, text, &len);
        printf("rank %d: %s: %s\n", rank, what, text);
    }
    fflush(stdout);
}

/* Blocks of integers by turns with those of n - 1 others. */
static void view(int block, int n)
{
    MPI_Datatype vec, part;

    MPI_Type_vector(1, block, block, MPI_INT, &vec);
    MPI_Type_create_resized(vec, 0, (MPI_Aint)(block * n * 4), &part);
    MPI_Type_commit(&part);
    MPI_File_set_view(fh, (MPI_Offset)(block * rank) * 4, MPI_INT, part, "native", MPI_INFO_NULL);
    MPI_Type_free(&vec);
    MPI_Type_free(&part);
}

static int go(const char *what)
{
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_Status status;
    int err, n_good;

    if (strcmp(what, "contig") == 0)
        return MPI_File_write_at(fh, (MPI_Offset)rank * N * 4, data, N, MPI_INT, &status);
    if (strcmp(what, "read") == 0)
        return MPI_File_read_at(fh, 0, back, N, MPI_INT, &status);
    if (strcmp(what, "sync") == 0)
        return MPI_File_sync(fh);
    if (strcmp(what, "size") == 0)
        return MPI_File_set_size(fh, 100);
    if (strcmp(what, "preallocate") == 0)
        return MPI_File_preallocate(fh, 100);
    if (strcmp(what, "close") == 0)
        return MPI_SUCCESS;
    if (strcmp(what, "request") == 0) {
        err = MPI_File_iwrite_at(fh, (MPI_Offset)rank * N * 4, data, N, MPI_INT, &req);
        return err != MPI_SUCCESS ? err : MPI_Wait(&req, &status);
    }
    if (strcmp(what, "vector") == 0) {
        view(2, 2);
        err = MPI_File_write(fh, data, N, MPI_INT, &status);
        if (err == MPI_SUCCESS)
            err = MPI_File_read_at(fh, 0, back, N, MPI_INT, &status);
        if (err == MPI_SUCCESS && memcmp(data, back, sizeof(data)) != 0)
            printf("rank %d: WRONG DATA\n", rank);
        return err;
    }
    view(2, size);
    if (strcmp(what, "strided") == 0)
        return MPI_File_write(fh, data, N, MPI_INT, &status);
    err = MPI_File_write_at_all(fh, 0, data, N, MPI_INT, &status);
    MPI_Get_count(&status, MPI_BYTE, &n_good);
    if (err != MPI_SUCCESS)
        printf("rank %d: %d bytes are good\n", rank, n_good);
    if (err != MPI_SUCCESS || strcmp(what, "all") == 0)
        return err;
    err = MPI_File_read_at_all(fh, 0, back, N, MPI_INT, &status);
    if (err == MPI_SUCCESS && memcmp(data, back, sizeof(data)) != 0)
        printf("rank %d: WRONG DATA\n", rank);
    return err;
}

int main(int argc, char **argv)
{
    MPI_Info info;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N; i++)
        data[i] = rank * N + i;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", argv[2]);
    MPI_Info_set(info, "romio_cb_read", argv[2]);
    MPI_File_open(MPI_COMM_WORLD, "x.fault", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh);
    MPI_Info_free(&info);
    say(argv[1], go(argv[1]));
    say("MPI_File_close", MPI_File_close(&fh));
    MPI_Finalize();
    return 0;
}
