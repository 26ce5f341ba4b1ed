/*
 * Collective transfers that end badly. full: to a disk that has no space for all; each rank says how many
 * bytes were reported as written, and whether they are there. loop: for ever, until somebody is killed.
 * Arguments: full or loop, blocking or nonblocking, the hint for exchanges, bytes of a block, the file.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEN = 1 << 20 }; /* of each rank */

static int rank, size, block, is_blocking;
static unsigned char data[LEN];
static MPI_File fh;

static int write_all(MPI_Status *status)
{
    MPI_Request req;
    int err;

    if (is_blocking)
        return MPI_File_write_at_all(fh, 0, data, LEN, MPI_BYTE, status);
    err = MPI_File_iwrite_at_all(fh, 0, data, LEN, MPI_BYTE, &req);
    return err != MPI_SUCCESS ? err : MPI_Wait(&req, status);
}

/* Bytes of this rank that are in the file, from its first one on. */
static int there(const char *name)
{
    unsigned char back[LEN];
    int fd = open(name, O_RDONLY), n = 0;

    if (fd < 0)
        return -1;
    for (int at = 0; at < LEN && n == at; at += block) {
        long got = pread(fd, back, (size_t)block, ((long)at / block * size + rank) * block);

        while (n - at < got && back[n - at] == data[n])
            n++;
    }
    close(fd);
    return n;
}

static void full(const char *name)
{
    char text[MPI_MAX_ERROR_STRING];
    MPI_Status status;
    int err, n, len, class = MPI_SUCCESS;

    err = write_all(&status);
    MPI_Get_count(&status, MPI_BYTE, &n);
    MPI_Error_class(err, &class);
    MPI_Error_string(err, text, &len);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: %s, %s: %s\n", rank, class == MPI_SUCCESS ? "good" : "failed",
           there(name) >= n && (err != MPI_SUCCESS || n == LEN) ? "what it says is there" : "LOST",
           class == MPI_SUCCESS || class == MPI_ERR_NO_SPACE ? "" : text);
    fflush(stdout);
    /* there is space again */
    MPI_Barrier(MPI_COMM_WORLD);
    err = MPI_File_set_size(fh, 0);
    if (err == MPI_SUCCESS)
        err = MPI_File_write_at_all(fh, 0, data, 8192, MPI_BYTE, &status);
    printf("rank %d: %s\n", rank, err == MPI_SUCCESS ? "then written" : "THEN FAILED");
}

int main(int argc, char **argv)
{
    MPI_Datatype type, part;
    MPI_Status status;
    MPI_Info info;

    (void)argc;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_blocking = strcmp(argv[2], "blocking") == 0;
    block = atoi(argv[4]);
    for (int i = 0; i < LEN; i++)
        data[i] = (unsigned char)(1 + (i * 3 + rank * 7 + i / 251) % 255);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", argv[3]);
    MPI_Info_set(info, "cb_buffer_size", "262144");
    MPI_File_open(MPI_COMM_WORLD, argv[5], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh);
    MPI_Info_free(&info);
    MPI_Type_contiguous(block, MPI_BYTE, &type);
    MPI_Type_create_resized(type, 0, (MPI_Aint)block * size, &part);
    MPI_Type_commit(&part);
    MPI_File_set_view(fh, (MPI_Offset)block * rank, MPI_BYTE, part, "native", MPI_INFO_NULL);
    if (strcmp(argv[1], "full") == 0) {
        full(argv[5]);
    } else {
        for (int i = 0;; i++) {
            write_all(&status);
            if (i == 3 && rank == 0) {
                puts("running");
                fflush(stdout);
            }
        }
    }
    MPI_Type_free(&type);
    MPI_Type_free(&part);
    MPI_File_close(&fh);
    MPI_Finalize();
    return 0;
}
