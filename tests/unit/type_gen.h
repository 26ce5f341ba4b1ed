/*
 * Random datatypes, each with its type map written out entry by entry as the standard defines
 * the constructors.
 */
#ifndef DM_TESTS_UNIT_TYPE_GEN_H
#define DM_TESTS_UNIT_TYPE_GEN_H

#include "mpi/datatype/datatype.h"
#include "test.h"

#define MAX_ENTRIES 1500

/* ---- reference: type maps ---- */

enum entry_kind { DATA, PHANTOM, LB_MARK, UB_MARK };
struct entry {
    enum entry_kind kind;
    long disp;
    int basic;
};
/* PHANTOM entries have bounds but no data: empty types, and the padding of structures. */
struct map {
    int n;
    struct entry e[MAX_ENTRIES];
    bool is_too_long;
    size_t align;
};
struct ref {
    struct dm_type *type;
    struct map map;
};

/* Members of a basic type in memory. */
struct member {
    long disp;
    long len;
};

static const int basics[] = {
    MPI_CHAR,      MPI_SHORT,     MPI_INT,        MPI_DOUBLE, MPI_FLOAT,          MPI_BYTE,
    MPI_LONG_INT,  MPI_SHORT_INT, MPI_DOUBLE_INT, MPI_2INT,   MPI_COMPLEX,        MPI_LONG_DOUBLE,
    MPI_FLOAT_INT, MPI_LONG_LONG, MPI_INT,        MPI_DOUBLE, MPI_LONG_DOUBLE_INT};

static unsigned long rng;
static unsigned next_random(void)
{
    rng = rng * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(rng >> 33);
}
/* In [low, high]. */
static long between(long low, long high)
{
    return low + (long)(next_random() % (unsigned long)(high - low + 1));
}

static int members_of(int basic, struct member m[2])
{
    long size = dm_type_get(basic)->size;

    m[0] = (struct member){0, size};
    switch (basic) {
    case MPI_SHORT_INT:
        m[0].len = 2;
        m[1] = (struct member){4, 4};
        return 2;
    case MPI_2INT:
    case MPI_FLOAT_INT:
        m[0].len = 4;
        m[1] = (struct member){4, 4};
        return 2;
    case MPI_LONG_INT:
    case MPI_DOUBLE_INT:
        m[0].len = 8;
        m[1] = (struct member){8, 4};
        return 2;
    case MPI_LONG_DOUBLE_INT:
        m[0].len = 16;
        m[1] = (struct member){16, 4};
        return 2;
    default:
        return 1;
    }
}

static long data_end(int basic)
{
    struct member m[2];
    int n = members_of(basic, m);

    return m[n - 1].disp + m[n - 1].len;
}

static long map_bound(const struct map *map, bool is_upper)
{
    enum entry_kind mark = is_upper ? UB_MARK : LB_MARK;
    bool has_mark = false;
    bool is_any = false;
    long bound = 0;

    for (int i = 0; i < map->n; i++)
        has_mark |= map->e[i].kind == mark;
    for (int i = 0; i < map->n; i++) {
        const struct entry *e = &map->e[i];
        long at = e->disp;

        if (has_mark ? e->kind != mark : e->kind != DATA && e->kind != PHANTOM)
            continue;
        if (is_upper && e->kind == DATA)
            at += dm_type_get(e->basic)->extent;
        if (!is_any || (is_upper ? at > bound : at < bound))
            bound = at;
        is_any = true;
    }
    return bound;
}

static long map_true_bound(const struct map *map, bool is_upper)
{
    bool is_any = false;
    long bound = 0;

    for (int i = 0; i < map->n; i++) {
        long at = map->e[i].disp;

        if (map->e[i].kind != DATA)
            continue;
        if (is_upper)
            at += data_end(map->e[i].basic);
        if (!is_any || (is_upper ? at > bound : at < bound))
            bound = at;
        is_any = true;
    }
    return bound;
}

static void map_put(struct map *map, enum entry_kind kind, long disp, int basic)
{
    if (map->n == MAX_ENTRIES)
        map->is_too_long = true;
    else
        map->e[map->n++] = (struct entry){kind, disp, basic};
}

static void map_add(struct map *map, long disp, const struct map *old, long n)
{
    long extent = map_bound(old, true) - map_bound(old, false);

    for (long k = 0; k < n && !map->is_too_long; k++)
        for (int i = 0; i < old->n && !map->is_too_long; i++)
            map_put(map, old->e[i].kind, disp + k * extent + old->e[i].disp, old->e[i].basic);
    if (n > 0 && old->align > map->align)
        map->align = old->align;
}

static void map_finish(struct map *map)
{
    bool is_empty = true;

    for (int i = 0; i < map->n; i++)
        is_empty &= map->e[i].kind != DATA && map->e[i].kind != PHANTOM;
    if (is_empty)
        map_put(map, PHANTOM, 0, MPI_DATATYPE_NULL);
    if (map->align == 0)
        map->align = 1;
}

static void map_bounds(struct map *map, long lb, long ub)
{
    int n = 0;

    for (int i = 0; i < map->n; i++)
        if (map->e[i].kind == DATA || map->e[i].kind == PHANTOM)
            map->e[n++] = map->e[i];
    map->n = n;
    map_put(map, LB_MARK, lb, MPI_DATATYPE_NULL);
    map_put(map, UB_MARK, ub, MPI_DATATYPE_NULL);
}

static void map_pad(struct map *map)
{
    long extent = map_bound(map, true) - map_bound(map, false);
    long rest = ((extent % (long)map->align) + (long)map->align) % (long)map->align;

    for (int i = 0; i < map->n; i++)
        if (map->e[i].kind == UB_MARK)
            return;
    if (rest != 0)
        map_put(map, PHANTOM, map_bound(map, true) + (long)map->align - rest, MPI_DATATYPE_NULL);
}

static size_t map_size(const struct map *map)
{
    size_t size = 0;

    for (int i = 0; i < map->n; i++)
        if (map->e[i].kind == DATA)
            size += (size_t)dm_type_get(map->e[i].basic)->size;
    return size;
}

/* ---- random types ---- */

#define MAX_PARTS 12
struct parts {
    long n;
    int lengths[MAX_PARTS];
    int displs[MAX_PARTS];
    MPI_Aint adispls[MAX_PARTS];
};

static void random_parts(struct parts *parts, long step)
{
    long at = between(-3, 3) * step;
    bool is_regular = between(0, 3) == 0;

    parts->n = between(0, MAX_PARTS);
    for (long i = 0; i < parts->n; i++) {
        parts->lengths[i] = is_regular ? 2 : (int)between(0, 4);
        parts->displs[i] = (int)at;
        parts->adispls[i] = at;
        at += is_regular ? 3 * step : between(0, 6) * step;
        if (!is_regular && between(0, 9) == 0)
            at -= 40 * step;
    }
}

static int make_indexed(struct ref *out, const struct ref *old, int kind)
{
    long extent = (long)old->type->extent;
    bool is_bytes = kind & 1;
    bool is_block = kind & 2;
    struct parts p;
    struct dm_counts lengths = dm_counts_int(p.lengths);
    struct dm_counts displs = is_bytes ? dm_counts_wide(p.adispls) : dm_counts_int(p.displs);
    long length = between(0, 4);
    size_t n;

    random_parts(&p, is_bytes && extent != 0 ? between(1, 3) * (extent > 0 ? extent : -extent) : 1);
    n = (size_t)p.n;
    for (long i = 0; i < p.n; i++)
        map_add(&out->map, is_bytes ? p.adispls[i] : p.displs[i] * extent, &old->map,
                is_block ? length : p.lengths[i]);
    switch (kind) {
    case 0:
        return dm_type_indexed(n, lengths, displs, old->type, &out->type);
    case 1:
        return dm_type_create_hindexed(n, lengths, displs, old->type, &out->type);
    case 2:
        return dm_type_create_indexed_block(n, length, displs, old->type, &out->type);
    default:
        return dm_type_create_hindexed_block(n, length, displs, old->type, &out->type);
    }
}

static int make_struct(struct ref *out, const struct ref *old, const struct ref *other)
{
    int handles[MAX_PARTS];
    struct parts p;

    random_parts(&p, between(1, 24));
    for (long i = 0; i < p.n; i++) {
        long which = between(0, 20);
        const struct ref *part = which < 10 ? old : other;

        handles[i] = part->type->obj.handle;
        if (which == 20 && p.lengths[i] > 0) {
            handles[i] = MPI_UB;
            map_put(&out->map, UB_MARK, p.adispls[i], MPI_DATATYPE_NULL);
        } else if (which == 19 && p.lengths[i] > 0) {
            handles[i] = MPI_LB;
            map_put(&out->map, LB_MARK, p.adispls[i], MPI_DATATYPE_NULL);
        } else {
            map_add(&out->map, p.adispls[i], &part->map, p.lengths[i]);
        }
    }
    map_finish(&out->map);
    map_pad(&out->map);
    return dm_type_create_struct((size_t)p.n, dm_counts_int(p.lengths), dm_counts_wide(p.adispls),
                                 handles, &out->type);
}

static int make_subarray(struct ref *out, const struct ref *old)
{
    int sizes[3], subsizes[3], starts[3];
    int ndims = (int)between(1, 3);
    bool is_c = between(0, 1);
    long extent = (long)old->type->extent;
    long index[3] = {0, 0, 0};
    long total = extent;

    for (int d = 0; d < ndims; d++) {
        sizes[d] = (int)between(1, 5);
        subsizes[d] = (int)between(1, sizes[d]);
        starts[d] = (int)between(0, sizes[d] - subsizes[d]);
        total *= sizes[d];
    }
    for (;;) {
        long at = 0;
        int d;

        for (int k = 0; k < ndims; k++) {
            d = is_c ? k : ndims - 1 - k;
            at = at * sizes[d] + starts[d] + index[d];
        }
        map_add(&out->map, at * extent, &old->map, 1);
        for (int k = 0; k < ndims; k++) { /* the fastest first */
            d = is_c ? ndims - 1 - k : k;
            if (++index[d] < subsizes[d])
                break;
            index[d] = 0;
            if (k == ndims - 1)
                d = -1;
        }
        if (d < 0)
            break;
    }
    map_bounds(&out->map, 0, total);
    return dm_type_create_subarray(ndims, dm_counts_int(sizes), dm_counts_int(subsizes),
                                   dm_counts_int(starts), is_c ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                                   old->type, &out->type);
}

/* Which process has element i of a dimension. */
static int owner_of(long i, int distrib, int darg, int gsize, int psize)
{
    long block = darg;

    if (distrib == MPI_DISTRIBUTE_NONE)
        return 0;
    if (darg == MPI_DISTRIBUTE_DFLT_DARG)
        block = distrib == MPI_DISTRIBUTE_BLOCK ? (gsize + psize - 1) / psize : 1;
    return (int)(i / block % psize);
}

static int make_darray(struct ref *out, const struct ref *old)
{
    static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    int gsizes[2], distribs[2], dargs[2], psizes[2], coords[2];
    int ndims = (int)between(1, 2);
    bool is_c = between(0, 1);
    long extent = (long)old->type->extent;
    int size = 1;
    int rank = 0;
    long total = 1;

    for (int d = 0; d < ndims; d++) {
        gsizes[d] = (int)between(1, 12);
        distribs[d] = kinds[between(0, 2)];
        psizes[d] = distribs[d] == MPI_DISTRIBUTE_NONE ? 1 : (int)between(1, 3);
        dargs[d] = between(0, 1) ? MPI_DISTRIBUTE_DFLT_DARG
                   : distribs[d] == MPI_DISTRIBUTE_BLOCK
                       ? (gsizes[d] + psizes[d] - 1) / psizes[d] + (int)between(0, 2)
                       : (int)between(1, 4);
        coords[d] = (int)between(0, psizes[d] - 1);
        size *= psizes[d];
        rank = rank * psizes[d] + coords[d];
        total *= gsizes[d];
    }
    for (long at = 0; at < total; at++) { /* in memory order */
        long rest = at;
        bool is_mine = true;

        for (int k = 0; k < ndims; k++) {
            int d = is_c ? ndims - 1 - k : k;

            is_mine &= owner_of(rest % gsizes[d], distribs[d], dargs[d], gsizes[d], psizes[d]) ==
                       coords[d];
            rest /= gsizes[d];
        }
        if (is_mine)
            map_add(&out->map, at * extent, &old->map, 1);
    }
    map_bounds(&out->map, 0, total * extent);
    return dm_type_create_darray(size, rank, ndims, dm_counts_int(gsizes), distribs, dargs, psizes,
                                 is_c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old->type, &out->type);
}

/* One constructor around old (and other). */
static int wrap(struct ref *out, const struct ref *old, const struct ref *other)
{
    long extent = (long)old->type->extent;
    long n = between(0, 20) == 0 ? 0 : between(1, 12);
    long length = between(0, 3);
    long stride;
    long lb;

    memset(out, 0, sizeof(*out));
    switch (between(0, 13)) {
    case 0:
        map_add(&out->map, 0, &old->map, n);
        return dm_type_contiguous((size_t)n, old->type, &out->type);
    case 1:
    case 2:
        stride = between(-4, 8);
        for (long i = 0; i < n; i++)
            map_add(&out->map, i * stride * extent, &old->map, length);
        return dm_type_vector((size_t)n, length, stride, old->type, &out->type);
    case 3:
    case 4:
        stride = between(0, 3) == 0 ? between(-200, 200) : between(-2, 6) * extent;
        for (long i = 0; i < n; i++)
            map_add(&out->map, i * stride, &old->map, length);
        return dm_type_create_hvector((size_t)n, length, stride, old->type, &out->type);
    case 5:
    case 6:
        return make_indexed(out, old, (int)between(0, 1));
    case 7:
        return make_indexed(out, old, (int)between(2, 3));
    case 8:
    case 9:
        return make_struct(out, old, other);
    case 10:
        lb = between(-30, 30);
        stride = between(-10, 100);
        map_add(&out->map, 0, &old->map, 1);
        map_bounds(&out->map, lb, lb + stride);
        return dm_type_create_resized(old->type, lb, stride, &out->type);
    case 11:
        map_add(&out->map, 0, &old->map, 1);
        return dm_type_dup(old->type, &out->type);
    case 12:
        return make_subarray(out, old);
    default:
        return make_darray(out, old);
    }
}

static void make_basic(struct ref *out)
{
    int basic = basics[between(0, (long)(sizeof(basics) / sizeof(basics[0])) - 1)];

    memset(out, 0, sizeof(*out));
    out->type = dm_type_get(basic);
    out->map.align = out->type->align;
    map_put(&out->map, DATA, 0, basic);
}

static void drop(struct ref *ref)
{
    if (!ref->type->is_builtin)
        dm_type_free(ref->type);
}

/* A type some levels deep; false when it became too large. */
static bool make_type(struct ref *out, int depth)
{
    static struct ref level[8];
    static struct ref other;
    bool is_good = true;

    make_basic(&level[0]);
    make_basic(&other);
    for (int d = 0; d < depth && is_good; d++) {
        if (between(0, 4) == 0) {
            drop(&other);
            other = level[d];
            if (!other.type->is_builtin)
                dm_type_dup(level[d].type, &other.type);
        }
        CHECK_EQ(wrap(&level[d + 1], &level[d], &other), DM_OK);
        map_finish(&level[d + 1].map);
        drop(&level[d]);
        depth = level[d + 1].map.is_too_long ? d + 1 : depth;
        is_good = !level[d + 1].map.is_too_long;
    }
    drop(&other);
    *out = level[depth];
    return is_good;
}

#endif
