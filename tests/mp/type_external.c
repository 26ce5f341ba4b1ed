/* test: np=1 timeout=20 */
/* MPI_Pack_external and its kin: bytes, lengths, derived types, errors; what does not fit is cut. */
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "mp_test.h"

static unsigned char buf[4096];

/* One element packs to these bytes, and they unpack to the same element. */
static void one(const void *value, MPI_Datatype type, size_t mem_len, const char *hex)
{
    unsigned char back[64];
    MPI_Aint position = 0, size = -1, from = 0;
    char got[129] = "";

    memset(buf, 0xee, sizeof(buf));
    MUST(MPI_Pack_external("external32", value, 1, type, buf, sizeof(buf), &position));
    MUST(MPI_Pack_external_size("external32", 1, type, &size));
    CHECK_EQ(position, strlen(hex) / 2);
    CHECK_EQ(size, position);
    for (MPI_Aint i = 0; i < position && i < 64; i++)
        snprintf(got + 2 * i, 3, "%02x", buf[i]);
    if (strcmp(got, hex) != 0)
        fprintf(stderr, "packed %s, not %s\n", got, hex);
    CHECK(strcmp(got, hex) == 0);
    CHECK_EQ(buf[position], 0xee);
    memset(back, 0, sizeof(back));
    MUST(MPI_Unpack_external("external32", buf, position, &from, back, 1, type));
    CHECK_EQ(from, position);
    CHECK(memcmp(back, value, mem_len) == 0);
}

#define ONE(ctype, value, mpi_type, hex)                                                           \
    do {                                                                                           \
        ctype one_value = (value);                                                                 \
        one(&one_value, mpi_type, sizeof(one_value), hex);                                         \
    } while (0)

static void basics(void)
{
    long double big = 1.5L, neg = -0x1.fffffffffffffffep+100L, zero = 0, tiny = 0x1p-16445L;
    double pair[2] = {1.0, -2.0};

    ONE(char, 'A', MPI_CHAR, "41");
    ONE(short, -2, MPI_SHORT, "fffe");
    ONE(int, 0x01020304, MPI_INT, "01020304");
    ONE(int, -1, MPI_INT, "ffffffff");
    ONE(long, -2, MPI_LONG, "fffffffe");
    ONE(long, 0x12345678, MPI_LONG, "12345678");
    ONE(unsigned long, 0xfffffff0u, MPI_UNSIGNED_LONG, "fffffff0");
    ONE(long long, -2, MPI_LONG_LONG, "fffffffffffffffe");
    ONE(wchar_t, L'\x1234', MPI_WCHAR, "1234");
    ONE(float, 1.0f, MPI_FLOAT, "3f800000");
    ONE(double, -2.0, MPI_DOUBLE, "c000000000000000");
    ONE(int64_t, 0x0102030405060708, MPI_INT64_T, "0102030405060708");
    ONE(uint16_t, 0xabcd, MPI_UINT16_T, "abcd");
    ONE(MPI_Aint, 5, MPI_AINT, "0000000000000005");
    ONE(int, 1, MPI_LOGICAL, "00000001");
    ONE(_Bool, 1, MPI_C_BOOL, "01");
    if (!mp_is_library("MPICH")) /* stops the program */
        one(pair, MPI_C_DOUBLE_COMPLEX, 16, "3ff0000000000000c000000000000000");
    if (!mp_is_library("MPICH"))
        one(pair, MPI_DOUBLE_COMPLEX, 16, "3ff0000000000000c000000000000000");
    one(&big, MPI_LONG_DOUBLE, 10, "3fff8000000000000000000000000000");
    one(&zero, MPI_LONG_DOUBLE, 10, "00000000000000000000000000000000");
    one(&neg, MPI_LONG_DOUBLE, 10, "c063fffffffffffffffe000000000000");
    one(&tiny, MPI_LONG_DOUBLE, 10, "00000000000000000002000000000000");
}

static void pairs(void)
{
    struct {
        double a;
        int b;
    } d = {1.0, 7};
    struct {
        short a;
        int b;
    } s = {-2, 7};
    struct {
        long a;
        int b;
    } l = {-2, 7};
    int i[2] = {1, 2};

    one(&d, MPI_DOUBLE_INT, 12, "3ff000000000000000000007");
    one(&s.a, MPI_SHORT_INT, 2, "fffe00000007");
    one(&l, MPI_LONG_INT, 12, "fffffffe00000007");
    one(i, MPI_2INT, 8, "0000000100000002");
}

/* A structure with gaps, many times, at a position that is not the start. */
static void derived(void)
{
    struct thing {
        char c;
        double d;
        short s[3];
        int i;
    } in[5], out[5];
    int lens[4] = {1, 1, 2, 1};
    MPI_Aint at[4] = {offsetof(struct thing, c), offsetof(struct thing, d),
                      offsetof(struct thing, s) + 2, offsetof(struct thing, i)};
    MPI_Datatype types[4] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT}, type, whole;
    MPI_Aint position = 3, size;
    MPI_Count position_c = 3, size_c;

    MPI_Type_create_struct(4, lens, at, types, &type);
    MPI_Type_create_resized(type, 0, sizeof(struct thing), &whole);
    MPI_Type_commit(&whole);
    MPI_Type_free(&type);
    memset(in, 0, sizeof(in));
    memset(out, 0, sizeof(out));
    for (int i = 0; i < 5; i++) {
        in[i].c = (char)('a' + i);
        in[i].d = i + 0.5;
        in[i].s[1] = (short)-i;
        in[i].s[2] = (short)(300 + i);
        in[i].i = 1 << i;
    }
    MUST(MPI_Pack_external_size("external32", 5, whole, &size));
    CHECK_EQ(size, 5 * (1 + 8 + 4 + 4));
    MUST(MPI_Pack_external_size_c("external32", 5, whole, &size_c));
    CHECK_EQ(size_c, size);
    MUST(MPI_Pack_external("external32", in, 5, whole, buf, sizeof(buf), &position));
    CHECK_EQ(position, 3 + size);
    CHECK_EQ(buf[3], 'a');
    CHECK_EQ(buf[3 + 1 + 8 + 2], 300 >> 8);
    CHECK_EQ(buf[3 + 1 + 8 + 3], 300 & 0xff);
    CHECK_EQ(buf[3 + 16], 1);
    MUST(MPI_Unpack_external_c("external32", buf, sizeof(buf), &position_c, out, 5, whole));
    CHECK_EQ(position_c, 3 + size);
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    memset(buf, 0, sizeof(buf));
    position_c = 0;
    MUST(MPI_Pack_external_c("external32", in, 5, whole, buf, size, &position_c));
    CHECK_EQ(position_c, size);
    /* Nothing at all. */
    position = 0;
    MUST(MPI_Pack_external("external32", NULL, 0, MPI_INT, buf, 0, &position));
    CHECK_EQ(position, 0);
    MPI_Type_free(&whole);
}

static void errors(void)
{
    int value = 1;
    MPI_Aint position = 0, size;

    FAILS(MPI_Pack_external_size("internal", 1, MPI_INT, &size), MPI_ERR_ARG);
    FAILS(MPI_Pack_external("native", &value, 1, MPI_INT, buf, 4, &position), MPI_ERR_ARG);
    FAILS(MPI_Unpack_external(NULL, buf, 4, &position, &value, 1, MPI_INT), MPI_ERR_ARG);
    FAILS(MPI_Pack_external("external32", &value, -1, MPI_INT, buf, 4, &position), MPI_ERR_COUNT);
    FAILS(MPI_Pack_external("external32", &value, 1, MPI_DATATYPE_NULL, buf, 4, &position),
          MPI_ERR_TYPE);
    FAILS(MPI_Pack_external("external32", &value, 1, MPI_INT, buf, 3, &position), MPI_ERR_TRUNCATE);
    FAILS(MPI_Unpack_external("external32", buf, 3, &position, &value, 1, MPI_INT),
          MPI_ERR_TRUNCATE);
    CHECK_EQ(position, 0);
    position = 5;
    FAILS(MPI_Pack_external("external32", &value, 1, MPI_INT, buf, 4, &position), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    basics();
    derived();
    if (!mp_is_library("MPICH")) { /* cannot do pairs, takes every representation */
        pairs();
        errors();
    }
    return mp_finish();
}
