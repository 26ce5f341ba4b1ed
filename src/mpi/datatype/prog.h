/*
 * Loop programs: what a datatype does to memory, as nested loops over blocks.
 *
 * A loop is `count` repetitions, `stride` bytes apart, of n items in type map order; an item is a
 * block of contiguous bytes or another loop. Invariants: no loop and no block is empty (the empty
 * type has no loop at all); loops are immutable once made, but for what dm_loop_prepare adds, and
 * reference counted, so that types share them; sizes fit size_t because the constructors have
 * checked them.
 *
 * There are two forms. In the typed one every block holds elements of one basic type, and a block
 * of a basic type with padding (a pair type) holds one element. In the plain one
 * basic types are forgotten and neighbours merged: that is what packs and unpacks.
 */
#ifndef DM_MPI_DATATYPE_PROG_H
#define DM_MPI_DATATYPE_PROG_H

#include "mpi/datatype/datatype.h"
#include "util/port.h"

struct dm_loop {
    size_t count;
    ptrdiff_t stride;
    size_t n;               /* items */
    size_t size;            /* packed bytes of one repetition */
    size_t len;             /* packed bytes of every item when they are equal, else 0 */
    int basic;              /* of all blocks, if basics is NULL; no matter in the plain form */
    bool is_leaf;           /* all items are blocks */
    ptrdiff_t *disp;        /* n */
    size_t *pos;            /* n + 1 packed offsets when len is 0, else NULL */
    struct dm_loop **child; /* n, NULL for a block; NULL in a leaf */
    int *basics;            /* n, when they differ, else NULL */
    struct dm_moves *moves; /* of a prepared leaf with few short blocks, else NULL */
    bool is_prepared;
    /* What changes while others walk. */
    int refs;
    uint32_t mark; /* scratch of flatten.c, else 0 */
};

struct dm_type_prog {
    struct dm_loop *typed;
    struct dm_loop *plain; /* made by commit; NULL before, and in the empty type */
};

static inline size_t dm_loop_pos(const struct dm_loop *loop, size_t i)
{
    return loop->pos != NULL ? loop->pos[i] : i * loop->len;
}
static inline size_t dm_loop_len(const struct dm_loop *loop, size_t i)
{
    return loop->pos != NULL ? loop->pos[i + 1] - loop->pos[i] : loop->len;
}
static inline struct dm_loop *dm_loop_child(const struct dm_loop *loop, size_t i)
{
    return loop->child != NULL ? loop->child[i] : NULL;
}
static inline int dm_loop_basic(const struct dm_loop *loop, size_t i)
{
    return loop->basics != NULL ? loop->basics[i] : loop->basic;
}
/* Is it one block, of elements without holes? Then so are several one after the other. */
bool dm_loop_is_dense_block(const struct dm_loop *loop);
/* The item that holds packed byte `at` of a repetition. */
size_t dm_loop_find(const struct dm_loop *loop, size_t at);

/* A loop of n items, one reference; NULL when memory is out. The caller fills it: only children are NULL. */
struct dm_loop *dm_loop_new(size_t n, bool has_pos, bool has_child, bool has_basics);
/* Both take NULL, the loop of the empty type. */
struct dm_loop *dm_loop_ref(struct dm_loop *loop);
void dm_loop_unref(struct dm_loop *loop);

/* A loop under construction: add items in type map order, then finish or drop. */
struct dm_item {
    ptrdiff_t disp;
    size_t len;
    struct dm_loop *child;
    int basic;
};
#define DM_BUILD_FEW 64 /* items that need no memory of their own */
struct dm_build {
    struct dm_item *items; /* few, or malloc's */
    size_t n;
    size_t cap;
    bool is_out_of_memory;
    bool has_children;
    struct dm_item few[DM_BUILD_FEW];
};

void dm_build_init(struct dm_build *build);
void dm_build_drop(struct dm_build *build);
/* Do n elements of a basic type occupy n times its size in memory? */
bool dm_loop_is_dense(int basic);
/* Room for more items; false: memory is out. */
bool dm_build_grow(struct dm_build *build);
/* A block that does not go on with the last one. */
static inline void dm_build_item(struct dm_build *build, ptrdiff_t disp, size_t len, int basic)
{
    if (dm_unlikely(build->n == build->cap) && !dm_build_grow(build))
        return;
    build->items[build->n++] = (struct dm_item){disp, len, NULL, basic};
}
/* A block, or more of the last one. */
static inline void dm_build_block(struct dm_build *build, ptrdiff_t disp, size_t len, int basic)
{
    struct dm_item *item = &build->items[build->n];

    if (build->n > 0 && item[-1].disp + (ptrdiff_t)item[-1].len == disp && item[-1].child == NULL &&
        item[-1].basic == basic && dm_loop_is_dense(basic)) {
        item[-1].len += len;
        return;
    }
    dm_build_item(build, disp, len, basic);
}
/* reps repetitions of loop (may be NULL), stride apart, the first at disp. */
void dm_build_add(struct dm_build *build, ptrdiff_t disp, struct dm_loop *loop, size_t reps,
                  ptrdiff_t stride);
/* The loop, one reference, NULL when nothing was added; the builder is empty again. DM_ENOMEM. */
int dm_build_finish(struct dm_build *build, struct dm_loop **loop_p);
/* reps repetitions of a loop as a new one. DM_ENOMEM. */
int dm_loop_repeat(struct dm_loop *loop, size_t reps, ptrdiff_t stride, struct dm_loop **loop_p);
/* Is there nothing to merge, or to make a repetition of? Then a typed loop is plain, too. */
bool dm_loop_is_plain(const struct dm_loop *typed);
/* The plain form of a typed loop. DM_ENOMEM. */
int dm_loop_plain(struct dm_loop *typed, struct dm_loop **loop_p);
/* Make a plain loop (may be NULL) faster to run, if there is a way. In moves.c. */
void dm_loop_prepare(struct dm_loop *loop);

#endif
