/*
 * A file of HDF5 that all ranks write and read back: contiguous and chunked datasets, rows or columns,
 * independent and collective; then one rank reads it alone. A second argument is what the hints
 * romio_cb_write and romio_cb_read are set to.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 24, COLUMNS = 60 };

static int rank, size, errors;

static void need(int is_good, const char *what)
{
    if (is_good)
        return;
    errors++;
    fprintf(stderr, "rank %d: %s\n", rank, what);
}

static int value_of(int row, int column)
{
    return row * 1000 + column + 7;
}

/* The part of a rank: a band of rows, or every size-th column. */
static hid_t part_of(hid_t space, int is_strided, hsize_t count[2])
{
    hsize_t start[2] = {0, 0}, stride[2] = {1, 1};

    if (is_strided) {
        start[1] = (hsize_t)rank;
        stride[1] = (hsize_t)size;
        count[0] = (hsize_t)(ROWS * size);
        count[1] = COLUMNS;
    } else {
        start[0] = (hsize_t)(ROWS * rank);
        count[0] = ROWS;
        count[1] = (hsize_t)(COLUMNS * size);
    }
    need(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) >= 0, "hyperslab");
    return H5Screate_simple(2, count, NULL);
}

static void value_fill(int *data, int is_strided, const hsize_t count[2])
{
    for (hsize_t i = 0; i < count[0]; i++)
        for (hsize_t j = 0; j < count[1]; j++)
            data[i * count[1] + j] = is_strided ? value_of((int)i, rank + (int)j * size)
                                                : value_of(ROWS * rank + (int)i, (int)j);
}

static void dataset(hid_t file, const char *name, int is_chunked, int is_strided, int is_coll)
{
    hsize_t dims[2] = {(hsize_t)(ROWS * size), (hsize_t)(COLUMNS * size)}, chunk[2] = {10, 16};
    hsize_t count[2];
    hid_t space = H5Screate_simple(2, dims, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    hid_t move = H5Pcreate(H5P_DATASET_XFER), memory, set;
    size_t n = (size_t)ROWS * COLUMNS * (size_t)size;
    int *data = malloc(n * sizeof(int)), *back = calloc(n, sizeof(int));

    if (is_chunked)
        H5Pset_chunk(how, 2, chunk);
    H5Pset_dxpl_mpio(move, is_coll ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    set = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, how, H5P_DEFAULT);
    need(set >= 0, "H5Dcreate2");
    memory = part_of(space, is_strided, count);
    value_fill(data, is_strided, count);
    need(H5Dwrite(set, H5T_NATIVE_INT, memory, space, move, data) >= 0, "H5Dwrite");
    need(H5Dread(set, H5T_NATIVE_INT, memory, space, move, back) >= 0, "H5Dread");
    need(memcmp(data, back, n * sizeof(int)) == 0, name);
    free(data);
    free(back);
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(how);
    H5Pclose(move);
}

static void all_datasets(hid_t file)
{
    char name[32];

    for (int k = 0; k < 8; k++) {
        snprintf(name, sizeof(name), "%s %s %s", k & 1 ? "chunked" : "contiguous",
                 k & 2 ? "columns" : "rows", k & 4 ? "collective" : "independent");
        dataset(file, name, k & 1, k & 2, k & 4);
    }
}

/* All values of all datasets, by one process without MPI. */
static void verify(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    size_t rows = (size_t)(ROWS * size), columns = (size_t)(COLUMNS * size);
    int *all = malloc(rows * columns * sizeof(int));
    char name[32];

    need(file >= 0, "H5Fopen");
    for (int k = 0; k < 8; k++) {
        hid_t set;
        size_t n_wrong = 0;

        snprintf(name, sizeof(name), "%s %s %s", k & 1 ? "chunked" : "contiguous",
                 k & 2 ? "columns" : "rows", k & 4 ? "collective" : "independent");
        set = H5Dopen2(file, name, H5P_DEFAULT);
        memset(all, 0, rows * columns * sizeof(int));
        need(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0, "H5Dread");
        for (size_t i = 0; i < rows * columns; i++)
            n_wrong += all[i] != value_of((int)(i / columns), (int)(i % columns));
        need(n_wrong == 0, name);
        H5Dclose(set);
    }
    H5Fclose(file);
    free(all);
}

int main(int argc, char **argv)
{
    MPI_Info info = MPI_INFO_NULL;
    hid_t access, file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_cb_write", argv[2]);
        MPI_Info_set(info, "romio_cb_read", argv[2]);
    }
    access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, info);
    file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    need(file >= 0, "H5Fcreate");
    all_datasets(file);
    need(H5Fclose(file) >= 0, "H5Fclose");
    if (rank == 0)
        verify(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    file = H5Fopen(argv[1], H5F_ACC_RDWR, access);
    need(file >= 0, "H5Fopen by all");
    need(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "H5Fflush");
    need(H5Fclose(file) >= 0, "H5Fclose");
    H5Pclose(access);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d errors\n", errors);
    MPI_Finalize();
    return errors != 0;
}
