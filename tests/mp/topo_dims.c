/* test: np=1 timeout=60 */
/*
 * MPI_Dims_create: products, order, balance against all possible grids, fixed dimensions, errors.
 */
#include "mp_test.h"

#include <limits.h>

#define MAX_DIMS 8

static void check_dims(int n, int k, const int want[])
{
    int dims[MAX_DIMS] = {0};

    MUST(MPI_Dims_create(n, k, dims));
    for (int i = 0; i < k; i++)
        CHECK_EQ(dims[i], want[i]);
}

/* The least difference of largest and smallest of all ways to make n of k factors up to top. */
static int least_spread(int n, int k, int first, int top)
{
    int best = INT_MAX;

    if (k == 1)
        return n <= top ? (first == 0 ? n : first) - n : INT_MAX;
    for (int d = 1; d <= n && d <= top; d++) {
        int spread;

        if (n % d != 0)
            continue;
        spread = least_spread(n / d, k - 1, first == 0 ? d : first, d);
        best = spread < best ? spread : best;
    }
    return best;
}

static void balance(void)
{
    for (int n = 1; n <= 400; n++)
        for (int k = 1; k <= 5; k++) {
            int dims[MAX_DIMS] = {0};
            int product = 1;

            MUST(MPI_Dims_create(n, k, dims));
            for (int i = 0; i < k; i++) {
                product *= dims[i];
                CHECK(i == 0 || dims[i] <= dims[i - 1]);
            }
            CHECK_EQ(product, n);
            if (k > 1)
                CHECK_EQ(dims[0] - dims[k - 1], least_spread(n, k, 0, n));
        }
}

static void known(void)
{
    check_dims(6, 2, (int[]){3, 2});
    check_dims(7, 2, (int[]){7, 1});
    check_dims(16, 3, (int[]){4, 2, 2});
    check_dims(36, 2, (int[]){6, 6});
    check_dims(1, 3, (int[]){1, 1, 1});
    check_dims(2 * 3 * 5 * 7 * 11, 3, (int[]){15, 14, 11});
    check_dims(1000000, 3, (int[]){100, 100, 100});
    /* MPICH 4.0.2 divides by zero here. */
    if (!mp_is_library("MPICH"))
        check_dims(2147483647, 3, (int[]){2147483647, 1, 1});
    check_dims(1 << 30, 6, (int[]){32, 32, 32, 32, 32, 32});
    check_dims(360, 3, (int[]){10, 6, 6});
    check_dims(18000, 5, (int[]){10, 10, 6, 6, 5});
    check_dims(20, 4, (int[]){5, 2, 2, 1});
}

static void fixed(void)
{
    int dims[4] = {0, 3, 0, 0};

    MUST(MPI_Dims_create(6, 3, dims));
    CHECK_EQ(dims[0], 2);
    CHECK_EQ(dims[1], 3);
    CHECK_EQ(dims[2], 1);
    CHECK_EQ(dims[3], 0);
    dims[0] = 0;
    dims[1] = 2;
    dims[2] = 0;
    MUST(MPI_Dims_create(2 * 12, 3, dims));
    CHECK_EQ(dims[0], 4);
    CHECK_EQ(dims[1], 2);
    CHECK_EQ(dims[2], 3);
    MUST(MPI_Dims_create(24, 3, dims));
    CHECK_EQ(dims[2], 3);
    MUST(MPI_Dims_create(48, 3, dims)); /* all are fixed and divide it */
    CHECK_EQ(dims[2], 3);
    MUST(MPI_Dims_create(1, 0, NULL));
}

static void wrong(void)
{
    int dims[3] = {0, 3, 0};

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    FAILS(MPI_Dims_create(7, 3, dims), MPI_ERR_DIMS);
    FAILS(MPI_Dims_create(2, 3, dims), MPI_ERR_DIMS);
    dims[2] = -1;
    FAILS(MPI_Dims_create(6, 3, dims), MPI_ERR_DIMS);
    FAILS(MPI_Dims_create(6, -1, dims), MPI_ERR_ARG);
    FAILS(MPI_Dims_create(4, 0, NULL), MPI_ERR_ARG);
    FAILS(MPI_Dims_create(6, 3, NULL), MPI_ERR_ARG);
    /* MPICH 4.0.2 divides by zero here. */
    if (!mp_is_library("MPICH")) {
        FAILS(MPI_Dims_create(0, 3, dims), MPI_ERR_ARG);
        FAILS(MPI_Dims_create(-6, 3, dims), MPI_ERR_ARG);
    }
    CHECK_EQ(dims[0], 0);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    known();
    balance();
    fixed();
    wrong();
    return mp_finish();
}
