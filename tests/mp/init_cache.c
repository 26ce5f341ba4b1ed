/* test: np=1,2 timeout=20 */
/*
 * Attributes that a program keeps in communicators, datatypes and windows; info objects.
 */
#include "mp_test.h"

static int n_copied, n_deleted, order[8];

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    CHECK(extra == &n_copied);
    n_copied++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    if (n_deleted < 8)
        order[n_deleted] = (int)(size_t)value;
    n_deleted++;
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    return *(int *)extra ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void *get(MPI_Comm comm, int key, int want_flag)
{
    void *value = NULL;
    int flag = -1;

    MUST(MPI_Comm_get_attr(comm, key, &value, &flag));
    CHECK_EQ(flag, want_flag);
    return value;
}

static void communicators(void)
{
    MPI_Comm a, b;
    MPI_Win win;
    int keep, lose, dup, flag;
    void *value;

    MUST(MPI_Comm_create_keyval(copy, drop, &keep, &n_copied));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &lose, NULL));
    MUST(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &dup, NULL));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &a));
    get(a, keep, 0);
    MUST(MPI_Comm_set_attr(a, keep, (void *)10));
    MUST(MPI_Comm_set_attr(a, lose, (void *)20));
    MUST(MPI_Attr_put(a, dup, (void *)30));
    CHECK(get(a, keep, 1) == (void *)10);
    MUST(MPI_Comm_set_attr(a, keep, (void *)11)); /* deletes the old value */
    CHECK_EQ(n_deleted, 1);
    CHECK_EQ(order[0], 10);
    MUST(MPI_Comm_dup(a, &b));
    CHECK_EQ(n_copied, 1);
    MUST(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, a, &win)); /* is no dup */
    MUST(MPI_Win_free(&win));
    CHECK_EQ(n_copied, 1);
    CHECK_EQ(n_deleted, 1);
    CHECK(get(b, keep, 1) == (void *)12);
    get(b, lose, 0);
    CHECK(get(b, dup, 1) == (void *)30);
    MUST(MPI_Attr_get(b, dup, &value, &flag));
    CHECK(flag && value == (void *)30);
    MUST(MPI_Comm_delete_attr(b, keep));
    get(b, keep, 0);
    CHECK_EQ(n_deleted, 2);
    n_deleted = 0;
    MUST(MPI_Comm_free_keyval(&keep)); /* its attribute stays until the communicator goes */
    MUST(MPI_Comm_free(&a));
    CHECK_EQ(n_deleted, 2);
    if (mp_is_library("MPICH")) /* what is set again is where it was */
        CHECK(order[0] == 20 && order[1] == 11);
    else /* latest first */
        CHECK(order[0] == 11 && order[1] == 20);
    MUST(MPI_Comm_free(&b));
    MUST(MPI_Comm_free_keyval(&lose));
    MUST(MPI_Keyval_free(&dup));
    CHECK_EQ(dup, MPI_KEYVAL_INVALID);
}

/* A delete function that refuses keeps the communicator. */
static void refusal(void)
{
    MPI_Comm a, copy_of_a;
    int key, is_refusing = 1, n;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &a));
    MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN);
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, &is_refusing));
    MUST(MPI_Comm_set_attr(a, key, NULL));
    copy_of_a = a;
    FAILS(MPI_Comm_free(&a), MPI_ERR_OTHER);
    CHECK(a == copy_of_a);
    MUST(MPI_Comm_size(a, &n));
    CHECK_EQ(n, mp_size);
    is_refusing = 0;
    MUST(MPI_Comm_free(&a));
    MUST(MPI_Comm_free_keyval(&key));
}

static void window_name_and_info(MPI_Win win)
{
    char name[MPI_MAX_OBJECT_NAME], value[8];
    MPI_Info info, used;
    int len, flag;

    MUST(MPI_Win_set_name(win, "window of opportunity"));
    MUST(MPI_Win_get_name(win, name, &len));
    CHECK(len == 21 && strcmp(name, "window of opportunity") == 0);
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "no_locks", "true"));
    MUST(MPI_Win_set_info(win, info));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Win_get_info(win, &used));
    MUST(MPI_Info_get(used, "no_locks", 7, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0);
    MUST(MPI_Info_free(&used));
}

static void types_and_windows(void)
{
    MPI_Datatype t, u;
    MPI_Win win;
    MPI_Aint *size;
    int key, wkey, flag, mem[4], *unit;
    void *value, *base;

    n_copied = n_deleted = 0;
    MUST(MPI_Type_create_keyval(copy, drop, &key, &n_copied));
    MUST(MPI_Type_contiguous(2, MPI_INT, &t));
    MUST(MPI_Type_set_attr(t, key, (void *)5));
    MUST(MPI_Type_dup(t, &u));
    MUST(MPI_Type_get_attr(u, key, &value, &flag));
    CHECK(flag && value == (void *)6);
    MUST(MPI_Type_free(&t));
    MUST(MPI_Type_free(&u));
    CHECK_EQ(n_copied, 1);
    CHECK_EQ(n_deleted, 2);
    MUST(MPI_Type_free_keyval(&key));

    n_deleted = 0;
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == mem);
    MUST(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && *size == (MPI_Aint)sizeof(mem));
    MUST(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == (int)sizeof(int));
    MUST(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &unit, &flag));
    CHECK(flag && *unit == MPI_WIN_FLAVOR_CREATE);
    MUST(MPI_Win_get_attr(win, MPI_WIN_MODEL, &unit, &flag));
    CHECK(flag && (*unit == MPI_WIN_UNIFIED || *unit == MPI_WIN_SEPARATE));
    MUST(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, drop, &wkey, NULL));
    MUST(MPI_Win_set_attr(win, wkey, (void *)9));
    MUST(MPI_Win_get_attr(win, wkey, &value, &flag));
    CHECK(flag && value == (void *)9);
    window_name_and_info(win);
    MUST(MPI_Win_free(&win));
    CHECK_EQ(n_deleted, 1);
    MUST(MPI_Win_free_keyval(&wkey));
}

static void infos(void)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info, dup;
    int n, flag, len;

    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "one", "1"));
    MUST(MPI_Info_set(info, "two", "zwei"));
    MUST(MPI_Info_set(info, "three", "3"));
    MUST(MPI_Info_set(info, "two", "2nd value"));
    MUST(MPI_Info_dup(info, &dup));
    MUST(MPI_Info_delete(info, "one"));
    MUST(MPI_Info_get_nkeys(info, &n));
    CHECK_EQ(n, 2);
    MUST(MPI_Info_get_nkeys(dup, &n));
    CHECK_EQ(n, 3);
    MUST(MPI_Info_get_nthkey(dup, 1, key));
    CHECK(strcmp(key, "two") == 0);
    MUST(MPI_Info_get(dup, "two", 3, value, &flag));
    CHECK(flag && strcmp(value, "2nd") == 0);
    MUST(MPI_Info_get_valuelen(dup, "two", &len, &flag));
    CHECK(flag && len == 9);
    len = 4;
    MUST(MPI_Info_get_string(dup, "two", &len, value, &flag));
    CHECK(flag && len == 10 && strcmp(value, "2nd") == 0);
    MUST(MPI_Info_get(dup, "four", 3, value, &flag));
    CHECK(!flag);
    MUST(MPI_Info_free(&info));
    MUST(MPI_Info_free(&dup));
    MUST(MPI_Info_get_nkeys(MPI_INFO_ENV, &n));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    communicators();
    refusal();
    types_and_windows();
    infos();
    return mp_finish();
}
