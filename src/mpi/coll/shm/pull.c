/*
 * Long blocks between ranks that may read each other's memory: everybody posts where its data are, the
 * others copy them from there, and when all have met again the memory is its owner's. Data that are
 * not one run of bytes are packed by their owner first, or unpacked by their reader after it.
 */
#include <unistd.h>

#include "mpi/coll/shm/board.h"
#include "util/host.h"

/* What is posted: block i of a rank begins at addr + i * stride. */
struct pulled {
    uint64_t addr;
    uint64_t stride;
    int64_t pid;
};

static struct pulled *post_of(const struct dm_board *b, int seat)
{
    return (struct pulled *)(void *)dm_board_place(b, seat, sizeof(struct pulled));
}

/* Blocks that lie one after another, as bytes: where they are, or packed in temporary memory. */
static bool show_blocks(struct dm_run *run, struct dm_board *b, const void *buf, size_t n_blocks,
                        size_t count, struct dm_type *type, bool must_copy)
{
    size_t len = dm_coll_bytes(count, type);
    const void *at = (const char *)buf + type->true_lb;
    struct pulled *mine;

    if (!type->is_contig || must_copy) {
        void *packed = dm_coll_alloc_n(run, n_blocks, len);

        if (packed == NULL)
            return false;
        dm_board_pack(buf, n_blocks * count, type, 0, packed, n_blocks * len);
        at = packed;
    }
    mine = post_of(b, b->me);
    *mine = (struct pulled){.addr = (uint64_t)(uintptr_t)at, .stride = len, .pid = getpid()};
    return true;
}

/* Block number i of a seat into a buffer. */
static void pull(struct dm_run *run, struct dm_board *b, int seat, int i, void *buf, size_t count,
                 struct dm_type *type)
{
    struct pulled from = *post_of(b, seat);
    size_t len = dm_coll_bytes(count, type);
    void *to = (char *)buf + type->true_lb;
    int err;

    if (from.stride > len)
        dm_coll_fail(run, DM_FAIL(DM_ERR_TRUNCATE, "rank %d gives %llu bytes, %zu are expected",
                                  b->ranks[seat], (unsigned long long)from.stride, len));
    len = from.stride < len ? from.stride : len;
    if (!type->is_contig)
        to = dm_coll_alloc(run, len);
    if (to == NULL)
        return;
    err = dm_host_peek((int)from.pid, from.addr + from.stride * (uint64_t)i, to, len);
    if (err != DM_OK)
        dm_coll_fail(run, err);
    else if (!type->is_contig)
        dm_board_unpack(run, buf, count, type, 0, to, len);
}

/* Everybody's post is there: meet, with or without one of mine. */
static bool open_round(struct dm_run *run, struct dm_board *b)
{
    dm_board_next(b);
    return dm_board_claim(run, b, sizeof(struct pulled));
}

/* All have read. */
static void close_round(struct dm_run *run, struct dm_board *b)
{
    dm_board_next(b);
    if (dm_board_claim(run, b, 0) && dm_board_meet(run, b, 0, 0))
        dm_board_finish(run, b);
}

void dm_board_pull_alltoall(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    size_t count = a->is_in_place ? a->rcount : a->scount;

    if (!open_round(run, b) ||
        !show_blocks(run, b, a->is_in_place ? a->rbuf : a->sbuf, (size_t)b->n, count,
                     a->is_in_place ? a->rtype : a->stype, a->is_in_place) ||
        !dm_board_meet(run, b, 0, 0))
        return;
    for (int i = 1; i < b->n; i++) {
        int from = (b->me + i) % b->n;

        pull(run, b, from, b->me, dm_coll_rplace(a, from), a->rcount, a->rtype);
    }
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, b->me), a->scount, a->stype, dm_coll_rplace(a, b->me),
                     a->rcount, a->rtype);
    close_round(run, b);
}

void dm_board_pull_allgather(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    if (!open_round(run, b) || !show_blocks(run, b, a->sbuf, 1, a->scount, a->stype, false) ||
        !dm_board_meet(run, b, 0, 0))
        return;
    for (int i = 1; i < b->n; i++) {
        int from = (b->me + i) % b->n;

        if (dm_coll_rcount(a, from) > 0)
            pull(run, b, from, 0, dm_coll_rplace(a, from), dm_coll_rcount(a, from), a->rtype);
    }
    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, b->me),
                     dm_coll_rcount(a, b->me), a->rtype);
    close_round(run, b);
}

/* The root begins the round; at the others it has come, with a post that says so. */
void dm_board_pull_bcast(struct dm_run *run, struct dm_board *b, void *buf, size_t count,
                         struct dm_type *type, int root)
{
    if (b->me == root) {
        if (!open_round(run, b) || !show_blocks(run, b, buf, 1, count, type, false))
            return;
        dm_board_post(run, b, 0, DM_BOARD_PULLED, true);
    } else {
        pull(run, b, root, 0, buf, count, type);
    }
    close_round(run, b);
}

void dm_board_pull_scatter(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    bool is_root = b->me == a->root;

    if (!open_round(run, b))
        return;
    if (is_root) {
        if (!show_blocks(run, b, a->sbuf, (size_t)b->n, a->scount, a->stype, false))
            return;
        dm_board_post(run, b, 0, 0, true);
        if (!a->is_in_place)
            dm_coll_copy(run, dm_coll_splace(a, b->me), a->scount, a->stype, a->rbuf, a->rcount,
                         a->rtype);
    } else {
        if (dm_board_await(run, b, a->root, true) == NULL)
            return;
        pull(run, b, a->root, b->me, a->rbuf, a->rcount, a->rtype);
    }
    close_round(run, b);
}

void dm_board_pull_gather(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    if (!open_round(run, b))
        return;
    if (b->me != a->root) {
        if (!show_blocks(run, b, a->sbuf, 1, a->scount, a->stype, false))
            return;
        dm_board_post(run, b, 0, 0, false);
    }
    for (int i = 0; i < b->n && b->me == a->root; i++) {
        if (i == b->me)
            continue;
        if (dm_board_await(run, b, i, false) == NULL)
            return;
        pull(run, b, i, 0, dm_coll_rplace(a, i), a->rcount, a->rtype);
    }
    if (b->me == a->root && !a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, b->me), a->rcount,
                     a->rtype);
    close_round(run, b);
}
