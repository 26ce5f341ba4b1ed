/* test: np=1,2 timeout=30 */
/*
 * Attributes whose callbacks fail, keys that are freed while attributes have them, and the order of
 * deletion: also in MPI_Finalize, where the last one set to MPI_COMM_SELF goes first.
 */
#include "mp_test.h"

#define EVERY -1 /* copy_fails; else which one, counted by n_copies */

static int n_copies, n_deletes, copy_fails, delete_fails;
static int fail_code = MPI_ERR_OTHER; /* what callbacks that fail return */
static void *last_value;
static int order[8], n_order;

static int copy_fn(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    CHECK(extra == &n_copies);
    n_copies++;
    if (copy_fails == n_copies || copy_fails == EVERY)
        return fail_code;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_fn(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    CHECK(extra == &n_copies);
    if (delete_fails)
        return fail_code;
    n_deletes++;
    last_value = value;
    return MPI_SUCCESS;
}

static int order_fn(MPI_Comm comm, int key, void *value, void *extra)
{
    int flag = -1;

    (void)comm;
    (void)key;
    (void)extra;
    /* MPI is still there */
    MUST(MPI_Finalized(&flag));
    CHECK_EQ(flag, 0);
    order[n_order++] = *(int *)value;
    /* the first one set is the last */
    if (*(int *)value == 0) {
        CHECK_EQ(n_order, 4);
        for (int i = 0; i < n_order; i++)
            CHECK_EQ(order[i], 3 - i);
    }
    if (mp_failures != 0)
        exit(1);
    return MPI_SUCCESS;
}

static void failing_copy(void)
{
    MPI_Comm comm, copy = MPI_COMM_WORLD;
    int key, good, value;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_create_keyval(copy_fn, delete_fn, &key, &n_copies));
    MUST(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &good, NULL));
    MUST(MPI_Comm_set_attr(comm, good, &value));
    MUST(MPI_Comm_set_attr(comm, key, &value));
    copy_fails = EVERY;
    n_copies = 0;
    FAILS(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
    CHECK(copy == MPI_COMM_NULL);
    CHECK_EQ(n_copies, 1);
    copy_fails = 0;
    MUST(MPI_Comm_dup(comm, &copy));
    CHECK_EQ(n_copies, 2);
    n_deletes = 0;
    MUST(MPI_Comm_free(&copy));
    CHECK_EQ(n_deletes, 1);
    CHECK(last_value == &value);
    MUST(MPI_Comm_free(&comm));
    CHECK_EQ(n_deletes, 2);
    MUST(MPI_Comm_free_keyval(&key));
    MUST(MPI_Comm_free_keyval(&good));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
}

/* What was copied before another copy failed is deleted again. */
static void half_a_copy(void)
{
    MPI_Comm comm, copy;
    int key[2], value;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 2; i++) {
        MUST(MPI_Comm_create_keyval(copy_fn, delete_fn, &key[i], &n_copies));
        MUST(MPI_Comm_set_attr(comm, key[i], &value));
    }
    n_copies = 0;
    n_deletes = 0;
    copy_fails = 2;
    FAILS(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
    copy_fails = 0;
    CHECK_EQ(n_copies, 2);
    if (!mp_is_library("MPICH")) /* leaves it */
        CHECK_EQ(n_deletes, 1);
    n_deletes = 0;
    MUST(MPI_Comm_dup(comm, &copy));
    MUST(MPI_Comm_free(&copy));
    CHECK_EQ(n_deletes, 2);
    MUST(MPI_Comm_free(&comm));
    CHECK_EQ(n_deletes, 4);
    for (int i = 0; i < 2; i++)
        MUST(MPI_Comm_free_keyval(&key[i]));
}

static void failing_delete(void)
{
    MPI_Comm comm;
    int key, flag, value, other, *got;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_create_keyval(copy_fn, delete_fn, &key, &n_copies));
    MUST(MPI_Comm_set_attr(comm, key, &value));
    delete_fails = 1;
    FAILS(MPI_Comm_delete_attr(comm, key), MPI_ERR_OTHER);
    /* the old value would have to be deleted */
    FAILS(MPI_Comm_set_attr(comm, key, &other), MPI_ERR_OTHER);
    MUST(MPI_Comm_get_attr(comm, key, &got, &flag));
    CHECK(flag && got == &value);
    delete_fails = 0;
    n_deletes = 0;
    MUST(MPI_Comm_set_attr(comm, key, &other));
    CHECK_EQ(n_deletes, 1);
    CHECK(last_value == &value);
    MUST(MPI_Comm_delete_attr(comm, key));
    CHECK_EQ(n_deletes, 2);
    CHECK(last_value == &other);
    MUST(MPI_Comm_get_attr(comm, key, &got, &flag));
    CHECK(!flag);
    MUST(MPI_Comm_free_keyval(&key));
    MUST(MPI_Comm_free(&comm));
}

/* A callback's own code is what the call returns; what is no code counts as MPI_ERR_OTHER. */
static void own_code(void)
{
    MPI_Comm comm, copy;
    int key, class, code, value;

    MUST(MPI_Add_error_class(&class));
    MUST(MPI_Add_error_code(class, &code));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_create_keyval(copy_fn, delete_fn, &key, &n_copies));
    MUST(MPI_Comm_set_attr(comm, key, &value));
    fail_code = code;
    delete_fails = 1;
    CHECK_EQ(MPI_Comm_delete_attr(comm, key), code);
    copy_fails = EVERY;
    CHECK_EQ(MPI_Comm_dup(comm, &copy), code);
    fail_code = -1;
    FAILS(MPI_Comm_delete_attr(comm, key), MPI_ERR_OTHER);
    /* a communicator that cannot be freed stays */
    copy = comm;
    FAILS(MPI_Comm_free(&comm), MPI_ERR_OTHER);
    CHECK(comm == copy);
    copy_fails = 0;
    delete_fails = 0;
    fail_code = MPI_ERR_OTHER;
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_free_keyval(&key));
}

/* A freed key lives until its last attribute is gone. */
static void freed_key(void)
{
    MPI_Comm comm, copy;
    int key, again, kept, flag, value, *got;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_create_keyval(copy_fn, delete_fn, &key, &n_copies));
    MUST(MPI_Comm_set_attr(comm, key, &value));
    kept = key;
    MUST(MPI_Comm_free_keyval(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    again = kept;
    MUST(MPI_Comm_free_keyval(&again));
    n_copies = 0;
    n_deletes = 0;
    MUST(MPI_Comm_dup(comm, &copy));
    CHECK_EQ(n_copies, 1);
    MUST(MPI_Comm_get_attr(copy, kept, &got, &flag));
    CHECK(flag && got == &value);
    MUST(MPI_Comm_delete_attr(comm, kept));
    CHECK_EQ(n_deletes, 1);
    MUST(MPI_Comm_free(&copy));
    CHECK_EQ(n_deletes, 2);
    MUST(MPI_Comm_free(&comm));
    FAILS(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &got, &flag), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
}

/* Types and windows have the same rules. */
static void types(void)
{
    MPI_Datatype type, copy;
    int key, kept, flag, value, *got;

    MUST(MPI_Type_contiguous(2, MPI_INT, &type));
    MUST(MPI_Type_create_keyval(copy_fn, delete_fn, &key, &n_copies));
    MUST(MPI_Type_set_attr(type, key, &value));
    copy_fails = EVERY;
    FAILS(MPI_Type_dup(type, &copy), MPI_ERR_OTHER);
    copy_fails = 0;
    kept = key;
    MUST(MPI_Type_free_keyval(&key));
    MUST(MPI_Type_dup(type, &copy));
    MUST(MPI_Type_get_attr(copy, kept, &got, &flag));
    CHECK(flag && got == &value);
    n_deletes = 0;
    MUST(MPI_Type_free(&copy));
    MUST(MPI_Type_delete_attr(type, kept));
    CHECK_EQ(n_deletes, 2);
    MUST(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    static int values[4] = {0, 1, 2, 3};
    int keys[4];

    mp_start(&argc, &argv);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    failing_copy();
    half_a_copy();
    failing_delete();
    if (!mp_is_library("MPICH")) /* -1 is its own class there */
        own_code();
    freed_key();
    types();
    for (int i = 0; i < 4; i++) {
        MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, order_fn, &keys[i], NULL));
        MUST(MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], &values[i]));
    }
    for (int i = 0; i < 4; i++)
        MUST(MPI_Comm_free_keyval(&keys[i]));
    MPI_Finalize();
    CHECK_EQ(n_order, 4);
    return mp_failures != 0;
}
