/* test: np=1,2 timeout=30 */
/*
 * Hints and names of windows: what was given comes back, what is not known is ignored.
 */
#include "mp_test.h"

static void want(MPI_Win win, const char *key, const char *value)
{
    char got[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int flag = 0;

    MUST(MPI_Win_get_info(win, &info));
    MUST(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, got, &flag));
    if (value == NULL)
        CHECK(!flag);
    else
        CHECK(flag && strcmp(got, value) == 0);
    MUST(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Info info;
    MPI_Win win;
    long *mem;
    int len;

    mp_start(&argc, &argv);
    MUST(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    want(win, "no_locks", "false");
    want(win, "accumulate_ordering", "rar,raw,war,waw");
    want(win, "accumulate_ops", "same_op_no_op");
    want(win, "same_size", "false");
    want(win, "same_disp_unit", "false");
    want(win, "no_such_hint", NULL);
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "same_size", "true"));
    MUST(MPI_Info_set(info, "accumulate_ops", "same_op"));
    MUST(MPI_Info_set(info, "no_such_hint", "true"));
    MUST(MPI_Win_set_info(win, info));
    want(win, "same_size", "true");
    want(win, "accumulate_ops", "same_op");
    if (!mp_is_library("MPICH")) { /* that one keeps everything */
        want(win, "no_such_hint", NULL);
        MUST(MPI_Info_set(info, "same_size", "perhaps"));
        MUST(MPI_Win_set_info(win, info));
        want(win, "same_size", "true");
    }
    MUST(MPI_Win_get_name(win, name, &len));
    CHECK_EQ(len, 0);
    MUST(MPI_Win_set_name(win, "a window"));
    MUST(MPI_Win_get_name(win, name, &len));
    CHECK(len == 8 && strcmp(name, "a window") == 0);
    MUST(MPI_Win_free(&win));

    MUST(MPI_Info_set(info, "no_locks", "true"));
    MUST(MPI_Info_set(info, "accumulate_ordering", "none"));
    MUST(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win));
    want(win, "no_locks", "true");
    want(win, "accumulate_ordering", "none");
    MUST(MPI_Win_free(&win));
    MUST(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    MUST(MPI_Win_allocate_shared(8, 8, info, MPI_COMM_SELF, &mem, &win));
    want(win, "alloc_shared_noncontig", "true");
    MUST(MPI_Win_free(&win));
    MUST(MPI_Info_free(&info));
    return mp_finish();
}
