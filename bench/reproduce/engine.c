/*
 * What the datatype engine costs where there is nothing to pack: the same ping-pong of bytes, of a committed type whose
 * bytes are contiguous, and of a vector with gaps (packed at one end, unpacked at the other), by turns.
 *
 *   mpiexec -n 2 engine [-q] [MIN:MAX]         sizes double (8:4096)
 *
 * Output lines "SERIES SIZE LEAST MEDIAN P10 P90": us one way, of the rounds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 200
#define LEN_MAX    4096
#define SIZES_MAX  10 /* 8 to 4096 */
#define WORD       8

enum { BYTES, ENGINE, VECTOR, N_SERIES };

static const char *const names[N_SERIES] = {"bytes", "type", "vector"};
static double us[N_SERIES][SIZES_MAX][ROUNDS_MAX];
static char out[2 * LEN_MAX], in[2 * LEN_MAX];

/* Of so many bytes: a struct of its two halves, or every other word. */
static MPI_Datatype make_type(int series, int len)
{
    int lens[2] = {len / 2, len - len / 2};
    MPI_Aint at[2] = {0, len / 2};
    MPI_Datatype halves[2] = {MPI_BYTE, MPI_BYTE};
    MPI_Datatype type = MPI_BYTE;

    if (series == ENGINE)
        MPI_Type_create_struct(2, lens, at, halves, &type);
    else if (series == VECTOR)
        MPI_Type_vector(len / WORD, WORD, 2 * WORD, MPI_BYTE, &type);
    if (series != BYTES)
        MPI_Type_commit(&type);
    return type;
}

static double run_round(int rank, int series, int len, int n)
{
    MPI_Datatype type = make_type(series, len);
    int count = series == BYTES ? len : 1;
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Send(out, count, type, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, count, type, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, count, type, 0, 0, MPI_COMM_WORLD);
    }
    start = (MPI_Wtime() - start) * 1e6 / 2 / n;
    if (series != BYTES)
        MPI_Type_free(&type);
    return start;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(size_t least, size_t most, int n)
{
    int at = 0;

    for (size_t len = least; len <= most; len *= 2, at++) {
        for (int k = 0; k < N_SERIES; k++) {
            double *all = us[k][at];

            qsort(all, (size_t)n, sizeof(all[0]), by_value);
            printf("%s %zu %.4f %.4f %.4f %.4f\n", names[k], len, all[0], all[n / 2], all[n / 10],
                   all[n - 1 - n / 10]);
        }
    }
}

int main(int argc, char **argv)
{
    int is_quick = argc > 1 && strcmp(argv[1], "-q") == 0;
    size_t least = 8, most = LEN_MAX;
    int rank, size, n = is_quick ? 50 : 200, n_rounds = is_quick ? 40 : ROUNDS_MAX;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 + is_quick && sscanf(argv[1 + is_quick], "%zu:%zu", &least, &most) != 2)
        least = 0;
    if (size != 2 || least < WORD || most < least || most > LEN_MAX) {
        if (rank == 0)
            fprintf(stderr, "usage: mpiexec -n 2 engine [-q] [MIN:MAX]\nsizes from 8 to 4096\n");
        MPI_Finalize();
        return 2;
    }
    for (int i = 0; i < n_rounds; i++) {
        int at = 0;

        for (size_t len = least; len <= most; len *= 2, at++)
            for (int k = 0; k < N_SERIES; k++)
                us[k][at][i] = run_round(rank, k, (int)len, n);
    }
    if (rank == 0)
        report(least, most, n_rounds);
    MPI_Finalize();
    return 0;
}
