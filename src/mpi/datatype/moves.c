/*
 * Splits leaves into moves, and runs them.
 */
#include "mpi/datatype/moves.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/datatype/blocks.h"
#include "util/port.h"

#define WIDTHS(X)  X(16) X(8) X(4) X(2) X(1)
#define WIDTH_MAX  16
#define LEN_MAX    64 /* longer blocks cost more than finding out how long they are */
#define CHUNK_REPS 64 /* of several loops in turn: the memory they touch should stay in L1 */

/* ---- at commit ---- */

/* Adds a block to the moves of a leaf; false when there is no room. */
static bool moves_split(struct dm_moves *moves, ptrdiff_t mem, size_t packed, size_t len)
{
    size_t at = 0;

    while (at < len) {
        size_t width = WIDTH_MAX;
        size_t i = moves->n++;

        if (i == DM_MOVES_MAX)
            return false;
        while (width > len - at)
            width /= 2;
        /* A rest takes one move that begins in what is done already. */
        if (at > 0 && width < len - at && width < WIDTH_MAX) {
            width *= 2;
            at = len - width;
        }
        for (; i % DM_MOVES_LOOP > 0 && moves->width[i - 1] < (int)width; i--) {
            moves->mem[i] = moves->mem[i - 1];
            moves->packed[i] = moves->packed[i - 1];
            moves->width[i] = moves->width[i - 1];
        }
        moves->mem[i] = mem + (ptrdiff_t)at;
        moves->packed[i] = (ptrdiff_t)(packed + at);
        moves->width[i] = (int)width;
        at += width;
    }
    return true;
}

/* NULL if the loops of blocks.c are as good, or memory is out. */
static struct dm_moves *moves_of(const struct dm_loop *leaf)
{
    struct dm_moves *moves;
    size_t n;

    if (leaf->n > DM_MOVES_MAX || (leaf->n == 1 && dm_blocks_has_loop(leaf->len)))
        return NULL;
    moves = malloc(sizeof(*moves));
    if (moves == NULL)
        return NULL;
    moves->n = 0;
    for (size_t i = 0; i < leaf->n; i++)
        if (dm_loop_len(leaf, i) > LEN_MAX ||
            !moves_split(moves, leaf->disp[i], dm_loop_pos(leaf, i), dm_loop_len(leaf, i))) {
            free(moves);
            return NULL;
        }
    n = (moves->n + DM_MOVES_LOOP - 1) / DM_MOVES_LOOP * DM_MOVES_LOOP;
    /* The rest of a loop moves nothing, and that at an address of the block: displacement 0 is NULL for MPI_BOTTOM. */
    for (; moves->n < n; moves->n++) {
        moves->mem[moves->n] = moves->mem[moves->n - 1];
        moves->packed[moves->n] = moves->packed[moves->n - 1];
        moves->width[moves->n] = 0;
    }
    return moves;
}

void dm_loop_prepare(struct dm_loop *loop)
{
    if (loop == NULL || loop->is_prepared)
        return;
    loop->is_prepared = true;
    if (loop->is_leaf)
        loop->moves = moves_of(loop);
    for (size_t i = 0; i < loop->n && !loop->is_leaf; i++)
        dm_loop_prepare(loop->child[i]);
}

/* ---- when packing and unpacking ---- */

/* One loop. Addresses are integers, as in blocks.h. */
struct run {
    uintptr_t to, from;
    const ptrdiff_t *to_at, *from_at;
    uintptr_t to_stride, from_stride;
    size_t n;
};

static DM_ALWAYS_INLINE void moves_move_one(uintptr_t to, uintptr_t from, size_t width)
{
    memcpy((void *)to, (const void *)from, width);
}

static DM_ALWAYS_INLINE void moves_run_loop(const struct run *run, int w0, int w1, int w2, int w3)
{
    /* Copies, so that stores cannot change them; few, so that all have registers. */
    uintptr_t to = run->to + (uintptr_t)run->to_at[0];
    uintptr_t from = run->from + (uintptr_t)run->from_at[0];
    const uintptr_t to_1 = (uintptr_t)(run->to_at[1] - run->to_at[0]);
    const uintptr_t to_2 = (uintptr_t)(run->to_at[2] - run->to_at[0]);
    const uintptr_t to_3 = (uintptr_t)(run->to_at[3] - run->to_at[0]);
    const uintptr_t from_1 = (uintptr_t)(run->from_at[1] - run->from_at[0]);
    const uintptr_t from_2 = (uintptr_t)(run->from_at[2] - run->from_at[0]);
    const uintptr_t from_3 = (uintptr_t)(run->from_at[3] - run->from_at[0]);
    const uintptr_t to_stride = run->to_stride;
    const uintptr_t from_stride = run->from_stride;

    for (size_t n = run->n; n > 0; n--, to += to_stride, from += from_stride) {
        moves_move_one(to, from, (size_t)w0);
        moves_move_one(to + to_1, from + from_1, (size_t)w1);
        moves_move_one(to + to_2, from + from_2, (size_t)w2);
        moves_move_one(to + to_3, from + from_3, (size_t)w3);
    }
}

/* From here on one function per move turns its width into a constant. */
static DM_ALWAYS_INLINE void moves_run_3(const struct run *run, const int *w, int w0, int w1,
                                         int w2)
{
    switch (w[3]) {
#define CASE(W)                                                                                    \
    case W:                                                                                        \
        if ((W) <= w2)                                                                             \
            moves_run_loop(run, w0, w1, w2, W);                                                    \
        break;
        WIDTHS(CASE)
#undef CASE
    default:
        moves_run_loop(run, w0, w1, w2, 0);
    }
}

static DM_ALWAYS_INLINE void moves_run_2(const struct run *run, const int *w, int w0, int w1)
{
    switch (w[2]) {
#define CASE(W)                                                                                    \
    case W:                                                                                        \
        if ((W) <= w1)                                                                             \
            moves_run_3(run, w, w0, w1, W);                                                        \
        break;
        WIDTHS(CASE)
#undef CASE
    default:
        moves_run_loop(run, w0, w1, 0, 0);
    }
}

static DM_ALWAYS_INLINE void moves_run_1(const struct run *run, const int *w, int w0)
{
    switch (w[1]) {
#define CASE(W)                                                                                    \
    case W:                                                                                        \
        if ((W) <= w0)                                                                             \
            moves_run_2(run, w, w0, W);                                                            \
        break;
        WIDTHS(CASE)
#undef CASE
    default:
        moves_run_loop(run, w0, 0, 0, 0);
    }
}

static void moves_run_0(const struct run *run, const int *w)
{
    switch (w[0]) {
#define CASE(W)                                                                                    \
    case W:                                                                                        \
        moves_run_1(run, w, W);                                                                    \
        break;
        WIDTHS(CASE)
#undef CASE
    default:
        break;
    }
}

void dm_moves_copy(const struct dm_loop *leaf, char *stream, char *mem, size_t n, bool is_pack)
{
    const struct dm_moves *moves = leaf->moves;
    struct run run = {.n = moves->n == DM_MOVES_LOOP || n < CHUNK_REPS ? n : CHUNK_REPS};

    run.to = (uintptr_t)(is_pack ? stream : mem);
    run.from = (uintptr_t)(is_pack ? mem : stream);
    run.to_stride = is_pack ? leaf->size : (uintptr_t)leaf->stride;
    run.from_stride = is_pack ? (uintptr_t)leaf->stride : leaf->size;
    while (n > 0) {
        if (run.n > n)
            run.n = n;
        for (size_t i = 0; i < moves->n; i += DM_MOVES_LOOP) {
            run.to_at = (is_pack ? moves->packed : moves->mem) + i;
            run.from_at = (is_pack ? moves->mem : moves->packed) + i;
            moves_run_0(&run, moves->width + i);
        }
        run.to += run.n * run.to_stride;
        run.from += run.n * run.from_stride;
        n -= run.n;
    }
}
