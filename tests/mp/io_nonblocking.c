/* test: np=1,2,3,4 timeout=60 */
/*
 * Nonblocking and split collectives that exchange data: many under way, on two files, completed in any
 * order, beside blocking calls and point-to-point messages; errors of one rank; requests that are freed.
 */
#include "io_test.h"

#define ROUNDS 6
#define BLOCK  24  /* bytes that a rank has by turns with the others */
#define BLOCKS 300 /* of them in an access that is exchanged, in many rounds, */
#define ALONE  40  /* and in one that is not: NFS has a message for each */
#define LEN    (BLOCK * BLOCKS)

static unsigned char data[2][ROUNDS][LEN], back[2][ROUNDS][LEN];
static int len; /* bytes of an access */

static unsigned char value(int file, int round, int rank, int i)
{
    return (unsigned char)(file * 57 + round * 31 + rank * 7 + i * 3 + i / 251 + 1);
}

static void fill(void)
{
    for (int f = 0; f < 2; f++)
        for (int k = 0; k < ROUNDS; k++)
            for (int i = 0; i < LEN; i++)
                data[f][k][i] = value(f, k, mp_rank, i);
    memset(back, 0, sizeof(back));
}

/* Two files with views of blocks by turns; the hints make exchanges of many rounds. */
static void files_open(MPI_File fh[2], const char *use)
{
    static const char *const names[] = {"nb0.dat", "nb1.dat"};
    MPI_Datatype block, part;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", use);
    MPI_Info_set(info, "romio_cb_read", use);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    MPI_Info_set(info, "striping_unit", "8192");
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * mp_size, &part);
    MPI_Type_commit(&part);
    for (int f = 0; f < 2; f++) {
        MPI_Info_set(info, "cb_nodes", f == 0 ? "1" : "3");
        io_scratch(names[f], &fh[f]);
        MUST(MPI_File_set_view(fh[f], (MPI_Offset)BLOCK * mp_rank, MPI_INT, part, "native", info));
    }
    MPI_Type_free(&part);
    MPI_Type_free(&block);
    MPI_Info_free(&info);
}

static void files_close(MPI_File fh[2])
{
    MUST(MPI_File_close(&fh[0]));
    MUST(MPI_File_close(&fh[1]));
}

static MPI_Offset place(int round)
{
    return (MPI_Offset)round * len / 4; /* in integers */
}

static void compare(void)
{
    for (int f = 0; f < 2; f++)
        for (int k = 0; k < ROUNDS; k++)
            CHECK_EQ(memcmp(data[f][k], back[f][k], (size_t)len), 0);
}

/* Everything under way at once; the waits are in another order at each rank. */
static void many(const char *use)
{
    MPI_Request reqs[2 * ROUNDS];
    MPI_Status statuses[2 * ROUNDS];
    MPI_File fh[2];
    int at;

    files_open(fh, use);
    fill();
    for (int k = 0; k < ROUNDS; k++)
        for (int f = 0; f < 2; f++)
            MUST(MPI_File_iwrite_at_all(fh[f], place(k), data[f][k], len, MPI_BYTE,
                                        &reqs[2 * k + f]));
    MUST(MPI_Waitall(2 * ROUNDS, reqs, statuses));
    for (int i = 0; i < 2 * ROUNDS; i++)
        CHECK_EQ(io_count(&statuses[i], MPI_BYTE), len);
    for (int f = 0; f < 2; f++)
        for (int k = 0; k < ROUNDS; k++)
            MUST(MPI_File_iread_all(fh[f], back[f][k], len, MPI_BYTE, &reqs[f * ROUNDS + k]));
    for (int i = 0; i < 2 * ROUNDS; i++) {
        if (mp_rank % 2 == 0) {
            MUST(MPI_Waitany(2 * ROUNDS, reqs, &at, &statuses[0]));
        } else {
            at = (mp_rank + 2 * ROUNDS - 1 - i) % (2 * ROUNDS);
            MUST(MPI_Wait(&reqs[at], &statuses[0]));
        }
        CHECK_EQ(io_count(&statuses[0], MPI_BYTE), len);
    }
    compare();
    files_close(fh);
}

/* Blocking collectives of the same file, of the other one and of a communicator in between. */
static void between(const char *use)
{
    MPI_Request reqs[3];
    MPI_Info info;
    MPI_File fh[2];
    int sum, one = 1;

    files_open(fh, use);
    fill();
    for (int k = 0; k + 2 < ROUNDS; k += 3) {
        MUST(MPI_File_iwrite_at_all(fh[0], place(k), data[0][k], len, MPI_BYTE, &reqs[0]));
        MUST(MPI_File_iwrite_at(fh[0], place(k + 1), data[0][k + 1], len, MPI_BYTE, &reqs[1]));
        MUST(MPI_File_write_all_begin(fh[1], data[1][k], len, MPI_BYTE));
        MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK_EQ(sum, mp_size);
        MUST(MPI_File_write_at_all(fh[0], place(k + 2), data[0][k + 2], len, MPI_BYTE,
                                   MPI_STATUS_IGNORE));
        MUST(MPI_File_write_all_end(fh[1], data[1][k], MPI_STATUS_IGNORE));
        MUST(MPI_File_iwrite_all(fh[1], data[1][k + 1], len, MPI_BYTE, &reqs[2]));
        MUST(MPI_File_get_info(fh[1], &info));
        MUST(MPI_Info_set(info, "cb_buffer_size", "12288"));
        MUST(MPI_File_set_info(fh[1], info)); /* what is under way keeps its plan */
        MUST(MPI_Info_free(&info));
        MUST(MPI_File_write_all(fh[1], data[1][k + 2], len, MPI_BYTE, MPI_STATUS_IGNORE));
        MUST(MPI_Waitall(3, reqs, MPI_STATUSES_IGNORE));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int f = 0; f < 2; f++)
        for (int k = 0; k < ROUNDS; k++) {
            MUST(MPI_File_read_at_all_begin(fh[f], place(k), back[f][k], len, MPI_BYTE));
            MUST(MPI_File_read_at_all_end(fh[f], back[f][k], MPI_STATUS_IGNORE));
        }
    compare();
    files_close(fh);
}

/* One rank makes a mistake, or has nothing; the others go on. */
static void alone(const char *use)
{
    int is_wrong = mp_rank == mp_size - 1;
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_File fh[2];

    files_open(fh, use);
    fill();
    if (is_wrong) {
        FAILS(MPI_File_iwrite_at_all(fh[0], 0, data[0][0], len - 1, MPI_BYTE, &req), MPI_ERR_IO);
        CHECK(req == MPI_REQUEST_NULL);
    } else {
        MUST(MPI_File_iwrite_at_all(fh[0], 0, data[0][0], len, MPI_BYTE, &req));
        MUST(MPI_Wait(&req, &status));
        CHECK_EQ(io_count(&status, MPI_BYTE), len);
    }
    MUST(MPI_File_iread_at_all(fh[0], 0, back[0][0], is_wrong ? 0 : len, MPI_BYTE, &req));
    MUST(MPI_Wait(&req, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), is_wrong ? 0 : len);
    CHECK(is_wrong || memcmp(back[0][0], data[0][0], (size_t)len) == 0);
    /* nobody has anything */
    MUST(MPI_File_iwrite_all(fh[1], NULL, 0, MPI_BYTE, &req));
    MUST(MPI_Wait(&req, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), 0);
    files_close(fh);
}

/* Arguments of one rank that no call accepts: an error there, the others do not wait for it. */
static void wrong(const char *use)
{
    int is_wrong = mp_rank == mp_size - 1;
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_File fh[2];

    files_open(fh, use);
    fill();
    if (is_wrong) {
        FAILS(MPI_File_iwrite_at_all(fh[0], 0, data[0][0], -1, MPI_BYTE, &req), MPI_ERR_COUNT);
        CHECK(req == MPI_REQUEST_NULL);
        FAILS(MPI_File_read_at_all(fh[0], 0, back[0][0], len, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE),
              MPI_ERR_TYPE);
        FAILS(MPI_File_write_at_all_begin(fh[0], 0, NULL, len, MPI_BYTE), MPI_ERR_BUFFER);
        FAILS(MPI_File_iread_all(fh[0], back[0][1], -1, MPI_BYTE, &req), MPI_ERR_COUNT);
    } else {
        MUST(MPI_File_iwrite_at_all(fh[0], 0, data[0][0], len, MPI_BYTE, &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        MUST(MPI_File_read_at_all(fh[0], 0, back[0][0], len, MPI_BYTE, MPI_STATUS_IGNORE));
        MUST(MPI_File_write_at_all_begin(fh[0], place(1), data[0][1], len, MPI_BYTE));
        MUST(MPI_File_write_at_all_end(fh[0], data[0][1], MPI_STATUS_IGNORE));
        MUST(MPI_File_seek(fh[0], place(1), MPI_SEEK_SET));
        MUST(MPI_File_iread_all(fh[0], back[0][1], len, MPI_BYTE, &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK(memcmp(back[0][0], data[0][0], (size_t)len) == 0);
        CHECK(memcmp(back[0][1], data[0][1], (size_t)len) == 0);
    }
    /* ordered calls and views: an error of one is everybody's */
    FAILS(
        MPI_File_write_ordered(fh[1], data[0][0], is_wrong ? -1 : len, MPI_BYTE, MPI_STATUS_IGNORE),
        MPI_ERR_COUNT);
    FAILS(MPI_File_read_ordered_begin(fh[1], back[0][0], is_wrong ? -1 : len, MPI_BYTE),
          MPI_ERR_COUNT);
    FAILS(MPI_File_set_view(fh[1], 0, is_wrong ? MPI_DATATYPE_NULL : MPI_BYTE, MPI_BYTE, "native",
                            MPI_INFO_NULL),
          MPI_ERR_TYPE);
    files_close(fh);
}

/* Requests that nobody waits for are complete when the file is closed. */
static void freed(const char *use)
{
    MPI_Request req;
    MPI_File fh[2];

    files_open(fh, use);
    fill();
    for (int k = 0; k < ROUNDS; k++) {
        MUST(MPI_File_iwrite_at_all(fh[k % 2], place(k / 2), data[0][k], len, MPI_BYTE, &req));
        MUST(MPI_Request_free(&req));
    }
    files_close(fh);
}

/* The names from before MPI-2, which programs still use. */
static void old_names(void)
{
    MPIO_Request req;
    MPI_Status status;
    MPI_File fh[2];
    int is_done = 0;

    files_open(fh, "automatic");
    fill();
    MUST(MPI_File_iwrite_at(fh[0], place(0), data[0][0], LEN, MPI_BYTE, &req));
    MUST(MPIO_Wait(&req, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), LEN);
    MUST(MPI_File_iread_at(fh[0], place(0), back[0][0], LEN, MPI_BYTE, &req));
    while (!is_done)
        MUST(MPIO_Test(&req, &is_done, &status));
    CHECK(req == MPI_REQUEST_NULL);
    CHECK_EQ(io_count(&status, MPI_BYTE), LEN);
    CHECK(memcmp(back[0][0], data[0][0], LEN) == 0);
    files_close(fh);
}

int main(int argc, char **argv)
{
    static const char *const uses[] = {"enable", "disable", "automatic"};

    mp_start(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        len = BLOCK * (strcmp(uses[i], "disable") == 0 ? ALONE : BLOCKS);
        many(uses[i]);
        between(uses[i]);
        alone(uses[i]);
        wrong(uses[i]);
        freed(uses[i]);
    }
    old_names();
    return mp_finish();
}
