/* test: np=2,4 timeout=60 */
/*
 * Ranks make a file longer by turns, in short pieces that lie between those of the others: nothing is
 * lost, though file systems fill with zeros what is behind the end when the file grows.
 *
 * Once they say that nobody else has the file. By NFS a host then writes whole pages, as its cache has them,
 * and the program is over in time; else each piece is a message to the server, so there are fewer then.
 */
#include "io_test.h"

#define NAME      "grow.dat"
#define BLOCK     8
#define BLOCKS    6 /* of an access */
#define TIMES     3000
#define TIMES_NFS 50 /* where a piece is a message */
#define LEN       (BLOCK * BLOCKS)

static unsigned char value(int rank, int i)
{
    return (unsigned char)(1 + (i * 3 + rank * 7 + i / 251) % 255);
}

static void check(int times)
{
    size_t len = (size_t)LEN * (size_t)times * (size_t)mp_size;
    unsigned char *got = malloc(len);
    long n_lost = 0;

    CHECK_EQ(io_size(NAME), (long long)len);
    CHECK_EQ(io_peek(NAME, 0, got, len), (long)len);
    for (size_t at = 0; at < len; at++) {
        size_t block = at / BLOCK, n = (size_t)mp_size;

        n_lost += got[at] != value((int)(block % n), (int)(block / n * BLOCK + at % BLOCK));
    }
    CHECK_EQ(n_lost, 0);
    free(got);
}

/* All ranks write a file that is opened in this mode. */
static void grow(MPI_Datatype part, int amode, int times)
{
    static unsigned char data[LEN];
    MPI_File fh;

    if (mp_rank == 0)
        unlink(NAME);
    MPI_Barrier(MPI_COMM_WORLD);
    io_open(NAME, MPI_MODE_CREATE | MPI_MODE_RDWR | amode, &fh);
    MUST(MPI_File_set_view(fh, (MPI_Offset)BLOCK * mp_rank, MPI_BYTE, part, "native",
                           MPI_INFO_NULL));
    for (int k = 0; k < times; k++) {
        for (int i = 0; i < LEN; i++)
            data[i] = value(mp_rank, k * LEN + i);
        MUST(MPI_File_write(fh, data, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MUST(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
    check(times);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Datatype block, part;
    int times;

    mp_start(&argc, &argv);
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * mp_size, &part);
    MPI_Type_commit(&part);
    times = io_is_nfs() ? TIMES_NFS : TIMES;
    grow(part, 0, times);
    grow(part, 0, times);
    grow(part, MPI_MODE_UNIQUE_OPEN, TIMES);
    if (mp_rank == 0)
        unlink(NAME);
    MPI_Type_free(&block);
    MPI_Type_free(&part);
    return mp_finish();
}
