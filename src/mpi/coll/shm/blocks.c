/*
 * What a rank has for each of the others: packed into slots, or shown where it is.
 */
#include "mpi/coll/shm/coll_shm.h"

#define ALIGN ((size_t)8)

/* The block for a lrank. */
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

static inline int lrank_above(const struct dm_coll_shm *b, int steps)
{
    int lrank = b->me + steps;

    return lrank < b->n ? lrank : lrank - b->n;
}

void dm_coll_shm_blocks_open(struct dm_coll_shm_blocks *x, const struct dm_coll_shm *b,
                             const struct dm_coll_args *a, bool is_in_place)
{
    *x = (struct dm_coll_shm_blocks){.a = a, .is_in_place = is_in_place, .next = 1};
    for (int i = 1; i < b->n; i++) {
        struct dm_coll_shm_buf one = blocks_block(x, lrank_above(b, i));
        size_t len = dm_coll_bytes(one.count, one.type);

        x->total += len;
        x->most = len > x->most ? len : x->most;
    }
}

/*
 * ---- in slots: the data, then where the parts of the n - 1 blocks begin and where the last ends. Of two ranks
 * each has one block for the other, and the data are all there is ----
 */

static inline bool has_table(const struct dm_coll_shm *b)
{
    return b->n > 2;
}

static inline size_t table_len(const struct dm_coll_shm *b)
{
    return !has_table(b) ? 0 : ((size_t)b->n * sizeof(uint32_t) + ALIGN - 1) & ~(ALIGN - 1);
}

static inline size_t padded(size_t len)
{
    return (len + ALIGN - 1) & ~(ALIGN - 1);
}

size_t dm_coll_shm_blocks_space(const struct dm_coll_shm *b)
{
    return (b->space - table_len(b)) & ~(ALIGN - 1);
}

size_t dm_coll_shm_blocks_len(const struct dm_coll_shm *b, size_t len)
{
    return !has_table(b) ? len : padded(len) + table_len(b);
}

void dm_coll_shm_blocks_put(struct dm_coll_shm_blocks *x, const struct dm_coll_shm *b, size_t len)
{
    char *place = dm_coll_shm_slot_data(b, b->me, dm_coll_shm_blocks_len(b, len));
    uint32_t *table = (uint32_t *)(void *)(place + padded(len));
    size_t done = 0;

    for (int i = 1; i < b->n; i++) {
        if (has_table(b))
            table[i - 1] = (uint32_t)done;
        if (i == x->next) {
            struct dm_coll_shm_buf one = blocks_block(x, lrank_above(b, i));
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
    if (has_table(b))
        table[b->n - 1] = (uint32_t)done;
}

const char *dm_coll_shm_blocks_get(const struct dm_coll_shm *b, int lrank, size_t slot_len,
                                   size_t *len_p)
{
    const char *place = dm_coll_shm_slot_data(b, lrank, slot_len);
    const uint32_t *table = (const uint32_t *)(const void *)(place + slot_len - table_len(b));
    int i = b->me - lrank - 1;

    if (!has_table(b)) {
        *len_p = slot_len;
        return place;
    }
    i = i < 0 ? i + b->n : i;
    *len_p = table[i + 1] - table[i];
    return place + table[i];
}

/* ---- elsewhere ---- */

bool dm_coll_shm_show(struct dm_run *run, struct dm_coll_shm_buf from,
                      struct dm_coll_shm_span *span)
{
    size_t len = dm_coll_bytes(from.count, from.type);
    char *at = (char *)from.buf + from.type->true_lb;

    if (len > 0 && !from.type->is_contig) {
        at = dm_coll_alloc(run, len);
        if (at == NULL)
            return false;
        dm_coll_shm_pack(from.buf, from.count, from.type, 0, at, len);
    }
    *span = (struct dm_coll_shm_span){.addr = (uint64_t)(uintptr_t)at, .len = len};
    return true;
}

bool dm_coll_shm_blocks_show(struct dm_run *run, const struct dm_coll_shm_blocks *x,
                             const struct dm_coll_shm *b)
{
    struct dm_coll_shm_span *spans = dm_coll_shm_spans(b, b->me);

    for (int i = 1; i < b->n; i++) {
        int lrank = lrank_above(b, i);

        if (!dm_coll_shm_show(run, blocks_block(x, lrank), &spans[lrank]))
            return false;
    }
    return true;
}

bool dm_coll_shm_blocks_copy(struct dm_run *run, struct dm_coll_shm_blocks *x,
                             const struct dm_coll_shm *b)
{
    struct dm_coll_shm_span *copies = dm_coll_alloc_n(run, (size_t)b->n, sizeof(*copies));
    char *to = dm_coll_alloc(run, x->total);

    if (copies == NULL || to == NULL)
        return false;
    for (int i = 1; i < b->n; i++) {
        int lrank = lrank_above(b, i);
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
