/*
 * Walks types by basic element: for accumulate, and to count what arrived.
 */
#include "mpi/datatype/datatype.h"

#include <string.h>

#include "mpi/datatype/prog.h"

struct each {
    int (*fn)(void *arg, void *addr, size_t n, int basic);
    void *arg;
};

static int each_loop(const struct each *each, const struct dm_loop *loop, uintptr_t mem);

static int each_item(const struct each *each, const struct dm_loop *loop, size_t i, uintptr_t mem)
{
    const struct dm_loop *child = dm_loop_child(loop, i);
    int basic = dm_loop_basic(loop, i);

    mem += (uintptr_t)loop->disp[i];
    if (child != NULL)
        return each_loop(each, child, mem);
    return each->fn(each->arg, (void *)mem, dm_loop_len(loop, i) / (size_t)dm_type_get(basic)->size,
                    basic);
}

static int each_loop(const struct each *each, const struct dm_loop *loop, uintptr_t mem)
{
    if (loop->is_leaf && loop->n == 1) {
        const struct dm_type *basic = dm_type_get(loop->basic);

        /* An array of pairs with padding. */
        if (loop->stride == basic->extent && loop->len == (size_t)basic->size)
            return each->fn(each->arg, (void *)(mem + (uintptr_t)loop->disp[0]), loop->count,
                            loop->basic);
    }
    for (size_t rep = 0; rep < loop->count; rep++) {
        for (size_t i = 0; i < loop->n; i++) {
            int err = each_item(each, loop, i, mem);

            if (err != DM_OK)
                return err;
        }
        mem += (uintptr_t)loop->stride;
    }
    return DM_OK;
}

int dm_type_each_run(const void *buf, size_t count, const struct dm_type *type,
                     int (*fn)(void *arg, void *addr, size_t n, int basic), void *arg)
{
    const struct each each = {.fn = fn, .arg = arg};
    struct dm_loop *root = type->prog->typed;
    uintptr_t mem = (uintptr_t)buf;
    const struct dm_type *basic = dm_type_get(type->basic);

    if (root == NULL || count == 0)
        return DM_OK;
    if (basic != NULL && type->is_contig && basic->is_contig)
        return fn(arg, (void *)(mem + (uintptr_t)type->true_lb),
                  count * (size_t)(type->size / basic->size), type->basic);
    if (type == basic)
        return fn(arg, (void *)mem, count, type->basic);
    for (size_t i = 0; i < count; i++, mem += (uintptr_t)type->extent) {
        int err = each_loop(&each, root, mem);

        if (err != DM_OK)
            return err;
    }
    return DM_OK;
}

/* Bytes of a pair's first member, by its second one's. */
static size_t pair_first(const struct dm_type *pair)
{
    switch (pair->obj.handle) {
    case MPI_2REAL:
    case MPI_2DOUBLE_PRECISION:
        return (size_t)pair->size / 2;
    default:
        return (size_t)pair->size - sizeof(int);
    }
}

/* Basic elements in so many bytes of one basic type; *is_whole_p is cleared by a rest. */
static uint64_t elements_of_basic(int handle, size_t bytes, bool *is_whole_p)
{
    const struct dm_type *basic = dm_type_get(handle);
    uint64_t n = bytes / (size_t)basic->size * (uint64_t)basic->n_basic;
    size_t rest = bytes % (size_t)basic->size;

    if (basic->n_basic == 2 && rest >= pair_first(basic)) {
        rest -= pair_first(basic);
        n++;
    }
    if (rest != 0)
        *is_whole_p = false;
    return n;
}

/* Basic elements in the first `bytes` bytes of a loop. */
static uint64_t elements_of_loop(const struct dm_loop *loop, size_t bytes, bool *is_whole_p)
{
    size_t full = bytes / loop->size;
    size_t rest = bytes % loop->size;
    size_t end = full > 0 ? loop->size : rest;
    uint64_t n_full = 0;
    uint64_t n_rest = 0;

    /* One pass gives both a whole repetition and the part of the last one. */
    for (size_t i = 0; i < loop->n && dm_loop_pos(loop, i) < end; i++) {
        const struct dm_loop *child = dm_loop_child(loop, i);
        size_t pos = dm_loop_pos(loop, i);
        size_t len = dm_loop_len(loop, i);
        size_t part = rest <= pos ? 0 : rest - pos < len ? rest - pos : len;
        int basic = dm_loop_basic(loop, i);

        if (full > 0)
            n_full += child != NULL ? elements_of_loop(child, len, is_whole_p)
                                    : elements_of_basic(basic, len, is_whole_p);
        if (part > 0)
            n_rest += child != NULL ? elements_of_loop(child, part, is_whole_p)
                                    : elements_of_basic(basic, part, is_whole_p);
    }
    return full * n_full + n_rest;
}

MPI_Count dm_type_elements_of(const struct dm_type *type, uint64_t bytes)
{
    bool is_whole = true;
    uint64_t n;

    if (type->size == 0)
        return bytes == 0 ? 0 : MPI_UNDEFINED;
    n = bytes / (uint64_t)type->size * (uint64_t)type->n_basic;
    if (bytes % (uint64_t)type->size != 0)
        n += elements_of_loop(type->prog->typed, bytes % (uint64_t)type->size, &is_whole);
    return is_whole ? (MPI_Count)n : MPI_UNDEFINED;
}

/* Bytes of the first n basic elements of a type; n is at most n_basic. */
static uint64_t bytes_of_elements(const struct dm_type *type, MPI_Count n)
{
    uint64_t low = 0;
    uint64_t high = (uint64_t)type->size;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        bool is_whole = true;

        if ((MPI_Count)elements_of_loop(type->prog->typed, mid, &is_whole) >= n)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

int dm_type_bytes_of(const struct dm_type *type, MPI_Count n, uint64_t *bytes_p)
{
    *bytes_p = 0;
    if (n == 0)
        return DM_OK;
    if (type->n_basic == 0)
        return DM_FAIL(DM_ERR_COUNT, "%lld elements of a datatype without data", (long long)n);
    *bytes_p = (uint64_t)(n / type->n_basic) * (uint64_t)type->size;
    if (n % type->n_basic != 0)
        *bytes_p += bytes_of_elements(type, n % type->n_basic);
    return DM_OK;
}
