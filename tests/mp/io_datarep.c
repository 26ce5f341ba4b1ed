/* test: np=1,2,3 timeout=40 */
/*
 * Data representations: external32 and registered ones, also where data are exchanged.
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
    int stride = type == MPI_INT ? 1 : 2;

    CHECK(extra == &n_calls);
    for (MPI_Count i = 0; i < count; i++) {
        char text[7] = "";

        memcpy(text, (char *)file + 6 * i, 6);
        ((int *)user)[(position + i) * stride] = atoi(text);
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

/* A number in the file, of external32 or 6 digits. */
static int file_value(const char *name, long at)
{
    unsigned char text[7] = "";
    int is_digits = name[0] == 'd';

    CHECK_EQ(io_peek(NAME, at * (is_digits ? 6 : 4), text, is_digits ? 6 : 4), is_digits ? 6 : 4);
    return is_digits ? atoi((char *)text) : text[0] << 24 | text[1] << 16 | text[2] << 8 | text[3];
}

static void turns_check(const char *name, int n)
{
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = mp_rank; i < n * mp_size; i += 97)
        CHECK_EQ(file_value(name, i), 1000 * (i % mp_size) + i / mp_size);
    CHECK_EQ(file_value(name, (long)n * mp_size - 1), 1000 * (mp_size - 1) + n - 1);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

enum { TURNS = 900 };
static int turns_data[2 * TURNS], turns_back[2 * TURNS];

static void turns_write(MPI_File fh, int form, int n, MPI_Datatype second)
{
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_Status status;

    if (form == 0)
        MUST(MPI_File_write_at_all(fh, 0, turns_data, n, second, &status));
    else if (form == 1)
        MUST(MPI_File_iwrite_at_all(fh, 0, turns_data, n, second, &req));
    else if (form == 2)
        MUST(MPI_File_write_all_begin(fh, turns_data, n, second));
    else
        MUST(MPI_File_iwrite_at(fh, 0, turns_data, n, second, &req));
    if (form == 2)
        MUST(MPI_File_write_all_end(fh, turns_data, &status));
    else if (form > 0)
        MUST(MPI_Wait(&req, &status));
    CHECK_EQ(io_count(&status, MPI_INT), n);
}

/* One more than there is: what is beyond the end stays as it was. */
static void turns_read(MPI_File fh, int form, int n, MPI_Datatype second)
{
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_Status status;

    memset(turns_back, 0xff, sizeof(turns_back));
    if (form == 0)
        MUST(MPI_File_read_at_all(fh, 0, turns_back, n + 1, second, &status));
    else if (form == 1)
        MUST(MPI_File_iread_at_all(fh, 0, turns_back, n + 1, second, &req));
    else if (form == 2)
        MUST(MPI_File_read_at_all_begin(fh, 0, turns_back, n + 1, second));
    else
        MUST(MPI_File_iread_at(fh, 0, turns_back, n + 1, second, &req));
    if (form == 2)
        MUST(MPI_File_read_at_all_end(fh, turns_back, &status));
    else if (form > 0)
        MUST(MPI_Wait(&req, &status));
    CHECK_EQ(io_count(&status, MPI_INT), n);
    CHECK(memcmp(turns_data, turns_back, 8 * (size_t)n) == 0);
    CHECK_EQ(turns_back[2 * n], -1);
}

/* A conversion that fails at one rank: an error there, the others' data go. */
static void turns_fail(MPI_File fh, MPI_Datatype second)
{
    int is_wrong = mp_rank == mp_size - 1, n = TURNS - 10;
    MPI_Request req;

    MUST(MPI_File_set_size(fh, 0));
    fail_at = is_wrong;
    if (is_wrong) {
        FAILS(MPI_File_write_at_all(fh, 0, turns_data, n, second, MPI_STATUS_IGNORE),
              MPI_ERR_CONVERSION);
        FAILS(MPI_File_iwrite_at_all(fh, 0, turns_data, n, second, &req), MPI_ERR_CONVERSION);
        FAILS(MPI_File_iwrite_at(fh, 0, turns_data, n, second, &req), MPI_ERR_CONVERSION);
    } else {
        turns_write(fh, 0, n, second);
        turns_write(fh, 1, n, second);
        turns_write(fh, 3, n, second);
    }
    fail_at = 0;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (!is_wrong)
        CHECK_EQ(file_value("digits", (long)mp_size * (n - 1) + mp_rank), 1000 * mp_rank + n - 1);
}

/* Integers of all ranks by turns, from every second one of memory, by all collective forms. */
static void turns(const char *name, const char *use)
{
    MPI_Datatype second, part;
    MPI_Aint extent;
    MPI_Info info;
    MPI_File fh;

    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", use));
    MUST(MPI_Info_set(info, "romio_cb_read", use));
    MUST(MPI_Info_set(info, "cb_buffer_size", "4096"));
    MUST(MPI_Type_create_resized(MPI_INT, 0, 8, &second));
    MUST(MPI_Type_commit(&second));
    for (int i = 0; i < 2 * TURNS; i++)
        turns_data[i] = i % 2 == 0 ? 1000 * mp_rank + i / 2 : -1;
    io_create(NAME, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, name, info));
    MUST(MPI_File_get_type_extent(fh, MPI_INT, &extent));
    MUST(MPI_Type_create_resized(MPI_INT, 0, extent * mp_size, &part));
    MUST(MPI_Type_commit(&part));
    for (int form = 0; form < 4; form++) {
        int n = TURNS - 1 - form;

        MUST(MPI_File_set_size(fh, 0));
        MUST(MPI_File_set_view(fh, extent * mp_rank, MPI_INT, part, name, info));
        turns_write(fh, form, n, second);
        turns_check(name, n);
        turns_read(fh, form, n, second);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (name[0] == 'd')
        turns_fail(fh, second);
    MUST(MPI_File_close(&fh));
    MUST(MPI_Type_free(&part));
    MUST(MPI_Type_free(&second));
    MUST(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"external32", "digits", "digits_c"};
    static const char *const uses[] = {"enable", "disable", "automatic"};

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
    for (int k = 0; k < 9; k++)
        turns(names[k / 3], uses[k % 3]);
    return mp_finish();
}
