/* test: timeout=60 layers=mpi,util,channel,dapl_adapt */
/*
 * Datatypes at the edges: wrong arguments, sizes beyond 63 bits and beyond int, absolute
 * addresses, markers, deep nesting, names, MPI_Pack's positions.
 */
#include "mpi/datatype/datatype.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "test.h"

static struct dm_type *of(int handle)
{
    return dm_type_get(handle);
}

static void wrong_arguments(void)
{
    struct dm_type *type = NULL;
    int lengths[2] = {1, -1};
    int displs[2] = {0, 1};
    MPI_Aint adispls[2] = {0, 8};
    int sizes[2] = {4, 4};
    int subsizes[2] = {2, 5};
    int starts[2] = {0, 0};
    int dist[1] = {MPI_DISTRIBUTE_NONE};
    int darg[1] = {MPI_DISTRIBUTE_DFLT_DARG};
    int two[1] = {2};
    int types[2] = {MPI_INT, MPI_INT};
    struct dm_counts l = dm_counts_int(lengths);
    struct dm_counts d = dm_counts_int(displs);
    struct dm_counts a = dm_counts_wide(adispls);

    CHECK_EQ(dm_type_vector(2, -1, 1, of(MPI_INT), &type), DM_ERR_ARG);
    CHECK_EQ(dm_type_create_hvector(2, -1, 1, of(MPI_INT), &type), DM_ERR_ARG);
    CHECK_EQ(dm_type_indexed(2, l, d, of(MPI_INT), &type), DM_ERR_ARG);
    CHECK(strstr(dm_err_detail(), "-1") != NULL);
    CHECK_EQ(dm_type_create_hindexed(2, l, a, of(MPI_INT), &type), DM_ERR_ARG);
    CHECK_EQ(dm_type_create_indexed_block(2, -1, d, of(MPI_INT), &type), DM_ERR_ARG);
    CHECK_EQ(dm_type_create_hindexed_block(2, -1, a, of(MPI_INT), &type), DM_ERR_ARG);
    CHECK_EQ(dm_type_create_struct(2, l, a, types, &type), DM_ERR_ARG);
    CHECK_EQ(dm_type_create_subarray(2, dm_counts_int(sizes), dm_counts_int(subsizes),
                                     dm_counts_int(starts), MPI_ORDER_C, of(MPI_INT), &type),
             DM_ERR_ARG);
    subsizes[1] = 2;
    CHECK_EQ(dm_type_create_subarray(2, dm_counts_int(sizes), dm_counts_int(subsizes),
                                     dm_counts_int(starts), 77, of(MPI_INT), &type),
             DM_ERR_ARG);
    starts[0] = 3;
    CHECK_EQ(dm_type_create_subarray(2, dm_counts_int(sizes), dm_counts_int(subsizes),
                                     dm_counts_int(starts), MPI_ORDER_C, of(MPI_INT), &type),
             DM_ERR_ARG);
    CHECK_EQ(dm_type_create_subarray(0, dm_counts_int(sizes), dm_counts_int(subsizes),
                                     dm_counts_int(starts), MPI_ORDER_C, of(MPI_INT), &type),
             DM_ERR_ARG);
    CHECK_EQ(dm_type_create_darray(2, 0, 1, dm_counts_int(sizes), dist, darg, two, MPI_ORDER_C,
                                   of(MPI_INT), &type),
             DM_ERR_ARG);
    dist[0] = MPI_DISTRIBUTE_BLOCK;
    CHECK_EQ(dm_type_create_darray(3, 0, 1, dm_counts_int(sizes), dist, darg, two, MPI_ORDER_C,
                                   of(MPI_INT), &type),
             DM_ERR_ARG);
    CHECK_EQ(dm_type_create_darray(2, 2, 1, dm_counts_int(sizes), dist, darg, two, MPI_ORDER_C,
                                   of(MPI_INT), &type),
             DM_ERR_ARG);
    darg[0] = 1; /* two blocks of one for four elements */
    CHECK_EQ(dm_type_create_darray(2, 0, 1, dm_counts_int(sizes), dist, darg, two, MPI_ORDER_C,
                                   of(MPI_INT), &type),
             DM_ERR_ARG);
    CHECK_EQ(dm_type_match_size(99, 4, &type), DM_ERR_ARG);
    CHECK_EQ(dm_type_match_size(MPI_TYPECLASS_REAL, 3, &type), DM_ERR_ARG);
    CHECK(type == NULL);
    CHECK_EQ(dm_type_match_size(MPI_TYPECLASS_INTEGER, 8, &type), DM_OK);
    CHECK(type == of(MPI_INTEGER8));
    CHECK_EQ(dm_type_unflatten("too short", 9, &type), DM_ERR_TYPE);
}

/* Sizes beyond int work, beyond 63 bits they are refused. */
static void huge(void)
{
    struct dm_type *gib, *row, *big, *type = NULL;
    MPI_Count n, lb, extent;
    MPI_Count stride = 1l << 40;
    struct iovec iov[4];
    int n_iov;
    int ni, na, nd, combiner;
    MPI_Count wide[4];

    CHECK_EQ(dm_type_contiguous(1u << 30, of(MPI_DOUBLE), &gib), DM_OK);
    CHECK_EQ(dm_type_size(gib, &n), DM_OK);
    CHECK_EQ(n, 8l << 30);
    CHECK(gib->is_contig);
    CHECK_EQ(dm_type_vector(5, 2, 1000, gib, &row), DM_OK);
    CHECK_EQ(row->size, 80l << 30);
    CHECK_EQ(row->extent, 4002l * (8l << 30));
    CHECK_EQ(dm_type_commit(row), DM_OK);
    CHECK_EQ(dm_type_iov((void *)4096, 1, row, (16l << 30) + 5, iov, 4, &n_iov), (64l << 30) - 5);
    CHECK_EQ(n_iov, 4);
    CHECK_EQ((uintptr_t)iov[0].iov_base, 4096 + 1000 * (8ul << 30) + 5);
    /* The second element starts where the first one ends. */
    CHECK_EQ(dm_type_iov((void *)4096, 2, row, 79l << 30, iov, 4, &n_iov), 65l << 30);
    CHECK_EQ(dm_pack_size(1u << 30, row, NULL, &n), DM_OK);
    CHECK_EQ(n, MPI_UNDEFINED);

    CHECK_EQ(dm_type_contiguous(1u << 30, row, &big), DM_ERR_COUNT);
    CHECK_EQ(dm_type_contiguous((size_t)1 << 40, gib, &big), DM_ERR_COUNT);
    CHECK_EQ(dm_type_create_hvector(1u << 30, 1, 1l << 40, of(MPI_INT), &big), DM_ERR_COUNT);
    CHECK_EQ(dm_type_vector(2, 1, 1l << 62, of(MPI_INT), &big), DM_ERR_COUNT);
    CHECK_EQ(dm_type_create_resized(of(MPI_INT), INT64_MAX, 1, &big), DM_ERR_COUNT);

    CHECK_EQ(dm_type_create_hvector(3, 1, stride, of(MPI_INT), &type), DM_OK);
    CHECK_EQ(dm_type_get_extent(type, &lb, &extent), DM_OK);
    CHECK_EQ(extent, 2 * stride + 4);
    CHECK_EQ(dm_type_get_envelope(type, &ni, &na, &nd, &combiner), DM_OK);
    CHECK(ni == 2 && na == 1 && nd == 1 && combiner == MPI_COMBINER_HVECTOR);
    dm_type_free(type);
    CHECK_EQ(dm_type_contiguous(5000000000u, of(MPI_BYTE), &type), DM_OK);
    CHECK_EQ(dm_type_get_envelope(type, &ni, &na, &nd, &combiner), DM_ERR_TYPE);
    CHECK_EQ(dm_type_get_envelope_c(type, &wide[0], &wide[1], &wide[2], &wide[3], &combiner),
             DM_OK);
    CHECK(wide[0] == 0 && wide[1] == 0 && wide[2] == 1 && wide[3] == 1);
    CHECK_EQ(dm_type_get_contents_c(type, 0, 0, 0, 1, NULL, NULL, wide, &combiner), DM_ERR_ARG);
    CHECK_EQ(dm_type_get_contents_c(type, 0, 0, 1, 1, NULL, NULL, wide, &combiner), DM_OK);
    CHECK_EQ(wide[0], 5000000000);
    CHECK_EQ(combiner, MPI_BYTE);
    CHECK_EQ(dm_type_get_contents(type, 1, 0, 1, &ni, NULL, &combiner), DM_ERR_TYPE);
    CHECK_EQ(dm_type_get_contents(of(MPI_INT), 0, 0, 0, NULL, NULL, NULL), DM_ERR_TYPE);
    dm_type_free(type);
    dm_type_free(gib);
    dm_type_free(row);
}

/* A structure described by absolute addresses, sent from MPI_BOTTOM. */
static void from_bottom(void)
{
    static int a[3] = {1, 2, 3};
    static double b = 2.5;
    int lengths[2] = {3, 1};
    MPI_Aint displs[2] = {(MPI_Aint)a, (MPI_Aint)&b};
    int types[2] = {MPI_INT, MPI_DOUBLE};
    struct dm_type *type;
    char out[20];

    CHECK_EQ(dm_type_create_struct(2, dm_counts_int(lengths), dm_counts_wide(displs), types, &type),
             DM_OK);
    CHECK_EQ(dm_type_commit(type), DM_OK);
    dm_type_pack(MPI_BOTTOM, 1, type, 0, out, sizeof(out));
    CHECK(memcmp(out, a, 12) == 0 && memcmp(out + 12, &b, 8) == 0);
    memset(a, 0, sizeof(a));
    b = 0;
    dm_type_unpack(MPI_BOTTOM, 1, type, 0, out, 7);
    dm_type_unpack(MPI_BOTTOM, 1, type, 7, out + 7, 13);
    CHECK(a[0] == 1 && a[2] == 3 && b == 2.5);
    dm_type_free(type);
}

/* Many of them: no address is made of the displacements of moves that there are not. */
static void records_from_bottom(void)
{
    enum { N = 100 };

    static struct record {
        int32_t i;
        int16_t h[2];
    } a[N];
    int lengths[2] = {1, 1};
    MPI_Aint displs[2] = {(MPI_Aint)&a[0].i, (MPI_Aint)&a[0].h[1]};
    int types[2] = {MPI_INT32_T, MPI_INT16_T};
    struct dm_type *type;
    char out[N * 6];
    bool is_right = true;

    for (int i = 0; i < N; i++)
        a[i] = (struct record){i + 1, {7, (int16_t)-i}};
    CHECK_EQ(dm_type_create_struct(2, dm_counts_int(lengths), dm_counts_wide(displs), types, &type),
             DM_OK);
    CHECK_EQ(dm_type_commit(type), DM_OK);
    dm_type_pack(MPI_BOTTOM, N, type, 0, out, sizeof(out));
    memset(a, 0, sizeof(a));
    dm_type_unpack(MPI_BOTTOM, N, type, 0, out, sizeof(out));
    for (int i = 0; i < N; i++)
        is_right &= a[i].i == i + 1 && a[i].h[0] == 0 && a[i].h[1] == -i;
    CHECK(is_right);
    dm_type_free(type);
}

/* The upper bound that a marker sets stays with every type around it (5.1.7). */
static void markers(void)
{
    int lengths[3] = {1, 1, 1};
    MPI_Aint displs[3] = {-4, 0, 30};
    int types[3] = {MPI_LB, MPI_INT, MPI_UB};
    struct dm_type *marked, *outer, *twice;

    CHECK_EQ(
        dm_type_create_struct(3, dm_counts_int(lengths), dm_counts_wide(displs), types, &marked),
        DM_OK);
    CHECK_EQ(marked->lb, -4);
    CHECK_EQ(marked->extent, 34);
    CHECK_EQ(marked->true_lb, 0);
    CHECK_EQ(marked->true_extent, 4);
    displs[0] = 0;
    displs[1] = 100;
    types[0] = marked->obj.handle;
    CHECK_EQ(
        dm_type_create_struct(2, dm_counts_int(lengths), dm_counts_wide(displs), types, &outer),
        DM_OK);
    CHECK_EQ(outer->lb, -4);
    CHECK_EQ(outer->extent, 34);
    CHECK_EQ(outer->true_extent, 104);
    CHECK_EQ(dm_type_contiguous(2, marked, &twice), DM_OK);
    CHECK_EQ(twice->lb, -4);
    CHECK_EQ(twice->extent, 68);
    dm_type_free(twice);
    dm_type_free(outer);
    dm_type_free(marked);
}

/* A list of structures, each holding the one before: memory and stack must not explode. */
static void deep(void)
{
    enum { LEVELS = 20000 };
    int lengths[2] = {1, 1};
    MPI_Aint displs[2] = {0, 8};
    int types[2] = {MPI_INT, MPI_INT};
    struct dm_type *type = NULL;
    char *memory;
    int *out;

    for (int i = 0; i < LEVELS; i++) {
        struct dm_type *next;

        CHECK_EQ(
            dm_type_create_struct(2, dm_counts_int(lengths), dm_counts_wide(displs), types, &next),
            DM_OK);
        if (type != NULL)
            dm_type_free(type);
        type = next;
        types[1] = type->obj.handle;
    }
    CHECK_EQ(dm_type_commit(type), DM_OK);
    CHECK_EQ(type->size, 4l * (LEVELS + 1));
    memory = calloc(LEVELS + 1, 8);
    out = calloc(LEVELS + 1, sizeof(*out));
    for (int i = 0; i <= LEVELS; i++)
        memcpy(memory + 8l * i, &i, sizeof(i));
    dm_type_pack(memory, 1, type, 0, out, (size_t)type->size);
    for (int i = 0; i <= LEVELS; i++)
        CHECK_EQ(out[i], i);
    free(memory);
    free(out);
    dm_type_free(type);
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    char longer[2 * MPI_MAX_OBJECT_NAME];
    struct dm_type *type, *dup;
    int len;

    CHECK_EQ(dm_type_get_name(of(MPI_LONG_DOUBLE_INT), name, &len), DM_OK);
    CHECK_STR(name, "MPI_LONG_DOUBLE_INT");
    CHECK_EQ(len, 19);
    CHECK_EQ(dm_type_contiguous(2, of(MPI_INT), &type), DM_OK);
    CHECK_EQ(dm_type_get_name(type, name, &len), DM_OK);
    CHECK_STR(name, "");
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    CHECK_EQ(dm_type_set_name(type, longer), DM_OK);
    CHECK_EQ(dm_type_get_name(type, name, &len), DM_OK);
    CHECK_EQ(len, MPI_MAX_OBJECT_NAME - 1);
    CHECK_EQ(dm_type_dup(type, &dup), DM_OK);
    CHECK_EQ(dm_type_get_name(dup, name, &len), DM_OK);
    CHECK_STR(name, "");
    CHECK(dm_type_get(type->obj.handle) == type);
    dm_type_free(dup);
    len = type->obj.handle;
    dm_type_free(type);
    CHECK(dm_type_get(len) == NULL);
}

/* Bytes of members at places, reps times; memory is what they are in. */
struct small {
    int n;
    int lens[6];
    MPI_Aint at[6];
    long stride;
    int reps;
    size_t size;
};

static void draw_small(struct small *s)
{
    MPI_Aint end = rand() % 4;

    s->n = 1 + rand() % 6;
    s->size = 0;
    for (int i = 0; i < s->n; i++) {
        s->lens[i] = 1 + rand() % (rand() % 4 == 0 ? 80 : 20);
        s->at[i] = end;
        end += s->lens[i] + rand() % 9;
        s->size += (size_t)s->lens[i];
    }
    s->stride = end + rand() % 9;
    s->reps = 1 + rand() % 150;
}

/* Arrays of small structures, forwards and backwards, whole and in pieces: the members and no byte beside them. */
static void small_structs(void)
{
    static unsigned char memory[1 << 17], copy[1 << 17], packed[1 << 17], expect[1 << 17];

    for (int round = 0; round < 500; round++) {
        struct dm_type *one, *type;
        MPI_Datatype types[6];
        unsigned char *base = memory + sizeof(memory) / 2;
        size_t n = 0, from, len;
        struct small s;

        draw_small(&s);
        if (round % 3 == 0)
            s.stride = -s.stride;
        for (int i = 0; i < s.n; i++)
            types[i] = MPI_BYTE;
        CHECK_EQ(dm_type_create_struct((size_t)s.n, dm_counts_int(s.lens), dm_counts_wide(s.at),
                                       types, &one),
                 DM_OK);
        CHECK_EQ(dm_type_create_hvector((size_t)s.reps, 1, s.stride, one, &type), DM_OK);
        CHECK_EQ(dm_type_commit(type), DM_OK);
        for (size_t i = 0; i < sizeof(memory); i++)
            memory[i] = (unsigned char)rand();
        for (int r = 0; r < s.reps; r++)
            for (int i = 0; i < s.n; i++, n += (size_t)s.lens[i - 1])
                memcpy(expect + n, base + r * s.stride + s.at[i], (size_t)s.lens[i]);
        memset(packed, 0xa5, sizeof(packed));
        dm_type_pack(base, 1, type, 0, packed + 32, n);
        CHECK(memcmp(packed + 32, expect, n) == 0);
        CHECK(packed[31] == 0xa5 && packed[32 + n] == 0xa5);
        from = (size_t)rand() % n;
        len = (size_t)rand() % (n - from) + 1;
        dm_type_pack(base, 1, type, from, packed + 32, len);
        CHECK(memcmp(packed + 32, expect + from, len) == 0);

        /* Unpacking changes the members only: the rest was the same before. */
        memcpy(copy, memory, sizeof(memory));
        for (int r = 0; r < s.reps; r++)
            for (int i = 0; i < s.n; i++)
                memset(base + r * s.stride + s.at[i], 0, (size_t)s.lens[i]);
        dm_type_unpack(base, 1, type, 0, expect, from);
        dm_type_unpack(base, 1, type, from, expect + from, n - from);
        CHECK(memcmp(copy, memory, sizeof(memory)) == 0);
        dm_type_free(one);
        dm_type_free(type);
    }
}

/* A matrix by columns that share lines of memory, forwards and backwards, whole and in pieces. */
static void columns(void)
{
    enum { ROOM = 1 << 18 };
    static unsigned char memory[ROOM], copy[ROOM], packed[ROOM], expect[ROOM];

    for (int round = 0; round < 300; round++) {
        int len = 1 + rand() % 24, width = 1 + rand() % 30, rows = 1 + rand() % 50;
        long step = len + rand() % (64 - len), pitch = width * step + 64 + rand() % 100;
        unsigned char *base = memory + ROOM / 2;
        size_t n = 0, from;
        struct dm_type *block, *column, *type;

        step = rand() % 3 == 0 ? -step : step;
        pitch = rand() % 3 == 0 ? -pitch : pitch;
        CHECK_EQ(dm_type_contiguous((size_t)len, of(MPI_BYTE), &block), DM_OK);
        CHECK_EQ(dm_type_create_hvector((size_t)rows, 1, pitch, block, &column), DM_OK);
        CHECK_EQ(dm_type_create_hvector((size_t)width, 1, step, column, &type), DM_OK);
        CHECK_EQ(dm_type_commit(type), DM_OK);
        for (size_t i = 0; i < ROOM; i++)
            memory[i] = (unsigned char)rand();
        for (int c = 0; c < width; c++)
            for (int r = 0; r < rows; r++, n += (size_t)len)
                memcpy(expect + n, base + c * step + r * pitch, (size_t)len);
        from = (size_t)rand() % n;
        memset(packed, 0xa5, sizeof(packed));
        dm_type_pack(base, 1, type, 0, packed + 32, n);
        CHECK(memcmp(packed + 32, expect, n) == 0);
        CHECK(packed[31] == 0xa5 && packed[32 + n] == 0xa5);
        dm_type_pack(base, 1, type, from, packed + 32, n - from);
        CHECK(memcmp(packed + 32, expect + from, n - from) == 0);

        memcpy(copy, memory, ROOM);
        for (int c = 0; c < width; c++)
            for (int r = 0; r < rows; r++)
                memset(base + c * step + r * pitch, 0, (size_t)len);
        dm_type_unpack(base, 1, type, 0, expect, from);
        dm_type_unpack(base, 1, type, from, expect + from, n - from);
        CHECK(memcmp(copy, memory, ROOM) == 0);
        dm_type_free(block);
        dm_type_free(column);
        dm_type_free(type);
    }
}

static void pack_positions(void)
{
    int in[4] = {1, 2, 3, 4};
    int out[4] = {0};
    char packed[16];
    MPI_Count at = 0;
    MPI_Count size = 0;

    CHECK_EQ(dm_pack_size(4, of(MPI_INT), NULL, &size), DM_OK);
    CHECK_EQ(size, 16);
    CHECK_EQ(dm_pack(in, 3, of(MPI_INT), packed, sizeof(packed), &at, NULL), DM_OK);
    CHECK_EQ(at, 12);
    CHECK_EQ(dm_pack(in, 2, of(MPI_INT), packed, sizeof(packed), &at, NULL), DM_ERR_TRUNCATE);
    CHECK_EQ(at, 12);
    CHECK_EQ(dm_pack(in + 3, 1, of(MPI_INT), packed, sizeof(packed), &at, NULL), DM_OK);
    CHECK_EQ(dm_pack(in, 0, of(MPI_INT), packed, sizeof(packed), &at, NULL), DM_OK);
    at = 17;
    CHECK_EQ(dm_pack(in, 0, of(MPI_INT), packed, sizeof(packed), &at, NULL), DM_ERR_ARG);
    at = 4;
    CHECK_EQ(dm_unpack(packed, sizeof(packed), &at, out, 3, of(MPI_INT), NULL), DM_OK);
    CHECK(out[0] == 2 && out[2] == 4 && at == 16);
    CHECK_EQ(dm_unpack(packed, sizeof(packed), &at, out, 1, of(MPI_INT), NULL), DM_ERR_TRUNCATE);
}

/* Each predefined type: size as in the handle, and what C says about the pairs. */
static void predefined(void)
{
    static const struct {
        int type, size, extent, true_extent, is_contig;
    } pairs[] = {
        {MPI_FLOAT_INT, 8, 8, 8, 1},   {MPI_DOUBLE_INT, 12, 16, 12, 0},
        {MPI_LONG_INT, 12, 16, 12, 0}, {MPI_SHORT_INT, 6, 8, 8, 0},
        {MPI_2INT, 8, 8, 8, 1},        {MPI_LONG_DOUBLE_INT, 20, 32, 20, 0},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const struct dm_type *type = of(pairs[i].type);

        CHECK_EQ(type->size, pairs[i].size);
        CHECK_EQ(type->extent, pairs[i].extent);
        CHECK_EQ(type->true_extent, pairs[i].true_extent);
        CHECK_EQ(type->is_contig, pairs[i].is_contig);
        CHECK_EQ(type->n_basic, 2);
    }
    for (int index = 0; index < 128; index++) {
        for (int size = 0; size <= 32; size++) {
            const struct dm_type *type = of(0x4c000000 | size << 8 | index);

            if (type == NULL)
                continue;
            CHECK_EQ(type->size, size);
            CHECK_EQ(type->extent, size);
            CHECK(type->is_committed && type->is_builtin && type->name[0] == 'M');
        }
    }
    CHECK(of(MPI_DATATYPE_NULL) == NULL);
}

int main(void)
{
    CHECK_EQ(dm_datatype_start(), DM_OK);
    predefined();
    wrong_arguments();
    huge();
    from_bottom();
    records_from_bottom();
    markers();
    deep();
    names();
    small_structs();
    columns();
    pack_positions();
    dm_datatype_stop();
    return test_result();
}
