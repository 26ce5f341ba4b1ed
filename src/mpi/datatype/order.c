/*
 * The order of a type map: may it be the filetype of a view (MPI-4.0 section 14.1.1)?
 */
#include "mpi/datatype/datatype.h"
#include "mpi/datatype/prog.h"

/* One more element or group of elements behind what there is. */
static void order_add(struct dm_type_order *o, const struct dm_type_order *next)
{
    if (o->is_any) {
        o->is_ordered = o->is_ordered && next->first >= o->last;
        o->overlaps = o->overlaps || next->first < o->end;
    } else {
        o->first = next->first;
        o->end = next->end;
        o->is_any = true;
    }
    o->is_ordered = o->is_ordered && next->is_ordered;
    o->overlaps = o->overlaps || next->overlaps;
    o->last = next->last;
    if (next->end > o->end)
        o->end = next->end;
}

static const struct dm_type_order order_none = {.is_ordered = true};

/* Repeated n times, stride apart. */
static void order_repeat(struct dm_type_order *o, size_t n, ptrdiff_t stride)
{
    ptrdiff_t all = (ptrdiff_t)(n - 1) * stride;

    if (n < 2 || !o->is_any)
        return;
    o->is_ordered = o->is_ordered && o->first + stride >= o->last;
    o->overlaps = o->overlaps || o->first + stride < o->end;
    o->last += all;
    o->end += all;
}

static struct dm_type_order order_of_block(ptrdiff_t disp, size_t len, int basic)
{
    const struct dm_type *type = dm_type_get(basic);
    size_t n = len / (size_t)type->size;
    struct dm_type_order o = order_none;

    o.is_any = true;
    o.first = disp;
    o.last = disp;
    o.end = disp + (ptrdiff_t)(n - 1) * type->extent + type->true_extent;
    return o;
}

static struct dm_type_order order_of_loop(const struct dm_loop *loop)
{
    struct dm_type_order o = order_none;

    for (size_t i = 0; i < loop->n; i++) {
        const struct dm_loop *child = dm_loop_child(loop, i);
        struct dm_type_order one;

        if (child == NULL) {
            one = order_of_block(loop->disp[i], dm_loop_len(loop, i), dm_loop_basic(loop, i));
        } else {
            one = order_of_loop(child);
            one.first += loop->disp[i];
            one.last += loop->disp[i];
            one.end += loop->disp[i];
        }
        order_add(&o, &one);
    }
    order_repeat(&o, loop->count, loop->stride);
    return o;
}

void dm_type_order(const struct dm_type *type, struct dm_type_order *order_p)
{
    struct dm_type_order o = order_none;

    if (type->prog->typed != NULL)
        o = order_of_loop(type->prog->typed);
    *order_p = o;
    if (!o.is_any)
        return;
    /* The next element of a filetype begins where this one's extent ends. */
    order_p->repeats = o.is_ordered && type->extent > 0 && o.first + type->extent >= o.last;
    order_p->overlaps_repeated = o.overlaps || o.first + type->extent < o.end;
}
