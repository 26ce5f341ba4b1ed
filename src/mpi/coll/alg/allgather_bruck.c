/*
 * Allgather of small blocks, equal or not, after Bruck: ceil(log2 n) rounds for any n.
 * Blocks are kept packed, beginning with one's own, and are put in their places at the
 * end.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_allgather_bruck(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    struct dm_type *byte = dm_coll_byte();
    size_t *at = dm_coll_alloc_n(run, (size_t)n + 1, sizeof(*at));
    size_t total = 0;
    char *tmp;

    for (int i = 0; i < n && at != NULL; i++) {
        at[i] = total;
        total += dm_coll_bytes(dm_coll_rcount(a, (run->rank + i) % n), a->rtype);
    }
    tmp = dm_coll_alloc(run, total);
    if (at == NULL || tmp == NULL)
        return;
    at[n] = total;
    /* A block longer than announced would overrun the others'. */
    dm_coll_copy(run, a->sbuf, a->scount, a->stype, tmp, at[1], byte);
    for (int64_t step = 1; step < n; step *= 2) {
        int64_t blocks = step < n - step ? step : n - step;
        int to = (int)((run->rank - step + n) % n);
        int from = (int)((run->rank + step) % n);

        dm_coll_sendrecv(run, tmp, at[blocks], byte, to, tmp + at[step],
                         at[step + blocks] - at[step], byte, from);
    }
    for (int i = a->is_in_place ? 1 : 0; i < n; i++) {
        int rank = (run->rank + i) % n;

        dm_coll_unpack(run, tmp + at[i], dm_coll_rplace(a, rank), dm_coll_rcount(a, rank),
                       a->rtype);
    }
}
