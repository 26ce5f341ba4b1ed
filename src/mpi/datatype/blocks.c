/*
 * The copying of more than one block: inner loops have constant lengths for the usual ones.
 */
#include "mpi/datatype/blocks.h"

#include "util/copy.h"
#include "util/port.h"

#define COPY_LENGTHS(X)                                                                            \
    X(1) X(2) X(3) X(4) X(6) X(8) X(12) X(16) X(20) X(24) X(32) X(40) X(48) X(64) X(96) X(128)
#define COPY_SHORT 128 /* up to here the call of memcpy costs more than what it does better */

/* Both ends of a block of SIZE to 2 * SIZE bytes, which may overlap in the middle. */
#define COPY_ENDS(SIZE)                                                                            \
    do {                                                                                           \
        char end[SIZE];                                                                            \
                                                                                                   \
        memcpy(end, from + len - (SIZE), SIZE);                                                    \
        memcpy(to, from, SIZE);                                                                    \
        memcpy(to + len - (SIZE), end, SIZE);                                                      \
    } while (0)

/* memcpy without the call for short blocks; made for the length where that is a constant. */
static inline __attribute__((always_inline)) void copy_block(char *to, const char *from, size_t len)
{
    if (len > COPY_SHORT || (__builtin_constant_p(len) && (len % 16 == 0 || len <= 12))) {
        dm_copy(to, from, len);
    } else if (len <= 16) {
        if (len >= 8)
            COPY_ENDS(8);
        else if (len >= 4)
            COPY_ENDS(4);
        else if (len >= 2)
            COPY_ENDS(2);
        else if (len > 0)
            *to = *from;
    } else if (len <= 32) {
        COPY_ENDS(16);
    } else {
        for (; len > 64; to += 32, from += 32, len -= 32)
            memcpy(to, from, 32);
        COPY_ENDS(32);
    }
}

/* n blocks of len bytes; inline, so that what the caller knows is a constant in the loop. */
static inline __attribute__((always_inline)) void copy_loop(char *to, ptrdiff_t to_stride,
                                                            const char *from, ptrdiff_t from_stride,
                                                            size_t len, size_t n)
{
#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++, to += to_stride, from += from_stride)
        copy_block(to, from, len);
}

bool dm_blocks_has_loop(size_t len)
{
    switch (len) {
#define COPY_CASE(LEN) case LEN:
        COPY_LENGTHS(COPY_CASE)
#undef COPY_CASE
        return true;
    default:
        return false;
    }
}

void dm_blocks_strided(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
                       size_t len, size_t n)
{
    switch (len) {
#define COPY_CASE(LEN)                                                                             \
    case LEN:                                                                                      \
        if (to_stride == (LEN))                                                                    \
            copy_loop(to, LEN, from, from_stride, LEN, n);                                         \
        else if (from_stride == (LEN))                                                             \
            copy_loop(to, to_stride, from, LEN, LEN, n);                                           \
        else                                                                                       \
            copy_loop(to, to_stride, from, from_stride, LEN, n);                                   \
        break;
        COPY_LENGTHS(COPY_CASE)
#undef COPY_CASE
    default:
        copy_loop(to, to_stride, from, from_stride, len, n);
    }
}

/* n blocks of len bytes between a contiguous place and mem + disp[i]. */
static inline __attribute__((always_inline)) void
copy_indexed(char *stream, char *mem, const ptrdiff_t *disp, size_t len, size_t n, bool is_pack)
{
#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++, stream += len) {
        if (is_pack)
            copy_block(stream, dm_blocks_move(mem, disp[i]), len);
        else
            copy_block(dm_blocks_move(mem, disp[i]), stream, len);
    }
}

void dm_blocks_even(char *stream, char *mem, const ptrdiff_t *disp, size_t len, size_t n,
                    bool is_pack)
{
    switch (len) {
#define COPY_CASE(LEN)                                                                             \
    case LEN:                                                                                      \
        if (is_pack)                                                                               \
            copy_indexed(stream, mem, disp, LEN, n, true);                                         \
        else                                                                                       \
            copy_indexed(stream, mem, disp, LEN, n, false);                                        \
        break;
        COPY_LENGTHS(COPY_CASE)
#undef COPY_CASE
    default:
        copy_indexed(stream, mem, disp, len, n, is_pack);
    }
}

/*
 * Aligned: this loop, mostly branches, takes up to 1.4 times as long where it begins badly.
 */
DM_ALIGNED(64)
void dm_blocks_mixed(char *stream, char *mem, const ptrdiff_t *disp, const size_t *pos, size_t n,
                     bool is_pack)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = pos[i + 1] - pos[i];

        if (is_pack)
            copy_block(stream, dm_blocks_move(mem, disp[i]), len);
        else
            copy_block(dm_blocks_move(mem, disp[i]), stream, len);
        stream += len;
    }
}
