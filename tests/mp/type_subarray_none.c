/* test: np=1,2 timeout=20 */
/*
 * Subarrays without elements, of a process that has no part: types of no bytes and of the whole array's
 * extent, also in a view of a file that others write to. What is outside of the array stays wrong.
 */
#include "io_test.h"

enum { ROWS = 4, COLS = 6 };

static const int whole[2] = {ROWS, COLS};

static MPI_Datatype part(int rows, int cols, int row, int col, int order)
{
    const int subsizes[2] = {rows, cols};
    const int starts[2] = {row, col};
    MPI_Datatype type;

    MUST(MPI_Type_create_subarray(2, whole, subsizes, starts, order, MPI_INT, &type));
    MUST(MPI_Type_commit(&type));
    return type;
}

static void is_empty(MPI_Datatype type)
{
    MPI_Aint lb = -1, extent = -1;
    int size = -1, pos = 0;
    char packed[8], *array = "";

    MUST(MPI_Type_size(type, &size));
    MUST(MPI_Type_get_extent(type, &lb, &extent));
    CHECK_EQ(size, 0);
    CHECK_EQ(lb, 0);
    CHECK_EQ(extent, (MPI_Aint)(ROWS * COLS * sizeof(int)));
    MUST(MPI_Pack(array, 3, type, packed, 0, &pos, MPI_COMM_WORLD));
    CHECK_EQ(pos, 0);
    MUST(MPI_Type_free(&type));
}

/* All rows belong to the last process. */
static void view(void)
{
    int is_last = mp_rank == mp_size - 1, got = -1;
    MPI_Datatype type = part(is_last ? ROWS : 0, 2, is_last ? 0 : ROWS, 1, MPI_ORDER_C);
    int data[2 * ROWS], back[ROWS * COLS];
    MPI_Status status;
    MPI_File fh;

    for (int i = 0; i < 2 * ROWS; i++)
        data[i] = i + 1;
    memset(back, 0, sizeof(back));
    MUST(MPI_File_open(MPI_COMM_WORLD, "none.dat",
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &fh));
    MUST(MPI_File_set_view(fh, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_all(fh, data, is_last ? 2 * ROWS : 0, MPI_INT, &status));
    MUST(MPI_Get_count(&status, MPI_INT, &got));
    CHECK_EQ(got, is_last ? 2 * ROWS : 0);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_read_at_all(fh, 0, back, (ROWS - 1) * COLS + 3, MPI_INT, &status));
    for (int i = 0; i < ROWS; i++) {
        CHECK_EQ(back[i * COLS], 0);
        CHECK_EQ(back[i * COLS + 1], 2 * i + 1);
        CHECK_EQ(back[i * COLS + 2], 2 * i + 2);
    }
    MUST(MPI_File_close(&fh));
    MUST(MPI_Type_free(&type));
}

static void wrong(int rows, int row)
{
    const int subsizes[2] = {rows, COLS};
    const int starts[2] = {row, 0};
    MPI_Datatype type;

    FAILS(MPI_Type_create_subarray(2, whole, subsizes, starts, MPI_ORDER_C, MPI_INT, &type),
          MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    is_empty(part(0, COLS, 0, 0, MPI_ORDER_C));
    is_empty(part(ROWS, 0, 0, COLS, MPI_ORDER_C));
    is_empty(part(0, 2, ROWS, 3, MPI_ORDER_FORTRAN));
    is_empty(part(0, 0, 1, 1, MPI_ORDER_FORTRAN));
    view();
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    wrong(-1, 0);
    wrong(0, ROWS + 1);
    wrong(0, -1);
    wrong(ROWS, 1);
    return mp_finish();
}
