/* test: np=2,3 timeout=40 warn=said.once.for.each.function */
/*
 * Collective calls on files with arguments that are wrong at one rank only: nobody waits for ever, all
 * get an error of the class, and the others' says which rank it was and why.
 */
#include "io_test.h"

#define NAME "wrong.dat"

static int bad; /* the rank */

/* Failed with this class, and elsewhere with a text that names the rank and has `why` in it. */
static void declined(int code, int want_class, const char *why, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "", who[32];
    int class = MPI_SUCCESS, len;

    MPI_Error_class(code, &class);
    if (class != want_class)
        mp_fail(__FILE__, line, "class of the error", 1, class, want_class);
    if (mp_rank == bad || code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &len);
    snprintf(who, sizeof(who), "(rank %d)", bad);
    if (strstr(text, who) == NULL || strstr(text, why) == NULL) {
        mp_fail(__FILE__, line, "text of the error", 0, 0, 0);
        fprintf(stderr, "\"%s\" has no \"%s\" or no \"%s\"\n", text, who, why);
    }
}
#define DECLINED(call, want_class, why) declined((call), want_class, why, __LINE__)
#define IF_BAD(wrong, right)            (mp_rank == bad ? (wrong) : (right))

static void opening(void)
{
    MPI_Info no_info = (MPI_Info)0x12345678;
    MPI_File fh = MPI_FILE_NULL;
    int amode = MPI_MODE_CREATE | MPI_MODE_RDWR;

    DECLINED(MPI_File_open(MPI_COMM_WORLD, IF_BAD(NULL, NAME), amode, MPI_INFO_NULL, &fh),
             MPI_ERR_ARG, "filename");
    DECLINED(MPI_File_open(MPI_COMM_WORLD, IF_BAD("", NAME), amode, MPI_INFO_NULL, &fh),
             MPI_ERR_BAD_FILE, "empty");
    DECLINED(MPI_File_open(MPI_COMM_WORLD, NAME, IF_BAD(1 << 30, amode), MPI_INFO_NULL, &fh),
             MPI_ERR_AMODE, "0x40000000");
    DECLINED(MPI_File_open(MPI_COMM_WORLD, NAME, amode, IF_BAD(no_info, MPI_INFO_NULL), &fh),
             MPI_ERR_INFO, "");
    DECLINED(MPI_File_open(MPI_COMM_WORLD, NAME, amode, MPI_INFO_NULL, IF_BAD(NULL, &fh)),
             MPI_ERR_ARG, "fh");
    CHECK(fh == MPI_FILE_NULL);
    /* nothing was made */
    CHECK_EQ(io_size(NAME), -1);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void hint(MPI_File fh, const char *value)
{
    char got[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int flag;

    MUST(MPI_File_get_info(fh, &info));
    MUST(MPI_Info_get(info, "cb_buffer_size", MPI_MAX_INFO_VAL, got, &flag));
    CHECK(flag && strcmp(got, value) == 0);
    MUST(MPI_Info_free(&info));
}

static void hints(MPI_File fh)
{
    MPI_Info no_info = (MPI_Info)0x12345678, info;

    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "cb_buffer_size", "8192"));
    MUST(MPI_File_set_info(fh, info));
    hint(fh, "8192");
    MUST(MPI_Info_set(info, "cb_buffer_size", "12288"));
    DECLINED(MPI_File_set_info(fh, IF_BAD(no_info, info)), MPI_ERR_INFO, "");
    hint(fh, "8192");
    DECLINED(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", IF_BAD(no_info, info)),
             MPI_ERR_INFO, "");
    hint(fh, "8192");
    MUST(MPI_File_set_info(fh, info));
    hint(fh, "12288");
    MUST(MPI_Info_free(&info));
}

static void views(MPI_File fh)
{
    MPI_Datatype bare;

    MUST(MPI_Type_contiguous(2, MPI_INT, &bare));
#define VIEW(disp, etype, filetype, rep)                                                           \
    MPI_File_set_view(fh, disp, etype, filetype, rep, MPI_INFO_NULL)
    DECLINED(VIEW(IF_BAD(-5, 0), MPI_INT, MPI_INT, "native"), MPI_ERR_ARG, "-5");
    DECLINED(VIEW(0, IF_BAD(MPI_DATATYPE_NULL, MPI_INT), MPI_INT, "native"), MPI_ERR_TYPE, "etype");
    DECLINED(VIEW(0, MPI_INT, IF_BAD(bare, MPI_INT), "native"), MPI_ERR_TYPE, "filetype");
    DECLINED(VIEW(0, MPI_INT, MPI_INT, IF_BAD(NULL, "native")), MPI_ERR_ARG, "datarep");
    DECLINED(VIEW(0, MPI_INT, MPI_INT, IF_BAD("odd", "native")), MPI_ERR_UNSUPPORTED_DATAREP,
             "odd");
    MUST(VIEW(0, MPI_INT, MPI_INT, "native"));
    MUST(MPI_Type_free(&bare));
}

/* Where they are to be the same, all hear of the difference. */
static void values(MPI_File fh)
{
    DECLINED(MPI_File_set_size(fh, IF_BAD(-1, 100)), MPI_ERR_ARG, "-1");
    DECLINED(MPI_File_preallocate(fh, IF_BAD(-1, 100)), MPI_ERR_ARG, "-1");
    FAILS(MPI_File_set_size(fh, IF_BAD(50, 100)), MPI_ERR_NOT_SAME);
    FAILS(MPI_File_set_atomicity(fh, IF_BAD(1, 0)), MPI_ERR_NOT_SAME);
    FAILS(MPI_File_seek_shared(fh, IF_BAD(1, 0), MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    FAILS(MPI_File_seek_shared(fh, 0, IF_BAD(99, MPI_SEEK_SET)), MPI_ERR_NOT_SAME);
}

/* What a collective access does: an error there, the others have their data; ordered ones have none. */
static void accesses(MPI_File fh)
{
    int data[4] = {mp_rank, 1, 2, 3}, back[4] = {-1, -1, -1, -1};
    MPI_Offset at = 4 * mp_rank;

    if (mp_rank == bad) {
        FAILS(MPI_File_write_at_all(fh, at, data, -1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
        FAILS(MPI_File_read_at_all(fh, at, NULL, 4, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    } else {
        MUST(MPI_File_write_at_all(fh, at, data, 4, MPI_INT, MPI_STATUS_IGNORE));
        MUST(MPI_File_read_at_all(fh, at, back, 4, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(memcmp(data, back, sizeof(data)) == 0);
    }
    DECLINED(MPI_File_write_ordered(fh, data, IF_BAD(-1, 4), MPI_INT, MPI_STATUS_IGNORE),
             MPI_ERR_COUNT, "-1");
    DECLINED(MPI_File_read_ordered(fh, IF_BAD(NULL, back), 4, MPI_INT, MPI_STATUS_IGNORE),
             MPI_ERR_BUFFER, "");
    MUST(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, 0);
}

int main(int argc, char **argv)
{
    static const char *const uses[] = {"enable", "disable"};
    MPI_Info info;
    MPI_File fh;

    mp_start(&argc, &argv);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int k = 0; k < 2 * mp_size; k++) {
        bad = k % mp_size;
        opening();
        MUST(MPI_Info_create(&info));
        MUST(MPI_Info_set(info, "romio_cb_write", uses[k / mp_size]));
        MUST(MPI_Info_set(info, "romio_cb_read", uses[k / mp_size]));
        MUST(MPI_File_open(MPI_COMM_WORLD, NAME,
                           MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &fh));
        MUST(MPI_Info_free(&info));
        hints(fh);
        views(fh);
        values(fh);
        accesses(fh);
        MUST(MPI_File_close(&fh));
    }
    return mp_finish();
}
