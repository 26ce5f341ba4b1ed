/*
 * The loops of reductions: MPI_Reduce_local of every operation on the common types.
 *
 *   op [-s MIN:MAX]
 *
 * Output lines "OP_TYPE BYTES MEDIAN LOWEST", bytes and ns; sizes grow 16-fold.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_TIMES 9

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const char *name, MPI_Op op, MPI_Datatype type, size_t bytes, char *in,
                    char *out)
{
    double ns[N_TIMES];
    int size, n = (int)(2000000 / (bytes + 200)) + 1;

    MPI_Type_size(type, &size);
    for (int k = 0; k < N_TIMES; k++) {
        double start = MPI_Wtime();

        for (int i = 0; i < n; i++)
            MPI_Reduce_local(in, out, (int)bytes / size, type, op);
        ns[k] = (MPI_Wtime() - start) * 1e9 / n;
    }
    qsort(ns, N_TIMES, sizeof(ns[0]), by_value);
    printf("%s %zu %.1f %.1f\n", name, bytes, ns[N_TIMES / 2], ns[0]);
}

int main(int argc, char **argv)
{
    static const char *const op_names[] = {"sum", "prod", "max", "land", "bor"};
    static const char *const type_names[] = {"char", "short", "int", "long", "float", "double"};
    MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_LAND, MPI_BOR};
    MPI_Datatype types[] = {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_FLOAT, MPI_DOUBLE};
    size_t min = 64, max = 262144;
    char *in, *out, name[40];

    if (argc > 2 && strcmp(argv[1], "-s") == 0 && sscanf(argv[2], "%zu:%zu", &min, &max) != 2) {
        fprintf(stderr, "op: -s wants MIN:MAX, not \"%s\"\n", argv[2]);
        return 2;
    }
    MPI_Init(&argc, &argv);
    in = calloc(max + 1, 1);
    out = calloc(max + 1, 1);
    for (size_t bytes = min; bytes <= max && in != NULL && out != NULL; bytes *= 16) {
        for (int t = 0; t < 6; t++) {
            for (int o = 0; o < (t < 4 ? 5 : 3); o++) {
                snprintf(name, sizeof(name), "%s_%s", op_names[o], type_names[t]);
                measure(name, ops[o], types[t], bytes, in, out);
            }
        }
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
