/*
 * From type maps to types: bounds are tracked beside the loop program; arithmetic that
 * leaves 63 bits is noticed here and reported at the end.
 */
#include "mpi/datatype/make.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/datatype/life.h"

MPI_Aint dm_make_at(MPI_Aint base, MPI_Count n, MPI_Aint stride, bool *is_overflow)
{
    dm_int128 at = (dm_int128)n * stride + base;

    if (at > INT64_MAX / 2 || at < INT64_MIN / 2) {
        *is_overflow = true;
        return 0;
    }
    return (MPI_Aint)at;
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

static void span_move(struct dm_span *span, MPI_Aint disp)
{
    span->lb = dm_make_at(span->lb, 1, disp, &span->is_overflow);
    span->ub = dm_make_at(span->ub, 1, disp, &span->is_overflow);
    span->mark_lb = dm_make_at(span->mark_lb, 1, disp, &span->is_overflow);
    span->mark_ub = dm_make_at(span->mark_ub, 1, disp, &span->is_overflow);
    span->true_lb = dm_make_at(span->true_lb, 1, disp, &span->is_overflow);
    span->true_ub = dm_make_at(span->true_ub, 1, disp, &span->is_overflow);
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

static void span_join(struct dm_span *span, const struct dm_span *part)
{
    if (part->is_any)
        bounds_widen(&span->is_any, &span->lb, &span->ub, part->lb, part->ub);
    if (part->has_lb && (!span->has_lb || part->mark_lb < span->mark_lb))
        span->mark_lb = part->mark_lb;
    if (part->has_ub && (!span->has_ub || part->mark_ub > span->mark_ub))
        span->mark_ub = part->mark_ub;
    span->has_lb |= part->has_lb;
    span->has_ub |= part->has_ub;
    if (part->is_data) {
        if (!span->is_data)
            span->basic = part->basic;
        else if (span->basic != part->basic)
            span->basic = MPI_DATATYPE_NULL;
        bounds_widen(&span->is_data, &span->true_lb, &span->true_ub, part->true_lb, part->true_ub);
    }
    span->is_overflow |= part->is_overflow;
    span->size = dm_make_at(span->size, 1, part->size, &span->is_overflow);
    span->n_basic = dm_make_at(span->n_basic, 1, part->n_basic, &span->is_overflow);
    if (part->align > span->align)
        span->align = part->align;
}

static struct dm_span span_of(const struct dm_type *type)
{
    return (struct dm_span){
        .is_any = true,
        .has_lb = type->has_lb,
        .has_ub = type->has_ub,
        .is_data = type->size > 0,
        .lb = type->lb,
        .ub = type->lb + type->extent,
        .mark_lb = type->has_lb ? type->lb : 0,
        .mark_ub = type->has_ub ? type->lb + type->extent : 0,
        .true_lb = type->true_lb,
        .true_ub = type->true_lb + type->true_extent,
        .size = type->size,
        .n_basic = type->n_basic,
        .align = type->align,
        .basic = type->basic,
    };
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
    struct dm_span part;

    if (n == 0)
        return;
    part = span_of(type);
    span_repeat(&part, n, type->extent);
    span_move(&part, disp);
    span_join(&make->span, &part);
    if (!make->span.is_overflow)
        dm_build_add(&make->build, disp, type->prog->typed, (size_t)n, type->extent);
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
    rest = (span->ub - lb) % align;
    if (rest != 0)
        span->ub = dm_make_at(span->ub, 1, rest > 0 ? align - rest : -rest, &span->is_overflow);
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

static int type_set_form(struct dm_type *type, const struct dm_span *span, struct dm_loop *typed)
{
    type->prog = calloc(1, sizeof(*type->prog));
    if (type->prog == NULL)
        return DM_FAIL(DM_ENOMEM, "datatype");
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
    return DM_OK;
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
    err = type_set_form(type, &make->span, typed);
    if (err == DM_OK)
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
    struct dm_span span = span_of(like);
    struct dm_type *type;
    int err = dm_type_alloc(&type);

    if (err != DM_OK)
        return err;
    err = type_set_form(type, &span, typed);
    if (err == DM_OK)
        err = dm_type_commit(type);
    if (err != DM_OK) {
        dm_type_unref(type);
        return err;
    }
    *new_p = type;
    return DM_OK;
}
