/* test: timeout=120 layers=mpi,util,channel,dapl_adapt */
/*
 * Random nested datatypes against their type maps, written out entry by entry as the standard
 * defines them. A failure prints the seed: run the program with it to see that type alone.
 */
#include "mpi/datatype/datatype.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "test.h"
#include "type_gen.h"

#define N_SEEDS   4000
#define MAX_BYTES (1 << 18)

/* ---- checks ---- */

/* What one type with count elements looks like. */
struct scene {
    struct ref *ref;
    size_t count;
    size_t total;
    long low; /* of all data, relative to the buffer argument */
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
        size_t got =
            dm_type_iov(buffer_of(s, s->memory), s->count, s->ref->type, from, iov, room, &n);
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
