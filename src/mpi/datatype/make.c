/*
 * From type maps to types: bounds are tracked beside the loop program; arithmetic that
 * leaves 63 bits is noticed here and reported at the end.
 */
#include "mpi/datatype/make.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/datatype/life.h"

#define NARROW ((MPI_Aint)1 << 29)

MPI_Aint dm_make_at_wide(MPI_Aint base, MPI_Count n, MPI_Aint stride, bool *is_overflow)
{
    dm_int128 at = (dm_int128)n * stride + base;

    if (at <= INT64_MAX / 2 && at >= INT64_MIN / 2)
        return (MPI_Aint)at;
    *is_overflow = true;
    return 0;
}

/* [*low, *high) becomes what it covers when repeated. */
static void repeat_range(MPI_Aint *low, MPI_Aint *high, MPI_Count n, MPI_Aint stride,
                         bool *is_overflow)
{
    if (stride >= 0)
        *high = dm_make_at(*high, n - 1, stride, is_overflow);
    else
        *low = dm_make_at(*low, n - 1, stride, is_overflow);
}

static void span_repeat(struct dm_span *span, MPI_Count n, MPI_Aint stride)
{
    MPI_Aint none = 0;

    if (span->is_any)
        repeat_range(&span->lb, &span->ub, n, stride, &span->is_overflow);
    if (span->is_data)
        repeat_range(&span->true_lb, &span->true_ub, n, stride, &span->is_overflow);
    if (span->has_lb)
        repeat_range(&span->mark_lb, &none, n, stride, &span->is_overflow);
    none = 0;
    if (span->has_ub)
        repeat_range(&none, &span->mark_ub, n, stride, &span->is_overflow);
    span->size = dm_make_at(0, n, span->size, &span->is_overflow);
    span->n_basic = dm_make_at(0, n, span->n_basic, &span->is_overflow);
}

static void bounds_widen(bool *is_set, MPI_Aint *low, MPI_Aint *high, MPI_Aint new_low,
                         MPI_Aint new_high)
{
    if (!*is_set || new_low < *low)
        *low = new_low;
    if (!*is_set || new_high > *high)
        *high = new_high;
    *is_set = true;
}

/* A range of a type becomes that of n of them, the first at disp. */
static inline void range_place(MPI_Aint *low, MPI_Aint *high, MPI_Count n, MPI_Aint stride,
                               MPI_Aint disp, bool *is_overflow)
{
    if (n > 1)
        repeat_range(low, high, n, stride, is_overflow);
    *low = dm_make_at(*low, 1, disp, is_overflow);
    *high = dm_make_at(*high, 1, disp, is_overflow);
}

/*
 * n elements of type, stride apart, the first at disp. Values stay in registers: a copy of a span waits for its
 * stores.
 */
static void span_add(struct dm_span *span, const struct dm_type *type, MPI_Count n, MPI_Aint stride,
                     MPI_Aint disp)
{
    MPI_Aint lb = type->lb, ub = lb + type->extent;
    bool is_overflow = span->is_overflow;

    range_place(&lb, &ub, n, stride, disp, &is_overflow);
    bounds_widen(&span->is_any, &span->lb, &span->ub, lb, ub);
    if (type->has_lb && (!span->has_lb || lb < span->mark_lb))
        span->mark_lb = lb;
    if (type->has_ub && (!span->has_ub || ub > span->mark_ub))
        span->mark_ub = ub;
    span->has_lb |= type->has_lb;
    span->has_ub |= type->has_ub;
    if (type->size > 0) {
        lb = type->true_lb;
        ub = lb + type->true_extent;
        range_place(&lb, &ub, n, stride, disp, &is_overflow);
        if (!span->is_data)
            span->basic = type->basic;
        else if (span->basic != type->basic)
            span->basic = MPI_DATATYPE_NULL;
        bounds_widen(&span->is_data, &span->true_lb, &span->true_ub, lb, ub);
    }
    span->size = dm_make_at(span->size, n, type->size, &is_overflow);
    span->n_basic = dm_make_at(span->n_basic, n, type->n_basic, &is_overflow);
    if (type->align > span->align)
        span->align = type->align;
    span->is_overflow = is_overflow;
}

static void span_of(const struct dm_type *type, struct dm_span *span)
{
    span->is_any = true;
    span->has_lb = type->has_lb;
    span->has_ub = type->has_ub;
    span->is_data = type->size > 0;
    span->is_overflow = false;
    span->lb = type->lb;
    span->ub = type->lb + type->extent;
    span->mark_lb = type->has_lb ? type->lb : 0;
    span->mark_ub = type->has_ub ? span->ub : 0;
    span->true_lb = type->true_lb;
    span->true_ub = type->true_lb + type->true_extent;
    span->size = type->size;
    span->n_basic = type->n_basic;
    span->align = type->align;
    span->basic = type->basic;
}

void dm_make_init(struct dm_make *make)
{
    memset(&make->span, 0, sizeof(make->span));
    make->span.basic = MPI_DATATYPE_NULL;
    make->span.align = 1;
    dm_build_init(&make->build);
}

void dm_make_drop(struct dm_make *make)
{
    dm_build_drop(&make->build);
}

void dm_make_add(struct dm_make *make, MPI_Aint disp, const struct dm_type *type, MPI_Count n)
{
    dm_make_add_apart(make, disp, type, n, type->extent);
}

void dm_make_add_apart(struct dm_make *make, MPI_Aint disp, const struct dm_type *type, MPI_Count n,
                       MPI_Aint stride)
{
    if (n == 0)
        return;
    span_add(&make->span, type, n, stride, disp);
    if (!make->span.is_overflow)
        dm_build_add(&make->build, disp, type->prog->typed, (size_t)n, stride);
}

static inline MPI_Count make_block_len(const struct dm_block_list *blocks, size_t i)
{
    return blocks->lengths != NULL ? dm_count_at(*blocks->lengths, i) : blocks->length;
}

/* Do elements of it fill what they cover, as one block each, and are their bounds those of the data? */
static bool make_is_dense(const struct dm_type *type)
{
    return type->size > 0 && type->extent == type->size && type->true_lb == type->lb &&
           type->true_extent == type->extent && !type->has_lb && !type->has_ub &&
           dm_loop_is_dense_block(type->prog->typed);
}

/* What all blocks together cover, and how many elements they have. */
struct dense {
    MPI_Aint low, high;
    MPI_Count total;
};

static DM_ALWAYS_INLINE void dense_widen(struct dense *d, MPI_Aint disp, MPI_Aint end)
{
    d->low = disp < d->low ? disp : d->low;
    d->high = end > d->high ? end : d->high;
}

/*
 * Numbers of 31 bits and elements below NARROW bytes: nothing can leave 63 bits. What does not change is in locals,
 * since the compiler has to assume that the items, which are written, are where it is.
 */
static void make_narrow_blocks(struct dm_make *make, const struct dm_block_list *blocks,
                               const struct dm_type *type, struct dense *d)
{
    const int *lengths = blocks->lengths != NULL ? blocks->lengths->narrow : NULL;
    const int *places = blocks->displacements.narrow;
    const MPI_Count length = blocks->length;
    const MPI_Aint unit = blocks->unit, extent = type->extent;
    const struct dm_loop loop = *type->prog->typed;
    const ptrdiff_t first = loop.disp[0];
    ptrdiff_t end = PTRDIFF_MIN; /* of the last block */
    struct dense all = *d;

    for (size_t i = 0, n_blocks = blocks->n; i < n_blocks; i++) {
        MPI_Count n = lengths != NULL ? lengths[i] : length;
        MPI_Aint disp = places[i] * unit;

        if (n == 0)
            continue;
        dense_widen(&all, disp, disp + n * extent);
        if (dm_likely(all.total > 0 && end != disp + first))
            dm_build_item(&make->build, disp + first, (size_t)n * loop.len, loop.basic);
        else
            dm_build_block(&make->build, disp + first, (size_t)n * loop.len, loop.basic);
        end = disp + first + n * (ptrdiff_t)loop.len;
        all.total += n;
    }
    *d = all;
}

static void make_wide_blocks(struct dm_make *make, const struct dm_block_list *blocks,
                             const struct dm_type *type, struct dense *d)
{
    const struct dm_loop *loop = type->prog->typed;
    bool is_overflow = make->span.is_overflow;

    for (size_t i = 0; i < blocks->n; i++) {
        MPI_Count n = make_block_len(blocks, i);
        MPI_Aint disp, end;

        if (n == 0)
            continue;
        disp = dm_make_at(0, dm_count_at(blocks->displacements, i), blocks->unit, &is_overflow);
        end = dm_make_at(disp, n, type->extent, &is_overflow);
        d->total = dm_make_at(d->total, n, 1, &is_overflow);
        if (is_overflow)
            continue;
        dense_widen(d, disp, end);
        dm_build_block(&make->build, disp + loop->disp[0], (size_t)n * loop->len, loop->basic);
    }
    make->span.is_overflow = is_overflow;
}

static bool make_is_narrow(const struct dm_block_list *blocks, const struct dm_type *type)
{
    return blocks->displacements.narrow != NULL && blocks->n <= NARROW &&
           (blocks->lengths != NULL ? blocks->lengths->narrow != NULL : blocks->length <= NARROW) &&
           blocks->unit < NARROW && type->extent < NARROW;
}

/* Of a dense type: the bounds are those of all blocks together, found once. */
static void make_dense_blocks(struct dm_make *make, const struct dm_block_list *blocks,
                              const struct dm_type *type)
{
    struct dense d = {.low = INT64_MAX, .high = INT64_MIN};
    struct dm_type all; /* as if it were one element */

    if (make_is_narrow(blocks, type))
        make_narrow_blocks(make, blocks, type, &d);
    else
        make_wide_blocks(make, blocks, type, &d);
    if (d.total == 0 || make->span.is_overflow)
        return;
    all = *type;
    all.extent = all.true_extent = d.high - d.low;
    all.size = dm_make_at(0, d.total, type->size, &make->span.is_overflow);
    all.n_basic = dm_make_at(0, d.total, type->n_basic, &make->span.is_overflow);
    span_add(&make->span, &all, 1, all.extent, d.low);
}

void dm_make_blocks(struct dm_make *make, const struct dm_block_list *blocks,
                    const struct dm_type *type)
{
    if (make_is_dense(type)) {
        make_dense_blocks(make, blocks, type);
        return;
    }
    for (size_t i = 0; i < blocks->n; i++)
        dm_make_add(make,
                    dm_make_at(0, dm_count_at(blocks->displacements, i), blocks->unit,
                               &make->span.is_overflow),
                    type, make_block_len(blocks, i));
}

void dm_make_repeat(struct dm_make *make, MPI_Count n, MPI_Aint stride)
{
    struct dm_loop *loop = NULL;

    if (n == 0) {
        dm_make_drop(make);
        dm_make_init(make);
        return;
    }
    span_repeat(&make->span, n, stride);
    if (make->span.is_overflow)
        return;
    if (dm_build_finish(&make->build, &loop) != DM_OK)
        make->build.is_out_of_memory = true;
    dm_build_add(&make->build, 0, loop, (size_t)n, stride);
    dm_loop_unref(loop);
}

void dm_make_bounds(struct dm_make *make, MPI_Aint lb, MPI_Aint ub)
{
    make->span.has_lb = true;
    make->span.has_ub = true;
    make->span.mark_lb = lb;
    make->span.mark_ub = ub;
}

void dm_make_mark_lb(struct dm_make *make, MPI_Aint disp)
{
    if (!make->span.has_lb || disp < make->span.mark_lb)
        make->span.mark_lb = disp;
    make->span.has_lb = true;
}

void dm_make_mark_ub(struct dm_make *make, MPI_Aint disp)
{
    if (!make->span.has_ub || disp > make->span.mark_ub)
        make->span.mark_ub = disp;
    make->span.has_ub = true;
}

void dm_make_pad(struct dm_make *make)
{
    struct dm_span *span = &make->span;
    MPI_Aint lb = span->has_lb ? span->mark_lb : span->lb;
    MPI_Aint align = (MPI_Aint)span->align;
    MPI_Aint rest;

    if (span->has_ub || !span->is_any)
        return;
    rest = (span->ub - lb) & (align - 1); /* alignments are powers of two */
    if (rest != 0)
        span->ub = dm_make_at(span->ub, 1, align - rest, &span->is_overflow);
}

/* One ascending run without holes, as long as the extent: many elements are one run too. */
static bool type_is_one_run(const struct dm_type *type)
{
    const struct dm_loop *loop = type->prog->typed;

    if (type->extent != type->size)
        return false;
    if (loop == NULL)
        return true;
    if (loop->count != 1 || !loop->is_leaf || type->true_extent != type->size)
        return false;
    for (size_t i = 0; i < loop->n; i++) {
        struct dm_type *basic = dm_type_get(dm_loop_basic(loop, i));

        /* A pair with padding inside is longer in memory than packed. */
        if (basic->true_extent != basic->size ||
            loop->disp[i] != loop->disp[0] + (ptrdiff_t)dm_loop_pos(loop, i))
            return false;
    }
    return true;
}

static void type_set_form(struct dm_type *type, const struct dm_span *span, struct dm_loop *typed)
{
    type->prog->typed = dm_loop_ref(typed);
    type->size = span->size;
    type->has_lb = span->has_lb;
    type->has_ub = span->has_ub;
    type->lb = span->has_lb ? span->mark_lb : span->lb;
    type->extent = (span->has_ub ? span->mark_ub : span->ub) - type->lb;
    type->true_lb = span->true_lb;
    type->true_extent = span->true_ub - span->true_lb;
    type->n_basic = span->n_basic;
    type->align = span->align;
    type->basic = span->basic;
    type->is_contig = type_is_one_run(type);
}

int dm_make_end(struct dm_make *make, struct dm_type_env *env, struct dm_type **new_p)
{
    struct dm_type *type = NULL;
    struct dm_loop *typed = NULL;
    int err;

    if (make->span.is_overflow) {
        dm_make_drop(make);
        err = DM_FAIL(DM_ERR_COUNT, "the size or the bounds of the datatype do not fit 63 bits");
        goto fail;
    }
    err = dm_build_finish(&make->build, &typed);
    if (err != DM_OK)
        goto fail;
    err = env != NULL ? dm_type_alloc(&type) : DM_FAIL(DM_ENOMEM, "arguments of a datatype");
    if (err != DM_OK)
        goto fail;
    type->env = env;
    env = NULL;
    type_set_form(type, &make->span, typed);
    err = dm_handle_new(DM_KIND_TYPE, &type->obj);
    if (err != DM_OK)
        goto fail;
    dm_loop_unref(typed);
    *new_p = type;
    return DM_OK;

fail:
    dm_loop_unref(typed);
    dm_env_unref(env);
    if (type != NULL)
        dm_type_unref(type);
    return err;
}

int dm_make_copy(const struct dm_type *like, struct dm_loop *typed, struct dm_type **new_p)
{
    struct dm_span span;
    struct dm_type *type;
    int err = dm_type_alloc(&type);

    if (err != DM_OK)
        return err;
    span_of(like, &span);
    type_set_form(type, &span, typed);
    err = dm_type_commit(type);
    if (err != DM_OK) {
        dm_type_unref(type);
        return err;
    }
    *new_p = type;
    return DM_OK;
}
