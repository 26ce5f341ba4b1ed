/*
 * Allgather and all-to-all between two groups. An allgather takes n + m messages between them, all
 * to the other group's rank 0, which has them passed on inside its group. In an all-to-all
 * everybody exchanges directly with every rank of the other group, all messages at once: the
 * groups' sizes differ, so that there are no rounds in which everybody has a partner.
 */
#include "mpi/coll/alg/alg.h"

static void inter_get(struct dm_run *run, const struct dm_coll_args *a, int from)
{
    size_t count = dm_coll_rcount(a, from);
    struct dm_type *type = dm_coll_rtype(a, from);

    if (dm_coll_bytes(count, type) > 0)
        dm_coll_irecv(run, dm_coll_rplace(a, from), count, type, from);
}

/* From rank 0 to the others of the group. */
static void inter_pass_on(struct dm_run *run, void *buf, size_t count, struct dm_type *type)
{
    struct dm_coll_args local = {.rbuf = buf, .rcount = count, .rtype = type};

    dm_coll_inside(run);
    if (run->size > 1 && dm_coll_bytes(count, type) > 0)
        dm_coll_bcast_binomial(run, &local);
}

static void send_mine(struct dm_run *run, const struct dm_coll_args *a)
{
    if (dm_coll_bytes(a->scount, a->stype) > 0)
        dm_coll_isend(run, a->sbuf, a->scount, a->stype, 0);
}

/* Blocks may lie anywhere: they travel packed. */
static void gather_v(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    size_t *at = dm_coll_alloc_n(run, (size_t)n + 1, sizeof(*at));
    size_t total = 0;
    char *tmp;

    for (int i = 0; i < n && at != NULL; i++) {
        at[i] = total;
        total += dm_coll_bytes(dm_coll_rcount(a, i), a->rtype);
    }
    tmp = dm_coll_alloc(run, total);
    if (at == NULL || tmp == NULL)
        return;
    at[n] = total;
    for (int i = 0; i < n && run->rank == 0; i++)
        if (at[i + 1] > at[i])
            dm_coll_irecv(run, tmp + at[i], at[i + 1] - at[i], dm_coll_byte(), i);
    send_mine(run, a);
    dm_coll_wait(run);
    inter_pass_on(run, tmp, total, dm_coll_byte());
    for (int i = 0; i < n; i++)
        dm_coll_unpack(run, tmp + at[i], dm_coll_rplace(a, i), dm_coll_rcount(a, i), a->rtype);
}

void dm_coll_inter_allgather(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;

    if (dm_coll_is_v(a->rcounts)) {
        gather_v(run, a);
        return;
    }
    for (int i = 0; i < n && run->rank == 0; i++)
        inter_get(run, a, i);
    send_mine(run, a);
    dm_coll_wait(run);
    inter_pass_on(run, a->rbuf, a->rcount * (size_t)n, a->rtype);
}

void dm_coll_inter_alltoall(struct dm_run *run, const struct dm_coll_args *a)
{
    for (int i = 0; i < run->size; i++)
        inter_get(run, a, (run->rank + i) % run->size);
    for (int i = 0; i < run->size; i++) {
        int to = (run->rank + i) % run->size;
        size_t count = dm_coll_scount(a, to);
        struct dm_type *type = dm_coll_stype(a, to);

        if (dm_coll_bytes(count, type) > 0)
            dm_coll_isend(run, dm_coll_splace(a, to), count, type, to);
    }
    dm_coll_wait(run);
}
