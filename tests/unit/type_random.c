/* test: timeout=120 layers=mpi,util,channel,dapl_adapt */
/*
 * Random nested datatypes against their type maps, written out entry by entry as the standard
 * defines them. A failure prints the seed: run the program with it to see that type alone.
 */
#include "mpi/datatype/datatype.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "test.h"

#define N_SEEDS     4000
#define MAX_ENTRIES 1500
#define MAX_BYTES   (1 << 18)

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

static const int basics[] = {MPI_CHAR,       MPI_SHORT,     MPI_INT,      MPI_DOUBLE,
                             MPI_FLOAT,      MPI_BYTE,      MPI_LONG_INT, MPI_SHORT_INT,
                             MPI_DOUBLE_INT, MPI_2INT,      MPI_COMPLEX,  MPI_LONG_DOUBLE,
                             MPI_FLOAT_INT,  MPI_LONG_LONG, MPI_INT,      MPI_DOUBLE,
                             MPI_LONG_DOUBLE_INT};

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
    if (map->n == 0)
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
    return dm_type_create_struct((size_t)p.n, dm_counts_int(p.lengths),
                                 dm_counts_wide(p.adispls), handles, &out->type);
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

/* ---- checks ---- */

/* What one type with count elements looks like. */
struct scene {
    struct ref *ref;
    size_t count;
    size_t total;
    long low;      /* of all data, relative to the buffer argument */
    size_t span;
    unsigned char *memory; /* span bytes, random */
    unsigned char *packed; /* total bytes, as it should be */
    long *where;           /* of each packed byte: place in memory */
    bool is_overlapping;
};

static bool open_scene(struct scene *s, struct ref *ref, size_t count)
{
    struct map *map = &ref->map;
    long extent = map_bound(map, true) - map_bound(map, false);
    long low = map_true_bound(map, false);
    long high = map_true_bound(map, true);
    unsigned char *seen;
    size_t n = 0;

    *s = (struct scene){.ref = ref, .count = count, .total = map_size(map) * count};
    if (count > 0 && extent < 0)
        low += (long)(count - 1) * extent;
    else if (count > 0)
        high += (long)(count - 1) * extent;
    s->low = low;
    s->span = (size_t)(high - low);
    if (s->span > MAX_BYTES || s->total > MAX_BYTES)
        return false;
    s->memory = malloc(s->span + 1);
    s->packed = malloc(s->total + 1);
    s->where = malloc((s->total + 1) * sizeof(long));
    seen = calloc(1, s->span + 1);
    for (size_t i = 0; i < s->span; i++)
        s->memory[i] = (unsigned char)next_random();
    for (size_t k = 0; k < count; k++) {
        for (int i = 0; i < map->n; i++) {
            struct member m[2];
            int n_m = map->e[i].kind == DATA ? members_of(map->e[i].basic, m) : 0;

            for (int j = 0; j < n_m; j++) {
                for (long b = 0; b < m[j].len; b++) {
                    long at = (long)k * extent + map->e[i].disp + m[j].disp + b - low;

                    s->where[n] = at;
                    s->packed[n++] = s->memory[at];
                    s->is_overlapping |= seen[at];
                    seen[at] = 1;
                }
            }
        }
    }
    free(seen);
    CHECK_EQ(n, s->total);
    return true;
}

static void close_scene(struct scene *s)
{
    free(s->memory);
    free(s->packed);
    free(s->where);
}

static void *buffer_of(const struct scene *s, unsigned char *memory)
{
    return (void *)((uintptr_t)memory - (uintptr_t)s->low);
}

static void check_facts(const struct ref *ref)
{
    const struct map *map = &ref->map;
    const struct dm_type *type = ref->type;
    long n_basic = 0;

    CHECK_EQ(type->size, map_size(map));
    CHECK_EQ(type->lb, map_bound(map, false));
    CHECK_EQ(type->extent, map_bound(map, true) - map_bound(map, false));
    CHECK_EQ(type->true_lb, map_true_bound(map, false));
    CHECK_EQ(type->true_extent, map_true_bound(map, true) - map_true_bound(map, false));
    for (int i = 0; i < map->n; i++)
        if (map->e[i].kind == DATA)
            n_basic += dm_type_get(map->e[i].basic)->n_basic;
    CHECK_EQ(type->n_basic, n_basic);
}

static void check_contig(const struct scene *s)
{
    const struct dm_type *type = s->ref->type;
    bool is_run = type->size == type->extent;

    for (size_t i = 0; i < s->total && is_run; i++)
        is_run = s->where[i] == (long)i;
    if (s->count > 1)
        CHECK_EQ(type->is_contig, is_run);
    else if (type->is_contig)
        CHECK(is_run);
}

static void check_pack(const struct scene *s, const struct dm_type *type)
{
    unsigned char *out = malloc(s->total + 1);
    unsigned char *memory = calloc(1, s->span + 1);
    size_t at = 0;
    bool is_same = true;

    memset(out, 0, s->total + 1);
    dm_type_pack(buffer_of(s, s->memory), s->count, type, 0, out, s->total);
    CHECK(memcmp(out, s->packed, s->total) == 0);
    for (int i = 0; i < 8 && s->total > 0; i++) { /* any piece */
        size_t from = next_random() % s->total;
        size_t len = next_random() % (s->total - from) + 1;

        memset(out, 0xa5, s->total + 1);
        dm_type_pack(buffer_of(s, s->memory), s->count, type, from, out, len);
        CHECK(memcmp(out, s->packed + from, len) == 0);
        CHECK_EQ(out[len], 0xa5);
    }
    while (at < s->total) { /* all, in pieces */
        size_t len = next_random() % (next_random() % 8 == 0 ? 1000 : 20) + 1;

        if (len > s->total - at)
            len = s->total - at;
        dm_type_unpack(buffer_of(s, memory), s->count, type, at, s->packed + at, len);
        at += len;
    }
    if (!s->is_overlapping) {
        for (size_t i = 0; i < s->total; i++) {
            is_same &= memory[s->where[i]] == s->packed[i];
            memory[s->where[i]] = 0;
        }
        for (size_t i = 0; i < s->span; i++)
            is_same &= memory[i] == 0; /* nothing else was touched */
        dm_type_unpack(buffer_of(s, memory), s->count, type, 0, s->packed, s->total);
        for (size_t i = 0; i < s->total; i++)
            is_same &= memory[s->where[i]] == s->packed[i];
        CHECK(is_same);
    }
    free(out);
    free(memory);
}

static void check_iov(const struct scene *s)
{
    struct iovec iov[32];
    size_t from = s->total > 0 ? next_random() % s->total : 0;
    int room = (int)between(1, 32);
    bool is_same = true;
    int n = -1;

    for (;;) {
        size_t got = dm_type_iov(buffer_of(s, s->memory), s->count, s->ref->type, from, iov, room,
                                 &n);
        size_t sum = 0;

        for (int i = 0; i < n; i++) {
            long at = (long)((unsigned char *)iov[i].iov_base - s->memory);

            for (size_t b = 0; b < iov[i].iov_len && from + sum < s->total; b++, sum++)
                is_same &= s->where[from + sum] == at + (long)b;
        }
        CHECK_EQ(sum, got);
        from += got;
        if (got == 0)
            break;
        CHECK(n > 0 && n <= room);
    }
    CHECK_EQ(from, s->total);
    CHECK(is_same);
}

struct runs {
    const struct scene *s;
    size_t k; /* element and entry of the map that come next */
    int i;
    bool is_bad;
};

static int on_run(void *arg, void *addr, size_t n, int basic)
{
    struct runs *runs = arg;
    const struct map *map = &runs->s->ref->map;
    long extent = map_bound(map, true) - map_bound(map, false);
    const struct dm_type *type = dm_type_get(basic);

    for (size_t j = 0; j < n; j++) {
        long at = (long)((unsigned char *)addr - runs->s->memory) + (long)j * type->extent;

        while (runs->k < runs->s->count && map->e[runs->i].kind != DATA) {
            if (++runs->i == map->n) {
                runs->i = 0;
                runs->k++;
            }
        }
        if (runs->k >= runs->s->count || map->e[runs->i].basic != basic ||
            at != (long)runs->k * extent + map->e[runs->i].disp - runs->s->low)
            runs->is_bad = true;
        if (runs->is_bad)
            return DM_ERR_OTHER;
        if (++runs->i == map->n) {
            runs->i = 0;
            runs->k++;
        }
    }
    return DM_OK;
}

static void check_runs(const struct scene *s, const struct dm_type *type)
{
    struct runs runs = {.s = s};

    CHECK_EQ(dm_type_each_run(buffer_of(s, s->memory), s->count, type, on_run, &runs), DM_OK);
    CHECK(!runs.is_bad);
    while (runs.k < s->count && s->ref->map.e[runs.i].kind != DATA) {
        if (++runs.i == s->ref->map.n) {
            runs.i = 0;
            runs.k++;
        }
    }
    CHECK(s->total == 0 || runs.k == s->count);
}

static void check_flat(const struct scene *s)
{
    const struct dm_type *type = s->ref->type;
    struct dm_type *copy = NULL;
    size_t len = 0;
    size_t again;
    char *buf;

    CHECK_EQ(dm_type_flatten(type, NULL, &len), DM_EAGAIN);
    buf = malloc(len);
    again = len;
    CHECK_EQ(dm_type_flatten(type, buf, &again), DM_OK);
    CHECK_EQ(again, len);
    CHECK_EQ(dm_type_unflatten(buf, len, &copy), DM_OK);
    if (copy != NULL) {
        CHECK_EQ(copy->size, type->size);
        CHECK_EQ(copy->lb, type->lb);
        CHECK_EQ(copy->extent, type->extent);
        CHECK_EQ(copy->true_lb, type->true_lb);
        CHECK_EQ(copy->true_extent, type->true_extent);
        CHECK_EQ(copy->is_contig, type->is_contig);
        CHECK_EQ(copy->basic, type->basic);
        check_pack(s, copy);
        check_runs(s, copy);
        dm_type_unref(copy);
    }
    /* Damage must be noticed or harmless, and a cut must be noticed. */
    copy = NULL;
    if (dm_type_unflatten(buf, len - 8, &copy) == DM_OK) {
        CHECK(type->size == 0);
        dm_type_unref(copy);
    }
    free(buf);
}

static void check_elements(const struct scene *s)
{
    const struct dm_type *type = s->ref->type;
    const struct map *map = &s->ref->map;
    size_t bytes = s->total > 0 ? next_random() % (s->total + 1) : 0;
    size_t left = bytes;
    long n = 0;
    bool is_whole = true;

    for (size_t k = 0; k < s->count && left > 0; k++) {
        for (int i = 0; i < map->n && left > 0; i++) {
            struct member m[2];
            int n_m = map->e[i].kind == DATA ? members_of(map->e[i].basic, m) : 0;

            for (int j = 0; j < n_m && left > 0; j++) {
                is_whole &= left >= (size_t)m[j].len;
                left -= left < (size_t)m[j].len ? left : (size_t)m[j].len;
                n++;
            }
        }
    }
    CHECK_EQ(dm_type_elements_of(type, bytes), is_whole ? n : MPI_UNDEFINED);
    if (is_whole) {
        uint64_t back = 0;

        CHECK_EQ(dm_type_bytes_of(type, n, &back), DM_OK);
        CHECK_EQ(back, bytes);
    }
    if (type->size > 0)
        CHECK_EQ(dm_type_count_of(type, bytes),
                 bytes % (size_t)type->size ? MPI_UNDEFINED : (long)(bytes / (size_t)type->size));
}

/* Build the type again from its contents, as a program would. */
static struct dm_type *rebuild(const struct dm_type *type)
{
    int n_ints, n_addrs, n_types, combiner;
    int *ints;
    MPI_Aint *addrs;
    MPI_Datatype *types;
    struct dm_type *out = NULL;
    struct dm_type *old;
    size_t n;

    CHECK_EQ(dm_type_get_envelope(type, &n_ints, &n_addrs, &n_types, &combiner), DM_OK);
    ints = calloc((size_t)n_ints + 1, sizeof(*ints));
    addrs = calloc((size_t)n_addrs + 1, sizeof(*addrs));
    types = calloc((size_t)n_types + 1, sizeof(*types));
    CHECK_EQ(dm_type_get_contents(type, n_ints, n_addrs, n_types, ints, addrs, types), DM_OK);
    old = dm_type_get(types[0]);
    n = (size_t)ints[0];
    switch (combiner) {
    case MPI_COMBINER_DUP:
        dm_type_dup(old, &out);
        break;
    case MPI_COMBINER_CONTIGUOUS:
        dm_type_contiguous(n, old, &out);
        break;
    case MPI_COMBINER_VECTOR:
        dm_type_vector(n, ints[1], ints[2], old, &out);
        break;
    case MPI_COMBINER_HVECTOR:
        dm_type_create_hvector(n, ints[1], addrs[0], old, &out);
        break;
    case MPI_COMBINER_INDEXED:
        dm_type_indexed(n, dm_counts_int(ints + 1), dm_counts_int(ints + 1 + n), old, &out);
        break;
    case MPI_COMBINER_HINDEXED:
        dm_type_create_hindexed(n, dm_counts_int(ints + 1), dm_counts_wide(addrs), old, &out);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        dm_type_create_indexed_block(n, ints[1], dm_counts_int(ints + 2), old, &out);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        dm_type_create_hindexed_block(n, ints[1], dm_counts_wide(addrs), old, &out);
        break;
    case MPI_COMBINER_STRUCT:
        dm_type_create_struct(n, dm_counts_int(ints + 1), dm_counts_wide(addrs), types, &out);
        break;
    case MPI_COMBINER_RESIZED:
        dm_type_create_resized(old, addrs[0], addrs[1], &out);
        break;
    case MPI_COMBINER_SUBARRAY:
        dm_type_create_subarray(ints[0], dm_counts_int(ints + 1), dm_counts_int(ints + 1 + n),
                                dm_counts_int(ints + 1 + 2 * n), ints[1 + 3 * n], old, &out);
        break;
    case MPI_COMBINER_DARRAY:
        n = (size_t)ints[2];
        dm_type_create_darray(ints[0], ints[1], ints[2], dm_counts_int(ints + 3), ints + 3 + n,
                              ints + 3 + 2 * n, ints + 3 + 3 * n, ints[3 + 4 * n], old, &out);
        break;
    default:
        CHECK(false);
    }
    for (int i = 0; i < n_types; i++)
        if (!dm_type_get(types[i])->is_builtin)
            dm_type_free(dm_type_get(types[i]));
    free(ints);
    free(addrs);
    free(types);
    return out;
}

static void check_contents(const struct scene *s)
{
    struct dm_type *again;

    if (s->ref->type->is_builtin)
        return;
    again = rebuild(s->ref->type);
    CHECK(again != NULL);
    if (again == NULL)
        return;
    CHECK_EQ(dm_type_commit(again), DM_OK);
    CHECK_EQ(again->extent, s->ref->type->extent);
    CHECK_EQ(again->lb, s->ref->type->lb);
    check_pack(s, again);
    dm_type_free(again);
}

/* The data goes through another layout of as many bytes, and comes out in order. */
static void check_copy(const struct scene *s)
{
    struct dm_type *other = NULL;
    size_t n = s->total;
    unsigned char *memory = calloc(2, n + 1);
    bool is_same = true;

    CHECK_EQ(dm_type_vector(n, 1, 2, dm_type_get(MPI_BYTE), &other), DM_OK);
    dm_type_commit(other);
    CHECK_EQ(dm_type_copy(buffer_of(s, s->memory), s->count, s->ref->type, memory, 1, other),
             DM_OK);
    for (size_t i = 0; i < n; i++)
        is_same &= memory[2 * i] == s->packed[i] && memory[2 * i + 1] == 0;
    CHECK(is_same);
    if (n > 0)
        CHECK_EQ(dm_type_copy(buffer_of(s, s->memory), s->count, s->ref->type, memory, n - 1,
                              dm_type_get(MPI_BYTE)),
                 DM_ERR_TRUNCATE);
    dm_type_free(other);
    free(memory);
}

static bool run_seed(unsigned long seed)
{
    static struct ref ref;
    struct scene scene;
    bool is_good;

    rng = seed * 7919 + 17;
    next_random();
    is_good = make_type(&ref, (int)between(0, 5));
    if (is_good) {
        check_facts(&ref);
        CHECK_EQ(dm_type_commit(ref.type), DM_OK);
        is_good = open_scene(&scene, &ref, (size_t)between(0, 3));
    }
    if (is_good) {
        check_contig(&scene);
        check_pack(&scene, ref.type);
        check_iov(&scene);
        check_runs(&scene, ref.type);
        check_flat(&scene);
        check_elements(&scene);
        check_contents(&scene);
        check_copy(&scene);
        close_scene(&scene);
    }
    drop(&ref);
    return is_good;
}

int main(int argc, char **argv)
{
    unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    unsigned long last = argc > 2 ? strtoul(argv[2], NULL, 0) : argc > 1 ? first : N_SEEDS;
    long n_done = 0;

    CHECK_EQ(dm_datatype_start(), DM_OK);
    for (unsigned long seed = first; seed <= last && test_n_failed == 0; seed++) {
        n_done += run_seed(seed);
        if (test_n_failed > 0)
            printf("seed %lu\n", seed);
    }
    if (argc == 1)
        CHECK(n_done > N_SEEDS / 2);
    dm_datatype_stop();
    return test_result();
}
