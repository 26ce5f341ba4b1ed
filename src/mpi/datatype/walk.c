/*
 * Runs loop programs: packs, unpacks and lists memory ranges, from any packed offset on.
 *
 * One walker goes down the loops; what happens to the bytes is in struct walk_ops.
 * Finding the start costs a division or a binary search per level. A walk ends when
 * walk.left is 0. Copies of more than one block are in blocks.c, for small structures in moves.c.
 */
#include "mpi/datatype/datatype.h"

#include <string.h>

#include "mpi/datatype/blocks.h"
#include "mpi/datatype/moves.h"
#include "mpi/datatype/prog.h"
#include "util/copy.h"
#include "util/port.h"

/* Repetitions of a loop that are copied item by item: the memory they touch should stay in L1. */
#define CHUNK_REPS  64
#define CHUNK_ITEMS 16
#define CHUNK_MIN   4
/* Columns in a line of memory are copied together, so many rows at a time: the lines should stay in L1. */
#define COLUMN_ROWS 16

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
    /* n whole repetitions of a loop of columns; NULL: as above. */
    void (*columns)(struct walk *walk, const struct dm_loop *loop, char *mem, size_t n);
};

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

static void copy_blocks(struct walk *walk, const struct dm_loop *leaf, char *mem, size_t first,
                        size_t n, bool is_pack)
{
    const ptrdiff_t *disp = leaf->disp + first;

    if (leaf->pos == NULL)
        dm_blocks_even(walk->stream, mem, disp, leaf->len, n, is_pack);
    else
        dm_blocks_mixed(walk->stream, mem, disp, leaf->pos + first, n, is_pack);
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
            mem = dm_blocks_move(mem, leaf->stride);
            n--;
            continue;
        }
        for (size_t i = 0; i < leaf->n; i++) {
            char *stream = walk->stream + dm_loop_pos(leaf, i);
            char *at = dm_blocks_move(mem, leaf->disp[i]);
            size_t len = dm_loop_len(leaf, i);

            if (is_pack)
                dm_blocks_strided(stream, (ptrdiff_t)leaf->size, at, leaf->stride, len, chunk);
            else
                dm_blocks_strided(at, leaf->stride, stream, (ptrdiff_t)leaf->size, len, chunk);
        }
        walk_pos_advance(walk, chunk * leaf->size);
        mem = dm_blocks_move(mem, (ptrdiff_t)chunk * leaf->stride);
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

static ptrdiff_t walk_distance(ptrdiff_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Is it a repetition of blocks in lines of their own, whose neighbours are in the same lines: a matrix by columns? */
static bool walk_has_columns(const struct dm_loop *loop)
{
    const struct dm_loop *column = loop->n == 1 ? loop->child[0] : NULL;

    return column != NULL && column->is_leaf && column->n == 1 &&
           walk_distance(loop->stride) < DM_CACHE_LINE &&
           walk_distance(column->stride) >= DM_CACHE_LINE;
}

/* Whole columns, in tiles of as many as share a line and a few rows, so that memory is fetched once. */
static void copy_columns(struct walk *walk, const struct dm_loop *loop, char *mem, size_t n,
                         bool is_pack)
{
    const struct dm_loop *column = loop->child[0];
    ptrdiff_t step = (ptrdiff_t)column->len;
    size_t width = DM_CACHE_LINE / column->len + 1;

    mem = dm_blocks_move(mem, loop->disp[0] + column->disp[0]);
    for (size_t first = 0; first < n; first += width) {
        size_t end = n - first < width ? n : first + width;

        for (size_t row = 0; row < column->count; row += COLUMN_ROWS) {
            size_t rows = column->count - row < COLUMN_ROWS ? column->count - row : COLUMN_ROWS;

            for (size_t i = first; i < end; i++) {
                char *stream = walk->stream + i * loop->size + row * column->len;
                char *at = dm_blocks_move(mem, (ptrdiff_t)i * loop->stride +
                                                   (ptrdiff_t)row * column->stride);

                if (is_pack)
                    dm_blocks_strided(stream, step, at, column->stride, column->len, rows);
                else
                    dm_blocks_strided(at, column->stride, stream, step, column->len, rows);
            }
        }
    }
    walk_pos_advance(walk, n * loop->size);
}

static void pack_columns(struct walk *walk, const struct dm_loop *loop, char *mem, size_t n)
{
    copy_columns(walk, loop, mem, n, true);
}

static void unpack_columns(struct walk *walk, const struct dm_loop *loop, char *mem, size_t n)
{
    copy_columns(walk, loop, mem, n, false);
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
        list_bytes(walk, dm_blocks_move(mem, leaf->disp[i]), dm_loop_len(leaf, i));
}

static const struct walk_ops pack_ops = {pack_bytes, pack_blocks, pack_reps, pack_columns};
static const struct walk_ops unpack_ops = {unpack_bytes, unpack_blocks, unpack_reps,
                                           unpack_columns};
static const struct walk_ops list_ops = {list_bytes, list_blocks, NULL, NULL};

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
        walk->ops->bytes(walk, dm_blocks_move(mem, leaf->disp[i]) + skip,
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
        walk->ops->bytes(walk, dm_blocks_move(mem, leaf->disp[i + n]), walk->left);
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
            walk_loop(walk, child, dm_blocks_move(mem, loop->disp[i]), skip);
        else
            walk->ops->bytes(walk, dm_blocks_move(mem, loop->disp[i]) + skip,
                             min_size(dm_loop_len(loop, i) - skip, walk->left));
    }
}

static void walk_loop(struct walk *walk, const struct dm_loop *loop, char *mem, size_t skip)
{
    size_t rep = 0;

    if (skip >= loop->size) {
        rep = skip / loop->size;
        skip %= loop->size;
        mem = dm_blocks_move(mem, (ptrdiff_t)rep * loop->stride);
    }
    if (!loop->is_leaf) {
        bool has_columns = walk->ops->columns != NULL && walk_has_columns(loop);

        while (rep < loop->count && walk->left > 0) {
            size_t n = 1;

            if (has_columns && skip == 0 && walk->left >= 2 * loop->size) {
                n = min_size(loop->count - rep, walk->left / loop->size);
                walk->ops->columns(walk, loop, mem, n);
            } else {
                walk_rep(walk, loop, mem, skip);
            }
            rep += n;
            mem = dm_blocks_move(mem, (ptrdiff_t)n * loop->stride);
            skip = 0;
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
        mem = dm_blocks_move(mem, (ptrdiff_t)n * loop->stride);
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
    if (type->is_contig && len > 0) {
        dm_copy(dst, dm_blocks_move((char *)buf, type->true_lb) + offset, len);
    } else {
        struct walk walk = {.ops = &pack_ops, .stream = dst, .left = len};

        walk_type(&walk, (char *)buf, count, type, offset);
    }
}

void dm_type_unpack(void *buf, size_t count, const struct dm_type *type, size_t offset,
                    const void *src, size_t len)
{
    if (type->is_contig && len > 0) {
        dm_copy(dm_blocks_move((char *)buf, type->true_lb) + offset, src, len);
    } else {
        struct walk walk = {.ops = &unpack_ops, .stream = (char *)src, .left = len};

        walk_type(&walk, buf, count, type, offset);
    }
}

size_t dm_type_iov(const void *buf, size_t count, const struct dm_type *type, size_t offset,
                   struct iovec *iov, int n, int *n_p)
{
    size_t total = count * (size_t)type->size;
    struct walk walk = {.ops = &list_ops, .iov = iov, .max_iov = n};

    if (offset < total && n > 0) {
        walk.left = total - offset;
        if (type->is_contig)
            list_bytes(&walk, dm_blocks_move((char *)buf, type->true_lb) + offset, walk.left);
        else
            walk_type(&walk, (char *)buf, count, type, offset);
    }
    *n_p = walk.n_iov;
    return walk.covered;
}

/* The first len bytes, at least one of the two with holes. */
static void copy_walking(const void *src, size_t src_count, const struct dm_type *src_type,
                         void *dst, size_t dst_count, const struct dm_type *dst_type, size_t len)
{
    char piece[8192];

    if (src_type->is_contig) {
        dm_type_unpack(dst, dst_count, dst_type, 0, dm_blocks_move((char *)src, src_type->true_lb),
                       len);
        return;
    }
    if (dst_type->is_contig) {
        dm_type_pack(src, src_count, src_type, 0, dm_blocks_move(dst, dst_type->true_lb), len);
        return;
    }
    for (size_t at = 0; at < len; at += sizeof(piece)) {
        size_t n = min_size(sizeof(piece), len - at);

        dm_type_pack(src, src_count, src_type, at, piece, n);
        dm_type_unpack(dst, dst_count, dst_type, at, piece, n);
    }
}

/* What is not one run on both sides, or does not fit. */
static DM_NOINLINE int copy_other(const void *src, size_t src_count, const struct dm_type *src_type,
                                  void *dst, size_t dst_count, const struct dm_type *dst_type)
{
    size_t src_len = src_count * (size_t)src_type->size;
    size_t dst_len = dst_count * (size_t)dst_type->size;
    size_t len = min_size(src_len, dst_len);

    if (src_type->is_contig && dst_type->is_contig && len > 0)
        dm_copy(dm_blocks_move(dst, dst_type->true_lb),
                dm_blocks_move((char *)src, src_type->true_lb), len);
    else if (len > 0)
        copy_walking(src, src_count, src_type, dst, dst_count, dst_type, len);
    if (src_len > dst_len)
        return DM_FAIL(DM_ERR_TRUNCATE, "%zu bytes for a buffer of %zu", src_len, dst_len);
    return DM_OK;
}

int dm_type_copy(const void *src, size_t src_count, const struct dm_type *src_type, void *dst,
                 size_t dst_count, const struct dm_type *dst_type)
{
    size_t len = src_count * (size_t)src_type->size;

    if (dm_unlikely(!src_type->is_contig || !dst_type->is_contig || len == 0 ||
                    len > dst_count * (size_t)dst_type->size))
        return copy_other(src, src_count, src_type, dst, dst_count, dst_type);
    dm_copy(dm_blocks_move(dst, dst_type->true_lb), dm_blocks_move((char *)src, src_type->true_lb),
            len);
    return DM_OK;
}
