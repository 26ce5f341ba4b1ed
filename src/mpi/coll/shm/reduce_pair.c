/*
 * Reductions of long vectors between two ranks that may read and write each other's memory: one writes its
 * vector to the other in pieces, which are folded meanwhile. Nothing goes through slots, each byte is
 * copied once. Only where the order of the two operands does not matter.
 */
#include "mpi/coll/shm/board.h"
#include "util/host.h"

#define PIECE  ((size_t)64 << 10) /* bytes: stays in the cache until it is folded */
#define ROUNDS UINT32_MAX /* of b->n_rounds: unlike any number of rounds of a vector in slots */

struct pair {
    struct dm_run *run;
    struct dm_board *b;
    const struct dm_coll_args *a;
    size_t bytes, piece;
    int other; /* seat */
};

bool dm_board_is_pair(const struct dm_board *b, const struct dm_coll_args *a, size_t bytes)
{
    return b->n == 2 && dm_board_pulls(b, bytes) && a->rtype->is_contig && a->op->is_commutative;
}

/* Where the piece in front is written: where the result will be, or DM_BOARD_BIG pieces in turn. */
static size_t place(const struct pair *p, bool is_ring, size_t at)
{
    return is_ring ? p->b->round % DM_BOARD_BIG * p->piece : at;
}

/* Both come, and the root shows where it wants the other's vector. False: these are not equally long. */
static bool meet(struct pair *p, const struct dm_board_span *span)
{
    struct dm_board *b = p->b;
    const struct dm_board_head *head = dm_board_head(b, p->other);

    if (!dm_board_claim(p->run, b, sizeof(*span)))
        return false;
    *dm_board_span(b, b->me) = *span;
    if (!dm_board_meet(p->run, b, sizeof(*span), p->bytes))
        return false;
    if (dm_likely(head->n_rounds == ROUNDS && head->total == p->bytes))
        return true;
    dm_coll_fail(p->run, DM_FAIL(DM_ERR_TRUNCATE,
                                 "rank %d reduces a vector of another length than this one's "
                                 "%zu bytes",
                                 b->ranks[p->other], p->bytes));
    p->run->is_stopped = head->n_rounds != ROUNDS;
    dm_board_finish(p->run, b);
    return false;
}

/* The span's length is the ring's, 0: there is none. */
static void give(struct pair *p)
{
    struct dm_board *b = p->b;
    const char *own = (const char *)p->a->sbuf + p->a->rtype->true_lb;
    struct dm_board_span span = {0, 0};
    size_t n;

    if (!meet(p, &span))
        return;
    span = *dm_board_span(b, p->other);
    for (size_t at = 0; at < p->bytes; at += n) {
        int err;

        n = p->bytes - at < p->piece ? p->bytes - at : p->piece;
        dm_board_next(b);
        if (!dm_board_claim(p->run, b, span.len))
            return;
        err = dm_host_poke((int)b->shared->seats[p->other].id.pid,
                           span.addr + place(p, span.len > 0, at), own + at, n);
        if (err != DM_OK) {
            dm_coll_fail(p->run, err);
            p->run->is_stopped = true;
            return;
        }
        dm_board_post(p->run, b, 0, p->bytes, false);
        dm_board_finish(p->run, b);
    }
}

static void take(struct pair *p)
{
    struct dm_board *b = p->b;
    struct dm_type *type = p->a->rtype;
    char *own = (char *)(uintptr_t)p->a->sbuf + type->true_lb;
    char *to = (char *)p->a->rbuf + type->true_lb;
    char *ring = own == to ? dm_coll_alloc(p->run, DM_BOARD_BIG * p->piece) : NULL;
    struct dm_board_span span = {(uint64_t)(uintptr_t)to, 0};
    size_t n;

    if (own == to && ring == NULL)
        return;
    if (ring != NULL)
        span = (struct dm_board_span){(uint64_t)(uintptr_t)ring, DM_BOARD_BIG * p->piece};
    if (!meet(p, &span))
        return;
    for (size_t at = 0; at < p->bytes; at += n) {
        const char *in;
        int err;

        n = p->bytes - at < p->piece ? p->bytes - at : p->piece;
        dm_board_next(b);
        if (dm_board_await(p->run, b, p->other, false) == NULL)
            return;
        in = ring != NULL ? ring + place(p, true, at) : own + at;
        err = dm_op_apply(p->a->op, in - type->true_lb, to + at - type->true_lb,
                          n / (size_t)type->size, type);
        if (err != DM_OK)
            dm_coll_fail(p->run, err);
        dm_board_finish(p->run, b);
    }
}

void dm_board_pair_reduce(struct dm_run *run, struct dm_board *b, const struct dm_coll_args *a,
                          size_t bytes, int root)
{
    struct pair p = {.run = run, .b = b, .a = a, .bytes = bytes, .other = 1 - b->me};
    size_t size = (size_t)a->rtype->size;

    p.piece = size > PIECE ? size : PIECE / size * size;
    b->n_rounds = ROUNDS;
    dm_board_next(b);
    if (b->me == root)
        take(&p);
    else
        give(&p);
}
