/* test: np=1,2,3,4 timeout=60 */
/*
 * Nonblocking duplication: many at once, together with blocking creations in an order that differs
 * from communicator to communicator, of intercommunicators, with attributes and hints.
 */
#include "mp_test.h"

#define N_DUPS 12

static void check_comm(MPI_Comm comm, MPI_Comm like)
{
    int one = 1, n = 0, result, size, flag;

    MUST(MPI_Comm_compare(comm, like, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    MUST(MPI_Comm_test_inter(comm, &flag));
    if (flag)
        MUST(MPI_Comm_remote_size(comm, &size));
    else
        MUST(MPI_Comm_size(comm, &size));
    MUST(MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(n, size);
}

static void many(void)
{
    MPI_Comm dups[N_DUPS], more;
    MPI_Request reqs[N_DUPS];

    for (int i = 0; i < N_DUPS; i++) {
        MUST(MPI_Comm_idup(i % 3 == 2 ? MPI_COMM_SELF : MPI_COMM_WORLD, &dups[i], &reqs[i]));
        CHECK(dups[i] != MPI_COMM_NULL);
        if (i % 4 == 1) {
            MUST(MPI_Comm_dup(MPI_COMM_WORLD, &more));
            check_comm(more, MPI_COMM_WORLD);
            MUST(MPI_Comm_free(&more));
        }
    }
    for (int i = 0; mp_rank % 2 && i < N_DUPS; i++)
        MUST(MPI_Wait(&reqs[N_DUPS - 1 - i], MPI_STATUS_IGNORE));
    MUST(MPI_Waitall(N_DUPS, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N_DUPS; i++)
        check_comm(dups[i], i % 3 == 2 ? MPI_COMM_SELF : MPI_COMM_WORLD);
    for (int i = 0; i < N_DUPS; i++)
        MUST(MPI_Comm_free(&dups[i]));
}

/* Two communicators of the same processes, and neighbouring pairs: orders that cross. */
static void crossing(void)
{
    MPI_Comm two[2], dups[2], pair, pair_dup, low, low_dup;
    MPI_Request reqs[4];
    int a = mp_rank % 2;

    for (int i = 0; i < 2; i++)
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &two[i]));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank / 2, mp_rank, &pair));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, (mp_rank + 1) / 2, mp_rank, &low));
    for (int round = 0; round < 10; round++) {
        MUST(MPI_Comm_idup(two[a], &dups[a], &reqs[a]));
        MUST(MPI_Comm_idup(a ? pair : low, a ? &pair_dup : &low_dup, &reqs[2]));
        MUST(MPI_Comm_idup(two[1 - a], &dups[1 - a], &reqs[1 - a]));
        MUST(MPI_Comm_idup(a ? low : pair, a ? &low_dup : &pair_dup, &reqs[3]));
        MUST(MPI_Waitall(4, reqs, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 2; i++) {
            check_comm(dups[i], two[i]);
            MUST(MPI_Comm_free(&dups[i]));
        }
        check_comm(pair_dup, pair);
        check_comm(low_dup, low);
        MUST(MPI_Comm_free(&pair_dup));
        MUST(MPI_Comm_free(&low_dup));
    }
    /* One waits for its request inside a blocking creation, the other before it. */
    MUST(MPI_Comm_idup(two[0], &dups[0], &reqs[0]));
    if (a == 0)
        MUST(MPI_Comm_dup(two[1], &dups[1]));
    MUST(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE));
    if (a == 1)
        MUST(MPI_Comm_dup(two[1], &dups[1]));
    for (int i = 0; i < 2; i++) {
        check_comm(dups[i], two[i]);
        MUST(MPI_Comm_free(&dups[i]));
        MUST(MPI_Comm_free(&two[i]));
    }
    MUST(MPI_Comm_free(&pair));
    MUST(MPI_Comm_free(&low));
}

static void inter(void)
{
    MPI_Comm local, comm, dup;
    MPI_Request req;

    if (mp_size == 1)
        return;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank > 0, mp_rank, &local));
    MUST(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, mp_rank == 0, 5, &comm));
    MUST(MPI_Comm_idup(comm, &dup, &req));
    MUST(MPI_Comm_free(&local));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    check_comm(dup, comm);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Barrier(dup));
    MUST(MPI_Comm_free(&dup));
}

static void extras(void)
{
    static int value = 17;
    MPI_Comm comm, dup;
    MPI_Request req;
    MPI_Info info, got;
    char text[16] = "";
    int key, flag = 0, *attr = NULL;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    MUST(MPI_Comm_set_attr(comm, key, &value));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    MUST(MPI_Comm_idup_with_info(comm, info, &dup, &req));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Comm_delete_attr(comm, key));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_get_attr(dup, key, (void *)&attr, &flag));
    CHECK(flag && attr == &value);
    MUST(MPI_Comm_get_info(dup, &got));
    MUST(MPI_Info_get(got, "mpi_assert_no_any_tag", 15, text, &flag));
    CHECK(flag && strcmp(text, "true") == 0);
    MUST(MPI_Info_free(&got));
    MUST(MPI_Comm_free_keyval(&key));
    check_comm(dup, MPI_COMM_WORLD);
    MUST(MPI_Comm_free(&dup));
}

static void errors(void)
{
    MPI_Comm dup;
    MPI_Request req;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_Comm_idup(MPI_COMM_NULL, &dup, &req), MPI_ERR_COMM);
    FAILS(MPI_Comm_idup(MPI_COMM_WORLD, NULL, &req), MPI_ERR_ARG);
    FAILS(MPI_Comm_idup(MPI_COMM_WORLD, &dup, NULL), MPI_ERR_ARG);
}

static int fail_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    return mp_rank == mp_size - 1 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* An attribute cannot be copied at one rank: the call fails there, the request everywhere else. */
static void one_fails(void)
{
    MPI_Comm comm, dup;
    MPI_Request req;
    int key, err;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MUST(MPI_Comm_create_keyval(fail_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    MUST(MPI_Comm_set_attr(comm, key, &key));
    err = MPI_Comm_idup(comm, &dup, &req);
    if (mp_rank < mp_size - 1) {
        MUST(err);
        err = MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
    CHECK(err != MPI_SUCCESS);
    MUST(MPI_Comm_delete_attr(comm, key));
    MUST(MPI_Comm_free_keyval(&key));
    MUST(MPI_Comm_dup(comm, &dup));
    check_comm(dup, comm);
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Comm_free(&comm));
}

/* A duplicate of one process needs nobody, whatever else is under way. */
static void alone(void)
{
    MPI_Comm world, self, again;
    MPI_Request req, req_self;
    int flag = 0;

    MUST(MPI_Comm_idup(MPI_COMM_WORLD, &world, &req));
    for (int i = 0; i < 100; i++)
        MUST(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_idup(MPI_COMM_SELF, &self, &req_self));
    MUST(MPI_Test(&req_self, &flag, MPI_STATUS_IGNORE));
    if (!mp_is_library("MPICH"))
        CHECK(flag);
    MUST(MPI_Wait(&req_self, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_dup(self, &again));
    check_comm(again, MPI_COMM_SELF);
    MUST(MPI_Comm_free(&again));
    MUST(MPI_Comm_free(&self));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_free(&world));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    /* MPICH 4.0.2 hangs in these. */
    if (!mp_is_library("MPICH")) {
        alone();
        one_fails();
    }
    many();
    crossing();
    inter();
    extras();
    errors();
    return mp_finish();
}
