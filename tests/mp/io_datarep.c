/* test: np=1,2 timeout=30 */
/*
 * Data representations: external32 and registered ones.
 */
#include "io_test.h"

#define NAME "datarep.dat"

static void external(void)
{
    unsigned char bytes[64];
    int ints[4] = {1, -2, 0x12345678, 7}, back[4];
    long longs[3] = {1, -2, 3}, longs_back[4] = {9, 9, 9, 9};
    MPI_Datatype two, vec;
    MPI_Aint extent;
    MPI_Status status;
    MPI_Request req;
    MPI_Offset pos;
    MPI_File fh;

    io_create(NAME, &fh);
    MUST(MPI_File_set_view(fh, 32 * mp_rank, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    MUST(MPI_File_write(fh, ints, 4, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_INT), 4);
    MUST(MPI_File_read_at(fh, 0, back, 4, MPI_INT, &status));
    CHECK(memcmp(ints, back, sizeof(ints)) == 0);
    MUST(MPI_File_iread_at(fh, 1, back, 2, MPI_INT, &req));
    MUST(MPI_Wait(&req, &status));
    CHECK_EQ(back[1], 0x12345678);
    MUST(MPI_File_get_type_extent(fh, MPI_LONG, &extent));
    CHECK_EQ(extent, 4);
    MUST(MPI_File_sync(fh));
    CHECK_EQ(io_peek(NAME, 32 * mp_rank, bytes, 16), 16);
    CHECK(bytes[3] == 1 && bytes[4] == 0xff && bytes[7] == 0xfe && bytes[8] == 0x12);
    MPI_Barrier(MPI_COMM_WORLD);

    /* long takes 4 bytes in the file; a view of every second one */
    MUST(MPI_Type_vector(2, 1, 2, MPI_LONG, &two));
    MUST(MPI_Type_create_resized(two, 0, 16, &vec));
    MUST(MPI_Type_free(&two));
    MUST(MPI_Type_commit(&vec));
    MUST(MPI_File_set_view(fh, 32 * mp_rank, MPI_LONG, vec, "external32", MPI_INFO_NULL));
    MUST(MPI_File_write(fh, longs, 3, MPI_LONG, &status));
    CHECK_EQ(io_count(&status, MPI_LONG), 3);
    MUST(MPI_File_get_position(fh, &pos));
    CHECK_EQ(pos, 3);
    MUST(MPI_File_get_byte_offset(fh, 3, &pos));
    CHECK_EQ(pos, 32 * mp_rank + 24);
    MUST(MPI_File_sync(fh));
    CHECK_EQ(io_peek(NAME, 32 * mp_rank, bytes, 20), 20);
    CHECK(bytes[3] == 1 && bytes[8] == 0xff && bytes[11] == 0xfe && bytes[19] == 3);
    CHECK_EQ(bytes[7], 0xfe);
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == mp_size - 1) {
        /* the file ends behind the third: of four, three are read */
        MUST(MPI_File_read_at(fh, 0, longs_back, 4, MPI_LONG, &status));
        CHECK_EQ(io_count(&status, MPI_LONG), 3);
        CHECK(longs_back[0] == 1 && longs_back[1] == -2 && longs_back[2] == 3);
        CHECK_EQ(longs_back[3], 9);
    }
    MUST(MPI_Type_free(&vec));
    MUST(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0)
        unlink(NAME);
}

/* Integers as 6 decimal digits. */
static int n_calls;
static int fail_at;

static int digits_extent(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    CHECK(extra == &n_calls);
    CHECK(type == MPI_INT);
    *extent = 6;
    return MPI_SUCCESS;
}

static int digits_write(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position,
                        void *extra)
{
    int stride = 1;

    CHECK(extra == &n_calls);
    if (fail_at != 0 && ++n_calls >= fail_at)
        return MPI_ERR_CONVERSION;
    if (type != MPI_INT)
        stride = 2;
    for (int i = 0; i < count; i++) {
        char text[16];

        snprintf(text, sizeof(text), "%06d", ((int *)user)[(position + i) * stride]);
        memcpy((char *)file + 6 * i, text, 6);
    }
    return MPI_SUCCESS;
}

static int digits_read_c(void *user, MPI_Datatype type, MPI_Count count, void *file,
                         MPI_Offset position, void *extra)
{
    CHECK(extra == &n_calls);
    CHECK(type == MPI_INT);
    for (MPI_Count i = 0; i < count; i++) {
        char text[7] = "";

        memcpy(text, (char *)file + 6 * i, 6);
        ((int *)user)[position + i] = atoi(text);
    }
    return MPI_SUCCESS;
}

static int digits_read(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position,
                       void *extra)
{
    return digits_read_c(user, type, count, file, position, extra);
}

static int digits_write_c(void *user, MPI_Datatype type, MPI_Count count, void *file,
                          MPI_Offset position, void *extra)
{
    return digits_write(user, type, (int)count, file, position, extra);
}

static void registered(const char *name)
{
    enum { N = 900000 }; /* values of 6 digits */
    static int data[N], back[N];
    int pairs[4] = {11, 0, 22, 0};
    MPI_Datatype second;
    MPI_Aint extent;
    MPI_Status status;
    MPI_File fh;
    char text[13] = "";

    io_create(NAME, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL));
    MUST(MPI_File_get_type_extent(fh, MPI_INT, &extent));
    CHECK_EQ(extent, 6);
    for (int i = 0; i < N; i++)
        data[i] = i + mp_rank;
    MUST(MPI_File_write_at_all(fh, (MPI_Offset)N * mp_rank, data, N, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_INT), N);
    MUST(MPI_File_read_at_all(fh, (MPI_Offset)N * mp_rank, back, N, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_INT), N);
    CHECK(memcmp(data, back, sizeof(data)) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Type_create_resized(MPI_INT, 0, 8, &second));
    MUST(MPI_Type_commit(&second));
    MUST(MPI_File_write_at(fh, 2 * mp_rank, pairs, 2, second, &status));
    CHECK_EQ(io_count(&status, MPI_INT), 2);
    MUST(MPI_Type_free(&second));
    fail_at = 1;
    FAILS(MPI_File_write_at(fh, 0, data, 1, MPI_INT, &status), MPI_ERR_CONVERSION);
    fail_at = 0;
    MUST(MPI_File_close(&fh));
    CHECK_EQ(io_size(NAME), (long long)6 * N * mp_size);
    CHECK_EQ(io_peek(NAME, 12 * mp_rank, text, 12), 12);
    CHECK(strcmp(text, "000011000022") == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0)
        unlink(NAME);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    external();
    MUST(MPI_Register_datarep("digits", digits_read, digits_write, digits_extent, &n_calls));
    FAILS(MPI_Register_datarep("digits", digits_read, digits_write, digits_extent, &n_calls),
          MPI_ERR_DUP_DATAREP);
    FAILS(MPI_Register_datarep("native", digits_read, digits_write, digits_extent, &n_calls),
          MPI_ERR_DUP_DATAREP);
    FAILS(MPI_Register_datarep("", digits_read, digits_write, digits_extent, &n_calls),
          MPI_ERR_ARG);
    MUST(
        MPI_Register_datarep_c("digits_c", digits_read_c, digits_write_c, digits_extent, &n_calls));
    registered("digits");
    registered("digits_c");
    return mp_finish();
}
