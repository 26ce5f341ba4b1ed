/* test: np=1,2 timeout=60 cfg=EAGER_LIMIT=1k|64k */
/*
 * Derived datatypes through messages: what is sent with one layout arrives with another, by
 * values that name their place; from a few bytes to more than any eager limit.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_failed;
static int rank, size;

struct particle {
    char kind;
    double at[3];
    int id;
};

static void check(int cond, const char *what, long i)
{
    if (!cond && n_failed++ < 10)
        printf("rank %d: %s at %ld is wrong\n", rank, what, i);
}

/* Ring: to the right, from the left; with one process to itself. */
static void exchange(const void *out, int n_out, MPI_Datatype out_type, void *in, int n_in,
                     MPI_Datatype in_type, int expected)
{
    MPI_Status status;
    int n = -1;

    MPI_Sendrecv(out, n_out, out_type, (rank + 1) % size, 7, in, n_in, in_type,
                 (rank + size - 1) % size, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, in_type, &n);
    check(n == expected, "the count", n);
}

/* A column of one matrix becomes a row of another. */
static void column_to_row(int n)
{
    MPI_Datatype column;
    double *a = malloc((size_t)n * (size_t)n * sizeof(*a));
    double *row = malloc((size_t)n * sizeof(*row));

    for (long i = 0; i < (long)n * n; i++)
        a[i] = (double)i;
    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    exchange(a + 1 % n, 1, column, row, n, MPI_DOUBLE, n);
    for (long i = 0; i < n; i++)
        check(row[i] == (double)(i * n + 1 % n), "column to row", i);
    exchange(row, n, MPI_DOUBLE, a, 1, column, 1);
    for (long i = 0; i < n; i++)
        check(a[i * n] == row[i], "row to column", i);
    check(n == 1 || a[1] == 1, "the neighbour of a column", 1);
    MPI_Type_free(&column);
    free(a);
    free(row);
}

static void particles(int n)
{
    struct particle *out = calloc((size_t)n, sizeof(*out));
    struct particle *in = malloc((size_t)n * sizeof(*in));
    int lengths[3] = {1, 3, 1};
    MPI_Aint displs[3];
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Datatype type, sized;

    memset(in, 0x5a, (size_t)n * sizeof(*in));
    for (int i = 0; i < n; i++)
        out[i] = (struct particle){(char)i, {i, i + 0.25, i + 0.5}, -i};
    MPI_Get_address(&out[0].kind, &displs[0]);
    MPI_Get_address(&out[0].at, &displs[1]);
    MPI_Get_address(&out[0].id, &displs[2]);
    for (int k = 2; k >= 0; k--)
        displs[k] -= displs[0];
    MPI_Type_create_struct(3, lengths, displs, types, &type);
    MPI_Type_create_resized(type, 0, sizeof(struct particle), &sized);
    MPI_Type_free(&type);
    MPI_Type_commit(&sized);
    exchange(out, n, sized, in, n, sized, n);
    for (int i = 0; i < n; i++)
        check(in[i].kind == (char)i && in[i].at[0] == i && in[i].at[2] == i + 0.5 &&
                  in[i].id == -i && ((char *)&in[i])[1] == 0x5a,
              "a particle", i);
    MPI_Type_free(&sized);
    free(out);
    free(in);
}

/* Pairs at uneven distances, backwards in memory on the receiving side. */
static void indexed(int n)
{
    int *displs = calloc((size_t)n, sizeof(int));
    int *lengths = calloc((size_t)n, sizeof(int));
    int *out = malloc((size_t)n * 8 * sizeof(int));
    int *in = calloc((size_t)n * 2, sizeof(int));
    MPI_Datatype from, to;

    for (int i = 0; i < n * 8; i++)
        out[i] = i;
    for (int i = 0; i < n; i++) {
        displs[i] = 8 * i + 3 * (i % 2);
        lengths[i] = 2;
    }
    MPI_Type_indexed(n, lengths, displs, MPI_INT, &from);
    MPI_Type_vector(n, 2, -2, MPI_INT, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    exchange(out, 1, from, in + 2 * (n - 1), 1, to, 1);
    for (int i = 0; i < n; i++)
        check(in[2 * (n - 1 - i)] == displs[i] && in[2 * (n - 1 - i) + 1] == displs[i] + 1,
              "an indexed pair", i);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    free(displs);
    free(lengths);
    free(out);
    free(in);
}

/* Fewer bytes than the buffer takes: counts and elements of a partly filled type. */
static void partial(void)
{
    struct {
        double d;
        int i;
    } in[4];
    char packed[64] = {0};
    int n = -1;
    MPI_Status status;
    MPI_Datatype three;

    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Sendrecv(packed, 5, MPI_INT, rank, 1, in, 3, three, rank, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, three, &n);
    check(n == MPI_UNDEFINED, "a count of 5/3", n);
    MPI_Get_elements(&status, three, &n);
    check(n == 5, "elements", n);
    MPI_Type_free(&three);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 7, 100, 1000};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        column_to_row(counts[i]);
        particles(counts[i]);
        indexed(counts[i]);
    }
    particles(100000);
    indexed(100000);
    partial();
    MPI_Finalize();
    return n_failed > 0;
}
