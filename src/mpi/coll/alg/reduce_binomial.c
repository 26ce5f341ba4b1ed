/*
 * Reduce over a binomial tree. The operands of a rank's subtree are those of consecutive
 * ranks, so any operation will do; one that is not commutative is reduced to rank 0,
 * which passes the result on.
 *
 * The accumulated value is always the lower operand and ends up where the upper one was
 * received: two buffers take turns, in such a way that at the root the last one is the
 * result's.
 */
#include "mpi/coll/alg/alg.h"

/* Children of position me among n. */
static int n_children(int me, int n)
{
    int count = 0;

    for (int64_t step = 1; step < n && (me & step) == 0; step *= 2)
        count += me + step < n;
    return count;
}

void dm_coll_reduce_binomial(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    int top = a->op->is_commutative ? a->root : 0;
    int me = (run->rank - top + n) % n;
    int left = n_children(me, n);
    bool is_last = me == 0 && run->rank == a->root; /* the result stays here */
    const void *acc = a->sbuf;
    void *buf[2] = {NULL, NULL};
    int64_t step = 1;

    for (; step < n && (me & step) == 0; step *= 2) {
        void **next;

        if (me + step >= n)
            continue;
        left--;
        next = &buf[left % 2];
        if (*next == NULL && left % 2 == 0 && is_last && acc != a->rbuf)
            *next = a->rbuf;
        if (*next == NULL)
            *next = dm_coll_alloc_typed(run, a->rcount, a->rtype);
        if (*next == NULL)
            return;
        dm_coll_recv(run, *next, a->rcount, a->rtype, (int)((me + step + top) % n));
        dm_coll_combine(run, a->op, acc, *next, a->rcount, a->rtype);
        acc = *next;
    }
    if (is_last)
        dm_coll_copy(run, acc, a->rcount, a->rtype, a->rbuf, a->rcount, a->rtype);
    else if (me == 0)
        dm_coll_send(run, acc, a->rcount, a->rtype, a->root);
    else
        dm_coll_send(run, acc, a->rcount, a->rtype, (int)((me - step + top) % n));
    if (me != 0 && run->rank == a->root)
        dm_coll_recv(run, a->rbuf, a->rcount, a->rtype, top);
}
