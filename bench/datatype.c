/*
 * What derived datatypes cost: a message to oneself from a scattered layout into a contiguous
 * buffer, against a loop that gathers the same data by hand and sends that. Runs with any MPI.
 *
 *   mpiexec -n 1 datatype
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N      8192 /* blocks of each layout */
#define ROUNDS 200
#define BEST   9

struct particle {
    char kind;
    double at[3];
    int id;
};

struct layout {
    const char *name;
    MPI_Datatype type;
    int count;
    size_t bytes;
    const void *from;
    void (*gather)(char *to, const void *from);
};

static int displs[N];
static char *packed, *received;

static void gather_vector(char *to, const void *from)
{
    const double *a = from;
    double *out = (void *)to;

    for (long i = 0; i < N; i++)
        out[i] = a[4 * i];
}
static void gather_indexed(char *to, const void *from)
{
    const double *a = from;
    double *out = (void *)to;

    for (long i = 0; i < N; i++)
        out[i] = a[displs[i]];
}
static void gather_struct(char *to, const void *from)
{
    const struct particle *p = from;

    for (long i = 0; i < N; i++, to += 29) {
        *to = p[i].kind;
        memcpy(to + 1, p[i].at, 24);
        memcpy(to + 25, &p[i].id, 4);
    }
}
static void gather_rows(char *to, const void *from)
{
    const double *a = from;

    for (long i = 0; i < N / 8; i++)
        memcpy(to + 64 * i, a + 32 * i, 64);
}

static void self_message(const void *from, int count, MPI_Datatype type, size_t bytes)
{
    MPI_Sendrecv(from, count, type, 0, 0, received, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
}

/* Best of several means, in microseconds; how: 0 datatype, 1 by hand, 2 contiguous. */
static double measure(const struct layout *layout, int how)
{
    double best = 1e9;

    for (int k = 0; k < BEST; k++) {
        double start = MPI_Wtime();

        for (int i = 0; i < ROUNDS; i++) {
            if (how == 1)
                layout->gather(packed, layout->from);
            if (how == 0)
                self_message(layout->from, layout->count, layout->type, layout->bytes);
            else
                self_message(packed, (int)layout->bytes, MPI_BYTE, layout->bytes);
        }
        start = (MPI_Wtime() - start) / ROUNDS;
        best = start < best ? start : best;
    }
    return best * 1e6;
}

int main(int argc, char **argv)
{
    double *numbers = calloc(4 * N + 8, sizeof(*numbers));
    struct particle *particles = calloc(N, sizeof(*particles));
    int lengths[3] = {1, 3, 1};
    MPI_Datatype members[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Aint at[3] = {0, offsetof(struct particle, at), offsetof(struct particle, id)};
    int ones[N];
    struct layout layouts[] = {
        {"vector: 1 of 4 doubles", 0, 1, 8 * N, numbers, gather_vector},
        {"indexed: single doubles", 0, 1, 8 * N, numbers, gather_indexed},
        {"struct: char, 3 doubles, int", 0, N, 29 * N, particles, gather_struct},
        {"rows: 8 of 32 doubles", 0, 1, 8 * N, numbers, gather_rows},
    };

    MPI_Init(&argc, &argv);
    packed = malloc(29 * N);
    received = malloc(29 * N);
    for (int i = 0; i < N; i++) {
        displs[i] = 4 * i + i * 7919 % 3;
        ones[i] = 1;
        numbers[4 * i] = i;
        particles[i].id = i;
    }
    memset(packed, 0, 29 * N);
    MPI_Type_vector(N, 1, 4, MPI_DOUBLE, &layouts[0].type);
    MPI_Type_indexed(N, ones, displs, MPI_DOUBLE, &layouts[1].type);
    MPI_Type_create_struct(3, lengths, at, members, &layouts[2].type);
    MPI_Type_vector(N / 8, 8, 32, MPI_DOUBLE, &layouts[3].type);
    printf("%-30s %10s %10s %10s %12s\n", "us per message to oneself", "datatype", "by hand",
           "contiguous", "type / hand");
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        double us[3];

        MPI_Type_commit(&layouts[i].type);
        for (int how = 0; how < 3; how++)
            us[how] = measure(&layouts[i], how);
        layouts[i].gather(packed, layouts[i].from);
        self_message(layouts[i].from, layouts[i].count, layouts[i].type, layouts[i].bytes);
        if (memcmp(packed, received, layouts[i].bytes) != 0)
            printf("%s: the data is wrong\n", layouts[i].name);
        printf("%-30s %10.1f %10.1f %10.1f %12.2f\n", layouts[i].name, us[0], us[1], us[2],
               us[0] / us[1]);
        MPI_Type_free(&layouts[i].type);
    }
    free(numbers);
    free(particles);
    free(packed);
    free(received);
    MPI_Finalize();
    return 0;
}
