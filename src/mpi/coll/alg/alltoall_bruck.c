/*
 * All-to-all of tiny equal blocks after Bruck: ceil(log2 n) rounds, in each of which
 * half of the blocks travel together. Block i is packed on its way to the rank i further
 * on; in round k it moves by 2^k if that bit of i is set.
 */
#include "mpi/coll/alg/alg.h"

/* Blocks with the bit, from the table to one piece or back; their number. */
static size_t move_blocks(struct dm_run *run, char *blocks, char *piece, size_t block, int64_t bit,
                          bool is_out)
{
    size_t k = 0;

    for (int64_t i = bit; i < run->size; i++) {
        char *one = blocks + (size_t)i * block;

        if ((i & bit) == 0)
            continue;
        dm_coll_move(run, is_out ? one : piece + k * block, is_out ? piece + k * block : one,
                     block);
        k++;
    }
    return k;
}

void dm_coll_alltoall_bruck(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    size_t block = dm_coll_bytes(a->rcount, a->rtype);
    char *blocks = dm_coll_alloc_n(run, (size_t)n, block);
    char *out = dm_coll_alloc_n(run, (size_t)(n + 1) / 2, block);
    char *in = dm_coll_alloc_n(run, (size_t)(n + 1) / 2, block);
    struct dm_type *byte = dm_coll_byte();

    if (blocks == NULL || out == NULL || in == NULL)
        return;
    for (int i = 0; i < n; i++) {
        int to = (run->rank + i) % n;

        if (a->is_in_place)
            dm_coll_pack(run, dm_coll_rplace(a, to), a->rcount, a->rtype,
                         blocks + (size_t)i * block);
        else
            dm_coll_copy(run, dm_coll_splace(a, to), a->scount, a->stype,
                         blocks + (size_t)i * block, block, byte);
    }
    for (int64_t bit = 1; bit < n; bit *= 2) {
        size_t len = block * move_blocks(run, blocks, out, block, bit, true);

        dm_coll_sendrecv(run, out, len, byte, (int)((run->rank + bit) % n), in, len, byte,
                         (int)((run->rank - bit + n) % n));
        move_blocks(run, blocks, in, block, bit, false);
    }
    for (int i = 0; i < n; i++)
        dm_coll_unpack(run, blocks + (size_t)i * block, dm_coll_rplace(a, (run->rank - i + n) % n),
                       a->rcount, a->rtype);
}
