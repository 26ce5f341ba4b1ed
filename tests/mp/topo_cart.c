/* test: np=1,2,3,4,6,8 timeout=60 */
/*
 * Cartesian topologies: ranks and coordinates, shifts, sub-grids, grids smaller than the
 * communicator, without dimensions, and their duplicates.
 */
#include "mp_test.h"

#define MAX_DIMS 4

static void check_grid(MPI_Comm comm, int n, const int dims[], const int periods[])
{
    int got_dims[MAX_DIMS], got_periods[MAX_DIMS], coords[MAX_DIMS];
    int kind = 0, got = -1, rank, size, at = 0;

    MUST(MPI_Topo_test(comm, &kind));
    CHECK_EQ(kind, MPI_CART);
    MUST(MPI_Cartdim_get(comm, &got));
    CHECK_EQ(got, n);
    MUST(MPI_Cart_get(comm, MAX_DIMS, got_dims, got_periods, coords));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(got_dims[i], dims[i]);
        CHECK_EQ(!got_periods[i], !periods[i]);
        at = at * dims[i] + coords[i];
    }
    CHECK_EQ(at, rank);
    for (int r = 0; r < size; r++) {
        MUST(MPI_Cart_coords(comm, r, n, coords));
        at = 0;
        for (int i = 0; i < n; i++) {
            CHECK(coords[i] >= 0 && coords[i] < dims[i]);
            at = at * dims[i] + coords[i];
        }
        CHECK_EQ(at, r);
        MUST(MPI_Cart_rank(comm, coords, &got));
        CHECK_EQ(got, r);
        for (int i = 0; i < n; i++)
            if (periods[i])
                coords[i] += (i % 2 == 0 ? -3 : 2) * dims[i];
        MUST(MPI_Cart_rank(comm, coords, &got));
        CHECK_EQ(got, r);
    }
}

/* Where somebody disp places further in a dimension is. */
static int beside(MPI_Comm comm, int n, const int dims[], const int periods[], int dim, int disp)
{
    int coords[MAX_DIMS], rank;

    MPI_Comm_rank(comm, &rank);
    MPI_Cart_coords(comm, rank, n, coords);
    coords[dim] += disp;
    if (!periods[dim] && (coords[dim] < 0 || coords[dim] >= dims[dim]))
        return MPI_PROC_NULL;
    MPI_Cart_rank(comm, coords, &rank);
    return rank;
}

static void check_shifts(MPI_Comm comm, int n, const int dims[], const int periods[])
{
    static const int disps[] = {0, 1, -1, 2, -3, 17, -100};

    for (int d = 0; d < n; d++)
        for (int i = 0; i < (int)(sizeof(disps) / sizeof(disps[0])); i++) {
            int source = -7, dest = -7;

            MUST(MPI_Cart_shift(comm, d, disps[i], &source, &dest));
            CHECK_EQ(source, beside(comm, n, dims, periods, d, -disps[i]));
            CHECK_EQ(dest, beside(comm, n, dims, periods, d, disps[i]));
        }
}

/* Every subset of the dimensions. */
static void check_subs(MPI_Comm comm, int n, const int dims[], const int periods[])
{
    int coords[MAX_DIMS], rank;

    MPI_Comm_rank(comm, &rank);
    MPI_Cart_coords(comm, rank, n, coords);
    for (int set = 0; set < 1 << n; set++) {
        int remain[MAX_DIMS], sub_dims[MAX_DIMS], sub_periods[MAX_DIMS], n_sub = 0, at = 0;
        int sum, want = 0;
        MPI_Comm sub = MPI_COMM_NULL;

        for (int i = 0; i < n; i++) {
            remain[i] = set >> i & 1;
            if (!remain[i]) {
                want = want * dims[i] + coords[i];
                continue;
            }
            at = at * dims[i] + coords[i];
            sub_dims[n_sub] = dims[i];
            sub_periods[n_sub++] = periods[i];
        }
        MUST(MPI_Cart_sub(comm, remain, &sub));
        /* As in MPICH one process has a grid when no dimension remains. */
        if (sub == MPI_COMM_NULL && n_sub == 0 && mp_rank > 0)
            continue;
        check_grid(sub, n_sub, sub_dims, sub_periods);
        MPI_Comm_rank(sub, &rank);
        CHECK_EQ(rank, at);
        /* all of a sub-grid have the other coordinates in common */
        MPI_Allreduce(&want, &sum, 1, MPI_INT, MPI_MAX, sub);
        CHECK_EQ(sum, want);
        MPI_Comm_free(&sub);
    }
}

static void check_dup(MPI_Comm comm, int n, const int dims[], const int periods[])
{
    MPI_Comm dup, dup2;

    MUST(MPI_Comm_dup(comm, &dup));
    check_grid(dup, n, dims, periods);
    MUST(MPI_Comm_dup_with_info(dup, MPI_INFO_NULL, &dup2));
    MPI_Comm_free(&dup);
    check_grid(dup2, n, dims, periods);
    check_shifts(dup2, n, dims, periods);
    MPI_Comm_free(&dup2);
}

static void grid(int n, const int dims[], const int periods[], int reorder)
{
    int places = 1, mapped = -7, rank, size, result;
    MPI_Comm comm = MPI_COMM_WORLD;

    for (int i = 0; i < n; i++)
        places *= dims[i];
    if (places > mp_size)
        return;
    MUST(MPI_Cart_map(MPI_COMM_WORLD, n, dims, periods, &mapped));
    MUST(MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, reorder, &comm));
    if (!reorder)
        mapped = mp_rank < places ? mp_rank : MPI_UNDEFINED;
    if (comm == MPI_COMM_NULL) {
        CHECK(mapped == MPI_UNDEFINED);
        return;
    }
    MPI_Comm_size(comm, &size);
    CHECK_EQ(size, places);
    MPI_Comm_rank(comm, &rank);
    CHECK_EQ(rank, mapped);
    if (!reorder && places == mp_size) {
        MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
        CHECK_EQ(result, MPI_CONGRUENT);
    }
    check_grid(comm, n, dims, periods);
    check_shifts(comm, n, dims, periods);
    check_subs(comm, n, dims, periods);
    check_dup(comm, n, dims, periods);
    MPI_Comm_free(&comm);
}

/* Every combination of periods of a grid. */
static void grids(int n, const int dims[])
{
    for (int set = 0; set < 1 << n; set++) {
        int periods[MAX_DIMS];

        for (int i = 0; i < n; i++)
            periods[i] = set >> i & 1 ? 5 : 0;
        grid(n, dims, periods, 0);
        grid(n, dims, periods, 1);
    }
}

static void no_dimensions(void)
{
    int unused = 17, kind, mapped, rank = -1;
    MPI_Comm comm, sub;

    MUST(MPI_Cart_map(MPI_COMM_WORLD, 0, NULL, NULL, &mapped));
    CHECK_EQ(mapped, mp_rank == 0 ? 0 : MPI_UNDEFINED);
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &comm));
    CHECK_EQ(comm != MPI_COMM_NULL, mp_rank == 0);
    if (comm == MPI_COMM_NULL)
        return;
    check_grid(comm, 0, &unused, &unused);
    MUST(MPI_Cart_get(comm, 1, &unused, &unused, &unused));
    MUST(MPI_Cart_coords(comm, 0, 1, &unused));
    CHECK_EQ(unused, 17);
    MUST(MPI_Cart_rank(comm, NULL, &rank));
    CHECK_EQ(rank, 0);
    MUST(MPI_Cart_sub(comm, NULL, &sub));
    CHECK(sub != MPI_COMM_NULL);
    check_grid(sub, 0, &unused, &unused);
    MPI_Comm_free(&sub);
    MUST(MPI_Comm_split(comm, 0, 0, &sub));
    MUST(MPI_Topo_test(sub, &kind));
    CHECK_EQ(kind, MPI_UNDEFINED);
    MPI_Comm_free(&sub);
    MPI_Comm_free(&comm);
}

/* The grid of a communicator whose ranks are not those of the world. */
static void of_reversed(void)
{
    MPI_Comm reversed, comm;
    int one = 1, rank;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -mp_rank, &reversed);
    MUST(MPI_Cart_create(reversed, 1, &mp_size, &one, 0, &comm));
    MPI_Comm_rank(comm, &rank);
    CHECK_EQ(rank, mp_size - 1 - mp_rank);
    check_grid(comm, 1, &mp_size, &one);
    MPI_Comm_free(&comm);
    MUST(MPI_Cart_create(reversed, 1, &one, &one, 0, &comm));
    CHECK_EQ(comm != MPI_COMM_NULL, mp_rank == mp_size - 1);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    MPI_Comm_free(&reversed);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    grids(1, (int[]){1});
    grids(1, (int[]){2});
    grids(1, &mp_size);
    grids(2, (int[]){2, 2});
    grids(2, (int[]){3, 2});
    grids(3, (int[]){1, mp_size, 1});
    grids(3, (int[]){2, 2, 2});
    grids(4, (int[]){1, 2, 1, 2});
    no_dimensions();
    of_reversed();
    return mp_finish();
}
