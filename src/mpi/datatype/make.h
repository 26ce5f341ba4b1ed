/*
 * What all constructors share: the bounds of a type map under construction, and the step
 * from bounds and loops to a type.
 */
#ifndef DM_MPI_DATATYPE_MAKE_H
#define DM_MPI_DATATYPE_MAKE_H

#include "mpi/datatype/env.h"
#include "mpi/datatype/prog.h"
#include "util/port.h"

/*
 * Bounds and totals of a type map. lb and ub are those of the entries that are no markers;
 * markers, when there are any, have their own (5.1.7: then only they count).
 */
struct dm_span {
    bool is_any; /* an entry has set lb and ub */
    bool has_lb;
    bool has_ub;
    bool is_data; /* an entry has set true_lb and true_ub */
    bool is_overflow;
    MPI_Aint lb, ub;
    MPI_Aint mark_lb, mark_ub;
    MPI_Aint true_lb, true_ub;
    MPI_Count size;
    MPI_Count n_basic;
    size_t align;
    int basic; /* of all data, MPI_DATATYPE_NULL when none yet or mixed */
};

/* A type under construction; every constructor starts with dm_make_init, ends with dm_make_end. */
struct dm_make {
    struct dm_span span;
    struct dm_build build;
};
void dm_make_init(struct dm_make *make);
/* n elements of type, one after the other by its extent, the first at disp. */
void dm_make_add(struct dm_make *make, MPI_Aint disp, const struct dm_type *type, MPI_Count n);
/* The same, stride bytes apart. */
void dm_make_add_apart(struct dm_make *make, MPI_Aint disp, const struct dm_type *type, MPI_Count n,
                       MPI_Aint stride);
/* n blocks of elements: their lengths, or the same length of all, and where they are, in units of bytes. */
struct dm_block_list {
    size_t n;
    const struct dm_counts *lengths; /* NULL: length */
    MPI_Count length;
    struct dm_counts displacements;
    MPI_Aint unit;
};
/* Blocks of type, one after the other as dm_make_add does. */
void dm_make_blocks(struct dm_make *make, const struct dm_block_list *blocks,
                    const struct dm_type *type);
/* n times, stride apart, what has been added until now. */
void dm_make_repeat(struct dm_make *make, MPI_Count n, MPI_Aint stride);
/* Explicit bounds, in the place of those that came of themselves. */
void dm_make_bounds(struct dm_make *make, MPI_Aint lb, MPI_Aint ub);
void dm_make_mark_lb(struct dm_make *make, MPI_Aint disp);
void dm_make_mark_ub(struct dm_make *make, MPI_Aint disp);
/* Round the extent up to the alignment, unless the upper bound was set explicitly. */
void dm_make_pad(struct dm_make *make);
/* Forget everything. */
void dm_make_drop(struct dm_make *make);
/*
 * The type, with a handle. Takes over the reference to env, also when it fails; env NULL means that
 * memory for it was out.
 */
int dm_make_end(struct dm_make *make, struct dm_type_env *env, struct dm_type **new_p);
/* The same without a handle and without env (unflatten), committed. */
int dm_make_copy(const struct dm_type *like, struct dm_loop *typed, struct dm_type **new_p);

/* base + n * stride, or 0 with *is_overflow set. _wide: where 64 bits may not be enough on the way. */
MPI_Aint dm_make_at_wide(MPI_Aint base, MPI_Count n, MPI_Aint stride, bool *is_overflow) DM_COLD;
static inline MPI_Aint dm_make_at(MPI_Aint base, MPI_Count n, MPI_Aint stride, bool *is_overflow)
{
    MPI_Aint at;

    if (dm_likely(!__builtin_mul_overflow(n, stride, &at) &&
                  !__builtin_add_overflow(at, base, &at) && at <= INT64_MAX / 2 &&
                  at >= INT64_MIN / 2))
        return at;
    return dm_make_at_wide(base, n, stride, is_overflow);
}

#endif
