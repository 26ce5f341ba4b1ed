/* test: np=1,4 timeout=30 */
/*
 * Groups at the edges: MPI_GROUP_EMPTY, ranges backwards, MPI_PROC_NULL, wrong ranks and ranges,
 * and what may be freed.
 */
#include "mp_test.h"

static MPI_Group world;

static void check_ranks(MPI_Group group, int n, const int *want)
{
    int size, ranks[8], there[8];

    MUST(MPI_Group_size(group, &size));
    CHECK_EQ(size, n);
    for (int i = 0; i < n; i++)
        ranks[i] = i;
    MUST(MPI_Group_translate_ranks(group, n, ranks, world, there));
    for (int i = 0; i < n; i++)
        CHECK_EQ(there[i], want[i]);
}

static void ranges(void)
{
    int back[1][3] = {{3, 0, -1}}, two[2][3] = {{3, 1, -2}, {0, 2, 2}}, over[1][3] = {{0, 2, 3}};
    int twice[2][3] = {{0, 1, 1}, {1, 1, 1}}, still[1][3] = {{0, 1, 0}}, far[1][3] = {{0, 4, 1}};
    int wrong[1][3] = {{0, 3, -1}}, none[1][3] = {{-1, 1, 1}};
    MPI_Group group;

    MUST(MPI_Group_range_incl(world, 1, back, &group));
    check_ranks(group, 4, (int[]){3, 2, 1, 0});
    MUST(MPI_Group_free(&group));
    CHECK(group == MPI_GROUP_NULL);
    MUST(MPI_Group_range_incl(world, 2, two, &group));
    check_ranks(group, 4, (int[]){3, 1, 0, 2});
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_range_incl(world, 1, over, &group));
    check_ranks(group, 1, (int[]){0});
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_range_excl(world, 1, over, &group));
    check_ranks(group, 3, (int[]){1, 2, 3});
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_range_excl(world, 1, back, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    MUST(MPI_Group_range_incl(world, 0, NULL, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    MUST(MPI_Group_range_excl(world, 0, NULL, &group));
    check_ranks(group, 4, (int[]){0, 1, 2, 3});
    MUST(MPI_Group_free(&group));

    FAILS(MPI_Group_range_incl(world, 1, still, &group), MPI_ERR_ARG);
    FAILS(MPI_Group_range_excl(world, 1, still, &group), MPI_ERR_ARG);
    FAILS(MPI_Group_range_incl(world, 1, wrong, &group), MPI_ERR_ARG);
    FAILS(MPI_Group_range_incl(world, -1, back, &group), MPI_ERR_ARG);
    if (mp_is_library("MPICH")) /* has other classes for these */
        return;
    FAILS(MPI_Group_range_incl(world, 2, twice, &group), MPI_ERR_RANK);
    FAILS(MPI_Group_range_incl(world, 1, far, &group), MPI_ERR_RANK);
    FAILS(MPI_Group_range_excl(world, 1, none, &group), MPI_ERR_RANK);
}

static void lists(void)
{
    int same[2] = {1, 1}, high[1] = {mp_size}, low[1] = {-1};
    MPI_Group group;

    FAILS(MPI_Group_incl(world, 1, high, &group), MPI_ERR_RANK);
    FAILS(MPI_Group_incl(world, 1, low, &group), MPI_ERR_RANK);
    FAILS(MPI_Group_excl(world, 1, high, &group), MPI_ERR_RANK);
    if (mp_size > 1 && !mp_is_library("MPICH")) /* takes it */
        FAILS(MPI_Group_incl(world, 2, same, &group), MPI_ERR_RANK);
    FAILS(MPI_Group_incl(world, -1, high, &group), MPI_ERR_ARG);
    FAILS(MPI_Group_incl(MPI_GROUP_NULL, 0, NULL, &group), MPI_ERR_GROUP);
    MUST(MPI_Group_incl(world, 0, NULL, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    MUST(MPI_Group_excl(world, 0, NULL, &group));
    MUST(MPI_Group_free(&group));
}

static void empty(void)
{
    int result, size, ranks[2] = {MPI_PROC_NULL, 0}, there[2];
    MPI_Group group, empty = MPI_GROUP_EMPTY;
    MPI_Comm comm;

    MUST(MPI_Group_size(empty, &size));
    CHECK_EQ(size, 0);
    MUST(MPI_Group_rank(empty, &result));
    CHECK_EQ(result, MPI_UNDEFINED);
    MUST(MPI_Group_compare(empty, MPI_GROUP_EMPTY, &result));
    CHECK_EQ(result, MPI_IDENT);
    MUST(MPI_Group_compare(empty, world, &result));
    CHECK_EQ(result, MPI_UNEQUAL);
    MUST(MPI_Group_translate_ranks(world, 2, ranks, empty, there));
    /* MPICH says MPI_UNDEFINED of every rank if the other group is empty */
    CHECK(there[0] == MPI_PROC_NULL || mp_is_library("MPICH"));
    CHECK_EQ(there[1], MPI_UNDEFINED);
    MUST(MPI_Group_translate_ranks(empty, 1, ranks, world, there));
    CHECK_EQ(there[0], MPI_PROC_NULL);
    FAILS(MPI_Group_translate_ranks(empty, 2, ranks, world, there), MPI_ERR_RANK);
    MUST(MPI_Group_translate_ranks(world, 0, NULL, empty, NULL));
    MUST(MPI_Group_union(empty, empty, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    MUST(MPI_Group_intersection(world, empty, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    MUST(MPI_Group_difference(world, world, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    MUST(MPI_Group_union(empty, world, &group));
    MUST(MPI_Group_compare(group, world, &result));
    CHECK_EQ(result, MPI_IDENT);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_create(MPI_COMM_WORLD, empty, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Comm_create_group(MPI_COMM_WORLD, empty, 0, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Group_free(&empty));
    CHECK(empty == MPI_GROUP_NULL);
    FAILS(MPI_Group_free(&empty), MPI_ERR_GROUP);
    MUST(MPI_Group_size(MPI_GROUP_EMPTY, &size));
}

/* A group outlives its communicator; what is predefined is not the program's to free. */
static void freeing(void)
{
    MPI_Comm comm, predefined = MPI_COMM_WORLD;
    MPI_Datatype type = MPI_INT;
    MPI_Op op = MPI_SUM;
    MPI_Group group;
    int size;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_group(comm, &group));
    MUST(MPI_Comm_free(&comm));
    FAILS(MPI_Comm_free(&comm), MPI_ERR_COMM);
    MUST(MPI_Group_size(group, &size));
    CHECK_EQ(size, mp_size);
    MUST(MPI_Group_free(&group));
    FAILS(MPI_Comm_free(&predefined), MPI_ERR_COMM);
    predefined = MPI_COMM_SELF;
    FAILS(MPI_Comm_free(&predefined), MPI_ERR_COMM);
    FAILS(MPI_Type_free(&type), MPI_ERR_TYPE);
    FAILS(MPI_Op_free(&op), MPI_ERR_OP);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    if (mp_size >= 4)
        ranges();
    lists();
    empty();
    freeing();
    MUST(MPI_Group_free(&world));
    return mp_finish();
}
