/* test: np=1 timeout=20 */
/*
 * Counts of what came, and of what a program says has come: parts of structures, types without
 * data, more than an int holds, cancelled.
 */
#include "mp_test.h"

static MPI_Datatype pair; /* int, gap, double */

static int count_of(const MPI_Status *st, MPI_Datatype type)
{
    int n = -1;

    MUST(MPI_Get_count(st, type, &n));
    return n;
}

static int elements_of(const MPI_Status *st, MPI_Datatype type)
{
    MPI_Count x = -1;
    int n = -1;

    MUST(MPI_Get_elements(st, type, &n));
    MUST(MPI_Get_elements_x(st, type, &x));
    CHECK_EQ(x, n);
    return n;
}

/* Bytes that come, against pairs and basic elements of pairs; -1: not a whole number. */
static void received(void)
{
    static const int want[][3] = {{0, 0, 0},   {4, -1, 1},   {8, -1, -1}, {12, 1, 2},
                                  {16, -1, 3}, {20, -1, -1}, {24, 2, 4},  {2, -1, -1}};
    char out[32] = {0}, in[64];
    MPI_Status st;

    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        MUST(MPI_Sendrecv(out, want[i][0], MPI_BYTE, 0, 0, in, 3, pair, 0, 0, MPI_COMM_SELF, &st));
        CHECK_EQ(count_of(&st, pair), want[i][1] < 0 ? MPI_UNDEFINED : want[i][1]);
        if (want[i][2] >= 0 || !mp_is_library("MPICH")) /* rounds down */
            CHECK_EQ(elements_of(&st, pair), want[i][2] < 0 ? MPI_UNDEFINED : want[i][2]);
        CHECK_EQ(count_of(&st, MPI_BYTE), want[i][0]);
    }
}

static void without_data(void)
{
    char out[4] = {0}, in[4];
    MPI_Datatype none;
    MPI_Status st;

    MUST(MPI_Type_contiguous(0, MPI_INT, &none));
    MUST(MPI_Type_commit(&none));
    MUST(MPI_Sendrecv(out, 0, MPI_BYTE, 0, 0, in, 4, MPI_BYTE, 0, 0, MPI_COMM_SELF, &st));
    CHECK_EQ(count_of(&st, none), 0);
    MUST(MPI_Sendrecv(out, 4, MPI_BYTE, 0, 0, in, 4, MPI_BYTE, 0, 0, MPI_COMM_SELF, &st));
    CHECK_EQ(count_of(&st, none), MPI_UNDEFINED);
    MUST(MPI_Type_free(&none));
}

static void said(void)
{
    MPI_Count big = 5000000000ll, x;
    MPI_Status st;
    int flag, n;

    memset(&st, 0, sizeof(st));
    for (int i = 0; i < 8 && !mp_is_library("MPICH"); i++) { /* takes them for whole pairs */
        MUST(MPI_Status_set_elements(&st, pair, i));
        CHECK_EQ(elements_of(&st, pair), i);
        CHECK_EQ(count_of(&st, pair), i % 2 ? MPI_UNDEFINED : i / 2);
    }
    MUST(MPI_Status_set_elements_x(&st, MPI_BYTE, big));
    MUST(MPI_Get_elements_x(&st, MPI_BYTE, &x));
    CHECK_EQ(x, big);
    CHECK_EQ(count_of(&st, MPI_BYTE), MPI_UNDEFINED);
    MUST(MPI_Get_elements(&st, MPI_BYTE, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    MUST(MPI_Status_set_cancelled(&st, 1));
    MUST(MPI_Test_cancelled(&st, &flag));
    CHECK(flag);
    MUST(MPI_Get_elements_x(&st, MPI_BYTE, &x));
    CHECK_EQ(x, big);
    MUST(MPI_Status_set_cancelled(&st, 0));
    MUST(MPI_Test_cancelled(&st, &flag));
    CHECK(!flag);
}

/* Sizes that no int holds. */
static void large(void)
{
    MPI_Aint lb, extent;
    MPI_Datatype big;
    MPI_Count x;
    int n;

    MUST(MPI_Type_contiguous(0x7fffffff, MPI_DOUBLE, &big));
    MUST(MPI_Type_size(big, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    MUST(MPI_Type_size_x(big, &x));
    CHECK_EQ(x, 8ll * 0x7fffffff);
    MUST(MPI_Type_get_extent(big, &lb, &extent));
    CHECK_EQ(extent, 8ll * 0x7fffffff);
    MUST(MPI_Type_commit(&big));
    MUST(MPI_Pack_size(1, big, MPI_COMM_SELF, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    MUST(MPI_Type_free(&big));
}

int main(int argc, char **argv)
{
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};

    mp_start(&argc, &argv);
    MUST(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, parts, &pair));
    MUST(MPI_Type_commit(&pair));
    received();
    without_data();
    said();
    large();
    MUST(MPI_Type_free(&pair));
    return mp_finish();
}
