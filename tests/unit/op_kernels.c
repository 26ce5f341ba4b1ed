/* test: timeout=60 layers=mpi,util,channel,dapl_adapt */
/*
 * Every predefined operation on every predefined datatype against the definition in C, which
 * pairs are allowed, user operations, and concurrent atomic updates.
 */
#include "mpi/op/op.h"

#include <complex.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/op/kernels.h"
#include "test.h"
#include "util/port.h"

#define N 300 /* elements: vector blocks and a rest */

static unsigned long rng = 12345;
static unsigned next_random(void)
{
    rng = rng * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(rng >> 33);
}

/* name, handle, C type */
#define INTEGERS(X)                                                                                \
    X(signed_char, MPI_SIGNED_CHAR, signed char)                                                   \
    X(unsigned_char, MPI_UNSIGNED_CHAR, unsigned char)                                             \
    X(short_, MPI_SHORT, short)                                                                    \
    X(unsigned_short, MPI_UNSIGNED_SHORT, unsigned short)                                          \
    X(int_, MPI_INT, int)                                                                          \
    X(unsigned_, MPI_UNSIGNED, unsigned)                                                           \
    X(long_, MPI_LONG, long)                                                                       \
    X(unsigned_long, MPI_UNSIGNED_LONG, unsigned long)                                             \
    X(long_long, MPI_LONG_LONG, long long)                                                         \
    X(unsigned_long_long, MPI_UNSIGNED_LONG_LONG, unsigned long long)                              \
    X(int8, MPI_INT8_T, int8_t)                                                                    \
    X(uint8, MPI_UINT8_T, uint8_t)                                                                 \
    X(int16, MPI_INT16_T, int16_t)                                                                 \
    X(uint16, MPI_UINT16_T, uint16_t)                                                              \
    X(int32, MPI_INT32_T, int32_t)                                                                 \
    X(uint32, MPI_UINT32_T, uint32_t)                                                              \
    X(int64, MPI_INT64_T, int64_t)                                                                 \
    X(uint64, MPI_UINT64_T, uint64_t)                                                              \
    X(aint, MPI_AINT, MPI_Aint)                                                                    \
    X(offset, MPI_OFFSET, MPI_Offset)                                                              \
    X(count, MPI_COUNT, MPI_Count)                                                                 \
    X(integer, MPI_INTEGER, int)                                                                   \
    X(integer1, MPI_INTEGER1, int8_t)                                                              \
    X(integer2, MPI_INTEGER2, int16_t)                                                             \
    X(integer4, MPI_INTEGER4, int32_t)                                                             \
    X(integer8, MPI_INTEGER8, int64_t)
#define FLOATS(X)                                                                                  \
    X(float_, MPI_FLOAT, float)                                                                    \
    X(double_, MPI_DOUBLE, double)                                                                 \
    X(long_double, MPI_LONG_DOUBLE, long double)                                                   \
    X(real, MPI_REAL, float)                                                                       \
    X(double_precision, MPI_DOUBLE_PRECISION, double)                                              \
    X(real4, MPI_REAL4, float)                                                                     \
    X(real8, MPI_REAL8, double)                                                                    \
    X(real16, MPI_REAL16, dm_float128)
#define COMPLEXES(X)                                                                               \
    X(c_float, MPI_C_FLOAT_COMPLEX, float complex)                                                 \
    X(c_double, MPI_C_DOUBLE_COMPLEX, double complex)                                              \
    X(c_long_double, MPI_C_LONG_DOUBLE_COMPLEX, long double complex)                               \
    X(complex, MPI_COMPLEX, float complex)                                                         \
    X(double_complex, MPI_DOUBLE_COMPLEX, double complex)                                          \
    X(cxx_double, MPI_CXX_DOUBLE_COMPLEX, double complex)
#define PAIRS(X)                                                                                   \
    X(float_int, MPI_FLOAT_INT, float, int)                                                        \
    X(double_int, MPI_DOUBLE_INT, double, int)                                                     \
    X(long_int, MPI_LONG_INT, long, int)                                                           \
    X(short_int, MPI_SHORT_INT, short, int)                                                        \
    X(two_int, MPI_2INT, int, int)                                                                 \
    X(long_double_int, MPI_LONG_DOUBLE_INT, long double, int)                                      \
    X(two_integer, MPI_2INTEGER, int, int)                                                         \
    X(two_real, MPI_2REAL, float, float)                                                           \
    X(two_double, MPI_2DOUBLE_PRECISION, double, double)

/* Apply to copies at odd addresses, and atomically where that is possible, n elements. */
static void run(int op, int type, const void *in, void *inout, size_t n)
{
    size_t bytes = n * (size_t)dm_type_get(type)->extent;
    char *odd = malloc(2 * bytes + 64);
    void *atomic = malloc(bytes + 8);

    memcpy(odd + 1, in, bytes);
    memcpy(odd + 17 + bytes, inout, bytes);
    memcpy(atomic, inout, bytes);
    CHECK_EQ(dm_op_check(dm_op_get(op), dm_type_get(type)), DM_OK);
    CHECK_EQ(dm_op_apply_basic(dm_op_get(op), odd + 1, odd + 17 + bytes, n, type, false), DM_OK);
    CHECK_EQ(dm_op_apply(dm_op_get(op), in, inout, n, dm_type_get(type)), DM_OK);
    if (type != MPI_LONG_DOUBLE && type != MPI_C_LONG_DOUBLE_COMPLEX && type != MPI_LONG_DOUBLE_INT)
        CHECK(memcmp(inout, odd + 17 + bytes, bytes) == 0);
    if (dm_op_is_atomic(type)) {
        CHECK_EQ(dm_op_apply_basic(dm_op_get(op), in, atomic, n, type, true), DM_OK);
        CHECK(memcmp(inout, atomic, bytes) == 0);
    }
    free(odd);
    free(atomic);
}

#define CHECK_ALL(OP, TYPE, T, EXPR)                                                               \
    do {                                                                                           \
        T in[N], inout[N];                                                                         \
        size_t n = (size_t)(next_random() % N) + 1;                                                \
        fill(in);                                                                                  \
        fill(inout);                                                                               \
        T had[N];                                                                                  \
        memcpy(had, inout, sizeof(had));                                                           \
        run(OP, TYPE, in, inout, n);                                                               \
        for (size_t i = 0; i < N; i++) {                                                           \
            DM_UNUSED T a = in[i], b = had[i];                                                     \
            CHECK(i < n ? inout[i] == (T)(EXPR) : inout[i] == b);                                  \
        }                                                                                          \
    } while (0)

/* Small values now and then, so that equal ones and zeros occur. */
#define DEFINE_FILL(NAME, T)                                                                       \
    static void fill_##NAME(T *a)                                                                  \
    {                                                                                              \
        for (int i = 0; i < N; i++)                                                                \
            a[i] = next_random() % 2 ? (T)(next_random() % 3)                                      \
                                     : (T)((unsigned long)next_random() << 32 ^ next_random());    \
    }
#define INTEGER_TEST(NAME, TYPE, T)                                                                \
    DEFINE_FILL(NAME, T)                                                                           \
    static void test_##NAME(void)                                                                  \
    {                                                                                              \
        void (*fill)(T *) = fill_##NAME;                                                           \
        CHECK_ALL(MPI_MAX, TYPE, T, a > b ? a : b);                                                \
        CHECK_ALL(MPI_MIN, TYPE, T, a < b ? a : b);                                                \
        CHECK_ALL(MPI_SUM, TYPE, T, (unsigned long)a + (unsigned long)b);                          \
        CHECK_ALL(MPI_PROD, TYPE, T, (unsigned long)a *(unsigned long)b);                          \
        CHECK_ALL(MPI_LAND, TYPE, T, a &&b);                                                       \
        CHECK_ALL(MPI_LOR, TYPE, T, a || b);                                                       \
        CHECK_ALL(MPI_LXOR, TYPE, T, !a != !b);                                                    \
        CHECK_ALL(MPI_BAND, TYPE, T, a &b);                                                        \
        CHECK_ALL(MPI_BOR, TYPE, T, a | b);                                                        \
        CHECK_ALL(MPI_BXOR, TYPE, T, a ^ b);                                                       \
        CHECK_ALL(MPI_REPLACE, TYPE, T, a);                                                        \
        CHECK_ALL(MPI_NO_OP, TYPE, T, b);                                                          \
    }
#define FLOAT_TEST(NAME, TYPE, T)                                                                  \
    static void fill_##NAME(T *a)                                                                  \
    {                                                                                              \
        memset(a, 0, N * sizeof(T));                                                               \
        for (int i = 0; i < N; i++)                                                                \
            a[i] = (T)(next_random() % 100000) / 7 - 5000;                                         \
    }                                                                                              \
    static void test_##NAME(void)                                                                  \
    {                                                                                              \
        void (*fill)(T *) = fill_##NAME;                                                           \
        CHECK_ALL(MPI_MAX, TYPE, T, a > b ? a : b);                                                \
        CHECK_ALL(MPI_MIN, TYPE, T, a < b ? a : b);                                                \
        CHECK_ALL(MPI_SUM, TYPE, T, a + b);                                                        \
        CHECK_ALL(MPI_PROD, TYPE, T, a *b);                                                        \
        CHECK_ALL(MPI_REPLACE, TYPE, T, a);                                                        \
    }
/* Whole numbers: the product is exact in every order. */
#define COMPLEX_TEST(NAME, TYPE, T)                                                                \
    static void fill_##NAME(T *a)                                                                  \
    {                                                                                              \
        memset(a, 0, N * sizeof(T));                                                               \
        for (int i = 0; i < N; i++)                                                                \
            a[i] = (T)((double)(next_random() % 1000) - 500 +                                      \
                       I * ((double)(next_random() % 1000) - 500));                                \
    }                                                                                              \
    static void test_##NAME(void)                                                                  \
    {                                                                                              \
        void (*fill)(T *) = fill_##NAME;                                                           \
        CHECK_ALL(MPI_SUM, TYPE, T, a + b);                                                        \
        CHECK_ALL(MPI_PROD, TYPE, T, a *b);                                                        \
        CHECK_ALL(MPI_REPLACE, TYPE, T, a);                                                        \
    }
#define PAIR_TEST(NAME, TYPE, V, L)                                                                \
    static void test_##NAME(void)                                                                  \
    {                                                                                              \
        struct {                                                                                   \
            V v;                                                                                   \
            L l;                                                                                   \
        } a[N], b[N], c[N];                                                                        \
        CHECK_EQ(sizeof(a[0]), dm_type_get(TYPE)->extent);                                         \
        for (int is_max = 0; is_max < 2; is_max++) {                                               \
            memset(a, 0, sizeof(a));                                                               \
            memset(b, 0, sizeof(b));                                                               \
            for (int i = 0; i < N; i++) {                                                          \
                a[i].v = (V)(next_random() % 5);                                                   \
                b[i].v = (V)(next_random() % 5);                                                   \
                a[i].l = (L)(next_random() % 7);                                                   \
                b[i].l = (L)(next_random() % 7);                                                   \
            }                                                                                      \
            memcpy(c, b, sizeof(c));                                                               \
            run(is_max ? MPI_MAXLOC : MPI_MINLOC, TYPE, a, c, N);                                  \
            for (int i = 0; i < N; i++) {                                                          \
                bool is_a = is_max ? a[i].v > b[i].v : a[i].v < b[i].v;                            \
                bool is_same = a[i].v == b[i].v;                                                   \
                L low = a[i].l < b[i].l ? a[i].l : b[i].l;                                         \
                CHECK(c[i].v == (is_a ? a[i].v : b[i].v));                                         \
                CHECK(c[i].l == (is_same ? low : is_a ? a[i].l : b[i].l));                         \
            }                                                                                      \
        }                                                                                          \
    }
/* clang-format off */
INTEGERS(INTEGER_TEST)
FLOATS(FLOAT_TEST)
COMPLEXES(COMPLEX_TEST)
PAIRS(PAIR_TEST)
/* clang-format on */

static void test_logical(void)
{
    uint8_t a8[] = {0, 0, 1, 1}, b8[] = {0, 1, 0, 1};
    int a[] = {0, 0, 1, -1}, b[] = {0, 7, 0, 1};

    CHECK_EQ(dm_reduce_local(a8, b8, 4, dm_type_get(MPI_C_BOOL), dm_op_get(MPI_LXOR)), DM_OK);
    CHECK(b8[0] == 0 && b8[1] == 1 && b8[2] == 1 && b8[3] == 0);
    CHECK_EQ(dm_reduce_local(a, b, 4, dm_type_get(MPI_LOGICAL), dm_op_get(MPI_LOR)), DM_OK);
    CHECK(b[0] == 0 && b[1] == 1 && b[2] == 1 && b[3] == 1);
    CHECK_EQ(dm_reduce_local(a, b, 4, dm_type_get(MPI_LOGICAL), dm_op_get(MPI_LAND)), DM_OK);
    CHECK(b[0] == 0 && b[1] == 0 && b[2] == 1 && b[3] == 1);
    CHECK_EQ(dm_reduce_local(a8, b8, 3, dm_type_get(MPI_BYTE), dm_op_get(MPI_BOR)), DM_OK);
    CHECK(b8[0] == 0 && b8[1] == 1 && b8[2] == 1);
}

/* One letter per operation in the order of their handles: x allowed. */
static void test_allowed(void)
{
    static const struct {
        int type;
        const char *ops;
    } rows[] = {
        /*                    MMSPLBLBLBMMRN */
        {MPI_INT, "xxxxxxxxxx--xx"},         {MPI_INTEGER8, "xxxxxxxxxx--xx"},
        {MPI_UINT8_T, "xxxxxxxxxx--xx"},     {MPI_AINT, "xxxxxxxxxx--xx"},
        {MPI_CHAR, "xxxxxxxxxx--xx"},        {MPI_FLOAT, "xxxxx-x-x---xx"},
        {MPI_LONG_DOUBLE, "xxxxx-x-x---xx"}, {MPI_REAL16, "xxxxx-x-x---xx"},
        {MPI_C_COMPLEX, "--xx--------xx"},   {MPI_COMPLEX32, "--xx--------xx"},
        {MPI_LOGICAL, "----x-x-x---xx"},     {MPI_C_BOOL, "----x-x-x---xx"},
        {MPI_BYTE, "-----x-x-x--xx"},        {MPI_PACKED, "------------xx"},
        {MPI_WCHAR, "------------xx"},       {MPI_DOUBLE_INT, "----------xxxx"},
        {MPI_2REAL, "----------xxxx"},       {MPI_LB, "--------------"},
        {MPI_UB, "--------------"},
    };
    struct dm_type *derived;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int op = 0; op < 14; op++) {
            int err = dm_op_check(dm_op_get(MPI_MAX + op), dm_type_get(rows[i].type));

            if (err != (rows[i].ops[op] == 'x' ? DM_OK : DM_ERR_OP))
                printf("type 0x%x operation %d\n", (unsigned)rows[i].type, op);
            CHECK_EQ(err, rows[i].ops[op] == 'x' ? DM_OK : DM_ERR_OP);
        }
    }
    CHECK_EQ(dm_type_contiguous(2, dm_type_get(MPI_INT), &derived), DM_OK);
    CHECK_EQ(dm_op_check(dm_op_get(MPI_SUM), derived), DM_ERR_OP);
    CHECK_EQ(dm_op_apply(dm_op_get(MPI_SUM), &rng, &rng, 1, derived), DM_ERR_OP);
    CHECK_EQ(dm_op_check(dm_op_get(MPI_SUM), NULL), DM_ERR_OP);
    dm_type_free(derived);
}

/* ---- user operations ---- */

static int n_calls;
static MPI_Datatype seen_type;
static void add_vectors(void *in, void *inout, int *len, MPI_Datatype *type)
{
    n_calls++;
    seen_type = *type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += 10 * ((int *)in)[i];
}
static MPI_Count total_len;
static int longest;
static void count_bytes(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)type;
    total_len += *len;
    longest = *len > longest ? *len : longest;
}
static void add_large(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    (void)type;
    for (MPI_Count i = 0; i < *len; i++)
        ((int *)inout)[i] -= ((int *)in)[i];
}

static void test_user(void)
{
    int a[3] = {1, 2, 3}, b[3] = {4, 5, 6};
    struct dm_op *op = NULL;
    struct dm_type *empty = NULL;
    int commute = -1;

    CHECK_EQ(dm_op_create(add_vectors, 1, &op), DM_OK);
    CHECK(dm_op_get(op->obj.handle) == op);
    CHECK_EQ(dm_op_commutative(op, &commute), DM_OK);
    CHECK_EQ(commute, 1);
    CHECK_EQ(dm_op_check(op, dm_type_get(MPI_INT)), DM_OK);
    CHECK_EQ(dm_reduce_local(a, b, 3, dm_type_get(MPI_INT), op), DM_OK);
    CHECK(b[0] == 14 && b[1] == 25 && b[2] == 36);
    CHECK_EQ(n_calls, 1);
    CHECK_EQ(seen_type, MPI_INT);
    CHECK_EQ(dm_reduce_local(a, b, 0, dm_type_get(MPI_INT), op), DM_OK);
    CHECK_EQ(n_calls, 1);
    CHECK_EQ(dm_op_free(op), DM_OK);

    /* More elements than an int can say: of no extent, so that no memory is needed. */
    CHECK_EQ(dm_type_create_resized(dm_type_get(MPI_INT), 0, 0, &empty), DM_OK);
    CHECK_EQ(dm_op_create(count_bytes, 0, &op), DM_OK);
    CHECK_EQ(dm_op_commutative(op, &commute), DM_OK);
    CHECK_EQ(commute, 0);
    CHECK_EQ(dm_op_apply(op, a, b, 5000000000u, empty), DM_OK);
    CHECK_EQ(total_len, 5000000000);
    CHECK_EQ(longest, INT_MAX);
    dm_op_free(op);
    dm_type_free(empty);

    CHECK_EQ(dm_op_create_c(add_large, 0, &op), DM_OK);
    CHECK_EQ(dm_op_apply(op, a, b, 3, dm_type_get(MPI_INT)), DM_OK);
    CHECK(b[0] == 13 && b[1] == 23 && b[2] == 33);
    dm_op_free(op);
}

/* ---- several at once ---- */

#define N_THREADS 4
#define N_ADDS    20000
static struct {
    uint8_t u8;
    uint16_t u16;
    int32_t i32;
    double f64;
    float complex c32;
    DM_ALIGNED(8) struct {
        short v;
        int l;
    } pair;
} shared;

static void *adder(void *arg)
{
    struct dm_op *sum = dm_op_get(MPI_SUM);
    uint8_t u8 = 1;
    uint16_t u16 = 3;
    int32_t i32 = 5;
    double f64 = 0.5;
    float complex c32 = 1 + 2 * I;

    for (int i = 0; i < N_ADDS; i++) {
        struct {
            short v;
            int l;
        } pair = {(short)(i % 1000), (int)(size_t)arg * N_ADDS + i};

        dm_op_apply_basic(sum, &u8, &shared.u8, 1, MPI_UINT8_T, true);
        dm_op_apply_basic(sum, &u16, &shared.u16, 1, MPI_UINT16_T, true);
        dm_op_apply_basic(sum, &i32, &shared.i32, 1, MPI_INT, true);
        dm_op_apply_basic(sum, &f64, &shared.f64, 1, MPI_DOUBLE, true);
        dm_op_apply_basic(sum, &c32, &shared.c32, 1, MPI_C_FLOAT_COMPLEX, true);
        dm_op_apply_basic(dm_op_get(MPI_MAXLOC), &pair, &shared.pair, 1, MPI_SHORT_INT, true);
    }
    return NULL;
}

static void test_atomic(void)
{
    pthread_t threads[N_THREADS];
    char room[32] = {0};

    shared.pair.l = INT_MAX;
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, adder, (void *)i);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(shared.u8, (uint8_t)(N_THREADS * N_ADDS));
    CHECK_EQ(shared.u16, (uint16_t)(N_THREADS * N_ADDS * 3));
    CHECK_EQ(shared.i32, N_THREADS * N_ADDS * 5);
    CHECK(shared.f64 == N_THREADS * N_ADDS * 0.5);
    CHECK(shared.c32 == N_THREADS * N_ADDS * (1 + 2 * I));
    CHECK_EQ(shared.pair.v, 999);
    CHECK_EQ(shared.pair.l, 999);
    CHECK(!dm_op_is_atomic(MPI_LONG_DOUBLE) && !dm_op_is_atomic(MPI_DOUBLE_INT));
    CHECK(!dm_op_is_atomic(MPI_DATATYPE_NULL) && !dm_op_is_atomic(MPI_LB));
    CHECK_EQ(dm_op_apply_basic(dm_op_get(MPI_SUM), room, room + 16, 1, MPI_LONG_DOUBLE, true),
             DM_EINTERN);
}

/*
 * Both builds of a kernel give the same bits, at any address, for any number of elements; of NaNs, which are
 * left out here, there are many.
 */
static void test_wide(void)
{
    static char in[600 * 32 + 16], one[sizeof(in)], two[sizeof(in)];

    if (!DM_HAS_WIDE())
        return;
    for (int ctype = 0; ctype < DM_CT_N; ctype++) {
        for (int code = 0; code < DM_OP_N; code++) {
            dm_op_kernel *narrow = dm_op_kernels_narrow()[ctype][code];
            dm_op_kernel *wide = dm_op_kernels_wide()[ctype][code];

            CHECK((narrow == NULL) == (wide == NULL));
            for (size_t n = 0; n < 600 && narrow != NULL; n += 1 + n / 70) {
                for (size_t i = 0; i < sizeof(in); i++) {
                    in[i] = (char)(next_random() & 0xbf);
                    one[i] = two[i] = (char)(next_random() & 0xbf);
                }
                narrow(in + n % 16, one + n % 7, n);
                wide(in + n % 16, two + n % 7, n);
                CHECK_EQ(memcmp(one, two, sizeof(one)), 0);
            }
        }
    }
}

int main(void)
{
    CHECK_EQ(dm_datatype_start(), DM_OK);
    CHECK_EQ(dm_op_start(), DM_OK);
#define CALL(NAME, ...) test_##NAME();
    for (int round = 0; round < 5; round++) {
        INTEGERS(CALL)
        FLOATS(CALL)
        COMPLEXES(CALL)
        PAIRS(CALL)
    }
    test_wide();
    test_logical();
    test_allowed();
    test_user();
    test_atomic();
    dm_op_stop();
    dm_datatype_stop();
    return test_result();
}
