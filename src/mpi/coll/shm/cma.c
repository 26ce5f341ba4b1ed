/*
 * Long blocks between ranks that may read each other's memory: their owner posts where they are, the others
 * copy them from there, and the owner waits until they have finished the round. Data that are not one
 * run of bytes are packed by their owner first, or unpacked by their reader after it.
 */
#include "mpi/coll/shm/coll_shm.h"
#include "util/host.h"

void dm_coll_shm_cma_read(struct dm_run *run, struct dm_coll_shm *b, int lrank,
                          const struct dm_coll_shm_span *span, void *buf, size_t count,
                          struct dm_type *type, bool is_shared)
{
    size_t has = dm_coll_bytes(count, type), len = span->len < has ? span->len : has;
    void *to = (char *)buf + type->true_lb;
    int err;

    if (span->len > has)
        dm_coll_fail(run, DM_FAIL(DM_ERR_TRUNCATE, "rank %d gives %llu bytes, %zu are expected",
                                  b->ranks[lrank], (unsigned long long)span->len, has));
    if (len == 0)
        return;
    if (!type->is_contig)
        to = dm_coll_alloc(run, len);
    if (to == NULL)
        return;
    if (is_shared && dm_coll_shm_can_split(b))
        err = dm_coll_shm_split_copy(run, b, span->addr, to, len);
    else
        err = dm_host_vm_read((int)b->shared->lranks[lrank].id.pid, span->addr, to, len);
    if (err != DM_OK)
        dm_coll_fail(run, err);
    else if (!type->is_contig)
        dm_coll_shm_unpack(run, buf, count, type, 0, to, len);
}

bool dm_coll_shm_await_all_finished(struct dm_run *run, struct dm_coll_shm *b)
{
    if (dm_coll_shm_can_split(b))
        return dm_coll_shm_split_help(run, b);
    for (int i = 0; i < b->n; i++)
        if (i != b->me && !dm_coll_shm_await_finished(run, b, i))
            return false;
    return true;
}

void dm_coll_shm_await_barrier(struct dm_run *run, struct dm_coll_shm *b)
{
    dm_coll_shm_next(b);
    if (dm_coll_shm_claim(run, b, 0) && dm_coll_shm_barrier(run, b, 0, 0))
        dm_coll_shm_finish(run, b);
}

/* The root begins the round; at the others it has come, with a post that says so. */
void dm_coll_shm_cma_bcast(struct dm_run *run, struct dm_coll_shm *b, void *buf, size_t count,
                           struct dm_type *type, int root)
{
    struct dm_coll_shm_buf mine = {buf, count, type};

    if (b->me != root) {
        dm_coll_shm_cma_read(run, b, root, dm_coll_shm_span(b, root), buf, count, type, true);
        dm_coll_shm_finish(run, b);
        return;
    }
    dm_coll_shm_next(b);
    if (!dm_coll_shm_claim(run, b, sizeof(struct dm_coll_shm_span)) ||
        !dm_coll_shm_show(run, mine, dm_coll_shm_span(b, root)))
        return;
    dm_coll_shm_post(run, b, sizeof(struct dm_coll_shm_span), DM_COLL_SHM_BY_CMA, true);
    dm_coll_shm_finish(run, b);
    dm_coll_shm_await_all_finished(run, b);
}
