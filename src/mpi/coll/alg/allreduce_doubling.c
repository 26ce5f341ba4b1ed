/*
 * Allreduce by recursive doubling: partners exchange whole vectors, log2 n rounds. Both
 * compute lower op upper, so that all ranks end up with the same bits.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/alg/pof2.h"

void dm_coll_allreduce_doubling(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_pof2 pof2;
    void *tmp = dm_coll_alloc_typed(run, a->rcount, a->rtype);
    void *acc = a->rbuf;

    if (tmp == NULL)
        return;
    dm_coll_copy(run, a->sbuf, a->rcount, a->rtype, acc, a->rcount, a->rtype);
    dm_coll_pof2_init(&pof2, run, -1);
    dm_coll_pof2_reduce(run, &pof2, a, &acc, &tmp);
    for (int step = 1; step < pof2.n && pof2.pos >= 0; step *= 2) {
        int partner = dm_coll_pof2_rank(&pof2, pof2.pos ^ step);

        dm_coll_sendrecv(run, acc, a->rcount, a->rtype, partner, tmp, a->rcount, a->rtype, partner);
        if ((pof2.pos & step) != 0) {
            dm_coll_combine(run, a->op, tmp, acc, a->rcount, a->rtype);
        } else {
            void *t = acc;

            dm_coll_combine(run, a->op, acc, tmp, a->rcount, a->rtype);
            acc = tmp;
            tmp = t;
        }
    }
    if (pof2.pos < 0) {
        dm_coll_recv(run, a->rbuf, a->rcount, a->rtype, pof2.pair);
        return;
    }
    dm_coll_copy(run, acc, a->rcount, a->rtype, a->rbuf, a->rcount, a->rtype);
    if (pof2.pair >= 0)
        dm_coll_send(run, a->rbuf, a->rcount, a->rtype, pof2.pair);
}
