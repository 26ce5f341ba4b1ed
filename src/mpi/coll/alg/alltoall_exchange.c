/*
 * All-to-all by direct messages, a window of pairs at a time.
 */
#include "mpi/coll/alg/alltoall_exchange.h"

/* The blocks that are to be sent, packed: offsets at[0..n] in tmp. False when memory is out. */
static bool pack_away(struct dm_run *run, const struct dm_coll_args *a, char **tmp_p, size_t **at_p)
{
    size_t *at = dm_coll_alloc_n(run, (size_t)run->size + 1, sizeof(*at));
    size_t total = 0;
    char *tmp;

    for (int i = 0; i < run->size && at != NULL; i++) {
        at[i] = total;
        if (i != run->rank)
            total += dm_coll_bytes(dm_coll_rcount(a, i), dm_coll_rtype(a, i));
    }
    tmp = dm_coll_alloc(run, total);
    if (at == NULL || tmp == NULL)
        return false;
    at[run->size] = total;
    for (int i = 0; i < run->size; i++)
        if (at[i + 1] > at[i])
            dm_coll_pack(run, dm_coll_rplace(a, i), dm_coll_rcount(a, i), dm_coll_rtype(a, i),
                         tmp + at[i]);
    *tmp_p = tmp;
    *at_p = at;
    return true;
}

void dm_coll_alltoall_exchange(struct dm_run *run, const struct dm_coll_args *a, int window)
{
    int n = run->size;
    char *tmp = NULL;
    size_t *at = NULL;

    if (a->is_in_place && !pack_away(run, a, &tmp, &at))
        return;
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, run->rank), dm_coll_scount(a, run->rank),
                     dm_coll_stype(a, run->rank), dm_coll_rplace(a, run->rank),
                     dm_coll_rcount(a, run->rank), dm_coll_rtype(a, run->rank));
    for (int i = 1; i < n; i++) {
        int to = (run->rank + i) % n;
        int from = (run->rank - i + n) % n;
        size_t rcount = dm_coll_rcount(a, from);
        struct dm_type *rtype = dm_coll_rtype(a, from);

        if (dm_coll_bytes(rcount, rtype) > 0)
            dm_coll_irecv(run, dm_coll_rplace(a, from), rcount, rtype, from);
        if (a->is_in_place) {
            if (at[to + 1] > at[to])
                dm_coll_isend(run, tmp + at[to], at[to + 1] - at[to], dm_coll_byte(), to);
        } else if (dm_coll_bytes(dm_coll_scount(a, to), dm_coll_stype(a, to)) > 0) {
            dm_coll_isend(run, dm_coll_splace(a, to), dm_coll_scount(a, to), dm_coll_stype(a, to),
                          to);
        }
        if (i % window == 0)
            dm_coll_wait(run);
    }
    dm_coll_wait(run);
}
