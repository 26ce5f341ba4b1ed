/*
 * From and to a root over a board: scatter and gather, with equal or different counts. Who gives data says
 * how they travel, so the ranks need not know each other's counts: in slots, or from where they are.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/board.h"

/* ---- one to all ---- */

/* In pieces; the root waits for nobody but for room. */
static void scatter_out(struct dm_run *run, struct dm_board *b, struct dm_board_blocks *x)
{
    size_t at = 0, piece = dm_board_piece(b, x->total), room = dm_board_blocks_room(b);

    piece = piece < room ? piece : room;
    do {
        size_t n = x->total - at < piece ? x->total - at : piece;
        size_t len = dm_board_blocks_len(b, n);

        dm_board_next(b);
        if (!dm_board_claim(run, b, len))
            return;
        dm_board_blocks_put(x, b, n);
        at += n;
        dm_board_post(run, b, len, x->total - at, true);
        dm_board_finish(run, b);
    } while (at < x->total);
}

static void scatter_show(struct dm_run *run, struct dm_board *b, const struct dm_board_blocks *x)
{
    dm_board_next(b);
    if (!dm_board_claim(run, b, dm_board_spans_len(b)) || !dm_board_blocks_show(run, x, b))
        return;
    dm_board_post(run, b, dm_board_spans_len(b), DM_BOARD_PULLED, true);
}

static void scatter_root(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    struct dm_board_blocks x;
    bool is_shown;

    dm_board_blocks_open(&x, b, a, false);
    dm_board_expect(b, 2 * x.total);
    is_shown = dm_board_pulls(b, x.most) && !dm_board_runs_ahead(b, x.total);
    if (is_shown)
        scatter_show(run, b, &x);
    else
        scatter_out(run, b, &x);
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, b->me), dm_coll_scount(a, b->me), a->stype, a->rbuf,
                     a->rcount, a->rtype);
    if (!is_shown || run->is_stopped)
        return;
    dm_board_finish(run, b);
    dm_board_await_all_finished(run, b);
}

static void scatter_in(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    size_t at = 0, left;

    do {
        const struct dm_board_head *head;

        dm_board_next(b);
        head = dm_board_await(run, b, a->root, true);
        if (head == NULL)
            return;
        left = head->total;
        if (left == DM_BOARD_PULLED) {
            dm_board_pull(run, b, a->root, dm_board_spans(b, a->root) + b->me, a->rbuf, a->rcount,
                          a->rtype, true);
            left = 0;
        } else {
            size_t len;
            const char *src = dm_board_blocks_get(b, a->root, head->len, &len);

            if (len > 0)
                dm_board_unpack(run, a->rbuf, a->rcount, a->rtype, at, src, len);
            at += len;
        }
        dm_board_finish(run, b);
    } while (left > 0);
}

void dm_coll_scatter_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_board *b = dm_board_of(run);

    if (b->me == a->root)
        scatter_root(run, b, a);
    else
        scatter_in(run, b, a);
    dm_board_close(run, b);
}

/* ---- all to one ---- */

/* What does not fit into a slot and cannot be read goes by messages: the root alone knows how long it is. */
static void gather_out(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    struct dm_board_buf mine = {(void *)(uintptr_t)a->sbuf, a->scount, a->stype};
    size_t len = dm_coll_bytes(a->scount, a->stype), slot = len;
    uint64_t how = 0;

    if (dm_board_pulls(b, len) && !(b->is_oversubscribed && len <= b->room)) {
        how = DM_BOARD_PULLED;
        slot = sizeof(struct dm_board_span);
    } else if (len > b->room) {
        how = DM_BOARD_MESSAGE;
        slot = 0;
    }
    dm_board_expect(b, 2 * len * (size_t)b->n);
    dm_board_next(b);
    if (!dm_board_claim(run, b, slot))
        return;
    if (how == 0 && len > 0)
        dm_board_pack(mine.buf, mine.count, mine.type, 0, dm_board_place(b, b->me, len), len);
    if (how == DM_BOARD_PULLED && !dm_board_show(run, mine, dm_board_span(b, b->me)))
        return;
    dm_board_post(run, b, slot, how, false);
    dm_board_finish(run, b);
    if (how == DM_BOARD_PULLED && dm_board_shares(b))
        dm_board_help(run, b);
    else if (how == DM_BOARD_PULLED)
        dm_board_await_finished(run, b, a->root);
    else if (how == DM_BOARD_MESSAGE)
        dm_coll_send(run, a->sbuf, a->scount, a->stype, a->root);
}

static bool gather_from(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a,
                        int seat)
{
    const struct dm_board_head *head = dm_board_await(run, b, seat, false);
    size_t count = dm_coll_rcount(a, seat);
    void *buf = dm_coll_rplace(a, seat);

    if (head == NULL)
        return false;
    if (head->total == DM_BOARD_PULLED)
        dm_board_pull(run, b, seat, dm_board_span(b, seat), buf, count, a->rtype, true);
    else if (head->total == DM_BOARD_MESSAGE)
        dm_coll_irecv(run, buf, count, a->rtype, seat);
    else if (head->len > 0)
        dm_board_unpack(run, buf, count, a->rtype, 0, dm_board_place(b, seat, head->len),
                        head->len);
    return true;
}

static void gather_in(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a)
{
    size_t total = 0;

    for (int i = 0; i < b->n; i++)
        total += dm_coll_rcount(a, i);
    dm_board_expect(b, 2 * dm_coll_bytes(total, a->rtype));
    dm_board_next(b);
    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, b->me),
                     dm_coll_rcount(a, b->me), a->rtype);
    for (int i = 0; i < b->n; i++)
        if (i != b->me && dm_coll_rcount(a, i) > 0 && !gather_from(run, b, a, i))
            return;
    dm_board_finish(run, b);
    dm_coll_wait(run);
}

void dm_coll_gather_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_board *b = dm_board_of(run);

    if (b->me == a->root)
        gather_in(run, b, a);
    else
        gather_out(run, b, a);
    dm_board_close(run, b);
}
