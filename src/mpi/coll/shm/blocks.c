/*
 * What a rank has for each of the others: packed into slots, or exposed where it is.
 */
#include "mpi/coll/shm/blocks.h"

#include "mpi/coll/shm/data.h"

#define ALIGN ((size_t)8)

/* The block for a local rank. */
static struct dm_coll_shm_buf blocks_block(const struct dm_coll_shm_blocks *x, int lrank)
{
    const struct dm_coll_args *a = x->a;

    if (x->copies != NULL)
        return (struct dm_coll_shm_buf){(void *)(uintptr_t)x->copies[lrank].addr,
                                        (size_t)x->copies[lrank].len, dm_coll_byte()};
    if (x->is_in_place)
        return (struct dm_coll_shm_buf){dm_coll_rplace(a, lrank), dm_coll_rcount(a, lrank),
                                        dm_coll_rtype(a, lrank)};
    return (struct dm_coll_shm_buf){(void *)(uintptr_t)dm_coll_splace(a, lrank),
                                    dm_coll_scount(a, lrank), dm_coll_stype(a, lrank)};
}

static inline int blocks_lrank(const struct dm_coll_shm *shm, int steps)
{
    int lrank = shm->me + steps;

    return lrank < shm->n ? lrank : lrank - shm->n;
}

void dm_coll_shm_blocks_open(struct dm_coll_shm_blocks *x, const struct dm_coll_shm *shm,
                             const struct dm_coll_args *a, bool is_in_place)
{
    *x = (struct dm_coll_shm_blocks){.a = a, .is_in_place = is_in_place, .next = 1};
    for (int i = 1; i < shm->n; i++) {
        struct dm_coll_shm_buf one = blocks_block(x, blocks_lrank(shm, i));
        size_t len = dm_coll_bytes(one.count, one.type);

        x->total += len;
        x->most = len > x->most ? len : x->most;
    }
}

/*
 * ---- in slots: the data, then where the parts of the n - 1 blocks begin and where the last
 * ends. Of two ranks each has one block for the other, and the data are all there is ----
 */

static inline bool blocks_has_table(const struct dm_coll_shm *shm)
{
    return shm->n > 2;
}

static inline size_t blocks_table_len(const struct dm_coll_shm *shm)
{
    return !blocks_has_table(shm) ? 0
                                  : ((size_t)shm->n * sizeof(uint32_t) + ALIGN - 1) & ~(ALIGN - 1);
}

static inline size_t blocks_pad(size_t len)
{
    return (len + ALIGN - 1) & ~(ALIGN - 1);
}

size_t dm_coll_shm_blocks_space(const struct dm_coll_shm *shm)
{
    return (shm->space - blocks_table_len(shm)) & ~(ALIGN - 1);
}

size_t dm_coll_shm_blocks_len(const struct dm_coll_shm *shm, size_t len)
{
    return !blocks_has_table(shm) ? len : blocks_pad(len) + blocks_table_len(shm);
}

void dm_coll_shm_blocks_put(struct dm_coll_shm_blocks *x, const struct dm_coll_shm *shm, size_t len)
{
    char *place = dm_coll_shm_slot_data(shm, shm->me, dm_coll_shm_blocks_len(shm, len));
    uint32_t *table = (uint32_t *)(void *)(place + blocks_pad(len));
    size_t done = 0;

    for (int i = 1; i < shm->n; i++) {
        if (blocks_has_table(shm))
            table[i - 1] = (uint32_t)done;
        if (i == x->next) {
            struct dm_coll_shm_buf one = blocks_block(x, blocks_lrank(shm, i));
            size_t left = dm_coll_bytes(one.count, one.type) - x->at;
            size_t n = left < len - done ? left : len - done;

            if (n > 0)
                dm_coll_shm_pack(one.buf, one.count, one.type, x->at, place + done, n);
            done += n;
            x->at += n;
            if (n == left) {
                x->next++;
                x->at = 0;
            }
        }
    }
    if (blocks_has_table(shm))
        table[shm->n - 1] = (uint32_t)done;
}

const char *dm_coll_shm_blocks_get(const struct dm_coll_shm *shm, int lrank, size_t slot_len,
                                   size_t *len_p)
{
    const char *place = dm_coll_shm_slot_data(shm, lrank, slot_len);
    const uint32_t *table =
        (const uint32_t *)(const void *)(place + slot_len - blocks_table_len(shm));
    int i = shm->me - lrank - 1;

    if (!blocks_has_table(shm)) {
        *len_p = slot_len;
        return place;
    }
    i = i < 0 ? i + shm->n : i;
    *len_p = table[i + 1] - table[i];
    return place + table[i];
}

/* ---- elsewhere ---- */

bool dm_coll_shm_blocks_expose(struct dm_run *run, const struct dm_coll_shm_blocks *x,
                               const struct dm_coll_shm *shm)
{
    struct dm_coll_shm_span *spans = dm_coll_shm_spans(shm, shm->me);

    for (int i = 1; i < shm->n; i++) {
        int lrank = blocks_lrank(shm, i);

        if (!dm_coll_shm_expose(run, blocks_block(x, lrank), &spans[lrank]))
            return false;
    }
    return true;
}

bool dm_coll_shm_blocks_copy(struct dm_run *run, struct dm_coll_shm_blocks *x,
                             const struct dm_coll_shm *shm)
{
    struct dm_coll_shm_span *copies = dm_coll_alloc_n(run, (size_t)shm->n, sizeof(*copies));
    char *to = dm_coll_alloc(run, x->total);

    if (copies == NULL || to == NULL)
        return false;
    for (int i = 1; i < shm->n; i++) {
        int lrank = blocks_lrank(shm, i);
        struct dm_coll_shm_buf one = blocks_block(x, lrank);
        size_t len = dm_coll_bytes(one.count, one.type);

        if (len > 0)
            dm_coll_shm_pack(one.buf, one.count, one.type, 0, to, len);
        copies[lrank] = (struct dm_coll_shm_span){.addr = (uint64_t)(uintptr_t)to, .len = len};
        to += len;
    }
    x->copies = copies;
    return true;
}
