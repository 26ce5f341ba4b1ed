/* test: np=1,2,4 timeout=40 warn=said.once.for.each.function */
/*
 * Shared pointers, ordered, nonblocking and split accesses, MPI_MODE_SEQUENTIAL.
 */
#include "io_test.h"

#define NAME "shared.dat"
#define N    50

/* Records of all ranks, none lost, none twice, each whole. */
static void records(void)
{
    int rec[8], seen[4][N] = {{0}};
    MPI_Offset pos;
    MPI_Status status;
    MPI_Request req;
    MPI_File fh;

    io_scratch(NAME, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 8; k++)
            rec[k] = mp_rank * N + i;
        if (i % 2 == 0) {
            MUST(MPI_File_write_shared(fh, rec, 8, MPI_INT, &status));
        } else {
            MUST(MPI_File_iwrite_shared(fh, rec, 8, MPI_INT, &req));
            MUST(MPI_Wait(&req, &status));
        }
        CHECK_EQ(io_count(&status, MPI_INT), 8);
    }
    MUST(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_sync(fh)); /* ranks of other hosts have written, too */
    MUST(MPI_File_get_position_shared(fh, &pos));
    CHECK_EQ(pos, 8 * N * mp_size);
    MUST(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    for (int i = 0; i < N * mp_size; i++) {
        int r;

        MUST(MPI_File_read_at(fh, 8 * i, rec, 8, MPI_INT, MPI_STATUS_IGNORE));
        r = rec[0] / N;
        CHECK(rec[0] >= 0 && r < mp_size);
        if (rec[0] < 0 || r >= mp_size)
            break;
        CHECK_EQ(seen[r][rec[0] % N]++, 0);
        for (int k = 1; k < 8; k++)
            CHECK_EQ(rec[k], rec[0]);
    }
    MUST(MPI_File_seek_shared(fh, -8, MPI_SEEK_END));
    MUST(MPI_File_get_position_shared(fh, &pos));
    CHECK_EQ(pos, 8 * (N * mp_size - 1));
    MPI_Barrier(MPI_COMM_WORLD);
    FAILS(MPI_File_seek_shared(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    if (mp_size > 1)
        FAILS(MPI_File_seek_shared(fh, mp_rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    MUST(MPI_File_close(&fh));
}

static void ordered(void)
{
    int mine[4], got[10], n = mp_rank + 1, first = mp_rank * (mp_rank + 1) / 2;
    MPI_Status status;
    MPI_File fh;

    io_scratch(NAME, &fh);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < n; i++)
            mine[i] = 100 * round + first + i;
        if (round == 1) {
            MUST(MPI_File_write_ordered_begin(fh, mine, n, MPI_INT));
            MUST(MPI_File_write_ordered_end(fh, mine, &status));
        } else {
            MUST(MPI_File_write_ordered(fh, mine, n, MPI_INT, &status));
        }
        CHECK_EQ(io_count(&status, MPI_INT), n);
    }
    MUST(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    for (int round = 0; round < 3; round++) {
        memset(mine, 0, sizeof(mine));
        if (round == 2) {
            MUST(MPI_File_read_ordered_begin(fh, mine, n, MPI_INT));
            MUST(MPI_File_read_ordered_end(fh, mine, &status));
        } else {
            MUST(MPI_File_read_ordered(fh, mine, n, MPI_INT, &status));
        }
        CHECK_EQ(io_count(&status, MPI_INT), n);
        for (int i = 0; i < n; i++)
            CHECK_EQ(mine[i], 100 * round + first + i);
    }
    MUST(MPI_File_read_ordered(fh, got, 10, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_INT), 0);
    MUST(MPI_File_close(&fh));
}

static void nonblocking(void)
{
    enum { LEN = 100000, K = 6 };
    static int data[K][LEN], back[K][LEN];
    MPI_Request reqs[K];
    MPI_Status statuses[K];
    MPI_Offset pos;
    MPI_File fh;
    int index, flag, n = 0;

    io_scratch(NAME, &fh);
    MUST(MPI_File_set_view(fh, (MPI_Offset)mp_rank * K * LEN * 4, MPI_INT, MPI_INT, "native",
                           MPI_INFO_NULL));
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < LEN; i++)
            data[k][i] = mp_rank * 10000000 + k * LEN + i;
        if (k % 3 == 0)
            MUST(MPI_File_iwrite(fh, data[k], LEN, MPI_INT, &reqs[k]));
        else if (k % 3 == 1)
            MUST(MPI_File_iwrite_all(fh, data[k], LEN, MPI_INT, &reqs[k]));
        else
            MUST(MPI_File_iwrite_at(fh, (MPI_Offset)k * LEN, data[k], LEN, MPI_INT, &reqs[k]));
        if (k % 3 == 2)
            MUST(MPI_File_seek(fh, LEN, MPI_SEEK_CUR));
    }
    MUST(MPI_File_get_position(fh, &pos));
    CHECK_EQ(pos, K * LEN);
    MUST(MPI_Waitall(K, reqs, statuses));
    for (int k = 0; k < K; k++) {
        CHECK(reqs[k] == MPI_REQUEST_NULL);
        CHECK_EQ(io_count(&statuses[k], MPI_INT), LEN);
    }
    for (int k = 0; k < K; k++)
        MUST(k % 2 == 0
                 ? MPI_File_iread_at(fh, (MPI_Offset)k * LEN, back[k], LEN, MPI_INT, &reqs[k])
                 : MPI_File_iread_at_all(fh, (MPI_Offset)k * LEN, back[k], LEN, MPI_INT, &reqs[k]));
    while (n < K) {
        if (n % 2 == 0) {
            MUST(MPI_Waitany(K, reqs, &index, &statuses[0]));
            n += index != MPI_UNDEFINED;
        } else {
            MUST(MPI_Testany(K, reqs, &index, &flag, &statuses[0]));
            n += flag;
        }
    }
    CHECK(memcmp(data, back, sizeof(data)) == 0);
    MUST(MPI_File_iread_shared(fh, back[0], 10, MPI_INT, &reqs[0]));
    MUST(MPI_Cancel(&reqs[0])); /* has no effect */
    MUST(MPI_File_iread_all(fh, back[1], 10, MPI_INT, &reqs[1]));
    MUST(MPI_Waitall(2, reqs, statuses));
    MUST(MPI_Test_cancelled(&statuses[0], &flag));
    CHECK(!flag && io_count(&statuses[0], MPI_INT) == 10);
    MUST(MPI_File_close(&fh));
}

static void split(void)
{
    int data[10], back[10], other;
    MPI_Status status;
    MPI_File fh;

    io_scratch(NAME, &fh);
    for (int i = 0; i < 10; i++)
        data[i] = 10 * mp_rank + i;
    FAILS(MPI_File_write_all_end(fh, data, &status), MPI_ERR_IO);
    MUST(MPI_File_write_at_all_begin(fh, 40 * mp_rank, data, 10, MPI_INT));
    FAILS(MPI_File_read_all_begin(fh, back, 10, MPI_INT), MPI_ERR_IO);
    FAILS(MPI_File_write_all_end(fh, data, &status), MPI_ERR_IO);
    FAILS(MPI_File_write_at_all_end(fh, &other, &status), MPI_ERR_BUFFER);
    MUST(MPI_File_write_at_all_end(fh, data, &status));
    CHECK_EQ(io_count(&status, MPI_INT), 10);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_seek(fh, 40 * mp_rank, MPI_SEEK_SET));
    MUST(MPI_File_read_all_begin(fh, back, 10, MPI_INT));
    MUST(MPI_File_read_all_end(fh, back, &status));
    CHECK(memcmp(data, back, sizeof(data)) == 0);
    MUST(MPI_File_seek(fh, 40 * mp_rank, MPI_SEEK_SET));
    MUST(MPI_File_write_all_begin(fh, back, 10, MPI_INT));
    MUST(MPI_File_write_all_end(fh, back, MPI_STATUS_IGNORE));
    memset(back, 0, sizeof(back));
    MUST(MPI_File_read_at_all_begin(fh, 40 * mp_rank, back, 10, MPI_INT));
    MUST(MPI_File_read_at_all_end(fh, back, &status));
    CHECK(memcmp(data, back, sizeof(data)) == 0);
    MUST(MPI_File_close(&fh));
}

static void sequential(void)
{
    MPI_Offset disp;
    MPI_File fh;
    int x = mp_rank, y;

    io_create(NAME, &fh);
    MUST(MPI_File_close(&fh));
    io_open(NAME, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, &fh);
    FAILS(MPI_File_write(fh, &x, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
    FAILS(MPI_File_write_at(fh, 0, &x, 1, MPI_INT, MPI_STATUS_IGNORE),
          MPI_ERR_UNSUPPORTED_OPERATION);
    FAILS(MPI_File_seek(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    FAILS(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    FAILS(MPI_File_get_position_shared(fh, &disp), MPI_ERR_UNSUPPORTED_OPERATION);
    MUST(MPI_File_get_byte_offset(fh, 3, &disp));
    CHECK_EQ(disp, 3);
    MUST(MPI_File_write_ordered(fh, &x, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    MUST(
        MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_ordered(fh, &x, 1, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_close(&fh));
    CHECK_EQ(io_size(NAME), 8 * mp_size);
    io_open(NAME, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, &fh);
    MUST(MPI_File_read_at(fh, 4 * (mp_size + mp_rank), &y, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(y, mp_rank);
    FAILS(
        MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
        MPI_ERR_ARG);
    MUST(MPI_File_get_byte_offset(fh, 3, &disp));
    CHECK_EQ(disp, 3);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    records();
    ordered();
    nonblocking();
    split();
    sequential();
    return mp_finish();
}
