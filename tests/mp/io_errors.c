/* test: np=1,3 timeout=40 warn=said.once.for.each.function */
/*
 * Errors of the functions of files, by the sections of the standard's chapter about them: wrong handles,
 * modes, positions, views, split collectives and sizes; that nothing has changed then; who is told.
 */
#include "io_test.h"

#define NAME "errors.dat"

static int n_told, told_null;

static void on_error(MPI_File *file, int *code, ...)
{
    CHECK(*code != MPI_SUCCESS);
    n_told++;
    told_null += *file == MPI_FILE_NULL;
}

/* As FAILS; the handler has heard of it once, with or without a file. */
#define TELLS(call, want_class, is_null)                                                           \
    do {                                                                                           \
        n_told = told_null = 0;                                                                    \
        FAILS(call, want_class);                                                                   \
        CHECK_EQ(n_told, 1);                                                                       \
        CHECK_EQ(told_null, is_null);                                                              \
    } while (0)
#define NO_FILE(call) TELLS(call, MPI_ERR_FILE, 1)

/* ---- sections 14.2 and 14.7: handles and handlers ---- */

static void no_file_control(void)
{
    MPI_File fh = MPI_FILE_NULL;
    MPI_Datatype type, other;
    char rep[MPI_MAX_DATAREP_STRING];
    MPI_Offset at;
    MPI_Group group;
    MPI_Info info;
    MPI_Aint extent;
    int n;

    NO_FILE(MPI_File_close(&fh));
    NO_FILE(MPI_File_set_size(fh, 0));
    NO_FILE(MPI_File_preallocate(fh, 0));
    NO_FILE(MPI_File_get_size(fh, &at));
    NO_FILE(MPI_File_get_group(fh, &group));
    NO_FILE(MPI_File_get_amode(fh, &n));
    NO_FILE(MPI_File_set_info(fh, MPI_INFO_NULL));
    NO_FILE(MPI_File_get_info(fh, &info));
    NO_FILE(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    NO_FILE(MPI_File_get_view(fh, &at, &type, &other, rep));
    NO_FILE(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    NO_FILE(MPI_File_get_position(fh, &at));
    NO_FILE(MPI_File_get_byte_offset(fh, 0, &at));
    NO_FILE(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    NO_FILE(MPI_File_get_position_shared(fh, &at));
    NO_FILE(MPI_File_get_type_extent(fh, MPI_INT, &extent));
    NO_FILE(MPI_File_set_atomicity(fh, 1));
    NO_FILE(MPI_File_get_atomicity(fh, &n));
    NO_FILE(MPI_File_sync(fh));
}

static void no_file_access(void)
{
    MPI_Status *status = MPI_STATUS_IGNORE;
    MPI_File fh = MPI_FILE_NULL;
    MPI_Request req;
    int x = 0;

    NO_FILE(MPI_File_read_at(fh, 0, &x, 1, MPI_INT, status));
    NO_FILE(MPI_File_write_at_all(fh, 0, &x, 1, MPI_INT, status));
    NO_FILE(MPI_File_iwrite_at(fh, 0, &x, 1, MPI_INT, &req));
    NO_FILE(MPI_File_iread_at_all(fh, 0, &x, 1, MPI_INT, &req));
    NO_FILE(MPI_File_read(fh, &x, 1, MPI_INT, status));
    NO_FILE(MPI_File_write_all(fh, &x, 1, MPI_INT, status));
    NO_FILE(MPI_File_iwrite_all(fh, &x, 1, MPI_INT, &req));
    NO_FILE(MPI_File_read_shared(fh, &x, 1, MPI_INT, status));
    NO_FILE(MPI_File_iwrite_shared(fh, &x, 1, MPI_INT, &req));
    NO_FILE(MPI_File_write_ordered(fh, &x, 1, MPI_INT, status));
    NO_FILE(MPI_File_read_all_begin(fh, &x, 1, MPI_INT));
    NO_FILE(MPI_File_read_all_end(fh, &x, status));
    NO_FILE(MPI_File_write_ordered_begin(fh, &x, 1, MPI_INT));
    NO_FILE(MPI_File_write_ordered_end(fh, &x, status));
}

static int rep_extent(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    int size;

    (void)extra;
    MUST(MPI_Type_size(type, &size));
    *extent = size;
    return MPI_SUCCESS;
}

static int rep_register(const char *name)
{
    return MPI_Register_datarep(name, MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, rep_extent,
                                NULL);
}

/* Errors without a file go to the handler of MPI_FILE_NULL, which files inherit when they are opened. */
static void handlers(void)
{
    MPI_Errhandler eh, got;
    MPI_Offset at;
    MPI_File fh;

    MUST(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    MUST(MPI_File_create_errhandler(on_error, &eh));
    MUST(MPI_File_set_errhandler(MPI_FILE_NULL, eh));
    no_file_control();
    no_file_access();
    TELLS(MPI_File_open(MPI_COMM_WORLD, NAME, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
          MPI_ERR_NO_SUCH_FILE, 1);
    TELLS(MPI_File_delete(NAME, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, 1);
    TELLS(rep_register("native"), MPI_ERR_DUP_DATAREP, 1);
    io_scratch(NAME, &fh);
    MUST(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    TELLS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG, 0);
    MUST(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
    n_told = 0;
    FAILS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    FAILS(MPI_File_get_size(MPI_FILE_NULL, &at), MPI_ERR_FILE);
    CHECK_EQ(n_told, 0);
    MUST(MPI_Errhandler_free(&eh));
    MUST(MPI_File_close(&fh));
    FAILS(MPI_File_close(&fh), MPI_ERR_FILE);
}

static void opening(void)
{
    static const struct {
        int amode, class;
    } wrong[] = {
        {MPI_MODE_CREATE, MPI_ERR_AMODE},
        {MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_ERR_AMODE},
        {MPI_MODE_WRONLY | MPI_MODE_RDWR, MPI_ERR_AMODE},
        {MPI_MODE_RDONLY | MPI_MODE_EXCL, MPI_ERR_AMODE},
        {MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL, MPI_ERR_AMODE},
        {MPI_MODE_RDWR | 1 << 20, MPI_ERR_AMODE},
        {MPI_MODE_RDWR, MPI_ERR_NO_SUCH_FILE},
        {MPI_MODE_RDWR | MPI_MODE_EXCL, MPI_ERR_NO_SUCH_FILE},
    };
    char name[5000];
    MPI_File fh;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        FAILS(MPI_File_open(MPI_COMM_WORLD, NAME, wrong[i].amode, MPI_INFO_NULL, &fh),
              wrong[i].class);
        CHECK_EQ(io_size(NAME), -1);
    }
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    FAILS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
          MPI_ERR_BAD_FILE);
    io_create(NAME, &fh);
    MUST(MPI_File_close(&fh));
    FAILS(MPI_File_open(MPI_COMM_WORLD, NAME "/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
          MPI_ERR_BAD_FILE);
    FAILS(MPI_File_open(MPI_COMM_WORLD, NAME, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY,
                        MPI_INFO_NULL, &fh),
          MPI_ERR_FILE_EXISTS);
    /* MPI_MODE_EXCL is about making the file */
    io_open(NAME, MPI_MODE_EXCL | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, &fh);
    MUST(MPI_File_close(&fh));
    CHECK_EQ(io_size(NAME), -1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- section 14.2.1: MPI_MODE_SEQUENTIAL ---- */

static void sequential(void)
{
    MPI_Status *status = MPI_STATUS_IGNORE;
    int x = mp_rank;
    MPI_Datatype etype, filetype;
    MPI_Request req;
    MPI_Offset at, disp;
    char rep[MPI_MAX_DATAREP_STRING];
    MPI_File fh;

    io_open(NAME,
            MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE,
            &fh);
#define NOT_SEQUENTIAL(call) FAILS(call, MPI_ERR_UNSUPPORTED_OPERATION)
    NOT_SEQUENTIAL(MPI_File_write_at(fh, 0, &x, 1, MPI_INT, status));
    NOT_SEQUENTIAL(MPI_File_write_at_all(fh, 0, &x, 1, MPI_INT, status));
    NOT_SEQUENTIAL(MPI_File_iwrite_at(fh, 0, &x, 1, MPI_INT, &req));
    NOT_SEQUENTIAL(MPI_File_write_at_all_begin(fh, 0, &x, 1, MPI_INT));
    NOT_SEQUENTIAL(MPI_File_write(fh, &x, 1, MPI_INT, status));
    NOT_SEQUENTIAL(MPI_File_write_all(fh, &x, 1, MPI_INT, status));
    NOT_SEQUENTIAL(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    NOT_SEQUENTIAL(MPI_File_get_position(fh, &at));
    NOT_SEQUENTIAL(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    NOT_SEQUENTIAL(MPI_File_get_position_shared(fh, &at));
    NOT_SEQUENTIAL(MPI_File_set_size(fh, 0));
    NOT_SEQUENTIAL(MPI_File_preallocate(fh, 0));
    FAILS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    MUST(MPI_File_write_ordered(fh, &x, 1, MPI_INT, status));
    MUST(
        MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_get_view(fh, &disp, &etype, &filetype, rep));
    CHECK_EQ(disp, 4 * mp_size);
    MUST(MPI_File_write_ordered(fh, &x, 1, MPI_INT, status));
    MUST(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_get_size(fh, &at));
    CHECK_EQ(at, 8 * mp_size);
    MUST(MPI_File_close(&fh));
}

/* ---- sections 14.3 and 14.4: views, positions, what is read ---- */

static void positions(void)
{
    MPI_Offset at;
    MPI_File fh;
    int x[4] = {0};

    io_scratch(NAME, &fh);
    FAILS(
        MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
        MPI_ERR_ARG);
    MUST(MPI_File_set_view(fh, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_seek(fh, 5, MPI_SEEK_SET));
    FAILS(MPI_File_seek(fh, -6, MPI_SEEK_CUR), MPI_ERR_ARG);
    FAILS(MPI_File_seek(fh, -1, MPI_SEEK_END), MPI_ERR_ARG);
    FAILS(MPI_File_seek(fh, 0, -1), MPI_ERR_ARG);
    FAILS(MPI_File_seek_shared(fh, -1, MPI_SEEK_CUR), MPI_ERR_ARG);
    FAILS(MPI_File_seek_shared(fh, 0, 77), MPI_ERR_ARG);
    FAILS(MPI_File_get_byte_offset(fh, -1, &at), MPI_ERR_ARG);
    FAILS(MPI_File_write(fh, x, 3, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_IO);
    FAILS(MPI_File_write_shared(fh, x, 3, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_IO);
    FAILS(MPI_File_write(fh, x, -1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_File_write_at(fh, -1, x, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    MUST(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 5);
    MUST(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, 0);
    MUST(MPI_File_get_byte_offset(fh, 3, &at));
    CHECK_EQ(at, 20);
    MUST(MPI_File_get_size(fh, &at));
    CHECK_EQ(at, 0);
    MUST(MPI_File_close(&fh));
}

/* Etypes need the same extent everywhere, not the same data; as many data will do, too. */
static void etypes(void)
{
    int x[2] = {mp_rank, -mp_rank}, y[2] = {-1, -1};
    MPI_Datatype pair, first, type;
    MPI_File fh;

    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST(MPI_Type_create_resized(MPI_INT, 0, 8, &first));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Type_commit(&first));
    io_scratch(NAME, &fh);
    if (mp_size > 1) {
        type = mp_rank == 0 ? pair : MPI_INT;
        FAILS(MPI_File_set_view(fh, 0, type, type, "native", MPI_INFO_NULL), MPI_ERR_NOT_SAME);
        type = mp_rank == 0 ? first : MPI_INT;
        MUST(MPI_File_set_view(fh, 0, type, type, "native", MPI_INFO_NULL));
    }
    type = mp_rank == 0 ? pair : first;
    MUST(MPI_File_set_view(fh, 16 * mp_rank, type, type, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_at_all(fh, 0, x, 2, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_read_at_all(fh, 0, y, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(memcmp(x, y, sizeof(x)) == 0);
    MUST(MPI_File_close(&fh));
    MUST(MPI_Type_free(&pair));
    MUST(MPI_Type_free(&first));
}

/* What a status says of a part of an element, and of nothing. */
static void parts(void)
{
    char text[10] = "0123456789", back[16];
    MPI_Datatype pair, four;
    MPI_Status status;
    MPI_Count n_c;
    MPI_File fh;
    int n;

    MUST(MPI_Type_contiguous(2, MPI_SHORT, &pair));
    MUST(MPI_Type_contiguous(4, MPI_CHAR, &four));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Type_commit(&four));
    io_scratch(NAME, &fh);
    if (mp_rank == 0)
        MUST(MPI_File_write(fh, text, 10, MPI_CHAR, MPI_STATUS_IGNORE));
    MUST(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_sync(fh));
    /* an etype of four bytes: the file ends within the third */
    MUST(MPI_File_set_view(fh, 0, four, four, "native", MPI_INFO_NULL));
    MUST(MPI_File_read_at_all(fh, 0, back, 4, pair, &status));
    MUST(MPI_Get_elements(&status, MPI_SHORT, &n));
    CHECK_EQ(n, 5);
    MUST(MPI_Get_elements_x(&status, pair, &n_c));
    CHECK_EQ(n_c, 5);
    MUST(MPI_Get_count(&status, pair, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    MUST(MPI_Get_count(&status, MPI_CHAR, &n));
    CHECK_EQ(n, 10);
    MUST(MPI_File_read_at(fh, 1, back, 1, pair, &status));
    MUST(MPI_Get_count(&status, pair, &n));
    CHECK_EQ(n, 1);
    MUST(MPI_File_read_at_all(fh, 3, back, 4, pair, &status));
    MUST(MPI_Get_count(&status, pair, &n));
    CHECK_EQ(n, 0);
    MUST(MPI_Get_elements(&status, pair, &n));
    CHECK_EQ(n, 0);
    MUST(MPI_File_close(&fh));
    MUST(MPI_Type_free(&pair));
    MUST(MPI_Type_free(&four));
}

/* More than 2^31 bytes in one call, from little memory, to where nothing is kept. */
static void large(void)
{
    static char block[1 << 20];
    MPI_Count many = ((MPI_Count)1 << 11) + 1, bytes = many << 20, n;
    MPI_Datatype mib, same;
    MPI_Status status;
    MPI_File fh;
    int n_int;

    MUST(MPI_Type_contiguous(1 << 20, MPI_BYTE, &mib));
    MUST(MPI_Type_create_resized(mib, 0, 0, &same));
    MUST(MPI_Type_commit(&same));
    MUST(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
    MUST(MPI_File_write_at_c(fh, 0, block, many, same, &status));
    MUST(MPI_Get_count_c(&status, MPI_BYTE, &n));
    CHECK_EQ(n, bytes);
    MUST(MPI_Get_elements_c(&status, same, &n));
    CHECK_EQ(n, bytes);
    MUST(MPI_Get_count(&status, MPI_BYTE, &n_int));
    CHECK_EQ(n_int, MPI_UNDEFINED);
    MUST(MPI_Get_count(&status, mib, &n_int));
    CHECK_EQ(n_int, (1 << 11) + 1);
    FAILS(MPI_File_write_at_c(fh, 0, block, (MPI_Count)1 << 60, MPI_INT, &status), MPI_ERR_COUNT);
    MUST(MPI_File_close(&fh));
    MUST(MPI_Type_free(&mib));
    MUST(MPI_Type_free(&same));
}

/* ---- section 14.4.5: split collectives; what may not be called before they end ---- */

static void split(void)
{
    MPI_Status *status = MPI_STATUS_IGNORE;
    int x[4] = {1, 2, 3, 4}, y[4] = {0};
    MPI_Offset at = 4 * mp_rank, size;
    MPI_Request req;
    MPI_File fh;

    io_scratch(NAME, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    FAILS(MPI_File_write_at_all_end(fh, x, status), MPI_ERR_IO);
    MUST(MPI_File_write_at_all_begin(fh, at, x, 4, MPI_INT));
    FAILS(MPI_File_write_at_all_begin(fh, at, x, 4, MPI_INT), MPI_ERR_IO);
    FAILS(MPI_File_read_ordered_begin(fh, y, 4, MPI_INT), MPI_ERR_IO);
    FAILS(MPI_File_write_at_all(fh, at, x, 4, MPI_INT, status), MPI_ERR_IO);
    FAILS(MPI_File_iread_at_all(fh, at, y, 4, MPI_INT, &req), MPI_ERR_IO);
    FAILS(MPI_File_write_all_end(fh, x, status), MPI_ERR_IO);
    FAILS(MPI_File_read_at_all_end(fh, x, status), MPI_ERR_IO);
    FAILS(MPI_File_write_at_all_end(fh, y, status), MPI_ERR_BUFFER);
    FAILS(MPI_File_set_view(fh, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_IO);
    FAILS(MPI_File_set_size(fh, 0), MPI_ERR_IO);
    FAILS(MPI_File_preallocate(fh, 100), MPI_ERR_IO);
    MUST(MPI_File_write_at(fh, 4 * mp_size + mp_rank, y, 1, MPI_INT, status));
    MUST(MPI_File_write_at_all_end(fh, x, status));
    FAILS(MPI_File_write_at_all_end(fh, x, status), MPI_ERR_IO);
    MUST(MPI_File_read_at(fh, at, y, 4, MPI_INT, status));
    CHECK(memcmp(x, y, sizeof(x)) == 0);
    MUST(MPI_File_set_size(fh, 4));
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 4);
    FAILS(MPI_File_preallocate(fh, -1), MPI_ERR_ARG);
    MUST(MPI_File_read_ordered_begin(fh, y, 1, MPI_INT));
    FAILS(MPI_File_close(&fh), MPI_ERR_IO);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    if (mp_rank == 0)
        unlink(NAME);
    MPI_Barrier(MPI_COMM_WORLD);
    handlers();
    opening();
    sequential();
    positions();
    etypes();
    parts();
    large();
    split();
    FAILS(rep_register(""), MPI_ERR_ARG);
    MUST(rep_register("errors"));
    FAILS(rep_register("errors"), MPI_ERR_DUP_DATAREP);
    return mp_finish();
}
