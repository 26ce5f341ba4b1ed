/* test: timeout=20 layers=usage,mpi,util,channel,dapl_adapt */
/*
 * Lengths of data: the same for the same sequence of basic types, however it is made, and different for others.
 */
#include "usage/state.h"

#include "test.h"

static struct dm_type *of(int handle)
{
    return dm_type_get(handle);
}

static bool is_same(size_t n, struct dm_type *a, size_t m, struct dm_type *b)
{
    struct dm_usage_length x = dm_usage_length_of(n, a), y = dm_usage_length_of(m, b);

    return dm_usage_length_fits(&x, &y);
}

static void counts_and_types(void)
{
    struct dm_type *three, *six, *gaps;

    CHECK_EQ(dm_type_contiguous(3, of(MPI_INT), &three), DM_OK);
    CHECK_EQ(dm_type_contiguous(2, three, &six), DM_OK);
    CHECK_EQ(dm_type_vector(3, 2, 5, of(MPI_INT), &gaps), DM_OK);
    CHECK(is_same(6, of(MPI_INT), 2, three));
    CHECK(is_same(6, of(MPI_INT), 1, six));
    CHECK(is_same(6, of(MPI_INT), 1, gaps));
    CHECK(!is_same(6, of(MPI_INT), 1, three));
    CHECK(!is_same(6, of(MPI_INT), 6, of(MPI_FLOAT)));
    CHECK(!is_same(6, of(MPI_INT), 3, of(MPI_LONG)));
    CHECK(!is_same(6, of(MPI_INT), 6, of(MPI_UNSIGNED)));
    CHECK(!is_same(4, of(MPI_BYTE), 1, of(MPI_INT)));
    CHECK(is_same(0, of(MPI_INT), 0, of(MPI_DOUBLE)));
    CHECK(!is_same(0, of(MPI_INT), 1, of(MPI_INT)));
    dm_type_unref(three);
    dm_type_unref(six);
    dm_type_unref(gaps);
}

/* In a mixed type the order counts, and the repetition does. */
static void mixed(void)
{
    int ones[2] = {1, 1}, two_one[2] = {2, 1};
    MPI_Aint displs[2] = {0, 16};
    int int_double[2] = {MPI_INT, MPI_DOUBLE}, double_int[2] = {MPI_DOUBLE, MPI_INT};
    struct dm_type *a, *b, *c, *twice;

    CHECK_EQ(dm_type_create_struct(2, dm_counts_int(ones), dm_counts_wide(displs), int_double, &a),
             DM_OK);
    CHECK_EQ(dm_type_create_struct(2, dm_counts_int(ones), dm_counts_wide(displs), double_int, &b),
             DM_OK);
    CHECK_EQ(
        dm_type_create_struct(2, dm_counts_int(two_one), dm_counts_wide(displs), int_double, &c),
        DM_OK);
    CHECK_EQ(dm_type_contiguous(2, a, &twice), DM_OK);
    CHECK(is_same(2, a, 1, twice));
    CHECK(is_same(1000000, a, 500000, twice));
    CHECK(!is_same(1, a, 1, b));
    CHECK(!is_same(1, a, 1, c));
    CHECK(!is_same(2, c, 1, twice));
    dm_type_unref(a);
    dm_type_unref(b);
    dm_type_unref(c);
    dm_type_unref(twice);
}

static void same_in_memory(void)
{
    CHECK(is_same(2, of(MPI_LONG), 2, of(MPI_INT64_T)));
    CHECK(is_same(2, of(MPI_INTEGER), 2, of(MPI_INT)));
    CHECK(is_same(2, of(MPI_DOUBLE_PRECISION), 2, of(MPI_DOUBLE)));
    CHECK(is_same(8, of(MPI_PACKED), 2, of(MPI_INT)));
    CHECK(!is_same(9, of(MPI_PACKED), 2, of(MPI_INT)));
    CHECK(is_same(3, of(MPI_2INT), 3, of(MPI_2INTEGER)));
    CHECK(!is_same(3, of(MPI_2INT), 3, of(MPI_FLOAT_INT)));
}

int main(void)
{
    CHECK_EQ(dm_datatype_start(), DM_OK);
    counts_and_types();
    mixed();
    same_in_memory();
    dm_datatype_stop();
    return test_result();
}
