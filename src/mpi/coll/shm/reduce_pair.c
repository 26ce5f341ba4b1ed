/*
 * Reductions of long vectors between two ranks that may read and write each other's memory: one writes its
 * vector to the other in pieces, from the front, which are reduced meanwhile. Folding is faster than the
 * copy, so who reduces also reads pieces, from the back. Nothing goes through slots, each byte is copied
 * once. Only where the order of the two operands does not matter.
 */
#include "mpi/coll/shm/coll_shm.h"
#include "util/host.h"

#define PIECE  ((size_t)64 << 10) /* bytes, at most: stays in the cache until it is reduced */
#define ROUNDS UINT32_MAX /* of b->n_rounds: unlike any number of rounds of a vector in slots */

struct pair {
    struct dm_run *run;
    struct dm_coll_shm *b;
    const struct dm_coll_args *a;
    size_t bytes, piece;
    int other; /* lrank */
};

bool dm_coll_shm_is_pair(const struct dm_coll_shm *b, const struct dm_coll_args *a, size_t bytes)
{
    return b->n == 2 && dm_coll_shm_uses_cma(b, bytes) && a->rtype->is_contig &&
           a->op->is_commutative;
}

/* Where the piece in front is written: where the result will be, or DM_COLL_SHM_BIG pieces in turn. */
static size_t pair_slot(const struct pair *p, bool is_ring, size_t at)
{
    return is_ring ? p->b->round % DM_COLL_SHM_BIG * p->piece : at;
}

/* Both come, and the root shows where it wants the other's vector. False: these are not equally long. */
static bool pair_barrier(struct pair *p, const struct dm_coll_shm_span *span)
{
    struct dm_coll_shm *b = p->b;
    const struct dm_coll_shm_head *head = dm_coll_shm_head(b, p->other);

    if (!dm_coll_shm_claim(p->run, b, sizeof(*span)))
        return false;
    *dm_coll_shm_span(b, b->me) = *span;
    if (!dm_coll_shm_barrier(p->run, b, sizeof(*span), p->bytes))
        return false;
    if (dm_likely(head->n_rounds == ROUNDS && head->total == p->bytes))
        return true;
    dm_coll_fail(p->run, DM_FAIL(DM_ERR_TRUNCATE,
                                 "rank %d reduces a vector of another length than this one's "
                                 "%zu bytes",
                                 b->ranks[p->other], p->bytes));
    p->run->is_stopped = head->n_rounds != ROUNDS;
    dm_coll_shm_finish(p->run, b);
    return false;
}

static inline size_t pair_piece_len(const struct pair *p, size_t at)
{
    return p->bytes - at < p->piece ? p->bytes - at : p->piece;
}

static inline int other_pid(const struct pair *p)
{
    return (int)p->b->shared->lranks[p->other].id.pid;
}

static void pair_fail(struct pair *p, int err)
{
    dm_coll_fail(p->run, err);
    p->run->is_stopped = true;
}

/* Where not all pieces were given, the giver's vector is the program's again when the taker has read the others. */
static void pair_part(struct pair *p, size_t n_given, bool is_taker)
{
    struct dm_coll_shm *b = p->b;

    if (n_given == (p->bytes + p->piece - 1) / p->piece)
        return;
    dm_coll_shm_next(b);
    dm_coll_shm_finish(p->run, b);
    if (!is_taker)
        dm_coll_shm_await_finished(p->run, b, p->other);
}

/* The first piece that is left, and again. The length of the other's span is the ring's, 0: there is none. */
static void pair_give(struct pair *p)
{
    struct dm_coll_shm *b = p->b;
    const char *own = (const char *)p->a->sbuf + p->a->rtype->true_lb;
    struct dm_coll_shm_span span = {(uint64_t)(uintptr_t)own, 0};
    uint64_t offered = b->round;
    size_t n_given = 0;

    if (!pair_barrier(p, &span))
        return;
    span = *dm_coll_shm_span(b, p->other);
    for (int64_t i; (i = dm_coll_shm_take_first(b, p->other, offered)) >= 0; n_given++) {
        size_t at = (size_t)i * p->piece;
        int err;

        dm_coll_shm_next(b);
        if (!dm_coll_shm_claim(p->run, b, span.len))
            return;
        err = dm_host_vm_write(other_pid(p), span.addr + pair_slot(p, span.len > 0, at), own + at,
                               pair_piece_len(p, at));
        if (err != DM_OK) {
            pair_fail(p, err);
            return;
        }
        dm_coll_shm_post(p->run, b, 0, p->bytes, false);
        dm_coll_shm_finish(p->run, b);
    }
    pair_part(p, n_given, false);
}

/* own op in into the result, where in may be, and own. */
static void pair_reduce(struct pair *p, const char *in, size_t at)
{
    struct dm_type *type = p->a->rtype;
    const char *own = (const char *)p->a->sbuf + at;
    char *to = (char *)p->a->rbuf + at;
    int err = dm_op_apply(p->a->op, own == to ? in - type->true_lb : own, to,
                          pair_piece_len(p, at) / (size_t)type->size, type);

    if (err != DM_OK)
        dm_coll_fail(p->run, err);
}

/* A piece that the other has given, or gives just now. */
static bool pair_reduce_given(struct pair *p, size_t at, const char *ring)
{
    struct dm_coll_shm *b = p->b;

    dm_coll_shm_next(b);
    if (dm_coll_shm_await(p->run, b, p->other, false) == NULL)
        return false;
    pair_reduce(p, ring != NULL ? ring + pair_slot(p, true, at) : NULL, at);
    dm_coll_shm_finish(p->run, b);
    return true;
}

/* One that the other will not come to: to be read. */
static bool reduce_read(struct pair *p, uint64_t from, size_t at, char *spare)
{
    char *in = spare != NULL ? spare : (char *)p->a->rbuf + p->a->rtype->true_lb + at;
    int err = dm_host_vm_read(other_pid(p), from + at, in, pair_piece_len(p, at));

    if (err == DM_OK)
        pair_reduce(p, in, at);
    else
        pair_fail(p, err);
    return err == DM_OK;
}

/* Has the other posted its next piece? */
static inline bool has_next(const struct pair *p)
{
    const struct dm_coll_shm_head *head =
        &p->b->shared->lranks[p->other].heads[(p->b->round + 1) % DM_COLL_SHM_SLOTS];

    return atomic_load_explicit(&head->round, memory_order_acquire) > p->b->round;
}

static void take_all(struct pair *p, uint64_t offered, uint64_t from, char *ring, char *spare)
{
    size_t n = 0; /* reduced of what was given */

    for (;;) {
        bool is_next = n < dm_coll_shm_n_first(p->b, p->b->me) && has_next(p);
        int64_t i = is_next ? -1 : dm_coll_shm_take_last(p->b, p->b->me, offered);

        if (i >= 0) {
            if (!reduce_read(p, from, (size_t)i * p->piece, spare))
                return;
        } else if (n == dm_coll_shm_n_first(p->b, p->b->me)) {
            pair_part(p, n, true);
            return;
        } else if (!pair_reduce_given(p, n++ * p->piece, ring)) {
            return;
        }
    }
}

/* In place what comes may not be written over: there is a ring for it, and room for what is read. */
static void pair_take(struct pair *p)
{
    struct dm_coll_shm *b = p->b;
    size_t true_lb = (size_t)p->a->rtype->true_lb, ring_len = DM_COLL_SHM_BIG * p->piece;
    bool is_in_place = p->a->sbuf == p->a->rbuf;
    char *ring = is_in_place ? dm_coll_alloc(p->run, ring_len + p->piece) : NULL;
    struct dm_coll_shm_span span = {(uint64_t)(uintptr_t)p->a->rbuf + true_lb, 0};
    uint64_t offered = b->round;

    if (is_in_place && ring == NULL)
        return;
    if (is_in_place)
        span = (struct dm_coll_shm_span){(uint64_t)(uintptr_t)ring, ring_len};
    dm_coll_shm_publish(b, 0, 0, p->bytes, p->piece);
    if (pair_barrier(p, &span))
        take_all(p, offered, dm_coll_shm_span(b, p->other)->addr, ring,
                 is_in_place ? ring + ring_len : NULL);
}

void dm_coll_shm_pair_reduce(struct dm_run *run, struct dm_coll_shm *b,
                             const struct dm_coll_args *a, size_t bytes, int root)
{
    struct pair p = {.run = run, .b = b, .a = a, .bytes = bytes, .other = 1 - b->me};
    size_t size = (size_t)a->rtype->size;

    p.piece = dm_coll_shm_piece_of(bytes, PIECE, size);
    b->n_rounds = ROUNDS;
    dm_coll_shm_next(b);
    if (b->me == root)
        pair_take(&p);
    else
        pair_give(&p);
}
