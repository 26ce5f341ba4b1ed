/*
 * Combining data into a window's memory, by whichever process can address it.
 *
 * Where several processes address one part, an element of 1, 2, 4 or 8 bytes, naturally
 * aligned, is updated by a compare and swap of the machine, by its owner too. Everything else
 * is combined by the owner alone, inside its thread gate.
 */
#include <string.h>

#include "onesided/rma.h"

#define STAGE_BYTES 1024

/* Do others update such elements at this place by themselves? */
static bool is_raced(const struct dm_win *win, int basic, const char *dst)
{
    return win->is_mapped && dm_op_is_atomic(basic) &&
           (uintptr_t)dst % (size_t)dm_type_get(basic)->extent == 0;
}

/* Elements as integers: new = in op old until nobody came between; old values go to `old`. */
#define FETCH(BITS)                                                                                \
    static void fetch_##BITS(const struct dm_op *op, const char *in, char *inout, char *old,       \
                             size_t n, int basic)                                                  \
    {                                                                                              \
        uint##BITS##_t *at = (uint##BITS##_t *)(void *)inout;                                      \
                                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint##BITS##_t was = dm_atomic_load(&at[i]);                                           \
            uint##BITS##_t new;                                                                    \
                                                                                                   \
            do {                                                                                   \
                new = was;                                                                         \
                dm_op_apply_basic(op, in + i * sizeof(new), &new, 1, basic, false);                \
            } while (op->obj.handle != MPI_NO_OP && !dm_atomic_cas(&at[i], &was, new));            \
            memcpy(old + i * sizeof(was), &was, sizeof(was));                                      \
        }                                                                                          \
    }
FETCH(8)
FETCH(16)
FETCH(32)
FETCH(64)

static void fetch_raced(const struct dm_op *op, const char *in, char *inout, char *old, size_t n,
                        int basic, size_t extent)
{
    switch (extent) {
    case 1:
        fetch_8(op, in, inout, old, n, basic);
        break;
    case 2:
        fetch_16(op, in, inout, old, n, basic);
        break;
    case 4:
        fetch_32(op, in, inout, old, n, basic);
        break;
    default:
        fetch_64(op, in, inout, old, n, basic);
    }
}

int dm_rma_combine(const struct dm_win *win, const struct dm_op *op, char *dst, size_t n, int basic,
                   const char *src, char *old)
{
    const struct dm_type *type = dm_type_get(basic);
    size_t size = (size_t)type->size;
    size_t extent = (size_t)type->extent;
    bool raced = is_raced(win, basic, dst);
    _Alignas(16) char in[STAGE_BYTES], was[STAGE_BYTES];

    /* pairs are packed without their holes */
    if (old == NULL && size == extent)
        return dm_op_apply_basic(op, src, dst, n, basic, raced);
    while (n > 0) {
        size_t part = n < STAGE_BYTES / extent ? n : STAGE_BYTES / extent;
        int err = DM_OK;

        /* the holes of pairs stay as they are */
        if (size != extent)
            memcpy(in, dst, part * extent);
        if (src != NULL)
            dm_type_unpack(in, part, type, 0, src, part * size);
        if (raced && old != NULL) {
            fetch_raced(op, in, dst, was, part, basic, extent);
            dm_type_pack(was, part, type, 0, old, part * size);
        } else {
            if (old != NULL)
                dm_type_pack(dst, part, type, 0, old, part * size);
            err = dm_op_apply_basic(op, in, dst, part, basic, raced);
        }
        if (err != DM_OK)
            return err;
        src += src != NULL ? part * size : 0;
        old += old != NULL ? part * size : 0;
        dst += part * extent;
        n -= part;
    }
    return DM_OK;
}

#define SWAP(BITS)                                                                                 \
    case BITS / 8: {                                                                               \
        uint##BITS##_t new, was;                                                                   \
                                                                                                   \
        memcpy(&new, src, sizeof(new));                                                            \
        memcpy(&was, compare, sizeof(was));                                                        \
        (void)dm_atomic_cas((uint##BITS##_t *)(void *)dst, &was, new);                             \
        memcpy(old, &was, sizeof(was));                                                            \
        return;                                                                                    \
    }

void dm_rma_swap(const struct dm_win *win, char *dst, int basic, const char *src,
                 const char *compare, char *old)
{
    size_t size = (size_t)dm_type_get(basic)->size;
    char was[16];

    if (is_raced(win, basic, dst)) {
        switch (size) {
            SWAP(8)
            SWAP(16)
            SWAP(32)
            SWAP(64)
        default:
            break;
        }
    }
    memcpy(was, dst, size);
    if (memcmp(was, compare, size) == 0)
        memcpy(dst, src, size);
    memcpy(old, was, size);
}
