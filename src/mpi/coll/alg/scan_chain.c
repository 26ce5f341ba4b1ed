/*
 * Scan and exscan from rank to rank: n - 1 messages, the least there can be, which counts where
 * ranks share cores. Long vectors go in pieces, so that all ranks of the chain have something to
 * do; or whole, where there are too few cores for all of them.
 */
#include "mpi/coll/alg/alg.h"

#define PIECE ((size_t)64 << 10) /* bytes */

/* Piece of n elements: own has this rank's operand, which becomes the result of 0 .. rank. */
static void chain_pass(struct dm_run *run, const struct dm_coll_args *a, void *below, void *own,
                       size_t n)
{
    if (run->rank > 0) {
        dm_coll_recv(run, below, n, a->rtype, run->rank - 1);
        dm_coll_combine(run, a->op, below, own, n, a->rtype);
    }
    if (run->rank + 1 < run->size)
        dm_coll_send(run, own, n, a->rtype, run->rank + 1);
}

static size_t piece_of(const struct dm_coll_args *a)
{
    size_t n = a->rtype->size > 0 ? PIECE / (size_t)a->rtype->size : a->rcount;

    return n == 0 ? 1 : n < a->rcount ? n : a->rcount;
}

static void scan_by(struct dm_run *run, const struct dm_coll_args *a, size_t piece)
{
    void *below = dm_coll_alloc_typed(run, piece, a->rtype);

    if (below == NULL)
        return;
    dm_coll_copy(run, a->sbuf, a->rcount, a->rtype, a->rbuf, a->rcount, a->rtype);
    for (size_t at = 0; at < a->rcount; at += piece) {
        size_t n = a->rcount - at < piece ? a->rcount - at : piece;

        chain_pass(run, a, below, dm_coll_at(a->rbuf, (MPI_Count)at, a->rtype), n);
    }
}

static void exscan_by(struct dm_run *run, const struct dm_coll_args *a, size_t piece)
{
    void *own = dm_coll_alloc_typed(run, piece, a->rtype);

    if (own == NULL)
        return;
    for (size_t at = 0; at < a->rcount; at += piece) {
        size_t n = a->rcount - at < piece ? a->rcount - at : piece;
        void *below = dm_coll_at(a->rbuf, (MPI_Count)at, a->rtype);

        /* In place the operand is where the result goes. */
        dm_coll_copy(run, dm_coll_at(a->sbuf, (MPI_Count)at, a->rtype), n, a->rtype, own, n,
                     a->rtype);
        chain_pass(run, a, below, own, n);
    }
}

void dm_coll_scan_chain(struct dm_run *run, const struct dm_coll_args *a)
{
    scan_by(run, a, piece_of(a));
}

void dm_coll_scan_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    scan_by(run, a, a->rcount);
}

void dm_coll_exscan_chain(struct dm_run *run, const struct dm_coll_args *a)
{
    exscan_by(run, a, piece_of(a));
}

void dm_coll_exscan_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    exscan_by(run, a, a->rcount);
}
