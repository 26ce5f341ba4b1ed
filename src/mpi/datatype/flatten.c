/*
 * Types as bytes: a header, then the typed loops, children before parents, each once.
 *
 * All numbers are 64 bits wide. What comes back is checked for consistency, so that a
 * description that was cut or mixed up is an error.
 */
#include "mpi/datatype/datatype.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/datatype/make.h"

#define FLAT_MAGIC 0x6474797031ll

enum flat_flags { FLAT_HAS_LB = 1, FLAT_HAS_UB = 2 };
enum flat_loop_flags { FLAT_POS = 1, FLAT_CHILD = 2, FLAT_BASICS = 4 };

/* A cursor over the words; writing beyond the end only counts. */
struct flat {
    int64_t *out;
    const int64_t *in;
    size_t at;
    size_t n; /* words of room, or of input */
    uint32_t n_loops;
    bool is_bad;
};

static void flatten_put(struct flat *flat, int64_t value)
{
    if (flat->at < flat->n)
        flat->out[flat->at] = value;
    flat->at++;
}

static int64_t flatten_get(struct flat *flat)
{
    if (flat->at >= flat->n) {
        flat->is_bad = true;
        return 0;
    }
    return flat->in[flat->at++];
}

/* The number of a loop is its mark; loops that were written have one. */
static void flatten_put_loop(struct flat *flat, struct dm_loop *loop)
{
    if (loop->mark != 0)
        return;
    for (size_t i = 0; i < loop->n; i++)
        if (dm_loop_child(loop, i) != NULL)
            flatten_put_loop(flat, dm_loop_child(loop, i));
    loop->mark = ++flat->n_loops;
    flatten_put(flat, (int64_t)loop->count);
    flatten_put(flat, loop->stride);
    flatten_put(flat, (int64_t)loop->n);
    flatten_put(flat, (loop->pos != NULL ? FLAT_POS : 0) | (loop->child != NULL ? FLAT_CHILD : 0) |
                          (loop->basics != NULL ? FLAT_BASICS : 0));
    flatten_put(flat, (int64_t)loop->len);
    flatten_put(flat, loop->basic);
    for (size_t i = 0; i < loop->n; i++) {
        flatten_put(flat, loop->disp[i]);
        if (loop->pos != NULL)
            flatten_put(flat, (int64_t)dm_loop_len(loop, i));
        if (loop->child != NULL)
            flatten_put(flat, loop->child[i] != NULL ? loop->child[i]->mark : 0);
        if (loop->basics != NULL)
            flatten_put(flat, loop->basics[i]);
    }
}

static void flatten_clear_marks(struct dm_loop *loop)
{
    if (loop->mark == 0)
        return;
    loop->mark = 0;
    for (size_t i = 0; i < loop->n; i++)
        if (dm_loop_child(loop, i) != NULL)
            flatten_clear_marks(dm_loop_child(loop, i));
}

int dm_type_flatten(const struct dm_type *type, void *buf, size_t *len_p)
{
    struct flat flat = {.out = buf, .n = *len_p / sizeof(int64_t)};
    struct dm_loop *root = type->prog->typed;
    const int64_t head[] = {
        FLAT_MAGIC,    type->size,
        type->lb,      type->extent,
        type->true_lb, type->true_extent,
        type->n_basic, (int64_t)type->align,
        type->basic,   (type->has_lb ? FLAT_HAS_LB : 0) | (type->has_ub ? FLAT_HAS_UB : 0)};

    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        flatten_put(&flat, head[i]);
    if (root != NULL) {
        flatten_put_loop(&flat, root);
        flatten_clear_marks(root);
    }
    *len_p = flat.at * sizeof(int64_t);
    return flat.at <= flat.n ? DM_OK : DM_EAGAIN;
}

/* ---- back ---- */

static bool flatten_is_basic(int handle)
{
    const struct dm_type *type = dm_type_get(handle);

    return type != NULL && type->is_builtin && type->size > 0;
}

/* One loop; loops[] are those before it. */
static struct dm_loop *flatten_get_loop(struct flat *flat, struct dm_loop *const *loops,
                                        uint32_t n_loops)
{
    size_t count = (size_t)flatten_get(flat);
    ptrdiff_t stride = flatten_get(flat);
    size_t n = (size_t)flatten_get(flat);
    int64_t flags = flatten_get(flat);
    int64_t len = flatten_get(flat);
    int basic = (int)flatten_get(flat);
    struct dm_loop *loop;
    size_t total = 0;

    /* Items take a word at least, which bounds n by the input. */
    if (flat->is_bad || count == 0 || n == 0 || n > flat->n - flat->at)
        return NULL;
    loop = dm_loop_new(n, flags & FLAT_POS, flags & FLAT_CHILD, flags & FLAT_BASICS);
    if (loop == NULL)
        return NULL;
    loop->count = count;
    loop->stride = stride;
    loop->len = loop->pos != NULL ? 0 : (size_t)len;
    loop->basic = basic;
    for (size_t i = 0; i < n; i++) {
        const struct dm_loop *child = NULL;
        size_t item_len = (size_t)len;
        int64_t mark = 0;

        loop->disp[i] = flatten_get(flat);
        if (loop->pos != NULL)
            item_len = (size_t)flatten_get(flat);
        if (loop->child != NULL)
            mark = flatten_get(flat);
        if (loop->basics != NULL)
            loop->basics[i] = (int)flatten_get(flat);
        if (mark < 0 || mark > n_loops || item_len == 0)
            flat->is_bad = true;
        else if (mark > 0)
            loop->child[i] = dm_loop_ref(loops[mark - 1]);
        child = dm_loop_child(loop, i);
        if (child != NULL ? child->count * child->size != item_len
                          : !flatten_is_basic(dm_loop_basic(loop, i)))
            flat->is_bad = true;
        if (loop->pos != NULL)
            loop->pos[i] = total;
        total += item_len;
    }
    if (loop->pos != NULL)
        loop->pos[n] = total;
    loop->size = total;
    return loop;
}

/* All loops; the last is the root. */
static int flatten_get_loops(struct flat *flat, struct dm_loop **root_p)
{
    struct dm_loop **loops;
    struct dm_loop *root = NULL;
    uint32_t n = 0;

    loops = calloc(flat->n, sizeof(struct dm_loop *));
    if (loops == NULL)
        return DM_FAIL(DM_ENOMEM, "datatype of another process");
    while (!flat->is_bad && flat->at < flat->n) {
        loops[n] = flatten_get_loop(flat, loops, n);
        if (loops[n] == NULL)
            break;
        n++;
    }
    if (n > 0)
        root = dm_loop_ref(loops[n - 1]);
    if (flat->at < flat->n)
        flat->is_bad = true;
    for (uint32_t i = 0; i < n; i++)
        dm_loop_unref(loops[i]);
    free(loops);
    *root_p = root;
    return DM_OK;
}

int dm_type_unflatten(const void *buf, size_t len, struct dm_type **type_p)
{
    struct flat flat = {.in = buf, .n = len / sizeof(int64_t)};
    struct dm_type like = {.size = 0};
    struct dm_loop *root = NULL;
    int64_t magic = flatten_get(&flat);
    int64_t flags;
    int err;

    like.size = flatten_get(&flat);
    like.lb = flatten_get(&flat);
    like.extent = flatten_get(&flat);
    like.true_lb = flatten_get(&flat);
    like.true_extent = flatten_get(&flat);
    like.n_basic = flatten_get(&flat);
    like.align = (size_t)flatten_get(&flat);
    like.basic = (int)flatten_get(&flat);
    flags = flatten_get(&flat);
    like.has_lb = flags & FLAT_HAS_LB;
    like.has_ub = flags & FLAT_HAS_UB;
    if (flat.is_bad || magic != FLAT_MAGIC || len % sizeof(int64_t) != 0)
        return DM_FAIL(DM_ERR_TYPE, "a datatype from another process is damaged");
    if (flat.at < flat.n) {
        err = flatten_get_loops(&flat, &root);
        if (err != DM_OK)
            return err;
    }
    if (flat.is_bad || (root != NULL ? root->count * root->size : 0) != (size_t)like.size) {
        dm_loop_unref(root);
        return DM_FAIL(DM_ERR_TYPE, "a datatype from another process is damaged");
    }
    err = dm_make_copy(&like, root, type_p);
    dm_loop_unref(root);
    return err;
}
