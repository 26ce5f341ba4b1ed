/*
 * The representation "external32" (MPI-4.0 section 14.5.2): big-endian, two's complement, IEEE
 * 754, lengths that do not depend on the machine.
 *
 * A basic type is one or two (complex, pairs) atoms; an atom is copied with its bytes reversed,
 * unless its length differs. long is 4 bytes and wchar_t 2, as MPICH has them: values are cut.
 */
#include <stdint.h>
#include <string.h>

#include "mpi/datatype/datatype.h"
#include "mpi/datatype/prog.h"
#include "util/copy.h"

enum how { SWAP, SIGNED, UNSIGNED, X87 };

struct atom {
    uint8_t mem;  /* bytes in memory */
    uint8_t ext;  /* and outside */
    uint8_t how;  /* enum how */
    uint8_t last; /* bytes of the atom that follows in a pair, which is SWAP; else 0 */
    uint8_t n;    /* atoms of this sort in an element */
};

static struct atom atom_simple(const struct dm_type *type, uint8_t n)
{
    uint8_t size = (uint8_t)(type->size / n);

    return (struct atom){.mem = size, .ext = size, .how = SWAP, .n = n};
}

static struct atom external_pair(size_t mem, size_t ext, enum how how, size_t last)
{
    return (struct atom){(uint8_t)mem, (uint8_t)ext, (uint8_t)how, (uint8_t)last, 1};
}

static struct atom atom_of(int basic)
{
    const struct dm_type *type = dm_type_get(basic);

    switch (basic) {
    case MPI_LONG:
        return external_pair(sizeof(long), 4, SIGNED, 0);
    case MPI_UNSIGNED_LONG:
        return external_pair(sizeof(long), 4, UNSIGNED, 0);
    case MPI_WCHAR:
        return external_pair(sizeof(wchar_t), 2, UNSIGNED, 0);
    case MPI_LONG_DOUBLE:
        return external_pair(sizeof(long double), 16, X87, 0);
    case MPI_C_LONG_DOUBLE_COMPLEX:
    case MPI_CXX_LONG_DOUBLE_COMPLEX:
        return (struct atom){sizeof(long double), 16, X87, 0, 2};
    case MPI_COMPLEX:
    case MPI_DOUBLE_COMPLEX:
    case MPI_COMPLEX8:
    case MPI_COMPLEX16:
    case MPI_COMPLEX32:
    case MPI_C_COMPLEX:
    case MPI_C_DOUBLE_COMPLEX:
    case MPI_CXX_FLOAT_COMPLEX:
    case MPI_CXX_DOUBLE_COMPLEX:
    case MPI_2INT:
    case MPI_2INTEGER:
    case MPI_2REAL:
    case MPI_2DOUBLE_PRECISION:
        return atom_simple(type, 2);
    case MPI_FLOAT_INT:
        return external_pair(sizeof(float), sizeof(float), SWAP, sizeof(int));
    case MPI_DOUBLE_INT:
        return external_pair(sizeof(double), sizeof(double), SWAP, sizeof(int));
    case MPI_SHORT_INT:
        return external_pair(sizeof(short), sizeof(short), SWAP, sizeof(int));
    case MPI_LONG_INT:
        return external_pair(sizeof(long), 4, SIGNED, sizeof(int));
    case MPI_LONG_DOUBLE_INT:
        return external_pair(sizeof(long double), 16, X87, sizeof(int));
    default:
        return atom_simple(type, 1);
    }
}

/* ---- one atom ---- */

static void external_swap(void *dst, const void *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)dst)[i] = ((const unsigned char *)src)[n - 1 - i];
}

#define SWAP_WORDS(BITS)                                                                           \
    case BITS / 8:                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint##BITS##_t word;                                                                   \
                                                                                                   \
            memcpy(&word, src + i * sizeof(word), sizeof(word));                                   \
            word = __builtin_bswap##BITS(word);                                                    \
            memcpy(dst + i * sizeof(word), &word, sizeof(word));                                   \
        }                                                                                          \
        break;

/* n of them one behind the other, of `size` bytes each. */
static void external_swap_words(unsigned char *dst, const unsigned char *src, size_t n, size_t size)
{
    switch (size) {
        SWAP_WORDS(16)
        SWAP_WORDS(32)
        SWAP_WORDS(64)
    default:
        for (size_t i = 0; i < n; i++)
            external_swap(dst + i * size, src + i * size, size);
    }
}

/*
 * x87's 80 bits have the exponent of IEEE's 128 and 63 bits of its 112 of fraction, behind a
 * one that IEEE leaves out.
 */
static void external_put_x87(unsigned char *dst, const unsigned char *src)
{
    uint64_t mantissa, high, low;
    uint16_t top;

    memcpy(&mantissa, src, 8);
    memcpy(&top, src + 8, 2);
    mantissa <<= 1;
    high = (uint64_t)top << 48 | mantissa >> 16;
    low = mantissa << 48;
    external_swap(dst, &high, 8);
    external_swap(dst + 8, &low, 8);
}

static void external_get_x87(unsigned char *dst, const unsigned char *src)
{
    uint64_t mantissa, high, low;
    uint16_t top;

    external_swap(&high, src, 8);
    external_swap(&low, src + 8, 8);
    top = (uint16_t)(high >> 48);
    mantissa = (high << 16 | low >> 48) >> 1;
    /* 0 and the smallest numbers have no leading one. */
    if ((top & 0x7fff) != 0)
        mantissa |= (uint64_t)1 << 63;
    memset(dst, 0, sizeof(long double));
    memcpy(dst, &mantissa, 8);
    memcpy(dst + 8, &top, 2);
}

static void external_put_atom(const struct atom *a, unsigned char *dst, const unsigned char *src)
{
    if (a->how == X87)
        external_put_x87(dst, src);
    else
        external_swap(dst, src, a->ext); /* the low bytes, if not all */
}

static void external_get_atom(const struct atom *a, unsigned char *dst, const unsigned char *src)
{
    if (a->how == X87) {
        external_get_x87(dst, src);
        return;
    }
    external_swap(dst, src, a->ext);
    if (a->how != SWAP)
        memset(dst + a->ext, a->how == SIGNED && (src[0] & 0x80) ? 0xff : 0, a->mem - a->ext);
}

/* ---- runs of basic elements ---- */

struct stream {
    unsigned char *at;
    bool is_out;
};

static size_t external_type_len(const struct atom *a)
{
    return (size_t)a->n * a->ext + a->last;
}

static void external_move_one(struct stream *s, const struct atom *a, unsigned char *mem,
                              size_t second)
{
    for (int k = 0; k < a->n; k++, mem += a->mem, s->at += a->ext) {
        if (s->is_out)
            external_put_atom(a, s->at, mem);
        else
            external_get_atom(a, mem, s->at);
    }
    if (a->last == 0)
        return;
    mem += second - a->mem;
    if (s->is_out)
        external_swap(s->at, mem, a->last);
    else
        external_swap(mem, s->at, a->last);
    s->at += a->last;
}

static int external_move_run(void *arg, void *addr, size_t n, int basic)
{
    const struct dm_type *type = dm_type_get(basic);
    struct atom a = atom_of(basic);
    struct stream *s = arg;
    unsigned char *mem = addr;
    /* where the second member of a pair is */
    size_t second = (size_t)type->true_extent - a.last;

    if (a.mem == 1 && a.n == 1) {
        dm_copy(s->is_out ? s->at : mem, s->is_out ? mem : s->at, n);
        s->at += n;
        return DM_OK;
    }
    if (a.how == SWAP && a.last == 0 && a.mem == a.ext && a.n * a.mem == (size_t)type->extent) {
        external_swap_words(s->is_out ? s->at : mem, s->is_out ? mem : s->at, n * a.n, a.mem);
        s->at += n * a.n * a.mem;
        return DM_OK;
    }
    for (size_t i = 0; i < n; i++, mem += type->extent)
        external_move_one(s, &a, mem, second);
    return DM_OK;
}

static dm_int128 external_of_basic(int basic, size_t bytes)
{
    struct atom a = atom_of(basic);

    return (dm_int128)(bytes / (size_t)dm_type_get(basic)->size) * (dm_int128)external_type_len(&a);
}

/* Bytes of all repetitions, each looked at once. */
static dm_int128 external_of_loop(const struct dm_loop *loop)
{
    dm_int128 len = 0;

    if (loop->is_leaf && loop->basics == NULL)
        return external_of_basic(loop->basic, loop->size) * (dm_int128)loop->count;
    for (size_t i = 0; i < loop->n; i++) {
        const struct dm_loop *child = dm_loop_child(loop, i);

        len += child != NULL ? external_of_loop(child)
                             : external_of_basic(dm_loop_basic(loop, i), dm_loop_len(loop, i));
    }
    return len * (dm_int128)loop->count;
}

/* Bytes of count elements. */
static dm_int128 external_len(size_t count, const struct dm_type *type)
{
    return type->prog->typed == NULL ? 0 : external_of_loop(type->prog->typed) * (dm_int128)count;
}

/* ---- bodies ---- */

/* Is there room, or are there data, from position on? */
static int external_check(const char *what, MPI_Count size, MPI_Count position, size_t count,
                          const struct dm_type *type)
{
    dm_int128 len = external_len(count, type);

    if (position < 0 || position > size)
        return DM_FAIL(DM_ERR_ARG, "position %lld is outside the %s of %lld bytes",
                       (long long)position, what, (long long)size);
    if (len > size - position)
        return DM_FAIL(DM_ERR_TRUNCATE, "%zu elements take %lld bytes, the %s has %lld left", count,
                       (long long)len, what, (long long)(size - position));
    return DM_OK;
}

int dm_pack_external(const char *datarep, const void *inbuf, size_t incount,
                     const struct dm_type *type, void *outbuf, MPI_Count outsize,
                     MPI_Count *position)
{
    struct stream s = {.is_out = true};
    int err = external_check("output buffer", outsize, *position, incount, type);

    (void)datarep;
    if (err != DM_OK)
        return err;
    s.at = (unsigned char *)outbuf + *position;
    (void)dm_type_each_run(inbuf, incount, type, external_move_run, &s);
    *position = s.at - (unsigned char *)outbuf;
    return DM_OK;
}

int dm_unpack_external(const char *datarep, const void *inbuf, MPI_Count insize,
                       MPI_Count *position, void *outbuf, size_t outcount,
                       const struct dm_type *type)
{
    struct stream s = {.is_out = false};
    int err = external_check("input buffer", insize, *position, outcount, type);

    (void)datarep;
    if (err != DM_OK)
        return err;
    s.at = (unsigned char *)(uintptr_t)inbuf + *position;
    (void)dm_type_each_run(outbuf, outcount, type, external_move_run, &s);
    *position = s.at - (const unsigned char *)inbuf;
    return DM_OK;
}

/* A stream that may end anywhere. */
struct part {
    struct stream stream;
    size_t len;    /* of what is left */
    uint64_t size; /* bytes in memory of what was moved */
};

static int external_move_part(void *arg, void *addr, size_t n, int basic)
{
    struct part *p = arg;
    struct atom a = atom_of(basic);
    size_t len = external_type_len(&a), n_there = p->len / len < n ? p->len / len : n;

    (void)external_move_run(&p->stream, addr, n_there, basic);
    p->len -= n_there * len;
    p->size += n_there * (uint64_t)dm_type_get(basic)->size;
    return n_there < n ? DM_EAGAIN : DM_OK;
}

uint64_t dm_unpack_external_part(const void *inbuf, size_t len, void *outbuf,
                                 const struct dm_type *type)
{
    struct part p = {.stream = {.at = (unsigned char *)(uintptr_t)inbuf}, .len = len};

    (void)dm_type_each_run(outbuf, 1, type, external_move_part, &p);
    return p.size;
}

int dm_pack_external_size(const char *datarep, size_t incount, const struct dm_type *type,
                          MPI_Count *size)
{
    dm_int128 len = external_len(incount, type);

    (void)datarep;
    if (len > INT64_MAX)
        return DM_FAIL(DM_ERR_COUNT, "%zu elements do not fit", incount);
    *size = (MPI_Count)len;
    return DM_OK;
}
