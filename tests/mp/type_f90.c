/* test: np=1,2 timeout=20 */
/* MPI_Type_create_f90_real and its kin, MPI_Type_match_size. */
#include "mp_test.h"

static void check(MPI_Datatype type, int combiner, int n, int a, int b, int want_size)
{
    int size, n_ints, n_addrs, n_types, got, ints[2] = {-1, -1};

    MUST(MPI_Type_size(type, &size));
    CHECK_EQ(size, want_size);
    MUST(MPI_Type_get_envelope(type, &n_ints, &n_addrs, &n_types, &got));
    CHECK_EQ(got, combiner);
    CHECK_EQ(n_ints, n);
    CHECK_EQ(n_addrs, 0);
    CHECK_EQ(n_types, 0);
    MUST(MPI_Type_get_contents(type, 2, 0, 0, ints, NULL, NULL));
    CHECK_EQ(ints[0], a);
    if (n == 2)
        CHECK_EQ(ints[1], b);
    MUST(MPI_Type_commit(&type));
}

static void reals(void)
{
    static const struct {
        int p, r, size;
    } table[] = {{1, 1, 4},
                 {6, 37, 4},
                 {7, 37, 8},
                 {6, 38, 8},
                 {15, 307, 8},
                 {6, MPI_UNDEFINED, 4},
                 {MPI_UNDEFINED, 307, 8},
                 {10, MPI_UNDEFINED, 8}};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int p = table[i].p, r = table[i].r;
        MPI_Datatype one, two;

        MUST(MPI_Type_create_f90_real(p, r, &one));
        check(one, MPI_COMBINER_F90_REAL, 2, p, r, table[i].size);
        MUST(MPI_Type_create_f90_real(p, r, &two));
        CHECK(one == two);
        MUST(MPI_Type_create_f90_complex(p, r, &two));
        CHECK(one != two);
        check(two, MPI_COMBINER_F90_COMPLEX, 2, p, r, 2 * table[i].size);
        MUST(MPI_Type_create_f90_complex(p, r, &one));
        CHECK(one == two);
    }
}

static void integers(void)
{
    static const int ranges[8] = {1, 2, 3, 4, 5, 9, 10, 18};
    static const int sizes[8] = {1, 1, 2, 2, 4, 4, 8, 8};

    for (int i = 0; i < 8; i++) {
        MPI_Datatype one, two;

        MUST(MPI_Type_create_f90_integer(ranges[i], &one));
        check(one, MPI_COMBINER_F90_INTEGER, 1, ranges[i], 0, sizes[i]);
        MUST(MPI_Type_create_f90_integer(ranges[i], &two));
        CHECK(one == two);
    }
}

/* They move and reduce like the types they stand for, and others are made of them. */
static void use(void)
{
    double in[4] = {1, 2, 3, 4}, out[4] = {0}, sum[2] = {0};
    int ints[2] = {mp_rank, 5}, isum[2];
    MPI_Datatype real, integer, pair, kept;
    MPI_Status st;
    int n, n_ints, n_addrs, n_types, combiner, count;

    MPI_Type_create_f90_real(15, 300, &real);
    MPI_Type_create_f90_integer(9, &integer);
    MUST(MPI_Sendrecv(in, 4, real, mp_rank, 1, out, 4, real, mp_rank, 1, MPI_COMM_WORLD, &st));
    MPI_Get_count(&st, real, &n);
    CHECK_EQ(n, 4);
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    MUST(MPI_Allreduce(in, sum, 2, real, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum[0] == mp_size && sum[1] == 2 * mp_size);
    MUST(MPI_Allreduce(ints, isum, 2, integer, MPI_MAX, MPI_COMM_WORLD));
    CHECK_EQ(isum[0], mp_size - 1);
    MPI_Type_contiguous(2, real, &pair);
    MPI_Type_commit(&pair);
    memset(out, 0, sizeof(out));
    MUST(MPI_Sendrecv(in, 2, pair, mp_rank, 1, out, 2, pair, mp_rank, 1, MPI_COMM_WORLD, &st));
    MPI_Get_elements(&st, pair, &n);
    CHECK_EQ(n, 4);
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    MPI_Type_get_envelope(pair, &n_ints, &n_addrs, &n_types, &combiner);
    CHECK_EQ(n_types, 1);
    MPI_Type_get_contents(pair, 1, 0, 1, &count, NULL, &kept);
    CHECK(kept == real);
    MPI_Type_free(&pair);
}

/* Sums into a window, where the target's process has another handle for the type. */
static void accumulate(void)
{
    double *mem, one[2] = {1, 2};
    MPI_Datatype real, other;
    MPI_Win win;

    if (mp_rank == 1)
        MPI_Type_create_f90_real(11, 211, &other);
    MPI_Type_create_f90_real(14, 214, &real);
    MPI_Win_allocate(2 * sizeof(double), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    mem[0] = mem[1] = 0;
    MPI_Win_fence(0, win);
    MUST(MPI_Accumulate(one, 2, real, (mp_rank + 1) % mp_size, 0, 2, real, MPI_SUM, win));
    MPI_Win_fence(0, win);
    CHECK(mem[0] == 1 && mem[1] == 2);
    MPI_Win_free(&win);
}

static void errors(void)
{
    MPI_Datatype type;
    int p;

    FAILS(MPI_Type_create_f90_real(100, 10, &type), MPI_ERR_ARG);
    FAILS(MPI_Type_create_f90_real(10, 100000, &type), MPI_ERR_ARG);
    FAILS(MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG);
    FAILS(MPI_Type_create_f90_real(-3, 10, &type), MPI_ERR_ARG);
    FAILS(MPI_Type_create_f90_integer(100, &type), MPI_ERR_ARG);
    FAILS(MPI_Type_create_f90_integer(3, NULL), MPI_ERR_ARG);
    MPI_Type_create_f90_real(6, 30, &type);
    FAILS(MPI_Type_free(&type), MPI_ERR_TYPE);
    MUST(MPI_Type_size(type, &p));
    /* Beyond double, as gfortran has it. */
    MUST(MPI_Type_create_f90_real(18, 4931, &type));
    check(type, MPI_COMBINER_F90_REAL, 2, 18, 4931, 16);
    MUST(MPI_Type_create_f90_complex(33, 4931, &type));
    check(type, MPI_COMBINER_F90_COMPLEX, 2, 33, 4931, 32);
}

static void match(void)
{
    MPI_Datatype type;
    int size;

    for (int n = 1; n <= 8; n *= 2) {
        MUST(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, n, &type));
        MPI_Type_size(type, &size);
        CHECK_EQ(size, n);
    }
    for (int n = 4; n <= 8; n *= 2) {
        MUST(MPI_Type_match_size(MPI_TYPECLASS_REAL, n, &type));
        MPI_Type_size(type, &size);
        CHECK_EQ(size, n);
        MUST(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 2 * n, &type));
        MPI_Type_size(type, &size);
        CHECK_EQ(size, 2 * n);
    }
    FAILS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 7, &type), MPI_ERR_ARG);
    FAILS(MPI_Type_match_size(77, 4, &type), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    reals();
    integers();
    use();
    match();
    if (!mp_is_library("MPICH")) { /* refuses some and frees predefined types */
        accumulate();
        errors();
    }
    return mp_finish();
}
