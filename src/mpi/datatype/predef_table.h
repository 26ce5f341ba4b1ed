/*
 * The predefined datatypes: what their handles leave open (the size is in bits 8-15 of a
 * handle). Order is of no importance.
 */
#ifndef DM_MPI_DATATYPE_PREDEF_TABLE_H
#define DM_MPI_DATATYPE_PREDEF_TABLE_H

/* name without MPI_ (which is also the handle), alignment */
#define DM_PREDEF_SIMPLE(X)                                                                        \
    X(CHAR, 1)                                                                                     \
    X(SIGNED_CHAR, 1)                                                                              \
    X(UNSIGNED_CHAR, 1)                                                                            \
    X(BYTE, 1)                                                                                     \
    X(WCHAR, _Alignof(wchar_t))                                                                    \
    X(SHORT, _Alignof(short))                                                                      \
    X(UNSIGNED_SHORT, _Alignof(short))                                                             \
    X(INT, _Alignof(int))                                                                          \
    X(UNSIGNED, _Alignof(int))                                                                     \
    X(LONG, _Alignof(long))                                                                        \
    X(UNSIGNED_LONG, _Alignof(long))                                                               \
    X(FLOAT, _Alignof(float))                                                                      \
    X(DOUBLE, _Alignof(double))                                                                    \
    X(LONG_DOUBLE, _Alignof(long double))                                                          \
    X(LONG_LONG_INT, _Alignof(long long))                                                          \
    X(UNSIGNED_LONG_LONG, _Alignof(long long))                                                     \
    X(PACKED, 1)                                                                                   \
    X(COMPLEX, _Alignof(float))                                                                    \
    X(DOUBLE_COMPLEX, _Alignof(double))                                                            \
    X(LOGICAL, _Alignof(int))                                                                      \
    X(REAL, _Alignof(float))                                                                       \
    X(DOUBLE_PRECISION, _Alignof(double))                                                          \
    X(INTEGER, _Alignof(int))                                                                      \
    X(CHARACTER, 1)                                                                                \
    X(REAL4, _Alignof(float))                                                                      \
    X(REAL8, _Alignof(double))                                                                     \
    X(REAL16, 16)                                                                                  \
    X(COMPLEX8, _Alignof(float))                                                                   \
    X(COMPLEX16, _Alignof(double))                                                                 \
    X(COMPLEX32, 16)                                                                               \
    X(INTEGER1, 1)                                                                                 \
    X(INTEGER2, 2)                                                                                 \
    X(INTEGER4, 4)                                                                                 \
    X(INTEGER8, 8)                                                                                 \
    X(INT8_T, 1)                                                                                   \
    X(INT16_T, 2)                                                                                  \
    X(INT32_T, 4)                                                                                  \
    X(INT64_T, 8)                                                                                  \
    X(UINT8_T, 1)                                                                                  \
    X(UINT16_T, 2)                                                                                 \
    X(UINT32_T, 4)                                                                                 \
    X(UINT64_T, 8)                                                                                 \
    X(C_BOOL, 1)                                                                                   \
    X(C_COMPLEX, _Alignof(float))                                                                  \
    X(C_DOUBLE_COMPLEX, _Alignof(double))                                                          \
    X(C_LONG_DOUBLE_COMPLEX, _Alignof(long double))                                                \
    X(AINT, _Alignof(MPI_Aint))                                                                    \
    X(OFFSET, _Alignof(MPI_Offset))                                                                \
    X(COUNT, _Alignof(MPI_Count))                                                                  \
    X(CXX_BOOL, 1)                                                                                 \
    X(CXX_FLOAT_COMPLEX, _Alignof(float))                                                          \
    X(CXX_DOUBLE_COMPLEX, _Alignof(double))                                                        \
    X(CXX_LONG_DOUBLE_COMPLEX, _Alignof(long double))

/* Pairs for MPI_MINLOC and MPI_MAXLOC: name, type of the value, type of the index */
#define DM_PREDEF_PAIRS(X)                                                                         \
    X(FLOAT_INT, float, int)                                                                       \
    X(DOUBLE_INT, double, int)                                                                     \
    X(LONG_INT, long, int)                                                                         \
    X(SHORT_INT, short, int)                                                                       \
    X(2INT, int, int)                                                                              \
    X(LONG_DOUBLE_INT, long double, int)                                                           \
    X(2INTEGER, int, int)                                                                          \
    X(2REAL, float, float)                                                                         \
    X(2DOUBLE_PRECISION, double, double)

#define DM_PREDEF_COUNT(...) +1
#define DM_PREDEF_N          (4 DM_PREDEF_SIMPLE(DM_PREDEF_COUNT) DM_PREDEF_PAIRS(DM_PREDEF_COUNT))

#endif
