/*
 * The predefined operations and what they work on: tables, and the macros that
 * make kernels from them.
 */
#ifndef DM_MPI_OP_OP_TABLE_H
#define DM_MPI_OP_OP_TABLE_H

#include "util/port.h"

/* Operations, in the order of the low bits of their handles, from 1 on. */
/* clang-format off */
#define DM_OPS(X)                                                                                  \
    X(MAX) X(MIN) X(SUM) X(PROD) X(LAND) X(BAND) X(LOR) X(BOR) X(LXOR) X(BXOR)                     \
    X(MINLOC) X(MAXLOC) X(REPLACE) X(NO_OP)
/* clang-format on */

/* C types that operations are compiled for: name, C type. */
#define DM_OP_SIGNED(X) X(I8, int8_t) X(I16, int16_t) X(I32, int32_t) X(I64, int64_t)
/* The third is what arithmetic is done in: a product of shorts would be a signed one. */
#define DM_OP_UNSIGNED(X)                                                                          \
    X(U8, uint8_t, uint32_t)                                                                       \
    X(U16, uint16_t, uint32_t)                                                                     \
    X(U32, uint32_t, uint32_t)                                                                     \
    X(U64, uint64_t, uint64_t)
#define DM_OP_FLOAT(X) X(F32, float) X(F64, double) X(F80, long double) X(F128, dm_float128)
#define DM_OP_COMPLEX(X)                                                                           \
    X(C32, float, F32) X(C64, double, F64) X(C80, long double, F80) X(C128, dm_float128, F128)
#define DM_OP_LOGICAL(X) X(L8, uint8_t) X(L32, uint32_t)
/* Pairs: value and index. */
#define DM_OP_PAIR(X)                                                                              \
    X(P_FLOAT_INT, float, int)                                                                     \
    X(P_DOUBLE_INT, double, int)                                                                   \
    X(P_LONG_INT, long, int)                                                                       \
    X(P_SHORT_INT, short, int)                                                                     \
    X(P_2INT, int, int)                                                                            \
    X(P_LONG_DOUBLE_INT, long double, int)                                                         \
    X(P_2REAL, float, float)                                                                       \
    X(P_2DOUBLE, double, double)

/* Datatypes: name without MPI_, the C type above (NONE: bytes that can only be replaced). */
/* clang-format off */
#define DM_OP_TYPES(X)                                                                             \
    X(CHAR, I8) X(SIGNED_CHAR, I8) X(UNSIGNED_CHAR, U8) X(SHORT, I16) X(UNSIGNED_SHORT, U16)       \
    X(INT, I32) X(UNSIGNED, U32) X(LONG, I64) X(UNSIGNED_LONG, U64) X(LONG_LONG_INT, I64)          \
    X(UNSIGNED_LONG_LONG, U64) X(INT8_T, I8) X(INT16_T, I16) X(INT32_T, I32) X(INT64_T, I64)       \
    X(UINT8_T, U8) X(UINT16_T, U16) X(UINT32_T, U32) X(UINT64_T, U64)                              \
    X(AINT, I64) X(OFFSET, I64) X(COUNT, I64)                                                      \
    X(INTEGER, I32) X(INTEGER1, I8) X(INTEGER2, I16) X(INTEGER4, I32) X(INTEGER8, I64)             \
    X(CHARACTER, I8)                                                                               \
    X(FLOAT, F32) X(DOUBLE, F64) X(LONG_DOUBLE, F80) X(REAL, F32) X(DOUBLE_PRECISION, F64)         \
    X(REAL4, F32) X(REAL8, F64) X(REAL16, F128)                                                    \
    X(C_COMPLEX, C32) X(C_DOUBLE_COMPLEX, C64) X(C_LONG_DOUBLE_COMPLEX, C80)                       \
    X(COMPLEX, C32) X(DOUBLE_COMPLEX, C64) X(COMPLEX8, C32) X(COMPLEX16, C64) X(COMPLEX32, C128)   \
    X(CXX_FLOAT_COMPLEX, C32) X(CXX_DOUBLE_COMPLEX, C64) X(CXX_LONG_DOUBLE_COMPLEX, C80)           \
    X(C_BOOL, L8) X(CXX_BOOL, L8) X(LOGICAL, L32)                                                  \
    X(BYTE, BYTE) X(WCHAR, NONE) X(PACKED, NONE)                                                   \
    X(FLOAT_INT, P_FLOAT_INT) X(DOUBLE_INT, P_DOUBLE_INT) X(LONG_INT, P_LONG_INT)                  \
    X(SHORT_INT, P_SHORT_INT) X(2INT, P_2INT) X(LONG_DOUBLE_INT, P_LONG_DOUBLE_INT)                \
    X(2INTEGER, P_2INT) X(2REAL, P_2REAL) X(2DOUBLE_PRECISION, P_2DOUBLE)
/* clang-format on */

enum dm_op_code {
    DM_OP_USER,
#define DM_OP_ENUM(NAME) DM_OP_##NAME,
    DM_OPS(DM_OP_ENUM)
#undef DM_OP_ENUM
        DM_OP_N
};

enum dm_op_ctype {
    DM_CT_NULL, /* not a datatype of the table */
    DM_CT_NONE,
    DM_CT_BYTE,
#define DM_OP_ENUM(NAME, ...) DM_CT_##NAME,
    DM_OP_SIGNED(DM_OP_ENUM) DM_OP_UNSIGNED(DM_OP_ENUM) DM_OP_FLOAT(DM_OP_ENUM)
        DM_OP_COMPLEX(DM_OP_ENUM) DM_OP_LOGICAL(DM_OP_ENUM) DM_OP_PAIR(DM_OP_ENUM)
#undef DM_OP_ENUM
            DM_CT_N
};

/*
 * A kernel is inout[i] = in[i] op inout[i] for n elements; the two do not overlap. Blocks of a
 * constant number of elements are what compilers make vector code of without further flags: long
 * ones of several vectors, then short ones of one.
 */
#define DM_OP_LONG  128 /* bytes */
#define DM_OP_SHORT 16
#define DM_OP_BLOCKS(BYTES, EXPR)                                                                  \
    for (; n >= (BYTES) / sizeof(elem); n -= (BYTES) / sizeof(elem)) {                             \
        for (size_t i = 0; i < (BYTES) / sizeof(elem); i++)                                        \
            b[i] = (EXPR);                                                                         \
        a += (BYTES) / sizeof(elem);                                                               \
        b += (BYTES) / sizeof(elem);                                                               \
    }
#define DM_OP_KERNEL(NAME, T, EXPR)                                                                \
    static DM_OP_TARGET void NAME(const void *restrict in, void *restrict inout, size_t n)         \
    {                                                                                              \
        typedef T elem DM_ANYWHERE;                                                                \
        const elem *restrict a = in;                                                               \
        elem *restrict b = inout;                                                                  \
        DM_OP_BLOCKS(DM_OP_LONG, EXPR)                                                             \
        DM_OP_BLOCKS(DM_OP_SHORT, EXPR)                                                            \
        for (size_t i = 0; i < n; i++)                                                             \
            b[i] = (EXPR);                                                                         \
    }

#endif
