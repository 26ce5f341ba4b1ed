/*
 * Type signatures (MPI-4.0 section 3.3.1): the sequence of basic types, as a polynomial of their numbers. That of a
 * sequence of sequences follows from theirs, so repetitions cost a logarithm.
 */
#include "usage/state.h"

#define BASE UINT64_C(0x9e3779b97f4a7c15) /* odd */

struct usage_sequence {
    uint64_t sum;
    uint64_t power; /* BASE to its length */
    bool is_any;
};

static const struct usage_sequence sequence_empty = {.power = 1};

static struct usage_sequence sequence_join(struct usage_sequence a, struct usage_sequence b)
{
    return (struct usage_sequence){
        .sum = a.sum + a.power * b.sum, .power = a.power * b.power, .is_any = a.is_any || b.is_any};
}

static struct usage_sequence sequence_repeat(struct usage_sequence a, uint64_t n)
{
    struct usage_sequence all = sequence_empty;

    for (; n > 0; n /= 2, a = sequence_join(a, a))
        if (n % 2 == 1)
            all = sequence_join(all, a);
    return all;
}

/* Classes of basic types that are the same in memory, if their sizes are. */
static int basic_class(int basic)
{
    switch (basic) {
    case MPI_CHAR:
    case MPI_CHARACTER:
    case MPI_SIGNED_CHAR:
    case MPI_SHORT:
    case MPI_INT:
    case MPI_LONG:
    case MPI_LONG_LONG_INT:
    case MPI_INTEGER:
    case MPI_INTEGER1:
    case MPI_INTEGER2:
    case MPI_INTEGER4:
    case MPI_INTEGER8:
    case MPI_INT8_T:
    case MPI_INT16_T:
    case MPI_INT32_T:
    case MPI_INT64_T:
    case MPI_AINT:
    case MPI_OFFSET:
    case MPI_COUNT:
        return MPI_INT;
    case MPI_UNSIGNED_CHAR:
    case MPI_UNSIGNED_SHORT:
    case MPI_UNSIGNED:
    case MPI_UNSIGNED_LONG:
    case MPI_UNSIGNED_LONG_LONG:
    case MPI_UINT8_T:
    case MPI_UINT16_T:
    case MPI_UINT32_T:
    case MPI_UINT64_T:
        return MPI_UNSIGNED;
    case MPI_FLOAT:
    case MPI_DOUBLE:
    case MPI_LONG_DOUBLE:
    case MPI_REAL:
    case MPI_REAL4:
    case MPI_REAL8:
    case MPI_REAL16:
    case MPI_DOUBLE_PRECISION:
        return MPI_FLOAT;
    case MPI_COMPLEX:
    case MPI_DOUBLE_COMPLEX:
    case MPI_COMPLEX8:
    case MPI_COMPLEX16:
    case MPI_COMPLEX32:
    case MPI_C_COMPLEX:
    case MPI_C_DOUBLE_COMPLEX:
    case MPI_C_LONG_DOUBLE_COMPLEX:
    case MPI_CXX_FLOAT_COMPLEX:
    case MPI_CXX_DOUBLE_COMPLEX:
    case MPI_CXX_LONG_DOUBLE_COMPLEX:
        return MPI_COMPLEX;
    case MPI_C_BOOL:
    case MPI_CXX_BOOL:
        return MPI_C_BOOL;
    case MPI_2INTEGER:
        return MPI_2INT;
    default:
        return basic;
    }
}

static struct usage_sequence sequence_of_basic(int basic)
{
    const struct dm_type *type = dm_type_get(basic);
    uint64_t x = (uint64_t)(uint32_t)basic_class(basic) << 8 ^ (uint64_t)type->size;

    x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return (struct usage_sequence){
        .sum = x ^ x >> 29, .power = BASE, .is_any = basic == MPI_PACKED};
}

static int sequence_add(void *arg, void *addr, size_t n, int basic)
{
    struct usage_sequence *all = arg;

    (void)addr;
    *all = sequence_join(*all, sequence_repeat(sequence_of_basic(basic), n));
    return DM_OK;
}

struct dm_usage_length dm_usage_length_of(size_t count, struct dm_type *type)
{
    struct usage_sequence one = sequence_empty, all;
    struct dm_usage_length length = {0};

    if (count == 0 || type == NULL || type->size == 0)
        return length;
    length.bytes = (uint64_t)count * (uint64_t)type->size;
    if (type->basic != MPI_DATATYPE_NULL)
        sequence_add(&one, NULL, (size_t)(type->size / dm_type_get(type->basic)->size),
                     type->basic);
    else
        (void)dm_type_each_run(NULL, 1, type, sequence_add, &one);
    all = sequence_repeat(one, count);
    length.sum = all.is_any ? 0 : all.sum | 1;
    return length;
}

bool dm_usage_length_fits(const struct dm_usage_length *a, const struct dm_usage_length *b)
{
    return a->bytes == b->bytes && (a->sum == b->sum || a->sum == 0 || b->sum == 0);
}
