/*
 * One access to a file, of the kind that the first argument names; each rank says what came of it. The
 * second argument: automatic, or enable, which lets collectives exchange data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { N = 4096 };

static int rank, size, data[N], back[N];
static MPI_File fh;

static void view(int block, int n);

/* Every other pair of integers of a file that was written in one range, and how many there were. */
static int every_other(void)
{
    MPI_Status status;
    int n, err = MPI_File_write_at(fh, 0, data, N, MPI_INT, &status);

    view(2, 2);
    if (err == MPI_SUCCESS)
        err = MPI_File_read_at(fh, 0, back, N / 2, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    for (int i = 0; i < n; i++)
        if (back[i] != data[i / 2 * 4 + i % 2])
            printf("rank %d: WRONG DATA\n", rank);
    printf("rank %d: %d integers\n", rank, n);
    return err;
}

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

/* A collective write, blocking or not. */
static int write_all(int is_blocking, const int *from, int n, MPI_Status *status)
{
    MPI_Request req;
    int err;

    if (is_blocking)
        return MPI_File_write_at_all(fh, 0, from, n, MPI_INT, status);
    err = MPI_File_iwrite_at_all(fh, 0, from, n, MPI_INT, &req);
    return err != MPI_SUCCESS ? err : MPI_Wait(&req, status);
}

/* The same of 256 KiB for each rank, in windows of 64 KiB. */
static int write_windows(int is_blocking, MPI_Status *status)
{
    enum { MUCH = 65536 };
    int *much = calloc(MUCH, sizeof(int)), err;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "131072");
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_File_set_info(fh, info);
    MPI_Info_free(&info);
    err = write_all(is_blocking, much, MUCH, status);
    free(much);
    return err;
}

/*
 * Each allocation of one collective write fails, one after the other, at one rank: the others do not
 * wait for it, and where all say that it went well it did.
 */
static int no_memory(int is_blocking, int where)
{
    int (*nomem)(int n, size_t least) = (int (*)(int, size_t))dlsym(RTLD_DEFAULT, "io_nomem");
    /* Those of files: a job ends where there is no memory for messages, which are smaller. */
    size_t least = where == 0 ? 65536 : 1024;
    int left = 0, n_bad = 0, n_all;
    MPI_Status status;

    for (int n = 1; left == 0; n++) {
        int err, bad, any;

        view(2, size); /* it is shipped again */
        for (int i = 0; i < N; i++)
            data[i] += n;
        MPI_Barrier(MPI_COMM_WORLD);
        nomem(rank == where ? n : 0, least);
        err = write_all(is_blocking, data, N, &status);
        left = nomem(0, least);
        bad = err != MPI_SUCCESS;
        MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        n_bad += any;
        MPI_Bcast(&left, 1, MPI_INT, where, MPI_COMM_WORLD);
        err = MPI_File_read_at_all(fh, 0, back, N, MPI_INT, &status);
        if (err != MPI_SUCCESS || (!any && memcmp(data, back, sizeof(data)) != 0))
            printf("rank %d: WRONG DATA\n", rank);
    }
    MPI_Allreduce(&n_bad, &n_all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    printf("rank %d: failed %s\n", rank, n_all > 0 ? "where it must" : "never");
    return MPI_SUCCESS;
}

/* Waits for a slow transfer; does it go to sleep and wake up again and again? */
static int slow(int is_all, MPI_Status *status)
{
    struct rusage before, after;
    MPI_Request req;
    int err;

    view(N, size);
    err = is_all ? MPI_File_iwrite_at_all(fh, 0, data, N, MPI_INT, &req)
                 : MPI_File_iwrite_at(fh, 0, data, N, MPI_INT, &req);
    getrusage(RUSAGE_THREAD, &before);
    if (err == MPI_SUCCESS)
        err = MPI_Wait(&req, status);
    getrusage(RUSAGE_THREAD, &after);
    if (after.ru_nvcsw - before.ru_nvcsw > 1000)
        printf("rank %d: woke up %ld times\n", rank, after.ru_nvcsw - before.ru_nvcsw);
    return err;
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
    if (strcmp(what, "every_other") == 0)
        return every_other();
    if (strncmp(what, "slow", 4) == 0)
        return slow(what[4] != '\0', &status);
    if (strncmp(what, "nomem", 5) == 0)
        return no_memory(what[5] == 'b', what[6] - '0');
    view(2, size);
    if (strcmp(what, "strided") == 0)
        return MPI_File_write(fh, data, N, MPI_INT, &status);
    if (strstr(what, "windows") != NULL)
        err = write_windows(what[0] != 'i', &status);
    else
        err = write_all(what[0] != 'i', data, N, &status);
    MPI_Get_count(&status, MPI_BYTE, &n_good);
    if (err != MPI_SUCCESS)
        printf("rank %d: %d bytes are good\n", rank, n_good);
    if (err != MPI_SUCCESS || strcmp(what, "all") == 0 || strcmp(what, "iall") == 0)
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
