/*
 * A file of HDF5 that all ranks write and read back: contiguous, chunked and compressed datasets, rows or
 * columns, independent and collective, and datasets that grow; then one rank reads it alone. A second argument is what the hints
 * romio_cb_write and romio_cb_read are set to.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 24, COLUMNS = 60, STEPS = 3 };

/* Datasets: 8 by these bits, then others. */
enum { CHUNKED = 1, STRIDED = 2, COLLECTIVE = 4, DEFLATED = 8, EXTENDED = 16 };
static const int datasets[] = {
    0,
    CHUNKED,
    STRIDED,
    CHUNKED | STRIDED,
    COLLECTIVE,
    CHUNKED | COLLECTIVE,
    STRIDED | COLLECTIVE,
    CHUNKED | STRIDED | COLLECTIVE,
    CHUNKED | COLLECTIVE | DEFLATED,
    CHUNKED | STRIDED | COLLECTIVE | DEFLATED,
    CHUNKED | EXTENDED,
    CHUNKED | COLLECTIVE | EXTENDED,
    CHUNKED | COLLECTIVE | DEFLATED | EXTENDED,
};
enum { N_DATASETS = sizeof(datasets) / sizeof(datasets[0]) };

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

static const char *name_of(int kind)
{
    static char name[64];

    snprintf(name, sizeof(name), "%s%s%s %s %s", kind & DEFLATED ? "deflated " : "",
             kind & EXTENDED ? "extended " : "", kind & CHUNKED ? "chunked" : "contiguous",
             kind & STRIDED ? "columns" : "rows", kind & COLLECTIVE ? "collective" : "independent");
    return name;
}

/* Compression of what several ranks write is a part of HDF5 that may not have been built. */
static int is_there(int kind)
{
    return !(kind & DEFLATED) || H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0;
}

/* Without rows when it is extended later. */
static hid_t create(hid_t file, int kind)
{
    hsize_t dims[2] = {(hsize_t)(ROWS * size), (hsize_t)(COLUMNS * size)}, chunk[2] = {10, 16};
    hsize_t most[2] = {H5S_UNLIMITED, H5S_UNLIMITED}, none[2] = {0, (hsize_t)(COLUMNS * size)};
    hid_t space =
        kind & EXTENDED ? H5Screate_simple(2, none, most) : H5Screate_simple(2, dims, NULL);
    hid_t how = H5Pcreate(H5P_DATASET_CREATE), set;

    if (kind & CHUNKED)
        H5Pset_chunk(how, 2, chunk);
    if (kind & DEFLATED)
        need(H5Pset_shuffle(how) >= 0 && H5Pset_deflate(how, 6) >= 0, "H5Pset_deflate");
    set = H5Dcreate2(file, name_of(kind), H5T_NATIVE_INT, space, H5P_DEFAULT, how, H5P_DEFAULT);
    need(set >= 0, "H5Dcreate2");
    H5Sclose(space);
    H5Pclose(how);
    return set;
}

static hid_t transfer_of(int kind)
{
    hid_t move = H5Pcreate(H5P_DATASET_XFER);

    H5Pset_dxpl_mpio(move, kind & COLLECTIVE ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    return move;
}

/* Written twice where it is compressed: what is there is read for that and gets another length. */
static void dataset(hid_t file, int kind)
{
    hid_t set = create(file, kind), move = transfer_of(kind), space = H5Dget_space(set), memory;
    size_t n = (size_t)ROWS * COLUMNS * (size_t)size;
    int *data = malloc(n * sizeof(int)), *back = calloc(n, sizeof(int));
    hsize_t count[2];

    memory = part_of(space, kind & STRIDED, count);
    if (kind & DEFLATED)
        need(H5Dwrite(set, H5T_NATIVE_INT, memory, space, move, back) >= 0, "H5Dwrite of zeros");
    value_fill(data, kind & STRIDED, count);
    need(H5Dwrite(set, H5T_NATIVE_INT, memory, space, move, data) >= 0, "H5Dwrite");
    need(H5Dread(set, H5T_NATIVE_INT, memory, space, move, back) >= 0, "H5Dread");
    need(memcmp(data, back, n * sizeof(int)) == 0, name_of(kind));
    free(data);
    free(back);
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(move);
}

/* It grows by a band of rows, of which each rank writes a part. */
static void grow(hid_t set, int kind, hsize_t step)
{
    hsize_t each = ROWS / STEPS, columns = (hsize_t)(COLUMNS * size);
    hsize_t dims[2] = {(step + 1) * each * (hsize_t)size, columns}, count[2] = {each, columns};
    hsize_t start[2] = {step * each * (hsize_t)size + (hsize_t)rank * each, 0};
    hid_t move = transfer_of(kind), memory = H5Screate_simple(2, count, NULL), space;
    int *data = malloc(each * columns * sizeof(int)), *back = calloc(each * columns, sizeof(int));

    need(H5Dset_extent(set, dims) >= 0, "H5Dset_extent");
    space = H5Dget_space(set);
    need(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0, "hyperslab");
    for (hsize_t i = 0; i < each * columns; i++)
        data[i] = value_of((int)(start[0] + i / columns), (int)(i % columns));
    need(H5Dwrite(set, H5T_NATIVE_INT, memory, space, move, data) >= 0, "H5Dwrite, extended");
    need(H5Dread(set, H5T_NATIVE_INT, memory, space, move, back) >= 0, "H5Dread, extended");
    need(memcmp(data, back, each * columns * sizeof(int)) == 0, name_of(kind));
    free(data);
    free(back);
    H5Sclose(space);
    H5Sclose(memory);
    H5Pclose(move);
}

static void all_datasets(hid_t file)
{
    for (int k = 0; k < N_DATASETS; k++) {
        if (!is_there(datasets[k]))
            continue;
        if (datasets[k] & EXTENDED) {
            hid_t set = create(file, datasets[k]);

            for (hsize_t step = 0; step < STEPS; step++)
                grow(set, datasets[k], step);
            H5Dclose(set);
        } else {
            dataset(file, datasets[k]);
        }
    }
}

/* All values of all datasets, by one process without MPI. */
static void verify(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    size_t rows = (size_t)(ROWS * size), columns = (size_t)(COLUMNS * size);
    int *all = malloc(rows * columns * sizeof(int));

    need(file >= 0, "H5Fopen");
    for (int k = 0; k < N_DATASETS; k++) {
        size_t n_wrong = 0;
        hid_t set;

        if (!is_there(datasets[k]))
            continue;
        set = H5Dopen2(file, name_of(datasets[k]), H5P_DEFAULT);
        memset(all, 0, rows * columns * sizeof(int));
        need(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0, "H5Dread");
        for (size_t i = 0; i < rows * columns; i++)
            n_wrong += all[i] != value_of((int)(i / columns), (int)(i % columns));
        need(n_wrong == 0, name_of(datasets[k]));
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
