/* test: np=1,2,4 timeout=40 */
/*
 * Files with the default view: opening and its modes, sizes, explicit offsets and individual
 * pointers, what is told at the end of the file, handles.
 */
#include <limits.h>

#include "../self.h"
#include "io_test.h"

#define NAME "basic.dat"

static void modes(void)
{
    MPI_File fh = MPI_FILE_NULL;
    int amode;

    FAILS(MPI_File_open(MPI_COMM_WORLD, NAME, 0, MPI_INFO_NULL, &fh), MPI_ERR_AMODE);
    FAILS(
        MPI_File_open(MPI_COMM_WORLD, NAME, MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh),
        MPI_ERR_AMODE);
    FAILS(
        MPI_File_open(MPI_COMM_WORLD, NAME, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &fh),
        MPI_ERR_AMODE);
    FAILS(MPI_File_open(MPI_COMM_WORLD, NAME, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL,
                        &fh),
          MPI_ERR_AMODE);
    FAILS(MPI_File_open(MPI_COMM_WORLD, NAME, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
          MPI_ERR_NO_SUCH_FILE);
    FAILS(MPI_File_open(MPI_COMM_WORLD, "no/such/dir", MPI_MODE_RDWR | MPI_MODE_CREATE,
                        MPI_INFO_NULL, &fh),
          MPI_ERR_NO_SUCH_FILE);
    FAILS(MPI_File_open(MPI_COMM_WORLD, ".", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
          MPI_ERR_BAD_FILE);
    CHECK(fh == MPI_FILE_NULL);
    FAILS(MPI_File_delete(NAME, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);

    io_open(NAME, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, &fh);
    MUST(MPI_File_get_amode(fh, &amode));
    CHECK_EQ(amode, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY);
    FAILS(MPI_File_read(fh, &amode, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    MUST(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL);
    FAILS(MPI_File_open(MPI_COMM_WORLD, NAME, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                        MPI_INFO_NULL, &fh),
          MPI_ERR_FILE_EXISTS);
    io_open("ufs:" NAME, MPI_MODE_RDONLY, &fh);
    FAILS(MPI_File_write(fh, &amode, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    FAILS(MPI_File_set_size(fh, 5), MPI_ERR_READ_ONLY);
    MUST(MPI_File_close(&fh));
    if (mp_size > 1)
        FAILS(MPI_File_open(MPI_COMM_WORLD, NAME, mp_rank == 0 ? MPI_MODE_RDONLY : MPI_MODE_RDWR,
                            MPI_INFO_NULL, &fh),
              MPI_ERR_NOT_SAME);
    MPI_Barrier(MPI_COMM_WORLD);
    io_open(NAME, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN, &fh);
    MUST(MPI_File_close(&fh));
    CHECK_EQ(io_size(NAME), -1);
}

static void sizes(void)
{
    MPI_Offset size;
    MPI_File fh;

    io_scratch(NAME, &fh);
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 0);
    MUST(MPI_File_set_size(fh, 10000000000));
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 10000000000);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_set_size(fh, 10));
    MUST(MPI_File_preallocate(fh, 5));
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 10);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_preallocate(fh, 5000));
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 5000);
    FAILS(MPI_File_set_size(fh, -1), MPI_ERR_ARG);
    if (mp_size > 1)
        FAILS(MPI_File_set_size(fh, mp_rank), MPI_ERR_NOT_SAME);
    MUST(MPI_File_sync(fh));
    MUST(MPI_File_close(&fh));
}

/* Each rank has 100 integers; then all are read by all. */
static void offsets(void)
{
    int mine[100], all[400], n = 100 * mp_size;
    MPI_Status status;
    MPI_File fh;

    io_scratch(NAME, &fh);
    for (int i = 0; i < 100; i++)
        mine[i] = 1000 * mp_rank + i;
    MUST(MPI_File_write_at(fh, 400 * mp_rank, mine, 100, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_INT), 100);
    MUST(MPI_File_sync(fh));
    MUST(MPI_File_read_at_all(fh, 0, all, n, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_INT), n);
    for (int i = 0; i < n; i++)
        CHECK_EQ(all[i], 1000 * (i / 100) + i % 100);

    /* beyond the end: what is there, and nothing else is changed */
    memset(all, 0xff, sizeof(all));
    MUST(MPI_File_read_at(fh, 400 * mp_size - 10, all, 20, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), 10);
    CHECK_EQ(all[3], -1);
    MUST(MPI_File_read_at_all(fh, 400 * mp_size, all, 20, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), 0);
    MUST(MPI_File_read_at(fh, 400 * mp_size + 1000, all, 20, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_read_at(fh, 0, NULL, 0, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_INT), 0);
    FAILS(MPI_File_read_at(fh, -1, all, 1, MPI_INT, &status), MPI_ERR_ARG);
    FAILS(MPI_File_read_at(fh, 0, all, -1, MPI_INT, &status), MPI_ERR_COUNT);
    FAILS(MPI_File_read_at(fh, 0, all, 1, MPI_DATATYPE_NULL, &status), MPI_ERR_TYPE);
    FAILS(MPI_File_read_at(fh, INT64_MAX, all, 1, MPI_INT, &status), MPI_ERR_ARG);
    MUST(MPI_File_close(&fh));
}

static void pointers(void)
{
    MPI_Offset pos, size;
    MPI_Status status;
    char text[16];
    MPI_File fh;

    io_scratch(NAME, &fh);
    MUST(MPI_File_seek(fh, 8 * mp_rank, MPI_SEEK_SET));
    memset(text, 'a' + mp_rank, sizeof(text));
    MUST(MPI_File_write(fh, text, 3, MPI_CHAR, &status));
    CHECK_EQ(io_count(&status, MPI_CHAR), 3);
    MUST(MPI_File_write_all(fh, text, 5, MPI_CHAR, &status));
    MUST(MPI_File_get_position(fh, &pos));
    CHECK_EQ(pos, 8 * mp_rank + 8);
    MUST(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_sync(fh)); /* ranks of other hosts have written, too */
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 8 * mp_size);
    MUST(MPI_File_seek(fh, -8, MPI_SEEK_CUR));
    MUST(MPI_File_read(fh, text, 8, MPI_CHAR, &status));
    for (int i = 0; i < 8; i++)
        CHECK_EQ(text[i], 'a' + mp_rank);
    MUST(MPI_File_seek(fh, -4, MPI_SEEK_END));
    MUST(MPI_File_read_all(fh, text, 8, MPI_CHAR, &status));
    CHECK_EQ(io_count(&status, MPI_CHAR), 4);
    CHECK_EQ(text[3], 'a' + mp_size - 1);
    FAILS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    FAILS(MPI_File_seek(fh, 0, 17), MPI_ERR_ARG);
    MUST(MPI_File_close(&fh));

    io_create(NAME, &fh);
    if (mp_rank == 0)
        MUST(MPI_File_write(fh, "0123456789", 10, MPI_CHAR, &status));
    MUST(MPI_File_close(&fh));
    io_open(NAME, MPI_MODE_RDWR | MPI_MODE_APPEND, &fh);
    MUST(MPI_File_get_position(fh, &pos));
    CHECK_EQ(pos, 10);
    MUST(MPI_File_get_position_shared(fh, &pos));
    CHECK_EQ(pos, 10);
    MUST(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0)
        MUST(MPI_File_delete(NAME, MPI_INFO_NULL));
}

/*
 * What the collective calls of a file need is made for them, not for opening: that maps one at most. Meanwhile
 * peers may connect, each once: so one of many times counts.
 */
static void memory(void)
{
    int before, least = INT_MAX;
    MPI_File fh;

    for (int i = 0; i < 10; i++) {
        before = self_count_maps("/memfd:");
        io_scratch(NAME, &fh);
        least = self_count_maps("/memfd:") - before < least ? self_count_maps("/memfd:") - before
                                                            : least;
        MUST(MPI_File_close(&fh));
    }
    CHECK(least <= 1);
}

static int n_errors;

static void on_error(MPI_File *file, int *code, ...)
{
    CHECK(*file != MPI_FILE_NULL);
    CHECK(*code != MPI_SUCCESS);
    n_errors++;
}

static void handles(void)
{
    MPI_Group group, world;
    MPI_Errhandler eh, got;
    MPI_File fh, bad = (MPI_File)(void *)&n_errors;
    MPI_Offset size;
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1];
    int result, flag;

    FAILS(MPI_File_get_size(MPI_FILE_NULL, &size), MPI_ERR_FILE);
    FAILS(MPI_File_get_size(bad, &size), MPI_ERR_FILE);
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "cb_buffer_size", "8192"));
    MUST(MPI_Info_set(info, "romio_ds_write", "perhaps"));
    MUST(MPI_Info_set(info, "no_such_hint", "1"));
    MUST(MPI_File_open(MPI_COMM_WORLD, NAME,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &fh));
    MUST(MPI_Info_free(&info));
    CHECK(MPI_File_f2c(MPI_File_c2f(fh)) == fh);
    MUST(MPI_File_get_info(fh, &info));
    MUST(MPI_Info_get(info, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "8192") == 0);
    MUST(MPI_Info_get(info, "romio_ds_write", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "automatic") == 0);
    MUST(MPI_Info_set(info, "romio_ds_write", "disable"));
    MUST(MPI_File_set_info(fh, info));
    MUST(MPI_Info_free(&info));
    MUST(MPI_File_get_info(fh, &info));
    MUST(MPI_Info_get(info, "romio_ds_write", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "disable") == 0);
    MUST(MPI_Info_free(&info));

    MUST(MPI_File_get_group(fh, &group));
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_compare(group, world, &result));
    CHECK_EQ(result, MPI_IDENT);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&world));

    MUST(MPI_File_get_errhandler(fh, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    MUST(MPI_File_create_errhandler(on_error, &eh));
    MUST(MPI_File_set_errhandler(fh, eh));
    FAILS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK_EQ(n_errors, 1);
    MUST(MPI_File_call_errhandler(fh, MPI_ERR_IO));
    CHECK_EQ(n_errors, 2);
    MUST(MPI_Errhandler_free(&eh));
    MUST(MPI_File_close(&fh));
}

static void intercomm(void)
{
    MPI_Comm half, inter;
    MPI_File fh = MPI_FILE_NULL;

    if (mp_size < 2)
        return;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank % 2, mp_rank, &half));
    MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mp_rank % 2, 5, &inter));
    FAILS(MPI_File_open(inter, NAME, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh),
          MPI_ERR_COMM);
    MUST(MPI_Comm_free(&inter));
    MUST(MPI_Comm_free(&half));
}

static void atomic(void)
{
    int flag, x[64];
    MPI_File fh;

    io_scratch(NAME, &fh);
    MUST(MPI_File_get_atomicity(fh, &flag));
    CHECK_EQ(flag, 0);
    MUST(MPI_File_set_atomicity(fh, 1));
    MUST(MPI_File_get_atomicity(fh, &flag));
    CHECK_EQ(flag, 1);
    /* all write the same bytes: those of one of them stay */
    for (int i = 0; i < 64; i++)
        x[i] = mp_rank;
    for (int k = 0; k < 20; k++)
        MUST(MPI_File_write_at(fh, 0, x, 64, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_read_at(fh, 0, x, 64, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 64; i++)
        CHECK_EQ(x[i], x[0]);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    modes();
    sizes();
    offsets();
    pointers();
    memory();
    handles();
    intercomm();
    atomic();
    return mp_finish();
}
