/*
 * Long blocks between ranks that may read each other's memory: their owner posts where they are,
 * the others copy them from there, and the owner waits until they have finished the round. Data
 * that are not one run of bytes are packed by their owner first, or unpacked by their reader
 * after it.
 */
#include "mpi/coll/shm/cma.h"

#include "mpi/coll/shm/data.h"
#include "mpi/coll/shm/split_copy.h"
#include "util/host.h"

bool dm_coll_shm_expose(struct dm_run *run, struct dm_coll_shm_buf from,
                        struct dm_coll_shm_span *span)
{
    size_t len = dm_coll_bytes(from.count, from.type);
    char *at = (char *)from.buf + from.type->true_lb;

    if (len > 0 && !from.type->is_contig) {
        at = dm_coll_alloc(run, len);
        if (at == NULL)
            return false;
        dm_coll_shm_pack(from.buf, from.count, from.type, 0, at, len);
    }
    *span = (struct dm_coll_shm_span){.addr = (uint64_t)(uintptr_t)at, .len = len};
    return true;
}

void dm_coll_shm_cma_read(struct dm_run *run, struct dm_coll_shm *shm, int lrank,
                          const struct dm_coll_shm_span *span, void *buf, size_t count,
                          struct dm_type *type, bool is_split)
{
    size_t has = dm_coll_bytes(count, type), len = span->len < has ? span->len : has;
    void *to = (char *)buf + type->true_lb;
    int err;

    if (span->len > has)
        dm_coll_fail(run, DM_FAIL(DM_ERR_TRUNCATE, "rank %d gives %llu bytes, %zu are expected",
                                  shm->ranks[lrank], (unsigned long long)span->len, has));
    if (len == 0)
        return;
    if (!type->is_contig)
        to = dm_coll_alloc(run, len);
    if (to == NULL)
        return;
    if (is_split && dm_coll_shm_can_split(shm))
        err = dm_coll_shm_split_copy(run, shm, span->addr, to, len);
    else
        err = dm_host_vm_read((int)shm->shared->ranks[lrank].id.pid, span->addr, to, len);
    if (err != DM_OK)
        dm_coll_fail(run, err);
    else if (!type->is_contig)
        dm_coll_shm_unpack(run, buf, count, type, 0, to, len);
}

bool dm_coll_shm_await_all_finished(struct dm_run *run, struct dm_coll_shm *shm)
{
    if (dm_coll_shm_can_split(shm))
        return dm_coll_shm_split_serve(run, shm);
    for (int i = 0; i < shm->n; i++)
        if (i != shm->me && !dm_coll_shm_await_finished(run, shm, i))
            return false;
    return true;
}

/* The root begins the round; at the others it has come, with a post that says so. */
void dm_coll_shm_cma_bcast(struct dm_run *run, struct dm_coll_shm *shm, void *buf, size_t count,
                           struct dm_type *type, int root)
{
    struct dm_coll_shm_buf mine = {buf, count, type};

    if (shm->me != root) {
        dm_coll_check_whole(run, dm_coll_shm_span(shm, root)->len, dm_coll_bytes(count, type));
        dm_coll_shm_cma_read(run, shm, root, dm_coll_shm_span(shm, root), buf, count, type, true);
        dm_coll_shm_finish(run, shm);
        return;
    }
    dm_coll_shm_next(shm);
    if (!dm_coll_shm_claim(run, shm, sizeof(struct dm_coll_shm_span)) ||
        !dm_coll_shm_expose(run, mine, dm_coll_shm_span(shm, root)))
        return;
    dm_coll_shm_post(run, shm, sizeof(struct dm_coll_shm_span), DM_COLL_SHM_BY_CMA, true);
    dm_coll_shm_finish(run, shm);
    dm_coll_shm_await_all_finished(run, shm);
}
