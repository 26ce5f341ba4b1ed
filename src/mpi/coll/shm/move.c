/*
 * Moving data over a board: barrier, bcast, gather, scatter, allgather, alltoall.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/board.h"

void dm_coll_barrier_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_board *b = dm_board_of(run);

    (void)a;
    dm_board_next(b);
    if (dm_board_claim(run, b, 0) && dm_board_meet(run, b, 0, 0))
        dm_board_finish(run, b);
    dm_board_close(run, b);
}

/* ---- one to all ---- */

#define BCAST_LONG ((size_t)256 << 10) /* bytes */

static void bcast_out(struct dm_run *run, struct dm_board *b, const void *buf, size_t count,
                      const struct dm_type *type)
{
    size_t total = dm_coll_bytes(count, type), piece = dm_board_piece(b, total);

    for (size_t at = 0; at < total; at += piece) {
        size_t len = total - at < piece ? total - at : piece;

        dm_board_next(b);
        if (!dm_board_claim(run, b, len))
            return;
        dm_board_pack(buf, count, type, at, dm_board_place(b, b->me, len), len);
        dm_board_post(run, b, len, total, true);
        dm_board_finish(run, b);
    }
}

/* As many rounds as the root has, whatever is expected here. */
static void bcast_in(struct dm_run *run, struct dm_board *b, void *buf, size_t count,
                     struct dm_type *type, int root)
{
    size_t at = 0, total;

    do {
        const struct dm_board_head *head;

        dm_board_next(b);
        head = dm_board_await(run, b, root, true);
        if (head == NULL)
            return;
        if (head->total == DM_BOARD_PULLED) {
            dm_board_pull_bcast(run, b, buf, count, type, root);
            return;
        }
        dm_board_unpack(run, buf, count, type, at, dm_board_place(b, root, head->len), head->len);
        at += head->len;
        total = head->total; /* the head is the root's again when the round is finished */
        dm_board_finish(run, b);
    } while (at < total);
}

/* Very long data are written and read at the same time, which is faster than one copy. */
void dm_board_bcast(struct dm_run *run, struct dm_board *b, void *buf, size_t count,
                    struct dm_type *type, int root)
{
    size_t bytes = dm_coll_bytes(count, type);

    if (b->me != root)
        bcast_in(run, b, buf, count, type, root);
    else if (b->is_flat && bytes < BCAST_LONG && dm_board_pulls(b, bytes))
        dm_board_pull_bcast(run, b, buf, count, type, root);
    else
        bcast_out(run, b, buf, count, type);
}

void dm_coll_bcast_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_board *b = dm_board_of(run);

    dm_board_bcast(run, b, a->rbuf, a->rcount, a->rtype, a->root);
    dm_board_close(run, b);
}

/* Each rank's part of the slot is as long as the data, rounded up. */
static inline size_t stride_of(size_t len)
{
    return (len + 15) & ~(size_t)15;
}

static void scatter_out(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    size_t total = dm_coll_bytes(a->scount, a->stype), piece = dm_board_part(b, b->n);

    for (size_t at = 0; at < total; at += piece) {
        size_t len = total - at < piece ? total - at : piece;
        size_t all = stride_of(len) * (size_t)b->n;

        dm_board_next(b);
        if (!dm_board_claim(run, b, all))
            return;
        for (int i = 0; i < b->n; i++)
            if (i != b->me)
                dm_board_pack(dm_coll_splace(a, i), a->scount, a->stype, at,
                              dm_board_place(b, b->me, all) + stride_of(len) * (size_t)i, len);
        dm_board_post(run, b, len, total, true);
        dm_board_finish(run, b);
    }
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, b->me), a->scount, a->stype, a->rbuf, a->rcount,
                     a->rtype);
}

static void scatter_in(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    size_t at = 0, total;

    do {
        const struct dm_board_head *head;
        size_t stride;

        dm_board_next(b);
        head = dm_board_await(run, b, a->root, true);
        if (head == NULL)
            return;
        stride = stride_of(head->len);
        dm_board_unpack(run, a->rbuf, a->rcount, a->rtype, at,
                        dm_board_place(b, a->root, stride * (size_t)b->n) + stride * (size_t)b->me,
                        head->len);
        at += head->len;
        total = head->total;
        dm_board_finish(run, b);
    } while (at < total);
}

void dm_coll_scatter_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_board *b = dm_board_of(run);

    if (dm_board_pulls(b, b->me == a->root ? dm_coll_bytes(a->scount, a->stype)
                                           : dm_coll_bytes(a->rcount, a->rtype)))
        dm_board_pull_scatter(run, b, a);
    else if (b->me == a->root)
        scatter_out(run, b, a);
    else
        scatter_in(run, b, a);
    dm_board_close(run, b);
}

/* ---- all to one ---- */

static void gather_out(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    size_t total = dm_coll_bytes(a->scount, a->stype), piece = dm_board_piece(b, total);

    for (size_t at = 0; at < total; at += piece) {
        size_t len = total - at < piece ? total - at : piece;

        dm_board_next(b);
        if (!dm_board_claim(run, b, len))
            return;
        dm_board_pack(a->sbuf, a->scount, a->stype, at, dm_board_place(b, b->me, len), len);
        dm_board_post(run, b, len, total, false);
        dm_board_finish(run, b);
    }
}

/* The first of the others says how many rounds there are: all give the same. */
static void gather_in(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    size_t at = 0, total, piece;

    do {
        total = piece = 0;
        dm_board_next(b);
        for (int i = 0; i < b->n; i++) {
            const struct dm_board_head *head;

            if (i == b->me)
                continue;
            head = dm_board_await(run, b, i, false);
            if (head == NULL)
                return;
            dm_board_unpack(run, dm_coll_rplace(a, i), a->rcount, a->rtype, at,
                            dm_board_place(b, i, head->len), head->len);
            total = head->total;
            piece = head->len;
        }
        at += piece;
        dm_board_finish(run, b);
    } while (at < total);
    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, b->me), a->rcount,
                     a->rtype);
}

void dm_coll_gather_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_board *b = dm_board_of(run);

    if (dm_board_pulls(b, b->me == a->root ? dm_coll_bytes(a->rcount, a->rtype)
                                           : dm_coll_bytes(a->scount, a->stype)))
        dm_board_pull_gather(run, b, a);
    else if (b->me == a->root)
        gather_in(run, b, a);
    else
        gather_out(run, b, a);
    dm_board_close(run, b);
}

/* ---- all to all ---- */

static void allgather_round(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a,
                            size_t at, size_t piece)
{
    size_t total = dm_coll_bytes(a->scount, a->stype);
    size_t left = at < total ? total - at : 0, len = left < piece ? left : piece;

    dm_board_next(b);
    if (!dm_board_claim(run, b, len))
        return;
    dm_board_pack(a->sbuf, a->scount, a->stype, at, dm_board_place(b, b->me, len), len);
    if (!dm_board_meet(run, b, len, total))
        return;
    for (int i = 0; i < b->n; i++) {
        size_t has = dm_board_head(b, i)->len;

        if (i != b->me && has > 0)
            dm_board_unpack(run, dm_coll_rplace(a, i), dm_coll_rcount(a, i), a->rtype, at,
                            dm_board_place(b, i, has), has);
    }
    dm_board_finish(run, b);
}

void dm_coll_allgather_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_board *b = dm_board_of(run);
    size_t most = 0;

    for (int i = 0; i < b->n; i++)
        most = dm_coll_rcount(a, i) > most ? dm_coll_rcount(a, i) : most;
    most = dm_coll_bytes(most, a->rtype);
    if (dm_board_pulls(b, most)) {
        dm_board_pull_allgather(run, b, a);
    } else {
        for (size_t at = 0; at < most && !run->is_stopped; at += b->room)
            allgather_round(run, b, a, at, b->room);
        if (!a->is_in_place)
            dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, b->me),
                         dm_coll_rcount(a, b->me), a->rtype);
    }
    dm_board_close(run, b);
}

static void alltoall_round(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a,
                           size_t at, size_t len)
{
    size_t total = dm_coll_bytes(a->rcount, a->rtype);
    size_t stride = stride_of(len), all = stride * (size_t)b->n;
    char *place;

    dm_board_next(b);
    if (!dm_board_claim(run, b, all))
        return;
    place = dm_board_place(b, b->me, all);
    for (int i = 0; i < b->n; i++) {
        if (i == b->me)
            continue;
        if (a->is_in_place)
            dm_board_pack(dm_coll_rplace(a, i), a->rcount, a->rtype, at, place + stride * (size_t)i,
                          len);
        else
            dm_board_pack(dm_coll_splace(a, i), a->scount, a->stype, at, place + stride * (size_t)i,
                          len);
    }
    if (!dm_board_meet(run, b, len, total))
        return;
    for (int i = 0; i < b->n; i++)
        if (i != b->me)
            dm_board_unpack(run, dm_coll_rplace(a, i), a->rcount, a->rtype, at,
                            dm_board_place(b, i, all) + stride * (size_t)b->me, len);
    dm_board_finish(run, b);
}

void dm_coll_alltoall_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_board *b = dm_board_of(run);
    size_t total = dm_coll_bytes(a->rcount, a->rtype), piece = dm_board_part(b, b->n);

    if (dm_board_pulls(b, total)) {
        dm_board_pull_alltoall(run, b, a);
    } else {
        for (size_t at = 0; at < total && !run->is_stopped; at += piece)
            alltoall_round(run, b, a, at, total - at < piece ? total - at : piece);
        if (!a->is_in_place)
            dm_coll_copy(run, dm_coll_splace(a, b->me), a->scount, a->stype,
                         dm_coll_rplace(a, b->me), a->rcount, a->rtype);
    }
    dm_board_close(run, b);
}
