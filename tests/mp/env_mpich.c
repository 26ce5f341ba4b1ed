/* test: np=1,3 timeout=30 */
/*
 * Where MPICH is more liberal than the standard, or decides what the standard leaves open, programs
 * written for it rely on it.
 */
#include "mp_test.h"

#include <string.h>

static void zero_counts(void)
{
    int none[16] = {0};
    MPI_Datatype type, types[16];
    MPI_Win win;
    int n;

    CHECK(mp_size <= 16);
    for (int i = 0; i < 16; i++)
        types[i] = MPI_DATATYPE_NULL;
    MUST(MPI_Type_contiguous(2, MPI_INT, &type));
    MUST(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, 0, 0, NULL, 0, type, 0, 0, MPI_COMM_SELF,
                      MPI_STATUS_IGNORE));
    MUST(MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    MUST(MPI_Allreduce(NULL, NULL, 0, MPI_DATATYPE_NULL, MPI_OP_NULL, MPI_COMM_WORLD));
    MUST(MPI_Allreduce(NULL, NULL, 0, MPI_CHAR, MPI_MAXLOC, MPI_COMM_WORLD));
    MUST(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD));
    MUST(MPI_Reduce(NULL, NULL, 0, type, MPI_SUM, 0, MPI_COMM_WORLD));
    MUST(MPI_Scan(NULL, NULL, 0, MPI_DATATYPE_NULL, MPI_OP_NULL, MPI_COMM_WORLD));
    MUST(MPI_Reduce_scatter(NULL, NULL, none, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD));
    MUST(MPI_Gather(NULL, 0, MPI_DATATYPE_NULL, NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    MUST(MPI_Gatherv(NULL, 0, MPI_DATATYPE_NULL, NULL, none, none, MPI_DATATYPE_NULL, 0,
                     MPI_COMM_WORLD));
    MUST(MPI_Scatterv(NULL, none, none, MPI_DATATYPE_NULL, NULL, 0, type, 0, MPI_COMM_WORLD));
    MUST(MPI_Allgatherv(NULL, 0, MPI_DATATYPE_NULL, NULL, none, none, type, MPI_COMM_WORLD));
    MUST(
        MPI_Alltoallv(NULL, none, none, MPI_DATATYPE_NULL, NULL, none, none, type, MPI_COMM_WORLD));
    MUST(MPI_Alltoallw(NULL, none, none, types, NULL, none, none, types, MPI_COMM_WORLD));
    MUST(MPI_Win_create(none, sizeof(none), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(NULL, 0, MPI_DATATYPE_NULL, 0, 0, 0, MPI_DATATYPE_NULL, win));
    MUST(MPI_Accumulate(NULL, 0, type, 0, 0, 0, MPI_DATATYPE_NULL, MPI_OP_NULL, win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_free(&win));
    FAILS(MPI_Send(&n, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Send(&n, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    none[0] = 1;
    FAILS(MPI_Alltoallv(&n, none, none, type, &n, none, none, MPI_INT, MPI_COMM_SELF),
          MPI_ERR_TYPE);
    FAILS(MPI_Allreduce(&n, &n + 1, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_SELF), MPI_ERR_OP);
    MUST(MPI_Type_free(&type));
}

static void logical_reals(void)
{
    double in[4] = {1.5, 0, -2, 0}, other[4] = {0.5, 3, 0, 0};
    float f[2] = {0.5f, 0}, g[2] = {0.25f, 0};

    MUST(MPI_Reduce_local(in, other, 4, MPI_DOUBLE, MPI_LAND));
    CHECK(other[0] == 1 && other[1] == 0 && other[2] == 0 && other[3] == 0);
    MUST(MPI_Reduce_local(in, other, 4, MPI_DOUBLE, MPI_LXOR));
    CHECK(other[0] == 0 && other[1] == 0 && other[2] == 1 && other[3] == 0);
    MUST(MPI_Reduce_local(f, g, 2, MPI_FLOAT, MPI_LOR));
    CHECK(g[0] == 1 && g[1] == 0);
}

static void hints(void)
{
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info, got;
    MPI_Comm comm;
    int flag;

    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "unknown_key", "1"));
    MUST(MPI_Info_set(info, "mpi_assert_no_any_tag", "nonsense"));
    MUST(MPI_Comm_set_info(comm, info));
    MUST(MPI_Comm_get_info(comm, &got));
    MUST(MPI_Info_get(got, "unknown_key", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag);
    MUST(MPI_Info_get(got, "mpi_assert_no_any_tag", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "false") == 0);
    MUST(MPI_Info_free(&got));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Comm_free(&comm));
}

/* The first rank of each host has no memory in either layout. */
static void empty_part(const char *noncontig)
{
    void *base = &base;
    MPI_Aint size;
    MPI_Info info;
    MPI_Comm host;
    MPI_Win win;
    int rank, unit;

    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    MUST(MPI_Comm_rank(host, &rank));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "alloc_shared_noncontig", noncontig));
    MUST(MPI_Win_allocate_shared(rank == 0 ? 0 : 8, 1, info, host, &base, &win));
    CHECK((base == NULL) == (rank == 0));
    MUST(MPI_Win_shared_query(win, 0, &size, &unit, &base));
    CHECK(size == 0 && base == NULL);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(NULL, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_free(&win));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Comm_free(&host));
}

static void topologies(void)
{
    int dims[1] = {mp_size}, periods[1] = {0}, remain[1] = {0};
    int n_in, n_out, weighted, weight = 7;
    MPI_Comm cart, sub, graph;

    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart));
    MUST(MPI_Cart_sub(cart, remain, &sub));
    CHECK((sub == MPI_COMM_NULL) == (mp_rank > 0));
    if (sub != MPI_COMM_NULL)
        MUST(MPI_Comm_free(&sub));
    MUST(MPI_Comm_free(&cart));
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, &weight, MPI_INFO_NULL, 0,
                               &graph));
    MUST(MPI_Dist_graph_neighbors_count(graph, &n_in, &n_out, &weighted));
    CHECK(n_in == 0 && n_out == 0 && weighted);
    MUST(MPI_Comm_free(&graph));
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, NULL, 0, NULL, NULL, MPI_INFO_NULL,
                                        0, &graph));
    MUST(MPI_Dist_graph_neighbors_count(graph, &n_in, &n_out, &weighted));
    CHECK(weighted);
    MUST(MPI_Comm_free(&graph));
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL,
                               0, &graph));
    MUST(MPI_Dist_graph_neighbors_count(graph, &n_in, &n_out, &weighted));
    CHECK(!weighted);
    MUST(MPI_Comm_free(&graph));
}

static int refuse(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)key, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static void failed_dup(void)
{
    MPI_Datatype type, copy = MPI_INT;
    int key;

    MUST(MPI_Type_create_keyval(refuse, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
    MUST(MPI_Type_contiguous(2, MPI_INT, &type));
    MUST(MPI_Type_set_attr(type, key, NULL));
    CHECK(MPI_Type_dup(type, &copy) != MPI_SUCCESS);
    CHECK(copy == MPI_DATATYPE_NULL);
    MUST(MPI_Type_delete_attr(type, key));
    MUST(MPI_Type_free(&type));
    MUST(MPI_Type_free_keyval(&key));
}

/* A copy of a freed handle names the next type. */
static void type_handle(void)
{
    MPI_Datatype first, second, copy;

    MUST(MPI_Type_contiguous(2, MPI_INT, &first));
    MUST(MPI_Type_contiguous(3, MPI_INT, &second));
    copy = first;
    MUST(MPI_Type_free(&second));
    MUST(MPI_Type_free(&first));
    MUST(MPI_Type_contiguous(5, MPI_INT, &second));
    CHECK(copy == second);
    MUST(MPI_Type_free(&second));
}

/* Data of another process that end inside of an element do not fit a type with gaps. */
static void part_of_element(void)
{
    char bytes[16] = {0};
    int room[8], next = (mp_rank + 1) % mp_size, before = (mp_rank + mp_size - 1) % mp_size;
    MPI_Datatype two;
    MPI_Status status;

    MUST(MPI_Type_vector(2, 1, 3, MPI_INT, &two));
    MUST(MPI_Type_commit(&two));
    MUST(MPI_Sendrecv(bytes, 4, MPI_BYTE, next, 0, room, 1, two, before, 0, MPI_COMM_WORLD,
                      &status));
    FAILS(
        MPI_Sendrecv(bytes, 3, MPI_BYTE, next, 0, room, 1, two, before, 0, MPI_COMM_WORLD, &status),
        mp_size > 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    MUST(MPI_Type_free(&two));
}

static int n_handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    CHECK(*code != MPI_SUCCESS);
    n_handled++;
}

/* Where a new communicator has no place to go, that is for the world's handler if nobody has set one. */
static void null_newcomm(void)
{
    MPI_Comm own;
    MPI_Errhandler handler;
    MPI_Group group;
    int dims = mp_size, periods = 0;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &own));
    MUST(MPI_Comm_group(own, &group));
    MUST(MPI_Comm_set_errhandler(own, MPI_ERRORS_ARE_FATAL));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    FAILS(MPI_Comm_dup(own, NULL), MPI_ERR_ARG);
    FAILS(MPI_Comm_split(own, 0, 0, NULL), MPI_ERR_ARG);
    FAILS(MPI_Comm_create(own, group, NULL), MPI_ERR_ARG);
    FAILS(MPI_Cart_create(own, 1, &dims, &periods, 0, NULL), MPI_ERR_ARG);
    FAILS(MPI_Comm_dup(MPI_COMM_SELF, NULL), MPI_ERR_ARG);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_create_errhandler(handle, &handler));
    MUST(MPI_Comm_set_errhandler(own, handler));
    MUST(MPI_Errhandler_free(&handler));
    FAILS(MPI_Comm_dup(own, NULL), MPI_ERR_ARG);
    FAILS(MPI_Comm_split(own, 0, 0, NULL), MPI_ERR_ARG);
    CHECK_EQ(n_handled, 2);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_free(&own));
}

int main(int argc, char **argv)
{
    MPI_Info before, during;
    int n_before, n_during;

    MUST(MPI_Info_create_env(argc, argv, &before));
    mp_start(&argc, &argv);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MUST(MPI_Info_create_env(argc, argv, &during));
    MUST(MPI_Info_get_nkeys(before, &n_before));
    MUST(MPI_Info_get_nkeys(during, &n_during));
    CHECK(n_before > 0 && n_before == n_during);
    MUST(MPI_Info_free(&before));
    MUST(MPI_Info_free(&during));
    zero_counts();
    logical_reals();
    hints();
    empty_part("true");
    empty_part("false");
    topologies();
    failed_dup();
    type_handle();
    part_of_element();
    null_newcomm();
    return mp_finish();
}
