/*
 * Scan and exscan by recursive doubling: partners exchange what they have of their 2^k
 * ranks; what comes from below goes into the result too. Keeps the order of the
 * operands, any n.
 */
#include "mpi/coll/alg/alg.h"

static void doubling_scan(struct dm_run *run, const struct dm_coll_args *a, bool is_exclusive)
{
    void *part = dm_coll_alloc_typed(run, a->rcount, a->rtype);
    void *in = dm_coll_alloc_typed(run, a->rcount, a->rtype);
    bool is_first = is_exclusive;

    if (part == NULL || in == NULL)
        return;
    dm_coll_copy(run, a->sbuf, a->rcount, a->rtype, part, a->rcount, a->rtype);
    if (!is_exclusive)
        dm_coll_copy(run, a->sbuf, a->rcount, a->rtype, a->rbuf, a->rcount, a->rtype);
    for (int64_t step = 1; step < run->size; step *= 2) {
        int partner = run->rank ^ (int)step;

        if (partner >= run->size)
            continue;
        dm_coll_sendrecv(run, part, a->rcount, a->rtype, partner, in, a->rcount, a->rtype, partner);
        if (partner < run->rank) {
            if (is_first)
                dm_coll_copy(run, in, a->rcount, a->rtype, a->rbuf, a->rcount, a->rtype);
            else
                dm_coll_combine(run, a->op, in, a->rbuf, a->rcount, a->rtype);
            is_first = false;
            dm_coll_combine(run, a->op, in, part, a->rcount, a->rtype);
        } else {
            void *t = part;

            dm_coll_combine(run, a->op, part, in, a->rcount, a->rtype);
            part = in;
            in = t;
        }
    }
}

void dm_coll_scan_doubling(struct dm_run *run, const struct dm_coll_args *a)
{
    doubling_scan(run, a, false);
}

void dm_coll_exscan_doubling(struct dm_run *run, const struct dm_coll_args *a)
{
    doubling_scan(run, a, true);
}
