/* test: np=1 timeout=20 */
/*
 * MPI_Type_get_envelope and get_contents give back what each constructor got, its own name, and types that
 * work again; predefined types have no contents.
 */
#include "mp_test.h"

enum { MAX = 32 };

static int ints[MAX];
static MPI_Aint aints[MAX];
static MPI_Datatype types[MAX];

/* What type was made of, against the numbers of integers and addresses, and the types. */
static void look(MPI_Datatype type, int combiner, int n_ints, int n_aints, int n_types)
{
    int ni = -1, na = -1, nt = -1, got = -1;

    MUST(MPI_Type_get_envelope(type, &ni, &na, &nt, &got));
    CHECK_EQ(got, combiner);
    CHECK_EQ(ni, n_ints);
    CHECK_EQ(na, n_aints);
    CHECK_EQ(nt, n_types);
    memset(ints, 0x55, sizeof(ints));
    MUST(MPI_Type_get_contents(type, ni, na, nt, ints, aints, types));
}

static void ints_are(const int *want, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_EQ(ints[i], want[i]);
}

static void done(MPI_Datatype *type)
{
    MUST(MPI_Type_free(type));
    CHECK(*type == MPI_DATATYPE_NULL);
}

static void vectors(void)
{
    MPI_Datatype t;

    MUST(MPI_Type_contiguous(7, MPI_INT, &t));
    look(t, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    ints_are((int[]){7}, 1);
    CHECK(types[0] == MPI_INT);
    done(&t);
    MUST(MPI_Type_vector(3, 2, -5, MPI_DOUBLE, &t));
    look(t, MPI_COMBINER_VECTOR, 3, 0, 1);
    ints_are((int[]){3, 2, -5}, 3);
    CHECK(types[0] == MPI_DOUBLE);
    done(&t);
    MUST(MPI_Type_create_hvector(3, 2, 40, MPI_CHAR, &t));
    look(t, MPI_COMBINER_HVECTOR, 2, 1, 1);
    ints_are((int[]){3, 2}, 2);
    CHECK_EQ(aints[0], 40);
    done(&t);
}

static void indexed(void)
{
    int lens[3] = {1, 0, 2}, displs[3] = {5, -1, 9};
    MPI_Aint bytes[3] = {8, -16, 40};
    MPI_Datatype t;

    MUST(MPI_Type_indexed(3, lens, displs, MPI_INT, &t));
    look(t, MPI_COMBINER_INDEXED, 7, 0, 1);
    ints_are((int[]){3, 1, 0, 2, 5, -1, 9}, 7);
    done(&t);
    MUST(MPI_Type_create_hindexed(3, lens, bytes, MPI_INT, &t));
    look(t, MPI_COMBINER_HINDEXED, 4, 3, 1);
    ints_are((int[]){3, 1, 0, 2}, 4);
    CHECK(aints[0] == 8 && aints[1] == -16 && aints[2] == 40);
    done(&t);
    MUST(MPI_Type_create_indexed_block(3, 4, displs, MPI_INT, &t));
    look(t, MPI_COMBINER_INDEXED_BLOCK, 5, 0, 1);
    ints_are((int[]){3, 4, 5, -1, 9}, 5);
    done(&t);
    MUST(MPI_Type_create_hindexed_block(3, 4, bytes, MPI_INT, &t));
    look(t, MPI_COMBINER_HINDEXED_BLOCK, 2, 3, 1);
    ints_are((int[]){3, 4}, 2);
    CHECK_EQ(aints[2], 40);
    done(&t);
}

/* A derived type among the contents is one of its own: it is freed, and the outer one lives. */
static void structs(void)
{
    int lens[2] = {2, 3}, size, ni, na, nt, combiner;
    MPI_Aint at[2] = {0, 64}, lb, extent;
    MPI_Datatype inner, parts[2], t;

    MUST(MPI_Type_vector(2, 1, 2, MPI_INT, &inner));
    parts[0] = MPI_CHAR;
    parts[1] = inner;
    MUST(MPI_Type_create_struct(2, lens, at, parts, &t));
    MUST(MPI_Type_free(&inner));
    look(t, MPI_COMBINER_STRUCT, 3, 2, 2);
    ints_are((int[]){2, 2, 3}, 3);
    CHECK_EQ(aints[1], 64);
    CHECK(types[0] == MPI_CHAR);
    MUST(MPI_Type_get_envelope(types[1], &ni, &na, &nt, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_VECTOR);
    MUST(MPI_Type_commit(&types[1]));
    MUST(MPI_Type_size(types[1], &size));
    CHECK_EQ(size, 2 * sizeof(int));
    done(&types[1]);
    MUST(MPI_Type_size(t, &size));
    CHECK_EQ(size, 2 + 6 * sizeof(int));
    MUST(MPI_Type_dup(t, &inner));
    look(inner, MPI_COMBINER_DUP, 0, 0, 1);
    done(&types[0]);
    done(&t);
    MUST(MPI_Type_create_resized(inner, -8, 200, &t));
    look(t, MPI_COMBINER_RESIZED, 0, 2, 1);
    CHECK(aints[0] == -8 && aints[1] == 200);
    done(&types[0]);
    MUST(MPI_Type_get_extent(t, &lb, &extent));
    CHECK(lb == -8 && extent == 200);
    done(&t);
    done(&inner);
}

static void arrays(void)
{
    int sizes[2] = {8, 9}, subs[2] = {3, 4}, starts[2] = {1, 2}, distribs[2], args[2], grid[2];
    MPI_Datatype t;

    MUST(MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_FORTRAN, MPI_INT, &t));
    look(t, MPI_COMBINER_SUBARRAY, 8, 0, 1);
    ints_are((int[]){2, 8, 9, 3, 4, 1, 2, MPI_ORDER_FORTRAN}, 8);
    done(&t);
    distribs[0] = MPI_DISTRIBUTE_BLOCK;
    distribs[1] = MPI_DISTRIBUTE_CYCLIC;
    args[0] = MPI_DISTRIBUTE_DFLT_DARG;
    args[1] = 2;
    grid[0] = 2;
    grid[1] = 3;
    MUST(MPI_Type_create_darray(6, 4, 2, sizes, distribs, args, grid, MPI_ORDER_C, MPI_INT, &t));
    look(t, MPI_COMBINER_DARRAY, 12, 0, 1);
    ints_are((int[]){6, 4, 2, 8, 9, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                     MPI_DISTRIBUTE_DFLT_DARG, 2, 2, 3, MPI_ORDER_C},
             12);
    done(&t);
}

static MPI_Count counts[MAX];

/* Made with large counts: they come back as such, though they would fit int. */
static void look_large(MPI_Datatype type, int combiner, int n_ints, const int *want_ints,
                       int n_counts, const MPI_Count *want)
{
    MPI_Count ni, na, nc, nt;
    int got;

    MUST(MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nt, &got));
    CHECK_EQ(got, combiner);
    CHECK_EQ(ni, n_ints);
    CHECK_EQ(na, 0);
    CHECK_EQ(nc, n_counts);
    CHECK_EQ(nt, 1);
    if (nc != n_counts || ni != n_ints)
        return;
    MUST(MPI_Type_get_contents_c(type, ni, 0, nc, nt, ints, aints, counts, types));
    for (int i = 0; i < n_ints; i++)
        CHECK_EQ(ints[i], want_ints[i]);
    for (int i = 0; i < n_counts; i++)
        CHECK_EQ(counts[i], want[i]);
    CHECK(types[0] == MPI_INT);
}

static void large(void)
{
    MPI_Count sizes[2] = {8, 9}, subs[2] = {3, 4}, starts[2] = {1, 2}, lens[2] = {1, 2};
    MPI_Datatype t, dup;
    MPI_Count ni, na, nc, nt;
    int combiner;

    MUST(MPI_Type_contiguous_c(5, MPI_INT, &t));
    look_large(t, MPI_COMBINER_CONTIGUOUS, 0, NULL, 1, (MPI_Count[]){5});
    MUST(MPI_Type_dup(t, &dup));
    MUST(MPI_Type_get_contents_c(dup, 0, 0, 0, 1, ints, aints, counts, types));
    MUST(MPI_Type_free(&dup));
    dup = types[0];
    look_large(dup, MPI_COMBINER_CONTIGUOUS, 0, NULL, 1, (MPI_Count[]){5});
    MUST(MPI_Type_free(&dup));
    MUST(MPI_Type_free(&t));
    MUST(MPI_Type_create_hvector_c(3, 2, 40, MPI_INT, &t));
    look_large(t, MPI_COMBINER_HVECTOR, 0, NULL, 3, (MPI_Count[]){3, 2, 40});
    MUST(MPI_Type_free(&t));
    MUST(MPI_Type_create_hindexed_c(2, lens, sizes, MPI_INT, &t));
    look_large(t, MPI_COMBINER_HINDEXED, 0, NULL, 5, (MPI_Count[]){2, 1, 2, 8, 9});
    MUST(MPI_Type_free(&t));
    MUST(MPI_Type_create_resized_c(MPI_INT, -4, 16, &t));
    look_large(t, MPI_COMBINER_RESIZED, 0, NULL, 2, (MPI_Count[]){-4, 16});
    MUST(MPI_Type_free(&t));
    MUST(MPI_Type_create_subarray_c(2, sizes, subs, starts, MPI_ORDER_C, MPI_INT, &t));
    look_large(t, MPI_COMBINER_SUBARRAY, 2, (int[]){2, MPI_ORDER_C}, 6,
               (MPI_Count[]){8, 9, 3, 4, 1, 2});
    MUST(MPI_Type_free(&t));
    /* Made without: integers and addresses. */
    MUST(MPI_Type_create_hvector(3, 2, 40, MPI_INT, &t));
    MUST(MPI_Type_get_envelope_c(t, &ni, &na, &nc, &nt, &combiner));
    CHECK(ni == 2 && na == 1 && nc == 0 && nt == 1);
    MUST(MPI_Type_free(&t));
}

/* Rows and pieces of an array dealt out so that it would take too many blocks to list them. */
static void dealt(void)
{
    int size[1] = {1000000001}, distrib[1] = {MPI_DISTRIBUTE_CYCLIC}, arg[1] = {2}, grid[1] = {2};
    MPI_Count lb, extent;
    MPI_Datatype t;
    int n;

    for (int rank = 0; rank < 2; rank++) {
        MUST(MPI_Type_create_darray(2, rank, 1, size, distrib, arg, grid, MPI_ORDER_C, MPI_CHAR,
                                    &t));
        MUST(MPI_Type_size(t, &n));
        CHECK_EQ(n, rank == 0 ? 500000001 : 500000000);
        MUST(MPI_Type_get_extent_c(t, &lb, &extent));
        CHECK(lb == 0 && extent == size[0]);
        MUST(MPI_Type_get_true_extent_c(t, &lb, &extent));
        CHECK_EQ(lb, rank == 0 ? 0 : 2);
        CHECK_EQ(extent, rank == 0 ? 1000000001 : 999999998);
        MUST(MPI_Type_free(&t));
    }
}

static void predefined(void)
{
    static const MPI_Datatype some[] = {MPI_CHAR,   MPI_INT,    MPI_DOUBLE_INT, MPI_BYTE,
                                        MPI_C_BOOL, MPI_PACKED, MPI_LB,         MPI_LONG_DOUBLE};
    int ni, na, nt, combiner;
    MPI_Datatype t;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        MUST(MPI_Type_get_envelope(some[i], &ni, &na, &nt, &combiner));
        CHECK(ni == 0 && na == 0 && nt == 0);
        CHECK_EQ(combiner, MPI_COMBINER_NAMED);
        CHECK(MPI_Type_get_contents(some[i], 0, 0, 0, ints, aints, types) != MPI_SUCCESS);
    }
    MUST(MPI_Type_create_f90_real(6, MPI_UNDEFINED, &t));
    look(t, MPI_COMBINER_F90_REAL, 2, 0, 0);
    ints_are((int[]){6, MPI_UNDEFINED}, 2);
    MUST(MPI_Type_create_f90_complex(12, 100, &t));
    look(t, MPI_COMBINER_F90_COMPLEX, 2, 0, 0);
    ints_are((int[]){12, 100}, 2);
    MUST(MPI_Type_create_f90_integer(9, &t));
    look(t, MPI_COMBINER_F90_INTEGER, 1, 0, 0);
    ints_are((int[]){9}, 1);
    if (!mp_is_library("MPICH")) /* frees them */
        CHECK(MPI_Type_free(&t) != MPI_SUCCESS);
    /* Too little room. */
    MUST(MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &t));
    CHECK(MPI_Type_get_contents(t, 2, 0, 1, ints, aints, types) != MPI_SUCCESS);
    CHECK(MPI_Type_get_contents(t, 3, 0, 1, NULL, aints, types) != MPI_SUCCESS);
    CHECK(MPI_Type_get_contents(t, 3, 0, 1, ints, aints, NULL) != MPI_SUCCESS);
    MUST(MPI_Type_get_contents(t, 3, 0, 1, ints, NULL, types));
    CHECK(MPI_Type_get_contents(t, 3, 0, 0, ints, aints, types) != MPI_SUCCESS);
    done(&t);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    vectors();
    indexed();
    structs();
    arrays();
    large();
    if (!mp_is_library("MPICH")) /* lists them */
        dealt();
    predefined();
    return mp_finish();
}
