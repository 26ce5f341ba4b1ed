/*
 * All-to-all of tiny equal blocks among few ranks: rank 0 gets all that each rank sends, and sends all that each gets.
 */
#include "mpi/coll/alg/alg.h"

/* What this rank has for the others, packed: in the order of the ranks. */
static void central_pack(struct dm_run *run, const struct dm_coll_args *a, char *mine, size_t block)
{
    for (int i = 0; i < run->size; i++) {
        char *at = mine + (size_t)i * block;

        if (a->is_in_place)
            dm_coll_pack(run, dm_coll_rplace(a, i), a->rcount, a->rtype, at);
        else
            dm_coll_pack(run, dm_coll_splace(a, i), a->scount, a->stype, at);
    }
}

/* At rank 0: row r of `from` is what rank r sends, row r of `to` what it gets. */
static void central_exchange(struct dm_run *run, char *from, char *to, size_t block)
{
    size_t n = (size_t)run->size, row = n * block;
    struct dm_type *byte = dm_coll_byte();

    for (int r = 1; r < run->size; r++)
        dm_coll_irecv(run, from + (size_t)r * row, row, byte, r);
    dm_coll_wait(run);
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < n; i++)
            dm_coll_move(run, from + i * row + r * block, to + r * row + i * block, block);
    for (int r = 1; r < run->size; r++)
        dm_coll_isend(run, to + (size_t)r * row, row, byte, r);
    dm_coll_wait(run);
}

void dm_coll_alltoall_central(struct dm_run *run, const struct dm_coll_args *a)
{
    size_t n_rows = run->rank == 0 ? (size_t)run->size : 1;
    size_t block = dm_coll_bytes(a->rcount, a->rtype), row = block * (size_t)run->size;
    char *from = dm_coll_alloc_n(run, n_rows, row), *to = dm_coll_alloc_n(run, n_rows, row);

    if (from == NULL || to == NULL)
        return;
    central_pack(run, a, from, block);
    if (run->rank == 0)
        central_exchange(run, from, to, block);
    else
        dm_coll_sendrecv(run, from, row, dm_coll_byte(), 0, to, row, dm_coll_byte(), 0);
    for (int i = 0; i < run->size; i++)
        dm_coll_unpack(run, to + (size_t)i * block, dm_coll_rplace(a, i), a->rcount, a->rtype);
}
