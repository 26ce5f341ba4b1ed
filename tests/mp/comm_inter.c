/* test: np=2,3,5 timeout=60 */
/*
 * Intercommunicators: even and odd ranks joined by leaders that are not rank 0, messages
 * across, dup, merge in all four ways of saying who comes first.
 */
#include "mp_test.h"

#define TAG 12

/* The world ranks of one side in order. */
static int side(int parity, int *ranks)
{
    int n = 0;

    for (int r = 0; r < mp_size; r++)
        if (r % 2 == parity)
            ranks[n++] = r;
    return n;
}

static void check_group(MPI_Group group, int parity)
{
    int *ranks = malloc((size_t)mp_size * sizeof(int));
    int n = side(parity, ranks);
    MPI_Group world, want;
    int result;

    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_incl(world, n, ranks, &want));
    MUST(MPI_Group_compare(group, want, &result));
    CHECK_EQ(result, MPI_IDENT);
    MUST(MPI_Group_free(&want));
    MUST(MPI_Group_free(&world));
    free(ranks);
}

/* Everybody exchanges with everybody of the other side. */
static void check_inter(MPI_Comm inter)
{
    int mine = mp_rank % 2;
    int *ranks = malloc((size_t)mp_size * sizeof(int));
    int n = side(1 - mine, ranks);
    int flag, size;
    MPI_Group group;

    MUST(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    MUST(MPI_Comm_remote_size(inter, &size));
    CHECK_EQ(size, n);
    MUST(MPI_Comm_size(inter, &size));
    CHECK_EQ(size, mp_size - n);
    MUST(MPI_Comm_group(inter, &group));
    check_group(group, mine);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_remote_group(inter, &group));
    check_group(group, 1 - mine);
    MUST(MPI_Group_free(&group));
    for (int i = 0; i < n; i++) {
        MPI_Request req;
        MPI_Status status;
        int got;

        MUST(MPI_Isend(&mp_rank, 1, MPI_INT, i, 5, inter, &req));
        MUST(MPI_Recv(&got, 1, MPI_INT, i, 5, inter, &status));
        CHECK_EQ(got, ranks[i]);
        CHECK_EQ(status.MPI_SOURCE, i);
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    }
    free(ranks);
}

static void merge(MPI_Comm inter, int even_high, int odd_high)
{
    int is_odd = mp_rank % 2;
    int n_even = (mp_size + 1) / 2;
    /* both alike: the implementation chooses */
    int even_first = even_high < odd_high;
    MPI_Comm all;
    int rank, size, sum;

    MUST(MPI_Intercomm_merge(inter, is_odd ? odd_high : even_high, &all));
    MUST(MPI_Comm_size(all, &size));
    MUST(MPI_Comm_rank(all, &rank));
    CHECK_EQ(size, mp_size);
    if (even_high == odd_high) {
        int first = mp_rank;

        MUST(MPI_Bcast(&first, 1, MPI_INT, 0, all));
        even_first = first % 2 == 0;
    }
    if (is_odd)
        CHECK_EQ(rank, mp_rank / 2 + (even_first ? n_even : 0));
    else
        CHECK_EQ(rank, mp_rank / 2 + (even_first ? 0 : mp_size - n_even));
    MUST(MPI_Allreduce(&mp_rank, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK_EQ(sum, mp_size * (mp_size - 1) / 2);
    MUST(MPI_Comm_free(&all));
}

int main(int argc, char **argv)
{
    MPI_Comm local, peer, inter, copy;
    int parity, result, leader;

    mp_start(&argc, &argv);
    parity = mp_rank % 2;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &peer));
    for (int i = 0; i < 50; i++) {
        int leaders[2] = {0, 1};

        MUST(MPI_Comm_split(MPI_COMM_WORLD, parity, mp_rank, &local));
        /* the last of each side leads now and then */
        if (i % 2 == 1) {
            leaders[0] = (mp_size - 1) / 2 * 2;
            leaders[1] = (mp_size - 2) / 2 * 2 + 1;
        }
        leader = leaders[parity] / 2;
        MUST(MPI_Intercomm_create(local, leader, mp_rank == leaders[parity] ? peer : MPI_COMM_NULL,
                                  leaders[1 - parity], TAG, &inter));
        MUST(MPI_Comm_free(&local));
        check_inter(inter);
        MUST(MPI_Comm_dup(inter, &copy));
        MUST(MPI_Comm_compare(inter, copy, &result));
        CHECK_EQ(result, MPI_CONGRUENT);
        MUST(MPI_Comm_compare(inter, peer, &result));
        CHECK_EQ(result, MPI_UNEQUAL);
        for (int way = 0; way < 4; way++)
            merge(way % 2 ? inter : copy, way / 2, way % 2);
        MUST(MPI_Comm_free(&inter));
        check_inter(copy);
        MUST(MPI_Comm_free(&copy));
    }
    MUST(MPI_Comm_free(&peer));
    return mp_finish();
}
