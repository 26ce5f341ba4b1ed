/* test: np=1,2,4,7 timeout=60 */
/*
 * New communicators: dup, split, create, create_group; who is in them, in which order,
 * what comparing them says, and that messages of one do not get into another.
 */
#include "mp_test.h"

/* Ranks know each other: the world rank of rank i is members[i]. Frees the communicator. */
static void check_comm(MPI_Comm comm, int n, const int *members)
{
    int rank, size, got, sum = 0;
    int next, prev;

    CHECK(comm != MPI_COMM_NULL);
    MUST(MPI_Comm_size(comm, &size));
    MUST(MPI_Comm_rank(comm, &rank));
    CHECK_EQ(size, n);
    if (size != n)
        return;
    CHECK_EQ(members[rank], mp_rank);
    for (int root = 0; root < n; root++) {
        got = mp_rank;
        MUST(MPI_Bcast(&got, 1, MPI_INT, root, comm));
        CHECK_EQ(got, members[root]);
    }
    next = (rank + 1) % n;
    prev = (rank + n - 1) % n;
    MUST(MPI_Sendrecv(&mp_rank, 1, MPI_INT, next, 7, &got, 1, MPI_INT, prev, 7, comm,
                      MPI_STATUS_IGNORE));
    CHECK_EQ(got, members[prev]);
    MUST(MPI_Allreduce(&mp_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < n; i++)
        sum -= members[i];
    CHECK_EQ(sum, 0);
    MUST(MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_NULL);
}

static int compare(MPI_Comm a, MPI_Comm b)
{
    int result;

    MUST(MPI_Comm_compare(a, b, &result));
    return result;
}

static void dup(void)
{
    int *all = malloc((size_t)mp_size * sizeof(int));
    MPI_Comm comm;
    int flag, mine = mp_rank, theirs = -1;
    MPI_Request req;
    int next = (mp_rank + 1) % mp_size, prev = (mp_rank + mp_size - 1) % mp_size;

    for (int i = 0; i < mp_size; i++)
        all[i] = i;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_EQ(compare(comm, MPI_COMM_WORLD), MPI_CONGRUENT);
    CHECK_EQ(compare(comm, comm), MPI_IDENT);
    CHECK_EQ(compare(comm, MPI_COMM_SELF), mp_size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    MUST(MPI_Comm_test_inter(comm, &flag));
    CHECK_EQ(flag, 0);
    /* a message in the parent is not taken for one of the duplicate */
    MUST(MPI_Irecv(&theirs, 1, MPI_INT, prev, MPI_ANY_TAG, comm, &req));
    MUST(MPI_Sendrecv(&mine, 1, MPI_INT, next, 1, &flag, 1, MPI_INT, prev, 1, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    CHECK_EQ(theirs, -1);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Send(&mine, 1, MPI_INT, next, 1, comm));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK_EQ(theirs, prev);
    check_comm(comm, mp_size, all);
    free(all);
}

/* Members of a split into n_colors by color_of, ordered by descending or equal keys. */
static void split(int n_colors, int is_reversed)
{
    int *members = malloc((size_t)mp_size * sizeof(int));
    int color = mp_rank % n_colors;
    int n = 0;
    MPI_Comm comm;

    for (int i = 0; i < mp_size; i++) {
        int r = is_reversed ? mp_size - 1 - i : i;

        if (r % n_colors == color)
            members[n++] = r;
    }
    MUST(MPI_Comm_split(MPI_COMM_WORLD, color == 1 && n_colors == 3 ? MPI_UNDEFINED : color,
                        is_reversed ? -mp_rank : 5, &comm));
    if (color == 1 && n_colors == 3)
        CHECK(comm == MPI_COMM_NULL);
    else
        check_comm(comm, n, members);
    free(members);
}

/* By host; ranks in reverse. Slurm's nodes may be on one machine. */
static void shared(void)
{
    char own[MPI_MAX_PROCESSOR_NAME + 64] = "", *names = malloc((size_t)mp_size * sizeof(own));
    const char *node = getenv("SLURMD_NODENAME");
    int n, n_here = 0, n_above = 0;
    MPI_Comm comm;

    MUST(MPI_Get_processor_name(own, &n));
    snprintf(own + n, sizeof(own) - (size_t)n, " %s", node != NULL ? node : "");
    MUST(MPI_Allgather(own, sizeof(own), MPI_CHAR, names, sizeof(own), MPI_CHAR, MPI_COMM_WORLD));
    for (int r = 0; r < mp_size; r++) {
        int is_here = strcmp(names + (size_t)r * sizeof(own), own) == 0;

        n_here += is_here;
        n_above += is_here && r > mp_rank;
    }
    free(names);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -mp_rank, MPI_INFO_NULL, &comm));
    if (n_here == mp_size)
        CHECK_EQ(compare(comm, MPI_COMM_WORLD), mp_size > 1 ? MPI_SIMILAR : MPI_CONGRUENT);
    MUST(MPI_Comm_size(comm, &n));
    CHECK_EQ(n, n_here);
    MUST(MPI_Comm_rank(comm, &n));
    CHECK_EQ(n, n_above);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm));
    CHECK(comm == MPI_COMM_NULL);
}

/* Two groups that do not overlap are created at once; members in reverse. */
static void create(int by_group)
{
    int *members = malloc((size_t)mp_size * sizeof(int));
    int n = 0;
    MPI_Group world, group, of_comm;
    MPI_Comm comm;
    int result;

    for (int r = mp_size - 1; r >= 0; r--)
        if (r % 2 == mp_rank % 2)
            members[n++] = r;
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_incl(world, n, members, &group));
    if (by_group)
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, group, 99, &comm));
    else
        MUST(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    MUST(MPI_Comm_group(comm, &of_comm));
    MUST(MPI_Group_compare(group, of_comm, &result));
    CHECK_EQ(result, MPI_IDENT);
    MUST(MPI_Group_free(&of_comm));
    check_comm(comm, n, members);
    MUST(MPI_Group_free(&group));
    if (!by_group) {
        MUST(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
        CHECK(comm == MPI_COMM_NULL);
    }
    MUST(MPI_Group_free(&world));
    free(members);
}

/* Only the members call, one group after the other, overlapping in a chain. */
static void chain(void)
{
    MPI_Group world, group;
    MPI_Comm comm;

    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i + 1 < mp_size; i++) {
        int pair[2] = {i + 1, i};

        MUST(MPI_Group_incl(world, 2, pair, &group));
        if (mp_rank == i || mp_rank == i + 1) {
            MUST(MPI_Comm_create_group(MPI_COMM_WORLD, group, i, &comm));
            check_comm(comm, 2, pair);
        }
        MUST(MPI_Group_free(&group));
    }
    MUST(MPI_Group_free(&world));
}

/* The error handler goes to the child, the name does not. */
static void inherited(void)
{
    MPI_Comm comm, copy;
    MPI_Errhandler eh;
    char name[MPI_MAX_OBJECT_NAME];
    int len;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_name(comm, "parent"));
    MUST(MPI_Comm_split(comm, 0, 0, &copy));
    MUST(MPI_Comm_get_errhandler(copy, &eh));
    CHECK(eh == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&eh);
    memset(name, '#', sizeof(name));
    MUST(MPI_Comm_get_name(comm, name, &len));
    CHECK(strcmp(name, "parent") == 0);
    CHECK_EQ(name[strlen("parent") + 1], '#'); /* programs have shorter places for names */
    MUST(MPI_Comm_get_name(copy, name, &len));
    CHECK_EQ(len, 0);
    FAILS(MPI_Bcast(&len, 1, MPI_INT, mp_size, copy), MPI_ERR_ROOT);
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    dup();
    for (int n = 1; n <= 4; n++) {
        split(n, 0);
        split(n, 1);
    }
    shared();
    create(0);
    create(1);
    chain();
    inherited();
    return mp_finish();
}
