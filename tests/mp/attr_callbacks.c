/* test: np=1,2 timeout=30 */
/*
 * Callbacks of attributes that change what they are called for (MPI-4.0 section 7.7.2): copy functions that delete
 * their own attribute, or others, and with it the last reference of a key that was freed. Attributes that are set
 * again come first when those of MPI_COMM_SELF are deleted by MPI_Finalize (section 11.2.4).
 */
#include "mp_test.h"

enum { N = 4 };

static int keys[N], n_copied, n_deleted, victim = -1;
static char order[8];

static int copy_fn(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)extra;
    n_copied++;
    *(void **)out = in;
    *flag = 1;
    if (victim >= 0)
        MUST(MPI_Comm_delete_attr(comm, victim == N ? key : keys[victim]));
    return MPI_SUCCESS;
}

static int delete_fn(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    n_deleted++;
    return MPI_SUCCESS;
}

static MPI_Comm make(void)
{
    MPI_Comm comm;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < N; i++) {
        MUST(MPI_Comm_create_keyval(copy_fn, delete_fn, &keys[i], NULL));
        MUST(MPI_Comm_set_attr(comm, keys[i], &keys[i]));
    }
    n_copied = n_deleted = 0;
    return comm;
}

static void want_attrs(MPI_Comm comm, int n)
{
    int n_found = 0, flag;
    void *value;

    for (int i = 0; i < N; i++) {
        MUST(MPI_Comm_get_attr(comm, keys[i], &value, &flag));
        n_found += flag;
        if (flag)
            CHECK(value == (void *)&keys[i]);
    }
    CHECK_EQ(n_found, n);
}

/* Each deletes its own: the copy has all of them. */
static void own(void)
{
    MPI_Comm comm = make(), dup;

    victim = N;
    MUST(MPI_Comm_dup(comm, &dup));
    victim = -1;
    CHECK_EQ(n_copied, N);
    CHECK_EQ(n_deleted, N);
    want_attrs(comm, 0);
    want_attrs(dup, N);
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Comm_free(&comm));
    for (int i = 0; i < N; i++)
        MUST(MPI_Comm_free_keyval(&keys[i]));
}

/* All delete one and the same, whose turn has come or not. */
static void other(int which)
{
    MPI_Comm comm = make(), dup;

    victim = which;
    MUST(MPI_Comm_dup(comm, &dup));
    victim = -1;
    CHECK(n_copied == N || n_copied == N - 1);
    CHECK_EQ(n_deleted, 1);
    want_attrs(comm, N - 1);
    want_attrs(dup, n_copied);
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Comm_free(&comm));
    for (int i = 0; i < N; i++)
        MUST(MPI_Comm_free_keyval(&keys[i]));
}

/* The key of the copy is gone with the attribute, unless the copy keeps it. */
static void freed(void)
{
    MPI_Comm comm = make(), dup;
    int copies[N], next, flag;
    void *value;

    for (int i = 0; i < N; i++) {
        copies[i] = keys[i];
        MUST(MPI_Comm_free_keyval(&copies[i]));
    }
    victim = N;
    MUST(MPI_Comm_dup(comm, &dup));
    victim = -1;
    CHECK_EQ(n_copied, N);
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &next, NULL));
    MUST(MPI_Comm_get_attr(dup, next, &value, &flag));
    CHECK(!flag);
    want_attrs(dup, N);
    MUST(MPI_Comm_free(&dup));
    CHECK_EQ(n_deleted, 2 * N);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_free_keyval(&next));
}

static int note_order(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    if (order[0] == '?')
        return MPI_SUCCESS;
    order[strlen(order)] = *(char *)extra;
    return MPI_SUCCESS;
}

static int want_order(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    CHECK(strcmp(order, "acb") == 0);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static char names[3] = {'a', 'b', 'c'};
    int key[3], last;

    mp_start(&argc, &argv);
    own();
    for (int i = 0; i < N; i++)
        other(i);
    freed();
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, want_order, &last, NULL));
    MUST(MPI_Comm_set_attr(MPI_COMM_SELF, last, NULL));
    for (int i = 0; i < 3; i++) {
        MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_order, &key[i], &names[i]));
        MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key[i], &names[i]));
    }
    order[0] = '?';
    MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key[0], &names[1])); /* deletes it, and sets it anew */
    order[0] = '\0';
    for (int i = 0; i < 3; i++)
        MUST(MPI_Comm_free_keyval(&key[i]));
    MUST(MPI_Comm_free_keyval(&last));
    return mp_finish();
}
