/*
 * Runs loop programs: packs, unpacks and lists memory ranges, from any packed offset on.
 *
 * One walker goes down the loops; what happens to the bytes is in struct walk_ops.
 * Finding the start costs a division or a binary search per level. A walk ends when
 * walk.left is 0. All the copying of more than one block is in copy_strided and copy_indexed, whose
 * inner loops have constant lengths for the usual ones, and for small structures in moves.c.
 */
#include "mpi/datatype/datatype.h"

#include <string.h>

#include "mpi/datatype/moves.h"
#include "mpi/datatype/prog.h"
#include "util/copy.h"
#include "util/port.h"

/* Repetitions of a loop that are copied item by item: the memory they touch should stay in L1. */
#define CHUNK_REPS  64
#define CHUNK_ITEMS 16
#define CHUNK_MIN   4

struct walk {
    const struct walk_ops *ops;
    char *stream; /* packed side of pack and unpack */
    size_t left;  /* packed bytes still wanted */
    struct iovec *iov;
    int n_iov;
    int max_iov;
    size_t covered;
};
struct walk_ops {
    /* One piece of memory, at most walk.left bytes. */
    void (*bytes)(struct walk *walk, char *mem, size_t len);
    /* Items [first, first + n) of a leaf, all whole. */
    void (*blocks)(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t first,
                   size_t n);
    /* n whole repetitions of a leaf; NULL: they are done one by one. */
    void (*reps)(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t n);
};

/* Addresses are integers here: with MPI_BOTTOM the base is null. */
static inline char *walk_move(char *mem, ptrdiff_t by)
{
    return (char *)((uintptr_t)mem + (uintptr_t)by);
}

/* ---- copying ---- */

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

bool dm_walk_has_loop(size_t len)
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

static void copy_strided(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
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
            copy_block(stream, walk_move(mem, disp[i]), len);
        else
            copy_block(walk_move(mem, disp[i]), stream, len);
    }
}

static void copy_uniform(char *stream, char *mem, const ptrdiff_t *disp, size_t len, size_t n,
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

/* ---- pack and unpack ---- */

static inline void walk_pos_advance(struct walk *walk, size_t len)
{
    walk->stream += len;
    walk->left -= len;
}

static void pack_bytes(struct walk *walk, char *mem, size_t len)
{
    dm_copy(walk->stream, mem, len);
    walk_pos_advance(walk, len);
}

static void unpack_bytes(struct walk *walk, char *mem, size_t len)
{
    dm_copy(mem, walk->stream, len);
    walk_pos_advance(walk, len);
}

/* n blocks of the lengths between the packed offsets pos[0] to pos[n]. */
static void copy_mixed(char *stream, char *mem, const ptrdiff_t *disp, const size_t *pos, size_t n,
                       bool is_pack)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = pos[i + 1] - pos[i];

        if (is_pack)
            copy_block(stream, walk_move(mem, disp[i]), len);
        else
            copy_block(walk_move(mem, disp[i]), stream, len);
        stream += len;
    }
}

/*
 * Aligned: the loop over mixed lengths, mostly branches, takes up to 1.4 times as long where it
 * begins badly.
 */
static DM_ALIGNED(64) void copy_blocks(struct walk *walk, const struct dm_loop *leaf, char *mem,
                                       size_t first, size_t n, bool is_pack)
{
    const ptrdiff_t *disp = leaf->disp + first;

    if (leaf->pos == NULL)
        copy_uniform(walk->stream, mem, disp, leaf->len, n, is_pack);
    else
        copy_mixed(walk->stream, mem, disp, leaf->pos + first, n, is_pack);
    walk_pos_advance(walk, dm_loop_pos(leaf, first + n) - dm_loop_pos(leaf, first));
}

static void pack_blocks(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t first,
                        size_t n)
{
    copy_blocks(walk, leaf, mem, first, n, true);
}

static void unpack_blocks(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t first,
                          size_t n)
{
    copy_blocks(walk, leaf, mem, first, n, false);
}

/*
 * Whole repetitions. A few blocks without moves: one after the other over a chunk of repetitions,
 * so that lengths are constant in the inner loops. The order is free: blocks of a receive buffer
 * must not overlap.
 */
static inline void copy_reps(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t n,
                             bool is_pack)
{
    if (leaf->moves != NULL && n >= CHUNK_MIN) {
        dm_moves_copy(leaf, walk->stream, mem, n, is_pack);
        walk_pos_advance(walk, n * leaf->size);
        return;
    }
    while (n > 0) {
        size_t chunk = leaf->n == 1 ? n : n < CHUNK_REPS ? n : CHUNK_REPS;

        if (leaf->n > CHUNK_ITEMS || chunk < CHUNK_MIN) {
            copy_blocks(walk, leaf, mem, 0, leaf->n, is_pack);
            mem = walk_move(mem, leaf->stride);
            n--;
            continue;
        }
        for (size_t i = 0; i < leaf->n; i++) {
            char *stream = walk->stream + dm_loop_pos(leaf, i);
            char *at = walk_move(mem, leaf->disp[i]);
            size_t len = dm_loop_len(leaf, i);

            if (is_pack)
                copy_strided(stream, (ptrdiff_t)leaf->size, at, leaf->stride, len, chunk);
            else
                copy_strided(at, leaf->stride, stream, (ptrdiff_t)leaf->size, len, chunk);
        }
        walk_pos_advance(walk, chunk * leaf->size);
        mem = walk_move(mem, (ptrdiff_t)chunk * leaf->stride);
        n -= chunk;
    }
}

static void pack_reps(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t n)
{
    copy_reps(walk, leaf, mem, n, true);
}

static void unpack_reps(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t n)
{
    copy_reps(walk, leaf, mem, n, false);
}

/* ---- memory ranges ---- */

static void list_bytes(struct walk *walk, char *mem, size_t len)
{
    struct iovec *last = walk->n_iov > 0 ? &walk->iov[walk->n_iov - 1] : NULL;

    if (last != NULL && (char *)last->iov_base + last->iov_len == mem) {
        last->iov_len += len;
    } else if (walk->n_iov < walk->max_iov) {
        walk->iov[walk->n_iov].iov_base = mem;
        walk->iov[walk->n_iov].iov_len = len;
        walk->n_iov++;
    } else {
        walk->left = 0;
        return;
    }
    walk->covered += len;
    walk->left -= len;
}

static void list_blocks(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t first,
                        size_t n)
{
    for (size_t i = first; i < first + n && walk->left > 0; i++)
        list_bytes(walk, walk_move(mem, leaf->disp[i]), dm_loop_len(leaf, i));
}

static const struct walk_ops pack_ops = {pack_bytes, pack_blocks, pack_reps};
static const struct walk_ops unpack_ops = {unpack_bytes, unpack_blocks, unpack_reps};
static const struct walk_ops list_ops = {list_bytes, list_blocks, NULL};

/* ---- the walker ---- */

static inline size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void walk_loop(struct walk *walk, const struct dm_loop *loop, char *mem, size_t skip);

/* The rest of a repetition of a leaf from packed byte skip on. */
static void walk_leaf_rep(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t skip)
{
    size_t i = 0;
    size_t n;

    if (skip > 0) {
        i = dm_loop_find(leaf, skip);
        skip -= dm_loop_pos(leaf, i);
    }
    if (skip > 0) {
        walk->ops->bytes(walk, walk_move(mem, leaf->disp[i]) + skip,
                         min_size(dm_loop_len(leaf, i) - skip, walk->left));
        i++;
    }
    if (walk->left >= leaf->size - dm_loop_pos(leaf, i))
        n = leaf->n - i;
    else
        n = dm_loop_find(leaf, dm_loop_pos(leaf, i) + walk->left) - i;
    if (n > 0)
        walk->ops->blocks(walk, leaf, mem, i, n);
    if (walk->left > 0 && i + n < leaf->n)
        walk->ops->bytes(walk, walk_move(mem, leaf->disp[i + n]), walk->left);
}

static void walk_rep(struct walk *walk, const struct dm_loop *loop, char *mem, size_t skip)
{
    size_t i = 0;

    if (skip > 0) {
        i = dm_loop_find(loop, skip);
        skip -= dm_loop_pos(loop, i);
    }
    for (; i < loop->n && walk->left > 0; i++, skip = 0) {
        const struct dm_loop *child = loop->child[i];

        if (child != NULL)
            walk_loop(walk, child, walk_move(mem, loop->disp[i]), skip);
        else
            walk->ops->bytes(walk, walk_move(mem, loop->disp[i]) + skip,
                             min_size(dm_loop_len(loop, i) - skip, walk->left));
    }
}

static void walk_loop(struct walk *walk, const struct dm_loop *loop, char *mem, size_t skip)
{
    size_t rep = 0;

    if (skip >= loop->size) {
        rep = skip / loop->size;
        skip %= loop->size;
        mem = walk_move(mem, (ptrdiff_t)rep * loop->stride);
    }
    if (!loop->is_leaf) {
        for (; rep < loop->count && walk->left > 0; rep++, skip = 0) {
            walk_rep(walk, loop, mem, skip);
            mem = walk_move(mem, loop->stride);
        }
        return;
    }
    while (rep < loop->count && walk->left > 0) {
        size_t n = 1;

        if (skip == 0 && walk->ops->reps != NULL && walk->left >= loop->size) {
            n = min_size(loop->count - rep, walk->left / loop->size);
            walk->ops->reps(walk, loop, mem, n);
        } else {
            walk_leaf_rep(walk, loop, mem, skip);
        }
        rep += n;
        mem = walk_move(mem, (ptrdiff_t)n * loop->stride);
        skip = 0;
    }
}

/* count elements at buf, from packed byte offset on. */
static void walk_type(struct walk *walk, char *buf, size_t count, const struct dm_type *type,
                      size_t offset)
{
    struct dm_loop *root = type->prog->plain;
    ptrdiff_t zero = 0;
    struct dm_loop top = {0};

    if (root == NULL || count == 0 || walk->left == 0)
        return;
    if (count == 1) {
        walk_loop(walk, root, buf, offset);
        return;
    }
    memcpy(&top, root, offsetof(struct dm_loop, refs));
    if (root->count == 1) {
        top.count = count;
        top.stride = type->extent;
    } else if (type->extent == (ptrdiff_t)root->count * root->stride) {
        top.count *= count;
    } else {
        top = (struct dm_loop){.count = count,
                               .stride = type->extent,
                               .n = 1,
                               .disp = &zero,
                               .size = root->count * root->size,
                               .child = &root};
        top.len = top.size;
    }
    walk_loop(walk, &top, buf, offset);
}

void dm_type_pack(const void *buf, size_t count, const struct dm_type *type, size_t offset,
                  void *dst, size_t len)
{
    struct walk walk = {.ops = &pack_ops, .stream = dst, .left = len};

    if (type->is_contig && len > 0)
        dm_copy(dst, walk_move((char *)buf, type->true_lb) + offset, len);
    else
        walk_type(&walk, (char *)buf, count, type, offset);
}

void dm_type_unpack(void *buf, size_t count, const struct dm_type *type, size_t offset,
                    const void *src, size_t len)
{
    struct walk walk = {.ops = &unpack_ops, .stream = (char *)src, .left = len};

    if (type->is_contig && len > 0)
        dm_copy(walk_move((char *)buf, type->true_lb) + offset, src, len);
    else
        walk_type(&walk, buf, count, type, offset);
}

size_t dm_type_iov(const void *buf, size_t count, const struct dm_type *type, size_t offset,
                   struct iovec *iov, int n, int *n_p)
{
    size_t total = count * (size_t)type->size;
    struct walk walk = {.ops = &list_ops, .iov = iov, .max_iov = n};

    if (offset < total && n > 0) {
        walk.left = total - offset;
        if (type->is_contig)
            list_bytes(&walk, walk_move((char *)buf, type->true_lb) + offset, walk.left);
        else
            walk_type(&walk, (char *)buf, count, type, offset);
    }
    *n_p = walk.n_iov;
    return walk.covered;
}

int dm_type_copy(const void *src, size_t src_count, const struct dm_type *src_type, void *dst,
                 size_t dst_count, const struct dm_type *dst_type)
{
    char piece[8192];
    size_t src_len = src_count * (size_t)src_type->size;
    size_t dst_len = dst_count * (size_t)dst_type->size;
    size_t len = min_size(src_len, dst_len);

    if (src_type->is_contig && len > 0) {
        dm_type_unpack(dst, dst_count, dst_type, 0, walk_move((char *)src, src_type->true_lb), len);
    } else if (dst_type->is_contig && len > 0) {
        dm_type_pack(src, src_count, src_type, 0, walk_move(dst, dst_type->true_lb), len);
    } else {
        for (size_t at = 0; at < len; at += sizeof(piece)) {
            size_t n = min_size(sizeof(piece), len - at);

            dm_type_pack(src, src_count, src_type, at, piece, n);
            dm_type_unpack(dst, dst_count, dst_type, at, piece, n);
        }
    }
    if (src_len > dst_len)
        return DM_FAIL(DM_ERR_TRUNCATE, "%zu bytes for a buffer of %zu", src_len, dst_len);
    return DM_OK;
}
