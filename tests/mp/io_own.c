/* test: np=1,2,4 timeout=60 */
/*
 * What a process has written it reads back without MPI_File_sync, whichever way each of both goes: alone,
 * or through an aggregator that may be on another host (MPI-4.0 section 14.6.1: operations of one handle,
 * none of which conflicts with those of others). So does what it is told of the file's size. When the
 * file is closed it has what was written last.
 */
#include "io_test.h"

#define NAME   "own.dat"
#define BLOCK  400 /* bytes that a rank has by turns with the others */
#define BLOCKS 8
#define LEN    (BLOCK * BLOCKS)
#define ROUNDS 16 /* all pairs of ways */

enum way { ALONE, ALONE_NB, EXCHANGED, EXCHANGED_NB, N_WAYS };

static unsigned char value(int round, int rank, int i)
{
    return (unsigned char)(round * 31 + rank * 7 + i * 3 + 1);
}

/* By aggregators on one host, or on each; exchanges are asked for, so that nothing else is chosen. */
static void file_open(MPI_File *fh, const char *cb_nodes)
{
    MPI_Datatype block, part;
    MPI_Info info;

    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", "enable"));
    MUST(MPI_Info_set(info, "romio_cb_read", "enable"));
    MUST(MPI_Info_set(info, "cb_nodes", cb_nodes));
    MUST(MPI_Info_set(info, "striping_unit", "4096"));
    MUST(MPI_Type_contiguous(BLOCK, MPI_BYTE, &block));
    MUST(MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * mp_size, &part));
    MUST(MPI_Type_commit(&part));
    io_create(NAME, fh);
    MUST(MPI_File_set_view(*fh, (MPI_Offset)BLOCK * mp_rank, MPI_BYTE, part, "native", info));
    MUST(MPI_Type_free(&part));
    MUST(MPI_Type_free(&block));
    MUST(MPI_Info_free(&info));
}

static void access_by(MPI_File fh, enum way way, int is_write, MPI_Offset at, unsigned char *buf,
                      int n)
{
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_Status status;

#define BOTH(w, r) (is_write ? (w) : (r))
    switch (way) {
    case ALONE:
        MUST(BOTH(MPI_File_write_at(fh, at, buf, n, MPI_BYTE, &status),
                  MPI_File_read_at(fh, at, buf, n, MPI_BYTE, &status)));
        break;
    case ALONE_NB:
        MUST(BOTH(MPI_File_iwrite_at(fh, at, buf, n, MPI_BYTE, &req),
                  MPI_File_iread_at(fh, at, buf, n, MPI_BYTE, &req)));
        break;
    case EXCHANGED:
        MUST(BOTH(MPI_File_write_at_all(fh, at, buf, n, MPI_BYTE, &status),
                  MPI_File_read_at_all(fh, at, buf, n, MPI_BYTE, &status)));
        break;
    default:
        MUST(BOTH(MPI_File_iwrite_at_all(fh, at, buf, n, MPI_BYTE, &req),
                  MPI_File_iread_at_all(fh, at, buf, n, MPI_BYTE, &req)));
        break;
    }
    if (req != MPI_REQUEST_NULL)
        MUST(MPI_Wait(&req, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), n);
}

/* All pairs of ways, over the same bytes and, every other time, further bytes; each way after each other. */
static void both_ways(const char *cb_nodes)
{
    unsigned char data[LEN], back[LEN];
    enum way last = ALONE;
    MPI_File fh;

    file_open(&fh, cb_nodes);
    for (int k = 0; k < ROUNDS; k++) {
        enum way w = (enum way)(k % N_WAYS), r = (enum way)((k / N_WAYS + k / 2) % N_WAYS);
        MPI_Offset at = (MPI_Offset)(k % 2) * LEN;

        for (int i = 0; i < LEN; i++)
            data[i] = value(k, mp_rank, i);
        access_by(fh, w, 1, at, data, LEN);
        memset(back, 0, LEN);
        access_by(fh, r, 0, at, back, LEN);
        CHECK(memcmp(data, back, LEN) == 0);
        /* again, nothing read in between; the later one counts */
        last = (enum way)((w + 1 + k / N_WAYS) % N_WAYS);
        for (int i = 0; i < LEN; i++)
            data[i] = (unsigned char)~data[i];
        access_by(fh, last, 1, at, data, LEN);
    }
    MUST(MPI_File_close(&fh));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int b = 0; b < BLOCKS; b++) {
        CHECK_EQ(
            io_peek(NAME, (long long)(BLOCKS + b) * BLOCK * mp_size + BLOCK * mp_rank, back, BLOCK),
            BLOCK);
        for (int i = 0; i < BLOCK; i++)
            CHECK_EQ(back[i], (unsigned char)~value(ROUNDS - 1, mp_rank, b * BLOCK + i));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* One process makes the file longer through an aggregator of another one; the others have no bytes. */
static void size(void)
{
    int writer = mp_size - 1;
    unsigned char data[LEN];
    MPI_Offset bytes;
    MPI_File fh;

    file_open(&fh, "1");
    for (int k = 1; k <= 4; k++) {
        memset(data, k, LEN);
        access_by(fh, k % 2 == 0 ? EXCHANGED : EXCHANGED_NB, 1, (MPI_Offset)(k - 1) * LEN, data,
                  mp_rank == writer ? LEN : 0);
        if (mp_rank == writer) {
            MUST(MPI_File_get_size(fh, &bytes));
            CHECK_EQ(bytes, (MPI_Offset)k * LEN * mp_size);
            MUST(MPI_File_seek(fh, 0, MPI_SEEK_END));
            MUST(MPI_File_get_position(fh, &bytes));
            CHECK_EQ(bytes, (MPI_Offset)k * LEN);
        }
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    MUST(MPI_File_close(&fh));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (mp_rank == 0)
        unlink(NAME);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    both_ways("1");
    both_ways("2");
    size();
    return mp_finish();
}
