/* test: np=2,3,4,7 timeout=60 */
/*
 * New intercommunicators from one: MPI_Comm_split by colors that both sides, one side or nobody
 * has, with keys that turn the order round; MPI_Comm_create of parts of the two groups; MPI_Comm_split_type;
 * duplicates of the results; how they compare; what is an error.
 */
#include "mp_test.h"

static int parity, n_side[2];

/* The communicator that even and odd ranks have; rank i of a side is world rank 2 i + parity. */
static MPI_Comm make(void)
{
    MPI_Comm local, inter;

    MUST(MPI_Comm_split(MPI_COMM_WORLD, parity, mp_rank, &local));
    MUST(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - parity, 3, &inter));
    MUST(MPI_Comm_free(&local));
    MUST(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    return inter;
}

static void check_group(MPI_Group group, int n, const int *want)
{
    MPI_Group world, wanted;
    int result;

    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_incl(world, n, want, &wanted));
    MUST(MPI_Group_compare(group, wanted, &result));
    CHECK_EQ(result, MPI_IDENT);
    MUST(MPI_Group_free(&wanted));
    MUST(MPI_Group_free(&world));
}

/* World ranks mine[] and theirs[], on this side and the other. */
static void check_inter(MPI_Comm inter, int n_mine, const int *mine, int n_theirs,
                        const int *theirs)
{
    int flag = 0, size, rank, sum = 0, want = 0, got;
    MPI_Group group;
    MPI_Comm all;
    MPI_Errhandler eh;

    if (inter == MPI_COMM_NULL)
        return;
    MUST(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    MUST(MPI_Comm_size(inter, &size));
    CHECK_EQ(size, n_mine);
    MUST(MPI_Comm_remote_size(inter, &size));
    CHECK_EQ(size, n_theirs);
    MUST(MPI_Comm_rank(inter, &rank));
    CHECK_EQ(mine[rank], mp_rank);
    MUST(MPI_Comm_group(inter, &group));
    check_group(group, n_mine, mine);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_remote_group(inter, &group));
    check_group(group, n_theirs, theirs);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_get_errhandler(inter, &eh));
    /* MPICH's intercommunicators inherit nothing */
    CHECK(eh == MPI_ERRORS_RETURN || mp_is_library("MPICH"));
    MUST(MPI_Errhandler_free(&eh));

    MUST(MPI_Allreduce(&mp_rank, &sum, 1, MPI_INT, MPI_SUM, inter));
    for (int i = 0; i < n_theirs; i++)
        want += theirs[i];
    CHECK_EQ(sum, want);
    for (int i = 0; i < n_theirs; i++) {
        MUST(MPI_Sendrecv(&mp_rank, 1, MPI_INT, i, 4, &got, 1, MPI_INT, i, 4, inter,
                          MPI_STATUS_IGNORE));
        CHECK_EQ(got, theirs[i]);
    }
    MUST(MPI_Intercomm_merge(inter, parity, &all));
    MUST(MPI_Comm_rank(all, &got));
    CHECK_EQ(got, rank + (parity ? n_theirs : 0));
    MUST(MPI_Allreduce(&mp_rank, &sum, 1, MPI_INT, MPI_SUM, all));
    for (int i = 0; i < n_mine; i++)
        want += mine[i];
    CHECK_EQ(sum, want);
    MUST(MPI_Comm_free(&all));
}

/* Color of rank i of a side; MPI_UNDEFINED for some, and colors that only one side has. */
static int color_of(int way, int side, int i)
{
    switch (way) {
    case 0:
        return 0;
    case 1:
        return i % 2;
    case 2:
        return i == 0 ? 7 : MPI_UNDEFINED;
    case 3:
        return side; /* nobody of the other side */
    case 4:
        return side == 0 ? i : i % 2; /* one to some */
    default:
        return side == 0 ? MPI_UNDEFINED : 1;
    }
}

static int list(int way, int side, int color, int is_reversed, int *ranks)
{
    int n = 0;

    for (int k = 0; k < n_side[side] && color != MPI_UNDEFINED; k++) {
        int i = is_reversed ? n_side[side] - 1 - k : k;

        if (color_of(way, side, i) == color)
            ranks[n++] = 2 * i + side;
    }
    return n;
}

static MPI_Comm split(MPI_Comm inter, int way, int is_reversed)
{
    int mine[16], theirs[16], rank, color, n_mine, n_theirs;
    MPI_Comm part;

    MUST(MPI_Comm_rank(inter, &rank));
    color = color_of(way, parity, rank);
    MUST(MPI_Comm_split(inter, color, is_reversed ? -rank : 0, &part));
    n_mine = list(way, parity, color, is_reversed, mine);
    n_theirs = list(way, 1 - parity, color, is_reversed, theirs);
    CHECK_EQ(part != MPI_COMM_NULL, n_mine > 0 && n_theirs > 0);
    check_inter(part, n_mine, mine, n_theirs, theirs);
    return part;
}

static void all_splits(MPI_Comm inter)
{
    for (int way = 0; way < 6; way++) {
        for (int is_reversed = 0; is_reversed < 2; is_reversed++) {
            MPI_Comm part = split(inter, way, is_reversed);
            int result;

            if (part == MPI_COMM_NULL)
                continue;
            MUST(MPI_Comm_compare(inter, part, &result));
            if (way == 0)
                CHECK_EQ(result, is_reversed && mp_size > 2 ? MPI_SIMILAR : MPI_CONGRUENT);
            else if (way == 2)
                CHECK_EQ(result, mp_size > 2 ? MPI_UNEQUAL : MPI_CONGRUENT);
            MUST(MPI_Comm_free(&part));
        }
    }
}

/* Parts of the two sides: the last n of each, in reverse. */
static void create(MPI_Comm inter, int n_even, int n_odd, MPI_Comm *part_p)
{
    int ranks[2][16], local[16], n[2] = {n_even, n_odd}, rank;
    MPI_Group group, some;

    for (int side = 0; side < 2; side++)
        for (int i = 0; i < n[side]; i++)
            ranks[side][i] = 2 * (n_side[side] - 1 - i) + side;
    for (int i = 0; i < n[parity]; i++)
        local[i] = n_side[parity] - 1 - i;
    MUST(MPI_Comm_group(inter, &group));
    MUST(MPI_Group_incl(group, n[parity], local, &some));
    MUST(MPI_Comm_create(inter, some, part_p));
    MUST(MPI_Group_rank(some, &rank));
    CHECK_EQ(*part_p != MPI_COMM_NULL, rank != MPI_UNDEFINED && n_even > 0 && n_odd > 0);
    check_inter(*part_p, n[parity], ranks[parity], n[1 - parity], ranks[1 - parity]);
    if (some != MPI_GROUP_EMPTY)
        MUST(MPI_Group_free(&some));
    MUST(MPI_Group_free(&group));
}

static void all_creates(MPI_Comm inter)
{
    MPI_Comm part;

    for (int n_even = 0; n_even <= n_side[0]; n_even++) {
        for (int n_odd = 0; n_odd <= n_side[1]; n_odd++) {
            create(inter, n_even, n_odd, &part);
            if (part != MPI_COMM_NULL)
                MUST(MPI_Comm_free(&part));
        }
    }
}

/* Parts of parts, their duplicates, and the parent goes first. */
static void chain(void)
{
    MPI_Comm inter = make(), part, copy, last;
    MPI_Request req;
    int result, sum, flag;

    MUST(MPI_Comm_split(inter, 3, 0, &part));
    MUST(MPI_Comm_free(&inter));
    MUST(MPI_Comm_dup(part, &copy));
    MUST(MPI_Comm_compare(part, copy, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    MUST(MPI_Comm_free(&part));
    MUST(MPI_Comm_idup(copy, &last, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_test_inter(last, &flag));
    CHECK(flag);
    MUST(MPI_Allreduce(&parity, &sum, 1, MPI_INT, MPI_SUM, last));
    CHECK_EQ(sum, parity ? 0 : n_side[1]);
    MUST(MPI_Barrier(last));
    MUST(MPI_Comm_free(&last));
}

/* Ids are given back: more communicators than there can be at once. */
static void many(MPI_Comm inter)
{
    for (int i = 0; i < 1200; i++) {
        MPI_Comm part;

        /* every second time nobody gets anything */
        MUST(MPI_Comm_split(inter, i % 2 ? parity : 0, 0, &part));
        CHECK_EQ(part == MPI_COMM_NULL, i % 2);
        if (part != MPI_COMM_NULL)
            MUST(MPI_Comm_free(&part));
    }
}

static void errors(MPI_Comm inter)
{
    MPI_Comm part = MPI_COMM_WORLD;
    MPI_Group remote, world;
    int n = -7;

    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    /* the other side's processes are not one's own to choose */
    MUST(MPI_Comm_remote_group(inter, &remote));
    FAILS(MPI_Comm_create(inter, remote, &part), MPI_ERR_GROUP);
    CHECK(part == MPI_COMM_NULL);
    MUST(MPI_Group_free(&remote));
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    FAILS(MPI_Comm_create(inter, world, &part), MPI_ERR_GROUP);
    FAILS(MPI_Comm_create_group(inter, world, 1, &part), MPI_ERR_COMM);
    FAILS(MPI_Comm_create(inter, MPI_GROUP_NULL, &part), MPI_ERR_GROUP);
    FAILS(MPI_Comm_split(inter, 0, 0, NULL), MPI_ERR_ARG);
    FAILS(MPI_Comm_split_type(inter, 99, 0, MPI_INFO_NULL, &part), MPI_ERR_ARG);
    FAILS(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 1, &part), MPI_ERR_COMM);
    MUST(MPI_Group_free(&world));

    FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &n), MPI_ERR_COMM);
    FAILS(MPI_Comm_remote_group(MPI_COMM_WORLD, &remote), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &part), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, mp_size, 1, &part), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(MPI_COMM_WORLD, mp_size, MPI_COMM_WORLD, 0, 1, &part), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_NULL, 0, 1, &part), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 0, -1, &part), MPI_ERR_TAG);
    FAILS(MPI_Intercomm_create(MPI_COMM_NULL, 0, MPI_COMM_WORLD, 0, 1, &part), MPI_ERR_COMM);
}

/* Both groups are on this host, unless the test runs over several. */
static void by_host(MPI_Comm inter)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "", names[16][MPI_MAX_PROCESSOR_NAME];
    int mine[16], theirs[16], n_mine = 0, n_theirs = 0, len;
    MPI_Comm part;

    MUST(MPI_Get_processor_name(own, &len));
    MUST(MPI_Allgather(own, sizeof(own), MPI_CHAR, names, sizeof(own), MPI_CHAR, MPI_COMM_WORLD));
    for (int r = 0; r < mp_size; r++) {
        if (strcmp(own, names[r]) == 0 && r % 2 == parity)
            mine[n_mine++] = r;
        else if (strcmp(own, names[r]) == 0)
            theirs[n_theirs++] = r;
    }
    MUST(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
    CHECK_EQ(part != MPI_COMM_NULL, n_theirs > 0);
    check_inter(part, n_mine, mine, n_theirs, theirs);
    if (part != MPI_COMM_NULL)
        MUST(MPI_Comm_free(&part));
    MUST(MPI_Comm_split_type(inter, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
    CHECK(part == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    MPI_Comm inter, part;

    mp_start(&argc, &argv);
    parity = mp_rank % 2;
    n_side[0] = (mp_size + 1) / 2;
    n_side[1] = mp_size / 2;
    inter = make();
    for (int i = 0; i < 3; i++) {
        all_splits(inter);
        all_creates(inter);
        chain();
    }
    /* the part works after its parent */
    create(inter, 1, 1, &part);
    many(inter);
    /* MPICH wants an intracommunicator here, and takes some of the wrong arguments */
    if (!mp_is_library("MPICH")) {
        by_host(inter);
        errors(inter);
    }
    MUST(MPI_Comm_free(&inter));
    if (part != MPI_COMM_NULL) {
        MUST(MPI_Barrier(part));
        MUST(MPI_Comm_free(&part));
    }
    return mp_finish();
}
