/*
 * Builds loop programs and keeps them small and flat.
 *
 * Three rules do it: neighbouring blocks merge; small loops are unrolled into the items of the
 * one around them, so that an array of structures is one loop over a few blocks; many
 * blocks of one size at one distance become a repetition.
 */
#include "mpi/datatype/prog.h"

#include <stdlib.h>
#include <string.h>

#define INLINE_ITEMS 64 /* a loop without repetition up to this long is copied into its parent */
#define UNROLL_COUNT 8  /* a repetition up to this often, making up to UNROLL_ITEMS, too */
#define UNROLL_ITEMS 32
#define VECTOR_MIN   8 /* more equidistant blocks than this become a repetition */

bool dm_loop_is_dense(int basic)
{
    return basic == MPI_DATATYPE_NULL || dm_type_get(basic)->is_contig;
}

struct dm_loop *dm_loop_new(size_t n, bool has_pos, bool has_child, bool has_basics)
{
    struct dm_loop *loop;
    size_t bytes = sizeof(*loop) + n * sizeof(ptrdiff_t);
    char *at;

    if (has_pos)
        bytes += (n + 1) * sizeof(size_t);
    if (has_child)
        bytes += n * sizeof(struct dm_loop *);
    if (has_basics)
        bytes += n * sizeof(int);
    loop = malloc(bytes);
    if (loop == NULL)
        return NULL;
    *loop = (struct dm_loop){.count = 1, .n = n, .is_leaf = !has_child, .refs = 1};
    at = (char *)(loop + 1);
    loop->disp = (ptrdiff_t *)(void *)at;
    at += n * sizeof(ptrdiff_t);
    if (has_pos) {
        loop->pos = (size_t *)(void *)at;
        at += (n + 1) * sizeof(size_t);
    }
    if (has_child) {
        loop->child = (struct dm_loop **)(void *)at;
        memset(loop->child, 0, n * sizeof(struct dm_loop *));
        at += n * sizeof(struct dm_loop *);
    }
    if (has_basics)
        loop->basics = (int *)(void *)at;
    return loop;
}

struct dm_loop *dm_loop_ref(struct dm_loop *loop)
{
    if (loop != NULL)
        loop->refs++;
    return loop;
}

void dm_loop_unref(struct dm_loop *loop)
{
    if (loop == NULL || --loop->refs > 0)
        return;
    if (loop->child != NULL)
        for (size_t i = 0; i < loop->n; i++)
            dm_loop_unref(loop->child[i]);
    free(loop->moves);
    free(loop);
}

size_t dm_loop_find(const struct dm_loop *loop, size_t at)
{
    size_t low = 0;
    size_t high = loop->n;

    if (loop->pos == NULL)
        return at / loop->len;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        if (loop->pos[mid] <= at)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static bool loop_is_block(const struct dm_loop *loop)
{
    return loop->count == 1 && loop->n == 1 && loop->is_leaf;
}

bool dm_loop_is_dense_block(const struct dm_loop *loop)
{
    return loop_is_block(loop) && dm_loop_is_dense(loop->basic);
}

/* May its items be copied rather than pointed to? */
static bool loop_is_small(const struct dm_loop *loop)
{
    if (loop->count == 1)
        return loop->n <= INLINE_ITEMS;
    return loop->count <= UNROLL_COUNT && loop->count * loop->n <= UNROLL_ITEMS;
}

void dm_build_init(struct dm_build *build)
{
    build->items = build->few;
    build->n = 0;
    build->cap = DM_BUILD_FEW;
    build->is_out_of_memory = false;
    build->has_children = false;
}

void dm_build_drop(struct dm_build *build)
{
    for (size_t i = 0; i < build->n && build->has_children; i++)
        dm_loop_unref(build->items[i].child);
    if (build->items != build->few)
        free(build->items);
    dm_build_init(build);
}

bool dm_build_grow(struct dm_build *build)
{
    bool is_few = build->items == build->few;
    size_t cap = 4 * build->cap;
    struct dm_item *items = realloc(is_few ? NULL : build->items, cap * sizeof(*items));

    if (items == NULL) {
        build->is_out_of_memory = true;
        return false;
    }
    if (is_few)
        memcpy(items, build->few, sizeof(build->few));
    build->items = items;
    build->cap = cap;
    return true;
}

static void prog_add_item(struct dm_build *build, ptrdiff_t disp, size_t len, struct dm_loop *child,
                          int basic)
{
    struct dm_item *item;

    if (build->n == build->cap && !dm_build_grow(build))
        return;
    item = &build->items[build->n++];
    *item = (struct dm_item){disp, len, dm_loop_ref(child), basic};
    build->has_children = true;
}

/* One repetition of loop, its items copied. */
static void prog_add_items(struct dm_build *build, ptrdiff_t disp, const struct dm_loop *loop)
{
    for (size_t i = 0; i < loop->n; i++) {
        struct dm_loop *child = dm_loop_child(loop, i);

        if (child == NULL)
            dm_build_block(build, disp + loop->disp[i], dm_loop_len(loop, i),
                           dm_loop_basic(loop, i));
        else
            prog_add_item(build, disp + loop->disp[i], dm_loop_len(loop, i), child,
                          MPI_DATATYPE_NULL);
    }
}

void dm_build_add(struct dm_build *build, ptrdiff_t disp, struct dm_loop *loop, size_t reps,
                  ptrdiff_t stride)
{
    if (loop == NULL || reps == 0)
        return;
    if (loop_is_block(loop) &&
        (reps == 1 || (stride == (ptrdiff_t)loop->len && dm_loop_is_dense(loop->basic)))) {
        dm_build_block(build, disp + loop->disp[0], reps * loop->len, loop->basic);
        return;
    }
    if (reps == 1)
        dm_loop_ref(loop);
    else if (dm_loop_repeat(loop, reps, stride, &loop) != DM_OK) {
        build->is_out_of_memory = true;
        return;
    }
    if (loop_is_small(loop)) {
        for (size_t i = 0; i < loop->count; i++)
            prog_add_items(build, disp + (ptrdiff_t)i * loop->stride, loop);
    } else {
        prog_add_item(build, disp, loop->count * loop->size, loop, MPI_DATATYPE_NULL);
    }
    dm_loop_unref(loop);
}

/* Are the items equal blocks at equal distances? */
static bool loop_is_vector(const struct dm_item *items, size_t n)
{
    if (n <= VECTOR_MIN)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (items[i].child != NULL || items[i].len != items[0].len ||
            items[i].basic != items[0].basic)
            return false;
        if (i >= 2 && items[i].disp - items[i - 1].disp != items[1].disp - items[0].disp)
            return false;
    }
    return true;
}

static struct dm_loop *loop_of_items(const struct dm_item *items, size_t n)
{
    bool has_pos = false;
    bool has_child = false;
    bool has_basics = false;
    struct dm_loop *loop;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        has_pos |= items[i].len != items[0].len;
        has_basics |= items[i].basic != items[0].basic;
        has_child |= items[i].child != NULL;
    }
    loop = dm_loop_new(n, has_pos, has_child, has_basics);
    if (loop == NULL)
        return NULL;
    loop->len = has_pos ? 0 : items[0].len;
    loop->basic = has_basics ? MPI_DATATYPE_NULL : items[0].basic;
    for (size_t i = 0; i < n; i++) {
        loop->disp[i] = items[i].disp;
        if (has_pos)
            loop->pos[i] = at;
        if (has_child)
            loop->child[i] = dm_loop_ref(items[i].child);
        if (has_basics)
            loop->basics[i] = items[i].basic;
        at += items[i].len;
    }
    if (has_pos)
        loop->pos[n] = at;
    loop->size = at;
    return loop;
}

/* The same items, all moved by disp. */
static struct dm_loop *prog_copy_moved(const struct dm_loop *loop, ptrdiff_t disp)
{
    struct dm_loop *copy =
        dm_loop_new(loop->n, loop->pos != NULL, loop->child != NULL, loop->basics != NULL);

    if (copy == NULL)
        return NULL;
    copy->count = loop->count;
    copy->stride = loop->stride;
    copy->size = loop->size;
    copy->len = loop->len;
    copy->basic = loop->basic;
    for (size_t i = 0; i < loop->n; i++) {
        copy->disp[i] = loop->disp[i] + disp;
        if (loop->child != NULL)
            copy->child[i] = dm_loop_ref(loop->child[i]);
    }
    if (loop->pos != NULL)
        memcpy(copy->pos, loop->pos, (loop->n + 1) * sizeof(*loop->pos));
    if (loop->basics != NULL)
        memcpy(copy->basics, loop->basics, loop->n * sizeof(*loop->basics));
    return copy;
}

int dm_build_finish(struct dm_build *build, struct dm_loop **loop_p)
{
    struct dm_item *items = build->items;
    size_t n = build->n;
    struct dm_loop *loop = NULL;
    bool is_empty = n == 0 && !build->is_out_of_memory;

    if (n > 0 && !build->is_out_of_memory) {
        if (n == 1 && items[0].child != NULL && items[0].disp == 0) {
            loop = dm_loop_ref(items[0].child);
        } else if (n == 1 && items[0].child != NULL && items[0].child->n <= INLINE_ITEMS) {
            loop = prog_copy_moved(items[0].child, items[0].disp);
        } else if (loop_is_vector(items, n)) {
            loop = loop_of_items(items, 1);
            if (loop != NULL) {
                loop->count = n;
                loop->stride = items[1].disp - items[0].disp;
            }
        } else {
            loop = loop_of_items(items, n);
        }
    }
    dm_build_drop(build);
    *loop_p = loop;
    if (loop == NULL && !is_empty)
        return DM_FAIL(DM_ENOMEM, "loop program of a datatype");
    return DM_OK;
}

/* The same without repetition. */
static struct dm_loop *loop_unroll(struct dm_loop *loop)
{
    struct dm_build build;
    struct dm_loop *flat;

    dm_build_init(&build);
    dm_build_add(&build, 0, loop, 1, 0);
    if (build.is_out_of_memory) {
        dm_build_drop(&build);
        return NULL;
    }
    flat = loop_of_items(build.items, build.n);
    dm_build_drop(&build);
    return flat;
}

int dm_loop_repeat(struct dm_loop *loop, size_t reps, ptrdiff_t stride, struct dm_loop **loop_p)
{
    struct dm_loop *copy = NULL;

    if (reps == 1) {
        *loop_p = dm_loop_ref(loop);
        return DM_OK;
    }
    if (loop_is_block(loop) && stride == (ptrdiff_t)loop->len && dm_loop_is_dense(loop->basic)) {
        copy = prog_copy_moved(loop, 0);
        if (copy != NULL) {
            copy->len *= reps;
            copy->size = copy->len;
        }
    } else if (loop->count > 1 && stride == (ptrdiff_t)loop->count * loop->stride &&
               loop->n <= INLINE_ITEMS) {
        copy = prog_copy_moved(loop, 0);
        if (copy != NULL)
            copy->count *= reps;
    } else if (loop_is_small(loop)) {
        copy = loop->count == 1 ? prog_copy_moved(loop, 0) : loop_unroll(loop);
        if (copy != NULL) {
            copy->count = reps;
            copy->stride = stride;
        }
    } else {
        struct dm_item item = {0, loop->count * loop->size, loop, MPI_DATATYPE_NULL};

        copy = loop_of_items(&item, 1);
        if (copy != NULL) {
            copy->count = reps;
            copy->stride = stride;
        }
    }
    *loop_p = copy;
    return copy != NULL ? DM_OK : DM_FAIL(DM_ENOMEM, "loop program of a datatype");
}

bool dm_loop_is_plain(const struct dm_loop *typed)
{
    if (typed == NULL || !typed->is_leaf || typed->n > VECTOR_MIN)
        return false;
    for (size_t i = 0; i < typed->n; i++)
        if (!dm_loop_is_dense(dm_loop_basic(typed, i)) ||
            (i > 0 && typed->disp[i - 1] + (ptrdiff_t)dm_loop_len(typed, i - 1) == typed->disp[i]))
            return false;
    return true;
}

int dm_loop_plain(struct dm_loop *typed, struct dm_loop **loop_p)
{
    struct dm_build build;
    struct dm_loop *last = NULL; /* many items often share one child */
    struct dm_loop *last_plain = NULL;
    struct dm_loop *one;
    int err = DM_OK;

    *loop_p = NULL;
    if (typed == NULL)
        return DM_OK;
    dm_build_init(&build);
    for (size_t i = 0; i < typed->n && err == DM_OK; i++) {
        struct dm_loop *child = dm_loop_child(typed, i);
        int basic = dm_loop_basic(typed, i);

        if (child != NULL && child != last) {
            dm_loop_unref(last_plain);
            err = dm_loop_plain(child, &last_plain);
            last = child;
        }
        if (child != NULL)
            dm_build_add(&build, typed->disp[i], last_plain, 1, 0);
        else if (dm_loop_is_dense(basic))
            dm_build_block(&build, typed->disp[i], dm_loop_len(typed, i), MPI_DATATYPE_NULL);
        else
            dm_build_add(&build, typed->disp[i], dm_type_get(basic)->prog->plain, 1, 0);
    }
    dm_loop_unref(last_plain);
    if (err != DM_OK) {
        dm_build_drop(&build);
        return err;
    }
    err = dm_build_finish(&build, &one);
    if (err != DM_OK)
        return err;
    err = dm_loop_repeat(one, typed->count, typed->stride, loop_p);
    dm_loop_unref(one);
    return err;
}
