/* test: np=1,2 timeout=20 */
/* The functions and constants of MPI-1 that MPI-3 removed, as MPICH still has them. */
#include "mp_test.h"

static int n_copied, n_deleted;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    n_copied++;
    return MPI_SUCCESS;
}
static int delete (MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    n_deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key, null_key, flag, value, *got;
    MPI_Comm dup;

    MUST(MPI_Keyval_create(copy, delete, &key, NULL));
    MUST(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &null_key, NULL));
    MUST(MPI_Attr_put(MPI_COMM_WORLD, key, &value));
    MUST(MPI_Attr_put(MPI_COMM_WORLD, null_key, &value));
    MUST(MPI_Attr_get(MPI_COMM_WORLD, key, &got, &flag));
    CHECK(flag && got == &value);
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    CHECK_EQ(n_copied, 1);
    MUST(MPI_Attr_get(dup, null_key, &got, &flag));
    CHECK(!flag);
    MUST(MPI_Comm_get_attr(dup, key, &got, &flag));
    CHECK(flag && got == &value);
    MUST(MPI_Comm_free(&dup));
    CHECK_EQ(n_deleted, 1);
    MUST(MPI_Attr_delete(MPI_COMM_WORLD, key));
    CHECK_EQ(n_deleted, 2);
    MUST(MPI_Attr_delete(MPI_COMM_WORLD, null_key));
    MUST(MPI_Keyval_free(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    MUST(MPI_Keyval_free(&null_key));
    MUST(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &got, &flag));
    CHECK(flag && *got >= 32767);
}

static int n_errors;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_WORLD && *code != MPI_SUCCESS);
    n_errors++;
}

static void errors(void)
{
    MPI_Errhandler eh, got;

    MUST(MPI_Errhandler_create(on_error, &eh));
    MUST(MPI_Errhandler_set(MPI_COMM_WORLD, eh));
    MUST(MPI_Errhandler_get(MPI_COMM_WORLD, &got));
    CHECK(got == eh);
    FAILS(MPI_Send(NULL, 0, MPI_INT, mp_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_EQ(n_errors, 1);
    MUST(MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Errhandler_free(&eh));
    MUST(MPI_Errhandler_free(&got));
}

struct mixed {
    char c;
    double d[2];
};

static void types(void)
{
    struct mixed m[2];
    int lens[4] = {1, 1, 2, 1}, size, ints[8], ni, na, nt, combiner;
    MPI_Aint at[4], base, lb, ub, extent, aints[8];
    MPI_Datatype parts[4] = {MPI_LB, MPI_CHAR, MPI_DOUBLE, MPI_UB}, t, h, back[4];

    MUST(MPI_Address(&m[0], &base));
    MUST(MPI_Address(&m[0].c, &at[1]));
    MUST(MPI_Address(&m[0].d, &at[2]));
    MUST(MPI_Address(&m[1], &at[3]));
    at[0] = -8;
    for (int i = 1; i < 4; i++)
        at[i] -= base;
    MUST(MPI_Type_struct(4, lens, at, parts, &t));
    MUST(MPI_Type_commit(&t));
    MUST(MPI_Type_lb(t, &lb));
    MUST(MPI_Type_ub(t, &ub));
    MUST(MPI_Type_extent(t, &extent));
    MUST(MPI_Type_size(t, &size));
    CHECK_EQ(lb, -8);
    CHECK_EQ(ub, sizeof(struct mixed));
    CHECK_EQ(extent, sizeof(struct mixed) + 8);
    CHECK_EQ(size, 17);
    MUST(MPI_Type_get_envelope(t, &ni, &na, &nt, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_STRUCT);
    MUST(MPI_Type_get_contents(t, ni, na, nt, ints, aints, back));
    CHECK(back[0] == MPI_LB && back[3] == MPI_UB);
    MUST(MPI_Type_free(&t));
    MUST(MPI_Type_hvector(3, 1, 24, MPI_INT, &h));
    MUST(MPI_Type_extent(h, &extent));
    CHECK_EQ(extent, 52);
    MUST(MPI_Type_free(&h));
    MUST(MPI_Type_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){4, 16}, MPI_INT, &h));
    MUST(MPI_Type_lb(h, &lb));
    MUST(MPI_Type_ub(h, &ub));
    CHECK(lb == 4 && ub == 24);
    MUST(MPI_Type_free(&h));
    MUST(MPI_Type_size(MPI_LB, &size));
    CHECK_EQ(size, 0);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    attributes();
    errors();
    types();
    return mp_finish();
}
