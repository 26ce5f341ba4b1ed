/*
 * What derived datatypes cost. With one process: MPI_Pack and MPI_Unpack beside loops written by
 * hand for the same layout. With two: ping-pong from the layout into itself. Runs with any MPI.
 *
 *   mpiexec -n 1 type_speed [BYTES]      mpiexec -n 2 type_speed [BYTES]
 *
 * A line is "what layout MB/s", the best of many short slices of time. BYTES is about the packed size.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICES  60
#define SLICE_S 150e-6

enum way { PACK, UNPACK };

struct particle {
    char kind;
    double at[3];
    int id;
};

/* What the layouts are made from; all are made for n doubles' worth of packed data. */
static long n;
static int *places, *lengths; /* of n irregular blocks, in elements; 1 to 4 long */
static MPI_Aint *byte_places;

#define MOVE(way, packed, memory)                                                                  \
    do {                                                                                           \
        if ((way) == PACK)                                                                         \
            packed = memory;                                                                       \
        else                                                                                       \
            memory = packed;                                                                       \
    } while (0)

/* One loop in both directions: HAND(name, element type) { ... p packed, m memory, way ... } */
#define HAND(name, T)                                                                              \
    static inline __attribute__((always_inline)) void name##_loop(T *restrict p, T *restrict m,    \
                                                                  enum way way);                   \
    static __attribute__((noinline)) void name(void *p, void *m, enum way way)                     \
    {                                                                                              \
        if (way == PACK)                                                                           \
            name##_loop(p, m, PACK);                                                               \
        else                                                                                       \
            name##_loop(p, m, UNPACK);                                                             \
    }                                                                                              \
    static inline __attribute__((always_inline)) void name##_loop(T *restrict p, T *restrict m,    \
                                                                  enum way way)

HAND(contig, double)
{
    if (way == PACK)
        memcpy(p, m, 8 * (size_t)n);
    else
        memcpy(m, p, 8 * (size_t)n);
}

#define VECTOR(name, T, LEN, STRIDE)                                                               \
    HAND(name, T)                                                                                  \
    {                                                                                              \
        long blocks = n * 8 / (long)sizeof(T) / (LEN);                                             \
                                                                                                   \
        for (long i = 0; i < blocks; i++)                                                          \
            for (long k = 0; k < (LEN); k++)                                                       \
                MOVE(way, p[i * (LEN) + k], m[i * (STRIDE) + k]);                                  \
    }
VECTOR(vector_i1, int, 1, 2)
VECTOR(vector_i2, int, 2, 4)
VECTOR(vector_i4, int, 4, 8)
VECTOR(vector_i8, int, 8, 16)
VECTOR(vector_i64, int, 64, 128)
VECTOR(vector_d1, double, 1, 2)
VECTOR(vector_d2, double, 2, 4)
VECTOR(vector_d4, double, 4, 8)
VECTOR(vector_d8, double, 8, 16)
VECTOR(vector_d64, double, 64, 128)
VECTOR(column, double, 1, 32)
VECTOR(bytes3, char, 3, 7)
VECTOR(backward, double, 1, -2)

HAND(subarray2, double)
{
    for (long i = 0; i < n / 32; i++)
        for (long k = 0; k < 32; k++)
            MOVE(way, p[32 * i + k], m[64 * (i + 1) + 8 + k]);
}

/* In an array of 32 x 32 x n/256 doubles or so: the middle, and the two faces that are not contiguous. */
HAND(subarray3, double)
{
    for (long i = 0; i < n / 256; i++)
        for (long j = 0; j < 16; j++)
            for (long k = 0; k < 16; k++)
                MOVE(way, p[256 * i + 16 * j + k], m[1024 * i + 32 * (j + 4) + 4 + k]);
}
HAND(face_x, double)
{
    for (long i = 0; i < n / 16; i++)
        for (long j = 0; j < 16; j++)
            MOVE(way, p[16 * i + j], m[512 * i + 32 * (j + 1) - 32]);
}
HAND(face_y, double)
{
    for (long i = 0; i < n / 16; i++)
        for (long k = 0; k < 16; k++)
            MOVE(way, p[16 * i + k], m[256 * i + k]);
}

HAND(irregular, double)
{
    double *at = p;

    for (long i = 0; i < 2 * n / 5; i++)
        for (int k = 0; k < lengths[i]; k++, at++)
            MOVE(way, *at, m[places[i] + k]);
}
HAND(blocks1, double)
{
    for (long i = 0; i < n; i++)
        MOVE(way, p[i], m[places[i]]);
}
HAND(blocks3, int)
{
    for (long i = 0; i < n / 2; i++)
        for (int k = 0; k < 3; k++)
            MOVE(way, p[3 * i + k], m[places[i] + k]);
}
HAND(hindexed, int)
{
    int *at = p;

    for (long i = 0; i < 4 * n / 5; i++)
        for (int k = 0; k < lengths[i]; k++, at++)
            MOVE(way, *at, *(int *)(void *)((char *)m + byte_places[i] + 4 * k));
}

HAND(arrays, char)
{
    if (way == PACK) {
        memcpy(p, m, 4 * (size_t)n);
        memcpy(p + 4 * n, m + 8 * n, 2 * (size_t)n);
        memcpy(p + 6 * n, m + 12 * n, (size_t)n);
    } else {
        memcpy(m, p, 4 * (size_t)n);
        memcpy(m + 8 * n, p + 4 * n, 2 * (size_t)n);
        memcpy(m + 12 * n, p + 6 * n, (size_t)n);
    }
}
HAND(structs, char)
{
    struct particle *s = (void *)m;

    for (long i = 0; i < n / 4; i++, p += 29) {
        if (way == PACK) {
            *p = s[i].kind;
            memcpy(p + 1, s[i].at, 24);
            memcpy(p + 25, &s[i].id, 4);
        } else {
            s[i].kind = *p;
            memcpy(s[i].at, p + 1, 24);
            memcpy(&s[i].id, p + 25, 4);
        }
    }
}
/* A transposed square: columns one after the other. */
HAND(transpose, double)
{
    for (long i = 0; i < 64; i++)
        for (long j = 0; j < n / 64; j++)
            MOVE(way, p[n / 64 * i + j], m[64 * j + i]);
}
/* Blocks of 3, 4 times, in groups. */
HAND(nested, double)
{
    for (long i = 0; i < n / 12; i++)
        for (long j = 0; j < 4; j++)
            for (long k = 0; k < 3; k++)
                MOVE(way, p[12 * i + 3 * j + k], m[32 * i + 5 * j + k]);
}
/* Rank 0 of 2 x 2, cyclic by 4 and by 2. */
HAND(darray, double)
{
    for (long i = 0; i < n / 64; i++)
        for (long j = 0; j < 64; j++)
            MOVE(way, p[64 * i + j], m[(i / 4 * 8 + i % 4) * 128 + j / 2 * 4 + j % 2]);
}

static MPI_Datatype make_contig(void)
{
    MPI_Datatype type;

    MPI_Type_contiguous((int)n, MPI_DOUBLE, &type);
    return type;
}

#define MAKE_VECTOR(name, basic, size, len, stride)                                                \
    static MPI_Datatype make_##name(void)                                                          \
    {                                                                                              \
        MPI_Datatype type;                                                                         \
                                                                                                   \
        MPI_Type_vector((int)(n * 8 / (size) / (len)), len, stride, basic, &type);                 \
        return type;                                                                               \
    }
MAKE_VECTOR(vector_i1, MPI_INT, 4, 1, 2)
MAKE_VECTOR(vector_i2, MPI_INT, 4, 2, 4)
MAKE_VECTOR(vector_i4, MPI_INT, 4, 4, 8)
MAKE_VECTOR(vector_i8, MPI_INT, 4, 8, 16)
MAKE_VECTOR(vector_i64, MPI_INT, 4, 64, 128)
MAKE_VECTOR(vector_d1, MPI_DOUBLE, 8, 1, 2)
MAKE_VECTOR(vector_d2, MPI_DOUBLE, 8, 2, 4)
MAKE_VECTOR(vector_d4, MPI_DOUBLE, 8, 4, 8)
MAKE_VECTOR(vector_d8, MPI_DOUBLE, 8, 8, 16)
MAKE_VECTOR(vector_d64, MPI_DOUBLE, 8, 64, 128)
MAKE_VECTOR(column, MPI_DOUBLE, 8, 1, 32)
MAKE_VECTOR(bytes3, MPI_CHAR, 1, 3, 7)
MAKE_VECTOR(backward, MPI_DOUBLE, 8, 1, -2)

static MPI_Datatype make_subarray(int dims, long a, long b, long c, const int *subsizes,
                                  const int *starts)
{
    int sizes[3] = {(int)a, (int)b, (int)c};
    MPI_Datatype type;

    MPI_Type_create_subarray(dims, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}
static MPI_Datatype make_subarray2(void)
{
    return make_subarray(2, n / 32 + 2, 64, 0, (int[]){(int)n / 32, 32}, (int[]){1, 8});
}
static MPI_Datatype make_subarray3(void)
{
    return make_subarray(3, n / 256, 32, 32, (int[]){(int)n / 256, 16, 16}, (int[]){0, 4, 4});
}
static MPI_Datatype make_face_x(void)
{
    return make_subarray(3, n / 16, 16, 32, (int[]){(int)n / 16, 16, 1}, (int[]){0, 0, 0});
}
static MPI_Datatype make_face_y(void)
{
    return make_subarray(3, n / 16, 16, 16, (int[]){(int)n / 16, 1, 16}, (int[]){0, 0, 0});
}

static MPI_Datatype make_irregular(void)
{
    MPI_Datatype type;

    MPI_Type_indexed((int)(2 * n / 5), lengths, places, MPI_DOUBLE, &type);
    return type;
}
static MPI_Datatype make_blocks1(void)
{
    MPI_Datatype type;

    MPI_Type_create_indexed_block((int)n, 1, places, MPI_DOUBLE, &type);
    return type;
}
static MPI_Datatype make_blocks3(void)
{
    MPI_Datatype type;

    MPI_Type_create_indexed_block((int)n / 2, 3, places, MPI_INT, &type);
    return type;
}
static MPI_Datatype make_hindexed(void)
{
    MPI_Datatype type;

    MPI_Type_create_hindexed((int)(4 * n / 5), lengths, byte_places, MPI_INT, &type);
    return type;
}

static MPI_Datatype make_arrays(void)
{
    int lens[3] = {(int)n / 2, (int)n / 2, (int)n};
    MPI_Aint at[3] = {0, 8 * n, 12 * n};
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, type;

    MPI_Type_create_struct(3, lens, at, types, &type);
    return type;
}
static MPI_Datatype make_structs(void)
{
    int lens[3] = {1, 3, 1};
    MPI_Aint at[3] = {0, offsetof(struct particle, at), offsetof(struct particle, id)};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, one, type;

    MPI_Type_create_struct(3, lens, at, types, &one);
    MPI_Type_contiguous((int)n / 4, one, &type);
    MPI_Type_free(&one);
    return type;
}
static MPI_Datatype make_transpose(void)
{
    MPI_Datatype column, type;

    MPI_Type_vector((int)n / 64, 1, 64, MPI_DOUBLE, &column);
    MPI_Type_create_hvector(64, 1, sizeof(double), column, &type);
    MPI_Type_free(&column);
    return type;
}
static MPI_Datatype make_nested(void)
{
    MPI_Datatype inner, type;

    MPI_Type_vector(4, 3, 5, MPI_DOUBLE, &inner);
    MPI_Type_create_hvector((int)n / 12, 1, 32 * sizeof(double), inner, &type);
    MPI_Type_free(&inner);
    return type;
}
static MPI_Datatype make_darray(void)
{
    int sizes[2] = {(int)n / 32, 128}, psizes[2] = {2, 2}, args[2] = {4, 2};
    int distribs[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    MPI_Datatype type;

    MPI_Type_create_darray(4, 0, 2, sizes, distribs, args, psizes, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

#define LAYOUT(name)                                                                               \
    {                                                                                              \
#name, make_##name, name                                                                   \
    }
static const struct layout {
    const char *name;
    MPI_Datatype (*make)(void);
    void (*hand)(void *packed, void *memory, enum way way);
} layouts[] = {
    LAYOUT(contig),     LAYOUT(vector_i1), LAYOUT(vector_i2), LAYOUT(vector_i4), LAYOUT(vector_i8),
    LAYOUT(vector_i64), LAYOUT(vector_d1), LAYOUT(vector_d2), LAYOUT(vector_d4), LAYOUT(vector_d8),
    LAYOUT(vector_d64), LAYOUT(column),    LAYOUT(bytes3),    LAYOUT(backward),  LAYOUT(subarray2),
    LAYOUT(subarray3),  LAYOUT(face_x),    LAYOUT(face_y),    LAYOUT(irregular), LAYOUT(blocks1),
    LAYOUT(blocks3),    LAYOUT(hindexed),  LAYOUT(arrays),    LAYOUT(structs),   LAYOUT(transpose),
    LAYOUT(nested),     LAYOUT(darray),
};

/* What one measurement works on. */
struct work {
    const struct layout *layout;
    MPI_Datatype type;
    int bytes;
    char *packed, *memory;
    int rank;
};

static void do_pack(struct work *w)
{
    int position = 0;

    MPI_Pack(w->memory, 1, w->type, w->packed, w->bytes, &position, MPI_COMM_SELF);
}
static void do_unpack(struct work *w)
{
    int position = 0;

    MPI_Unpack(w->packed, w->bytes, &position, w->memory, 1, w->type, MPI_COMM_SELF);
}
static void do_hand_pack(struct work *w)
{
    w->layout->hand(w->packed, w->memory, PACK);
}
static void do_hand_unpack(struct work *w)
{
    w->layout->hand(w->packed, w->memory, UNPACK);
}
static void do_pingpong(struct work *w)
{
    for (int turn = 0; turn < 2; turn++)
        if (turn == w->rank)
            MPI_Send(w->memory, 1, w->type, 1 - w->rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(w->memory, 1, w->type, 1 - w->rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Seconds a call, the least of the slices; all processes do as many calls as rank 0 says. */
static double measure(void (*call)(struct work *), struct work *w, MPI_Comm comm)
{
    double best = 1e9, t = MPI_Wtime();
    int calls;

    call(w);
    call(w);
    t = (MPI_Wtime() - t) / 2;
    calls = 1 + (int)(SLICE_S / (t + 1e-9));
    MPI_Bcast(&calls, 1, MPI_INT, 0, comm);
    for (int k = 0; k < SLICES; k++) {
        t = MPI_Wtime();
        for (int i = 0; i < calls; i++)
            call(w);
        t = (MPI_Wtime() - t) / calls;
        best = t < best ? t : best;
    }
    return best;
}

/* Is the packed form the one the hand-written loop makes, in both directions? */
static int is_right(struct work *w, char *other)
{
    int ok;

    memset(w->packed, 1, (size_t)w->bytes);
    memset(other, 2, (size_t)w->bytes);
    do_pack(w);
    w->layout->hand(other, w->memory, PACK);
    ok = memcmp(w->packed, other, (size_t)w->bytes) == 0;
    for (int i = 0; i < w->bytes; i++)
        w->packed[i] = (char)(i * 7 + 3);
    do_unpack(w);
    w->layout->hand(other, w->memory, PACK);
    return ok && memcmp(w->packed, other, (size_t)w->bytes) == 0;
}

static void run(struct work *w, char *other, int size)
{
    double mb = w->bytes / 1e6;

    if (!is_right(w, other)) {
        printf("wrong %s 0\n", w->layout->name);
        return;
    }
    if (size == 1) {
        printf("pack %s %.0f\n", w->layout->name, mb / measure(do_pack, w, MPI_COMM_SELF));
        printf("hand_pack %s %.0f\n", w->layout->name,
               mb / measure(do_hand_pack, w, MPI_COMM_SELF));
        printf("unpack %s %.0f\n", w->layout->name, mb / measure(do_unpack, w, MPI_COMM_SELF));
        printf("hand_unpack %s %.0f\n", w->layout->name,
               mb / measure(do_hand_unpack, w, MPI_COMM_SELF));
    } else if (w->rank < 2) {
        double s = measure(do_pingpong, w, MPI_COMM_WORLD);

        if (w->rank == 0)
            printf("pingpong %s %.0f\n", w->layout->name, 2 * mb / s);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 65536, room;
    char *memory, *packed, *other;
    struct work w = {0};
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n = (long)(bytes / 8 + 3071) / 3072 * 3072; /* a multiple of all that divides it */
    room = 32 * 8 * (size_t)n + 65536;
    memory = calloc(2, room);
    packed = calloc(16, (size_t)n);
    other = calloc(16, (size_t)n);
    places = calloc((size_t)n, sizeof(*places));
    lengths = calloc((size_t)n, sizeof(*lengths));
    byte_places = calloc((size_t)n, sizeof(*byte_places));
    for (long i = 0; i < n; i++) {
        places[i] = (int)(6 * i + i * 7919 % 3);
        lengths[i] = (int)(1 + i * 31 / 7 % 4);
        byte_places[i] = 4 * (MPI_Aint)places[i];
    }
    for (size_t i = 0; i < 2 * room; i++)
        memory[i] = (char)(i * 37 / 11);
    for (size_t i = 0; size <= 2 && i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        w.layout = &layouts[i];
        w.type = w.layout->make();
        w.packed = packed;
        w.memory = memory + (w.layout->hand == backward ? room : 0);
        MPI_Type_commit(&w.type);
        MPI_Type_size(w.type, &w.bytes);
        run(&w, other, size);
        MPI_Type_free(&w.type);
    }
    free(memory);
    free(packed);
    free(other);
    free(places);
    free(lengths);
    free(byte_places);
    MPI_Finalize();
    return 0;
}
