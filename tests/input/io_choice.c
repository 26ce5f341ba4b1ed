/*
 * Blocks of each rank by turns, written and read back collectively: CALLS times, each behind the one before.
 * The first SMALL calls move one block of each rank only.
 *
 *     io_choice BLOCK BYTES CALLS SMALL HINT=VALUE...
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, block;

static unsigned char value_of(long at)
{
    return (unsigned char)(at * 7 + at / 251 + rank * 31);
}

static MPI_Info hints(char **argv)
{
    MPI_Info info;
    char *value;

    MPI_Info_create(&info);
    for (; *argv != NULL; argv++) {
        value = strchr(*argv, '=');
        *value = '\0';
        MPI_Info_set(info, *argv, value + 1);
        *value = '=';
    }
    return info;
}

static void see(MPI_File fh, long n, int is_read)
{
    unsigned char *buf = malloc((size_t)n);
    MPI_Status status;
    int count, n_wrong = 0;

    for (long i = 0; i < n; i++)
        buf[i] = is_read ? 0 : value_of(i);
    if (is_read)
        MPI_File_read_all(fh, buf, (int)n, MPI_BYTE, &status);
    else
        MPI_File_write_all(fh, buf, (int)n, MPI_BYTE, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    for (long i = 0; i < n; i++)
        n_wrong += buf[i] != value_of(i);
    if (count != n || n_wrong > 0)
        printf("rank %d: WRONG: %d of %ld bytes, %d of them other ones\n", rank, count, n, n_wrong);
    free(buf);
}

int main(int argc, char **argv)
{
    MPI_Datatype one, blocks;
    MPI_Info info;
    MPI_File fh;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    block = atoi(argv[1]);
    info = hints(argv + 5);
    MPI_File_open(MPI_COMM_WORLD, "choice.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh);
    MPI_Type_contiguous(block, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)block * size, &blocks);
    MPI_Type_commit(&blocks);
    for (int is_read = 0; is_read < 2; is_read++) {
        MPI_File_set_view(fh, (MPI_Offset)block * rank, MPI_BYTE, blocks, "native", MPI_INFO_NULL);
        for (int i = 0; i < atoi(argv[3]); i++)
            see(fh, i < atoi(argv[4]) ? block : atol(argv[2]), is_read);
    }
    MPI_Type_free(&one);
    MPI_Type_free(&blocks);
    MPI_Info_free(&info);
    MPI_File_close(&fh);
    MPI_Finalize();
    return 0;
}
