/* test: np=1,2,3,4 timeout=30 */
/*
 * A wrong argument at one rank of a call that makes a communicator: the call fails at all ranks, and what they
 * do next works. (MPICH returns at that rank, and the others wait.)
 */
#include "mp_test.h"

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

static void still_works(MPI_Comm comm)
{
    int one = 1, sum = 0, size;
    MPI_Comm dup;

    MUST(MPI_Comm_dup(comm, &dup));
    MUST(MPI_Comm_size(dup, &size));
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup));
    CHECK_EQ(sum, size);
    MUST(MPI_Comm_free(&dup));
}

static void split_type(int wrong)
{
    MPI_Comm comm;
    int type = mp_rank == wrong ? 4711 : MPI_COMM_TYPE_SHARED;
    int err = MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &comm);

    CHECK_EQ(class_of(err), mp_rank == wrong ? MPI_ERR_ARG : MPI_ERR_OTHER);
    still_works(MPI_COMM_WORLD);
}

/* A group with a process that is not in the communicator, at one rank. */
static void create(int wrong)
{
    MPI_Group world, group;
    MPI_Comm most, comm;

    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank > 0, 0, &most));
    MUST(MPI_Comm_group(most, &group));
    if (mp_rank > 0)
        CHECK_EQ(class_of(MPI_Comm_create(most, mp_rank == wrong ? world : group, &comm)),
                 mp_rank == wrong ? MPI_ERR_GROUP : MPI_ERR_OTHER);
    still_works(most);
    MUST(MPI_Comm_free(&most));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&world));
}

/* Neighbours that are none, or a wrong number of them, in both ways to make a distributed graph. */
static void graphs(int wrong)
{
    int there = mp_rank == wrong ? mp_size : 0, me = mp_rank, degree = mp_rank == wrong ? -1 : 1;
    MPI_Comm comm;
    int err = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &there, MPI_UNWEIGHTED, 0, NULL,
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);

    CHECK_EQ(class_of(err), mp_rank == wrong ? MPI_ERR_RANK : MPI_ERR_OTHER);
    CHECK(comm == MPI_COMM_NULL);
    err = MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &degree, &me, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                0, &comm);
    CHECK_EQ(class_of(err), mp_rank == wrong ? MPI_ERR_ARG : MPI_ERR_OTHER);
    CHECK(comm == MPI_COMM_NULL);
    still_works(MPI_COMM_WORLD);
}

/* Halves joined; `wrong` names a local leader that is none. */
static void join(int wrong)
{
    int side = mp_rank % 2, leader = mp_rank == wrong ? 77 : 0, err;
    MPI_Comm half, inter, split;
    MPI_Group world, group;

    MUST(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half));
    MUST(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN));
    err = MPI_Intercomm_create(half, leader, MPI_COMM_WORLD, 1 - side, 3, &inter);
    CHECK_EQ(class_of(err), mp_rank == wrong ? MPI_ERR_RANK : MPI_ERR_OTHER);
    still_works(half);
    MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 3, &inter));
    MUST(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Comm_group(half, &group));
    err = MPI_Comm_create(inter, mp_rank == wrong ? world : group, &split);
    CHECK_EQ(class_of(err), mp_rank == wrong ? MPI_ERR_GROUP : MPI_ERR_OTHER);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&world));
    MUST(MPI_Comm_split(inter, 0, 0, &split));
    MUST(MPI_Comm_free(&split));
    MUST(MPI_Comm_free(&inter));
    MUST(MPI_Comm_free(&half));
}

/* Two leaders are named in a group of two or more. */
static void two_leaders(void)
{
    int side = mp_rank < 2, size, rank;
    MPI_Comm half, inter;

    MUST(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half));
    MUST(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_size(half, &size));
    MUST(MPI_Comm_rank(half, &rank));
    if (side)
        CHECK_EQ(
            class_of(MPI_Intercomm_create(half, rank == 1 ? 1 : 0, MPI_COMM_WORLD, 2, 3, &inter)),
            MPI_ERR_ARG);
    else
        CHECK_EQ(class_of(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1, 3, &inter)),
                 MPI_ERR_OTHER);
    MUST(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int wrong = 0; wrong < mp_size; wrong++) {
        split_type(wrong);
        graphs(wrong);
        if (wrong > 0)
            create(wrong);
        if (mp_size > 1 && wrong > 1)
            join(wrong);
    }
    if (mp_size > 2)
        two_leaders();
    return mp_finish();
}
