/*
 * The loops of the predefined operations, one per operation and C type that needs its own:
 * sums, products and bits of signed integers are those of the unsigned ones, which wrap. Compiled once
 * for every machine (kernels.c) and once for wide vectors (kernels_wide.c), which define DM_OP_KERNELS,
 * the name of the table, and DM_OP_TARGET. Every element is computed alike by both, to the last bit.
 */
#ifndef DM_MPI_OP_KERNELS_INL_H
#define DM_MPI_OP_KERNELS_INL_H

#include "mpi/op/kernels.h"

/* clang-format off */

#define ORDER_KERNELS(NAME, T, ...)                                                                \
    DM_OP_KERNEL(max_##NAME, T, a[i] > b[i] ? a[i] : b[i])                                         \
    DM_OP_KERNEL(min_##NAME, T, a[i] < b[i] ? a[i] : b[i])
DM_OP_SIGNED(ORDER_KERNELS)
DM_OP_UNSIGNED(ORDER_KERNELS)
DM_OP_FLOAT(ORDER_KERNELS)

#define INT_KERNELS(NAME, T, WIDE)                                                                 \
    DM_OP_KERNEL(sum_##NAME, T, (T)(a[i] + b[i]))                                                  \
    DM_OP_KERNEL(prod_##NAME, T, (T)((WIDE)a[i] * b[i]))                                           \
    DM_OP_KERNEL(land_##NAME, T, (T)((a[i] != 0) & (b[i] != 0)))                                   \
    DM_OP_KERNEL(lor_##NAME, T, (T)((a[i] | b[i]) != 0))                                           \
    DM_OP_KERNEL(lxor_##NAME, T, (T)((a[i] != 0) ^ (b[i] != 0)))                                   \
    DM_OP_KERNEL(band_##NAME, T, (T)(a[i] & b[i]))                                                 \
    DM_OP_KERNEL(bor_##NAME, T, (T)(a[i] | b[i]))                                                  \
    DM_OP_KERNEL(bxor_##NAME, T, (T)(a[i] ^ b[i]))
DM_OP_UNSIGNED(INT_KERNELS)

#define FLOAT_KERNELS(NAME, T)                                                                     \
    DM_OP_KERNEL(sum_##NAME, T, a[i] + b[i])                                                       \
    DM_OP_KERNEL(prod_##NAME, T, a[i] * b[i])
DM_OP_FLOAT(FLOAT_KERNELS)

/*
 * A complex number is two reals. The C definition of a product has a slow path for infinities;
 * Fortran's has none, and here there is none.
 */
#define COMPLEX_KERNELS(NAME, T, REAL)                                                             \
    static DM_OP_TARGET void sum_##NAME(const void *restrict in, void *restrict inout, size_t n)   \
    {                                                                                              \
        sum_##REAL(in, inout, 2 * n);                                                              \
    }                                                                                              \
    static DM_OP_TARGET void prod_##NAME(const void *restrict in, void *restrict inout, size_t n)  \
    {                                                                                              \
        typedef T elem DM_ANYWHERE;                                                                \
        const elem *restrict a = in;                                                               \
        elem *restrict b = inout;                                                                  \
        for (size_t i = 0; i < n; i++, a += 2, b += 2) {                                           \
            T re = a[0] * b[0] - a[1] * b[1];                                                      \
            b[1] = a[0] * b[1] + a[1] * b[0];                                                      \
            b[0] = re;                                                                             \
        }                                                                                          \
    }
DM_OP_COMPLEX(COMPLEX_KERNELS)

/* Equal values: the lower index (MPI-4.0 section 6.9.4). Padding stays as it is. */
#define PAIR_KERNEL(NAME, T, L, FN, CMP)                                                           \
    static DM_OP_TARGET void FN##NAME(const void *restrict in, void *restrict inout, size_t n)     \
    {                                                                                              \
        typedef T value_t DM_ANYWHERE;                                                             \
        typedef L loc_t DM_ANYWHERE;                                                               \
        const char *from = in;                                                                     \
        char *to = inout;                                                                          \
        const size_t at = offsetof(struct NAME, loc);                                              \
        for (size_t i = 0; i < n; i++, from += sizeof(struct NAME), to += sizeof(struct NAME)) {   \
            T a = *(const value_t *)(const void *)from;                                            \
            T b = *(value_t *)(void *)to;                                                          \
            L a_loc = *(const loc_t *)(const void *)(from + at);                                   \
            L b_loc = *(loc_t *)(void *)(to + at);                                                 \
            if (a CMP b || (a == b && a_loc < b_loc)) {                                            \
                *(value_t *)(void *)to = a;                                                        \
                *(loc_t *)(void *)(to + at) = a_loc;                                               \
            }                                                                                      \
        }                                                                                          \
    }
#define PAIR_KERNELS(NAME, T, L)                                                                   \
    struct NAME { T value; L loc; };                                                               \
    PAIR_KERNEL(NAME, T, L, minloc_, <)                                                            \
    PAIR_KERNEL(NAME, T, L, maxloc_, >)
DM_OP_PAIR(PAIR_KERNELS)

/* ---- which is whose ---- */

#define ORDER_ROW(NAME) [DM_OP_MAX] = max_##NAME, [DM_OP_MIN] = min_##NAME
#define LOGICAL_ROW(NAME)                                                                          \
    [DM_OP_LAND] = land_##NAME, [DM_OP_LOR] = lor_##NAME, [DM_OP_LXOR] = lxor_##NAME
#define BIT_ROW(NAME)                                                                              \
    [DM_OP_BAND] = band_##NAME, [DM_OP_BOR] = bor_##NAME, [DM_OP_BXOR] = bxor_##NAME
#define SUM_ROW(NAME) [DM_OP_SUM] = sum_##NAME, [DM_OP_PROD] = prod_##NAME
#define INT_ROW(OWN, COMMON)                                                                       \
    [DM_CT_##OWN] = {ORDER_ROW(OWN), SUM_ROW(COMMON), LOGICAL_ROW(COMMON), BIT_ROW(COMMON)},
#define FLOAT_ROW(NAME, T)   [DM_CT_##NAME] = {ORDER_ROW(NAME), SUM_ROW(NAME)},
#define COMPLEX_ROW(NAME, ...) [DM_CT_##NAME] = {SUM_ROW(NAME)},
#define PAIR_ROW(NAME, ...)                                                                        \
    [DM_CT_##NAME] = {[DM_OP_MINLOC] = minloc_##NAME, [DM_OP_MAXLOC] = maxloc_##NAME},

dm_op_kernel *const DM_OP_KERNELS[DM_CT_N][DM_OP_N] = {
    INT_ROW(I8, U8) INT_ROW(I16, U16) INT_ROW(I32, U32) INT_ROW(I64, U64)
    INT_ROW(U8, U8) INT_ROW(U16, U16) INT_ROW(U32, U32) INT_ROW(U64, U64)
    DM_OP_FLOAT(FLOAT_ROW)
    DM_OP_COMPLEX(COMPLEX_ROW)
    DM_OP_PAIR(PAIR_ROW)
    [DM_CT_L8] = {LOGICAL_ROW(U8)},
    [DM_CT_L32] = {LOGICAL_ROW(U32)},
    [DM_CT_BYTE] = {BIT_ROW(U8)},
};

/* clang-format on */

#endif
