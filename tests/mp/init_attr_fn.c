/* test: np=1,2 */
/*
 * Functions of attributes that change those of the same object meanwhile, or that fail.
 */
#include "mp_test.h"

static int adds, counts, deletes;
static int n_counted, n_deleted, n_added;

static int add_one(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    if (n_added++ == 0)
        MPI_Comm_set_attr(comm, counts, &n_counted);
    return MPI_SUCCESS;
}

static int count_one(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    ++*(int *)value;
    return MPI_SUCCESS;
}

static int delete_another(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    n_deleted++;
    return MPI_Comm_delete_attr(comm, counts);
}

/* One that comes while the last one goes. */
static void added_meanwhile(void)
{
    MPI_Comm dup;

    MUST(MPI_Comm_dup(MPI_COMM_SELF, &dup));
    MUST(MPI_Comm_set_attr(dup, adds, &dup));
    MUST(MPI_Comm_free(&dup));
    CHECK_EQ(n_added, 1);
    CHECK_EQ(n_counted, 1);
}

/* The one in front of, or behind, that which is deleted goes too. */
static void deleted_meanwhile(int is_last)
{
    MPI_Comm dup;

    n_counted = 0;
    n_deleted = 0;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &dup));
    MUST(MPI_Comm_set_attr(dup, is_last ? counts : deletes, &n_counted));
    MUST(MPI_Comm_set_attr(dup, is_last ? deletes : counts, &n_counted));
    MUST(MPI_Comm_delete_attr(dup, deletes));
    CHECK_EQ(n_deleted, 1);
    CHECK_EQ(n_counted, 1);
    MUST(MPI_Comm_free(&dup));
    CHECK_EQ(n_counted, 1);
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int copy_fails(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

/* What was copied before a copy failed is deleted. */
static void copy_failed(void)
{
    MPI_Comm from, dup;
    MPI_Request req;
    int good, bad;

    n_counted = 0;
    MUST(MPI_Comm_create_keyval(copy, count_one, &good, NULL));
    MUST(MPI_Comm_create_keyval(copy_fails, MPI_COMM_NULL_DELETE_FN, &bad, NULL));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &from));
    MPI_Comm_set_errhandler(from, MPI_ERRORS_RETURN);
    MUST(MPI_Comm_set_attr(from, bad, NULL));
    MUST(MPI_Comm_set_attr(from, good, &n_counted));
    CHECK(MPI_Comm_dup(from, &dup) != MPI_SUCCESS);
    CHECK_EQ(n_counted, 1);
    CHECK(MPI_Comm_idup(from, &dup, &req) != MPI_SUCCESS);
    CHECK_EQ(n_counted, 2);
    MUST(MPI_Comm_free_keyval(&good));
    MUST(MPI_Comm_free_keyval(&bad));
    MUST(MPI_Comm_free(&from));
    CHECK_EQ(n_counted, 3);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, add_one, &adds, NULL));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_one, &counts, NULL));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_another, &deletes, NULL));
    if (!mp_is_library("MPICH")) { /* stops at an assertion of its own */
        added_meanwhile();
        deleted_meanwhile(0);
        deleted_meanwhile(1);
        copy_failed();
    }
    MUST(MPI_Comm_free_keyval(&adds));
    MUST(MPI_Comm_free_keyval(&counts));
    MUST(MPI_Comm_free_keyval(&deletes));
    return mp_finish();
}
