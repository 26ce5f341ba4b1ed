/* test: np=1 timeout=20 */
/*
 * Sizes and extents of datatypes: facts of the standard and of MPICH's binary interface. Where
 * they differ (markers of a part, 5.1.7) the standard counts.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static int n_failed;

static void check(const char *what, MPI_Datatype type, long size, long lb, long extent,
                  long true_lb, long true_extent)
{
    MPI_Aint got[4];
    int got_size;

    MPI_Type_size(type, &got_size);
    MPI_Type_get_extent(type, &got[0], &got[1]);
    MPI_Type_get_true_extent(type, &got[2], &got[3]);
    if (got_size == size && got[0] == lb && got[1] == extent && got[2] == true_lb &&
        got[3] == true_extent)
        return;
    printf("%s: size %d lb %ld extent %ld true %ld %ld; expected %ld, %ld %ld, %ld %ld\n", what,
           got_size, (long)got[0], (long)got[1], (long)got[2], (long)got[3], size, lb, extent,
           true_lb, true_extent);
    n_failed++;
}

struct mixed {
    char c;
    double d[3];
    short s;
};

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        MPI_Datatype type;
        int size, extent, true_extent;
    } basic[] = {
        {"CHAR", MPI_CHAR, 1, 1, 1},
        {"WCHAR", MPI_WCHAR, 4, 4, 4},
        {"LONG_DOUBLE", MPI_LONG_DOUBLE, 16, 16, 16},
        {"C_BOOL", MPI_C_BOOL, 1, 1, 1},
        {"C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, 32, 32, 32},
        {"AINT", MPI_AINT, 8, 8, 8},
        {"FLOAT_INT", MPI_FLOAT_INT, 8, 8, 8},
        {"DOUBLE_INT", MPI_DOUBLE_INT, 12, 16, 12},
        {"LONG_INT", MPI_LONG_INT, 12, 16, 12},
        {"SHORT_INT", MPI_SHORT_INT, 6, 8, 8},
        {"2INT", MPI_2INT, 8, 8, 8},
        {"LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, 20, 32, 20},
        {"INTEGER", MPI_INTEGER, 4, 4, 4},
        {"DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, 16, 16, 16},
        {"LOGICAL", MPI_LOGICAL, 4, 4, 4},
        {"2DOUBLE_PRECISION", MPI_2DOUBLE_PRECISION, 16, 16, 16},
        {"UINT64_T", MPI_UINT64_T, 8, 8, 8},
    };
    int lengths[3] = {1, 3, 1};
    MPI_Aint displs[3] = {offsetof(struct mixed, c), offsetof(struct mixed, d),
                          offsetof(struct mixed, s)};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    int idispls[3] = {5, -2, 1};
    MPI_Datatype type, resized, type2;

    MPI_Init(&argc, &argv);
    for (size_t i = 0; i < sizeof(basic) / sizeof(basic[0]); i++)
        check(basic[i].name, basic[i].type, basic[i].size, 0, basic[i].extent, 0,
              basic[i].true_extent);

    MPI_Type_create_struct(3, lengths, displs, types, &type);
    check("struct mixed", type, 27, 0, (long)sizeof(struct mixed), 0,
          (long)offsetof(struct mixed, s) + 2);
    MPI_Type_free(&type);
    displs[0] = -3, displs[1] = 13;
    types[0] = MPI_DOUBLE, types[1] = MPI_CHAR;
    lengths[1] = 1;
    MPI_Type_create_struct(2, lengths, displs, types, &type);
    check("struct from -3, padded", type, 9, -3, 24, -3, 17);
    MPI_Type_free(&type);
    displs[0] = 0, displs[1] = 9;
    types[0] = MPI_SHORT_INT;
    MPI_Type_create_struct(2, lengths, displs, types, &type);
    check("struct of short_int and char", type, 7, 0, 12, 0, 10);
    MPI_Type_free(&type);

    MPI_Type_vector(3, 2, -4, MPI_INT, &type);
    check("vector backwards", type, 24, -32, 40, -32, 40);
    MPI_Type_free(&type);
    MPI_Type_create_hvector(2, 1, 11, MPI_DOUBLE, &type);
    check("hvector unaligned", type, 16, 0, 19, 0, 19);
    MPI_Type_free(&type);
    MPI_Type_contiguous(0, MPI_INT, &type);
    check("contiguous of nothing", type, 0, 0, 0, 0, 0);
    MPI_Type_free(&type);
    MPI_Type_indexed(3, lengths, idispls, MPI_INT, &type);
    check("indexed", type, 12, -8, 32, -8, 32);
    MPI_Type_free(&type);
    lengths[0] = 0;
    MPI_Type_indexed(3, lengths, idispls, MPI_INT, &type);
    check("indexed without its first block", type, 8, -8, 16, -8, 16);
    MPI_Type_free(&type);
    lengths[0] = 1;

    MPI_Type_create_resized(MPI_INT, -3, 9, &resized);
    check("resized", resized, 4, -3, 9, 0, 4);
    MPI_Type_contiguous(2, resized, &type);
    check("two resized", type, 8, -3, 18, 0, 13);
    MPI_Type_create_resized(type, 0, 100, &type2);
    check("resized again", type2, 8, 0, 100, 0, 13);
    MPI_Type_free(&type2);
    MPI_Type_free(&type);
    displs[0] = 40, displs[1] = 0;
    types[0] = MPI_INT, types[1] = resized;
    MPI_Type_create_struct(2, lengths, displs, types, &type);
    check("struct with a resized part", type, 8, -3, 9, 0, 44);
    MPI_Type_free(&type);
    MPI_Type_free(&resized);
    if (type != MPI_DATATYPE_NULL || resized != MPI_DATATYPE_NULL) {
        printf("freed handles are not null\n");
        n_failed++;
    }
    MPI_Finalize();
    return n_failed > 0;
}
