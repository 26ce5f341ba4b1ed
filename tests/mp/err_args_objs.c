/* test: np=1,2 timeout=60 */
/*
 * Wrong arguments to the functions on datatypes, groups, communicators, attributes, info objects,
 * error handlers and errors.
 */
#include "err_args.h"

#define W MPI_COMM_WORLD

static void type_constructors(MPI_Datatype bad)
{
    const int one[2] = {1, 1}, two[2] = {2, 2};
    const MPI_Aint disp[2] = {0, 8};
    const MPI_Datatype bads[2] = {MPI_INT, bad};
    MPI_Datatype t = MPI_DATATYPE_NULL;
    MPI_Aint a, b;
    int n;

    BAD(MPI_Type_contiguous(1, bad, &t), MPI_ERR_TYPE);
    BAD(MPI_Type_vector(1, 1, 1, bad, &t), MPI_ERR_TYPE);
    BAD(MPI_Type_create_hvector(1, 1, 1, bad, &t), MPI_ERR_TYPE);
    BAD(MPI_Type_indexed(2, one, one, bad, &t), MPI_ERR_TYPE);
    BAD(MPI_Type_create_hindexed(2, one, disp, bad, &t), MPI_ERR_TYPE);
    BAD(MPI_Type_create_indexed_block(2, 1, one, bad, &t), MPI_ERR_TYPE);
    BAD(MPI_Type_create_struct(2, one, disp, bads, &t), MPI_ERR_TYPE);
    BAD(MPI_Type_create_resized(bad, 0, 8, &t), MPI_ERR_TYPE);
    BAD(MPI_Type_create_subarray(2, two, one, one, MPI_ORDER_C, bad, &t), MPI_ERR_TYPE);
    BAD(MPI_Type_dup(bad, &t), MPI_ERR_TYPE);
    CHECK(t == MPI_DATATYPE_NULL);
    BAD(MPI_Type_size(bad, &n), MPI_ERR_TYPE);
    BAD(MPI_Type_get_extent(bad, &a, &b), MPI_ERR_TYPE);
    BAD(MPI_Type_get_true_extent(bad, &a, &b), MPI_ERR_TYPE);
    BAD(MPI_Pack_size(1, bad, W, &n), MPI_ERR_TYPE);
    t = bad;
    BAD(MPI_Type_commit(&t), MPI_ERR_TYPE);
    t = bad;
    BAD(MPI_Type_free(&t), MPI_ERR_TYPE);
}

static void types(void)
{
    const int one[2] = {1, 1}, neg[2] = {1, -1};
    const MPI_Aint disp[2] = {0, 8};
    const MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
    MPI_Datatype t;
    MPI_Aint a;
    int n;

    type_constructors(MPI_DATATYPE_NULL);
    type_constructors(freed_type());
    for (int i = 0; i < N_NO_HANDLES; i++)
        type_constructors(no_handles[i]);

    BAD(MPI_Type_contiguous(-1, MPI_INT, &t), MPI_ERR_COUNT);
    BAD(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    BAD(MPI_Type_vector(-1, 1, 1, MPI_INT, &t), MPI_ERR_COUNT);
    BAD(MPI_Type_create_hvector(-1, 1, 1, MPI_INT, &t), MPI_ERR_COUNT);
    BAD(MPI_Type_indexed(-1, one, one, MPI_INT, &t), MPI_ERR_COUNT);
    BAD(MPI_Type_create_hindexed(-1, one, disp, MPI_INT, &t), MPI_ERR_COUNT);
    BAD(MPI_Type_create_struct(-1, one, disp, ints, &t), MPI_ERR_COUNT);
    BAD(MPI_Type_indexed(2, neg, one, MPI_INT, &t), MPI_ERR_COUNT);
    BAD(MPI_Type_create_hindexed(2, neg, disp, MPI_INT, &t), MPI_ERR_COUNT);
    BAD(MPI_Type_create_struct(2, neg, disp, ints, &t), MPI_ERR_COUNT);
    BAD(MPI_Type_indexed(2, NULL, one, MPI_INT, &t), MPI_ERR_ARG);
    BAD(MPI_Type_indexed(2, one, NULL, MPI_INT, &t), MPI_ERR_ARG);
    BAD(MPI_Type_create_struct(2, one, NULL, ints, &t), MPI_ERR_ARG);
    BAD(MPI_Type_create_indexed_block(2, 1, NULL, MPI_INT, &t), MPI_ERR_ARG);
    BAD(MPI_Type_create_hindexed_block(2, 0, NULL, MPI_INT, &t), MPI_ERR_ARG);
    MUST(MPI_Type_create_indexed_block(0, 3, NULL, MPI_INT, &t)); /* no blocks, no array */
    MUST(MPI_Type_free(&t));
    MUST(MPI_Type_create_hindexed_block(0, 3, NULL, MPI_INT, &t));
    MUST(MPI_Type_free(&t));
    BAD(MPI_Type_create_struct(2, one, disp, NULL, &t), MPI_ERR_ARG);
    BAD(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG);
    BAD(MPI_Type_get_extent(MPI_INT, NULL, &a), MPI_ERR_ARG);
    BAD(MPI_Type_get_extent(MPI_INT, &a, NULL), MPI_ERR_ARG);
    BAD(MPI_Type_commit(NULL), MPI_ERR_ARG);
    BAD(MPI_Type_free(NULL), MPI_ERR_ARG);
    t = MPI_INT;
    BAD(MPI_Type_free(&t), MPI_ERR_TYPE);
    CHECK(t == MPI_INT);
    t = MPI_DOUBLE_INT;
    BAD(MPI_Type_free(&t), MPI_ERR_TYPE);
    MUST(MPI_Type_commit(&t));
    BAD(MPI_Get_address(&n, NULL), MPI_ERR_ARG);
}

static void group_args(MPI_Group bad)
{
    MPI_Group g, self;
    int n, rank = 0, range[1][3] = {{0, 0, 1}};

    MPI_Comm_group(MPI_COMM_SELF, &self);
    BAD(MPI_Group_size(bad, &n), MPI_ERR_GROUP);
    BAD(MPI_Group_rank(bad, &n), MPI_ERR_GROUP);
    BAD(MPI_Group_translate_ranks(bad, 1, &rank, self, &n), MPI_ERR_GROUP);
    BAD(MPI_Group_translate_ranks(self, 1, &rank, bad, &n), MPI_ERR_GROUP);
    BAD(MPI_Group_compare(bad, self, &n), MPI_ERR_GROUP);
    BAD(MPI_Group_compare(self, bad, &n), MPI_ERR_GROUP);
    BAD(MPI_Group_union(bad, self, &g), MPI_ERR_GROUP);
    BAD(MPI_Group_intersection(self, bad, &g), MPI_ERR_GROUP);
    BAD(MPI_Group_difference(bad, self, &g), MPI_ERR_GROUP);
    BAD(MPI_Group_incl(bad, 1, &rank, &g), MPI_ERR_GROUP);
    BAD(MPI_Group_excl(bad, 1, &rank, &g), MPI_ERR_GROUP);
    BAD(MPI_Group_range_incl(bad, 1, range, &g), MPI_ERR_GROUP);
    BAD(MPI_Group_range_excl(bad, 1, range, &g), MPI_ERR_GROUP);
    BAD(MPI_Comm_create(W, bad, &(MPI_Comm){0}), MPI_ERR_GROUP);
    g = bad;
    BAD(MPI_Group_free(&g), MPI_ERR_GROUP);
    MPI_Group_free(&self);
}

static void groups(void)
{
    MPI_Group world, g, stale;
    int n, ranks[2] = {0, 0}, far = mp_size, range[1][3] = {{0, mp_size, 1}};
    int zero_step[1][3] = {{0, 0, 0}};

    MPI_Comm_group(W, &world);
    MPI_Group_incl(world, 1, ranks, &g);
    stale = g;
    MPI_Group_free(&g);
    group_args(MPI_GROUP_NULL);
    group_args(stale);
    for (int i = 0; i < N_NO_HANDLES; i++)
        group_args(no_handles[i]);
    BAD(MPI_Group_size(world, NULL), MPI_ERR_ARG);
    BAD(MPI_Group_incl(world, 1, &far, &g), MPI_ERR_RANK);
    BAD(MPI_Group_excl(world, 1, &far, &g), MPI_ERR_RANK);
    BAD(MPI_Group_incl(world, 2, ranks, &g), MPI_ERR_RANK);
    BAD(MPI_Group_incl(world, 1, NULL, &g), MPI_ERR_ARG);
    BAD(MPI_Group_range_incl(world, 1, range, &g), MPI_ERR_RANK);
    BAD(MPI_Group_range_incl(world, 1, zero_step, &g), MPI_ERR_ARG);
    BAD(MPI_Group_translate_ranks(world, 1, &far, world, &n), MPI_ERR_RANK);
    BAD(MPI_Group_free(NULL), MPI_ERR_ARG);
    g = MPI_GROUP_EMPTY;
    MUST(MPI_Group_free(&g));
    CHECK(g == MPI_GROUP_NULL);
    MUST(MPI_Group_size(MPI_GROUP_EMPTY, &n));
    CHECK_EQ(n, 0);
    MPI_Group_free(&world);
}

static void comm_args(MPI_Comm bad)
{
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Errhandler eh;
    MPI_Comm c;
    MPI_Group g;
    void *value;
    int n, flag;

    BAD(MPI_Comm_size(bad, &n), MPI_ERR_COMM);
    BAD(MPI_Comm_rank(bad, &n), MPI_ERR_COMM);
    BAD(MPI_Comm_compare(bad, W, &n), MPI_ERR_COMM);
    BAD(MPI_Comm_compare(W, bad, &n), MPI_ERR_COMM);
    BAD(MPI_Comm_dup(bad, &c), MPI_ERR_COMM);
    BAD(MPI_Comm_split(bad, 0, 0, &c), MPI_ERR_COMM);
    BAD(MPI_Comm_create(bad, MPI_GROUP_EMPTY, &c), MPI_ERR_COMM);
    BAD(MPI_Comm_group(bad, &g), MPI_ERR_COMM);
    BAD(MPI_Comm_test_inter(bad, &flag), MPI_ERR_COMM);
    BAD(MPI_Comm_remote_size(bad, &n), MPI_ERR_COMM);
    BAD(MPI_Comm_set_name(bad, "x"), MPI_ERR_COMM);
    BAD(MPI_Comm_get_name(bad, name, &n), MPI_ERR_COMM);
    BAD(MPI_Comm_set_errhandler(bad, MPI_ERRORS_RETURN), MPI_ERR_COMM);
    BAD(MPI_Comm_get_errhandler(bad, &eh), MPI_ERR_COMM);
    BAD(MPI_Comm_call_errhandler(bad, MPI_ERR_OTHER), MPI_ERR_COMM);
    BAD(MPI_Comm_get_attr(bad, MPI_TAG_UB, &value, &flag), MPI_ERR_COMM);
    c = bad;
    BAD(MPI_Comm_free(&c), MPI_ERR_COMM);
    CHECK(c == bad);
}

static void comms(void)
{
    MPI_Comm c;
    int n;

    comm_args(MPI_COMM_NULL);
    comm_args(freed_comm());
    for (int i = 0; i < N_NO_HANDLES; i++)
        comm_args(no_handles[i]);
    BAD(MPI_Comm_size(W, NULL), MPI_ERR_ARG);
    BAD(MPI_Comm_rank(W, NULL), MPI_ERR_ARG);
    BAD(MPI_Comm_dup(W, NULL), MPI_ERR_ARG);
    BAD(MPI_Comm_split(W, 0, 0, NULL), MPI_ERR_ARG);
    BAD(MPI_Comm_remote_size(W, &n), MPI_ERR_COMM);
    BAD(MPI_Comm_free(NULL), MPI_ERR_ARG);
    c = W;
    BAD(MPI_Comm_free(&c), MPI_ERR_COMM);
    c = MPI_COMM_SELF;
    BAD(MPI_Comm_free(&c), MPI_ERR_COMM);
    BAD(MPI_Comm_set_name(W, NULL), MPI_ERR_ARG);
}

static void attrs(void)
{
    int keyval, stale, flag;
    void *value;

    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    MUST(MPI_Comm_delete_attr(W, keyval)); /* there is none */
    BAD(MPI_Type_get_attr(MPI_INT, keyval, &value, &flag), MPI_ERR_KEYVAL);
    stale = keyval;
    MUST(MPI_Comm_free_keyval(&keyval));
    CHECK_EQ(keyval, MPI_KEYVAL_INVALID);
    BAD(MPI_Comm_free_keyval(&keyval), MPI_ERR_KEYVAL);
    BAD(MPI_Comm_set_attr(W, stale, NULL), MPI_ERR_KEYVAL);
    BAD(MPI_Comm_get_attr(W, stale, &value, &flag), MPI_ERR_KEYVAL);
    BAD(MPI_Comm_get_attr(W, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
    BAD(MPI_Comm_set_attr(W, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL);
    BAD(MPI_Comm_delete_attr(W, MPI_TAG_UB), MPI_ERR_KEYVAL);
    keyval = MPI_TAG_UB;
    BAD(MPI_Comm_free_keyval(&keyval), MPI_ERR_KEYVAL);
    BAD(MPI_Comm_get_attr(W, MPI_TAG_UB, NULL, &flag), MPI_ERR_ARG);
    BAD(MPI_Comm_get_attr(W, MPI_TAG_UB, &value, NULL), MPI_ERR_ARG);
}

static void infos(void)
{
    char key[MPI_MAX_INFO_KEY + 1], text[2000];
    MPI_Info info, stale;
    int n, flag;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    MUST(MPI_Free_mem(NULL));
    MUST(MPI_Info_create(&info));
    BAD(MPI_Info_create(NULL), MPI_ERR_ARG);
    BAD(MPI_Info_set(info, "", "v"), MPI_ERR_INFO_KEY);
    BAD(MPI_Info_set(info, text, "v"), MPI_ERR_INFO_KEY);
    BAD(MPI_Info_set(info, NULL, "v"), MPI_ERR_INFO_KEY);
    MUST(MPI_Info_set(info, "e", ""));
    MUST(MPI_Info_get(info, "e", 1, key, &flag));
    CHECK(flag && key[0] == '\0');
    MUST(MPI_Info_delete(info, "e"));
    BAD(MPI_Info_set(info, "k", text), MPI_ERR_INFO_VALUE);
    BAD(MPI_Info_set(info, "k", NULL), MPI_ERR_INFO_VALUE);
    BAD(MPI_Info_delete(info, "k"), MPI_ERR_INFO_NOKEY);
    BAD(MPI_Info_get(info, "k", -1, text, &flag), MPI_ERR_ARG);
    BAD(MPI_Info_get_nthkey(info, 0, key), MPI_ERR_ARG);
    BAD(MPI_Info_get_nthkey(info, -1, key), MPI_ERR_ARG);
    stale = info;
    MUST(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);
    for (int i = 0; i <= N_NO_HANDLES + 1; i++) {
        MPI_Info bad = i < N_NO_HANDLES ? no_handles[i] : i == N_NO_HANDLES ? stale : MPI_INFO_NULL;
        BAD(MPI_Info_set(bad, "k", "v"), MPI_ERR_INFO);
        BAD(MPI_Info_get(bad, "k", 10, text, &flag), MPI_ERR_INFO);
        BAD(MPI_Info_delete(bad, "k"), MPI_ERR_INFO);
        BAD(MPI_Info_get_nkeys(bad, &n), MPI_ERR_INFO);
        BAD(MPI_Info_dup(bad, &info), MPI_ERR_INFO);
        info = bad;
        BAD(MPI_Info_free(&info), MPI_ERR_INFO);
    }
    info = MPI_INFO_ENV;
    BAD(MPI_Info_free(&info), MPI_ERR_INFO);
}

static void on_win(MPI_Win *win, int *code, ...)
{
    (void)win;
    (void)code;
}

static void errhandlers(void)
{
    MPI_Errhandler eh;
    int n;

    BAD(MPI_Comm_create_errhandler(NULL, &eh), MPI_ERR_ARG);
    BAD(MPI_Comm_set_errhandler(W, MPI_ERRHANDLER_NULL), MPI_ERR_ARG);
    for (int i = 0; i < N_NO_HANDLES; i++)
        BAD(MPI_Comm_set_errhandler(W, no_handles[i]), MPI_ERR_ARG);
    MUST(MPI_Win_create_errhandler(on_win, &eh));
    BAD(MPI_Comm_set_errhandler(W, eh), MPI_ERR_ARG);
    MUST(MPI_Errhandler_free(&eh));
    CHECK(eh == MPI_ERRHANDLER_NULL);
    BAD(MPI_Errhandler_free(&eh), MPI_ERR_ARG);
    eh = MPI_ERRORS_RETURN;
    MUST(MPI_Errhandler_free(&eh)); /* as got from MPI_Comm_get_errhandler */
    BAD(MPI_Add_error_code(-1, &n), MPI_ERR_ARG);
    BAD(MPI_Add_error_code(0x3ffffff0, &n), MPI_ERR_ARG);
    BAD(MPI_Add_error_string(MPI_ERR_COMM, "x"), MPI_ERR_ARG);
    BAD(MPI_Error_class(MPI_SUCCESS, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    errors_return();
    types();
    groups();
    comms();
    attrs();
    infos();
    errhandlers();
    return mp_finish();
}
