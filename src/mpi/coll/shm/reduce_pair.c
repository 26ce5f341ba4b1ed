/*
 * Reductions of long vectors between two ranks that may read and write each other's memory: one
 * writes its vector to the other in pieces, from the front, which are reduced meanwhile. Reducing
 * is faster than the copy, so the root also reads pieces, from the back. Nothing goes through
 * slots, each byte is copied once. Only where the order of the two operands does not matter.
 */
#include "mpi/coll/shm/reduce_pair.h"

#include "mpi/coll/shm/cma.h"
#include "mpi/coll/shm/split_copy.h"
#include "util/host.h"

#define PIECE  ((size_t)512 << 10) /* bytes, at most: stays in the cache until it is reduced */
#define ROUNDS UINT32_MAX /* of shm->n_rounds: unlike any number of rounds of a vector in slots */

struct pair {
    struct dm_run *run;
    struct dm_coll_shm *shm;
    const struct dm_coll_args *a;
    size_t bytes, piece;
    int other; /* lrank */
};

bool dm_coll_shm_is_pair(const struct dm_coll_shm *shm, const struct dm_coll_args *a, size_t bytes)
{
    return shm->n == 2 && dm_coll_shm_uses_cma(shm, bytes) && a->rtype->is_contig &&
           a->op->is_commutative;
}

/*
 * Where the piece in front is written: where the result will be, or DM_COLL_SHM_BIG pieces in
 * turn.
 */
static size_t pair_slot(const struct pair *p, bool is_ring, size_t at)
{
    return is_ring ? p->shm->round % DM_COLL_SHM_BIG * p->piece : at;
}

/*
 * Both come, and the root says where it wants the other's vector. False: these are not equally
 * long.
 */
static bool pair_barrier(struct pair *p, const struct dm_coll_shm_span *span)
{
    struct dm_coll_shm *shm = p->shm;
    const struct dm_coll_shm_head *head = dm_coll_shm_head(shm, p->other);

    if (!dm_coll_shm_claim(p->run, shm, sizeof(*span)))
        return false;
    *dm_coll_shm_span(shm, shm->me) = *span;
    if (!dm_coll_shm_barrier(p->run, shm, sizeof(*span), p->bytes))
        return false;
    if (dm_likely(head->n_rounds == ROUNDS && head->total == p->bytes))
        return true;
    dm_coll_fail(p->run, DM_FAIL(DM_ERR_TRUNCATE,
                                 "rank %d reduces a vector of another length than this one's "
                                 "%zu bytes",
                                 shm->ranks[p->other], p->bytes));
    p->run->is_stopped = head->n_rounds != ROUNDS;
    dm_coll_shm_finish(p->run, shm);
    return false;
}

static inline size_t pair_piece_len(const struct pair *p, size_t at)
{
    return dm_split_piece_len(p->bytes, p->piece, at);
}

static inline int pair_other_pid(const struct pair *p)
{
    return (int)p->shm->shared->ranks[p->other].id.pid;
}

static void pair_fail(struct pair *p, int err)
{
    dm_coll_fail(p->run, err);
    p->run->is_stopped = true;
}

/*
 * Where not all pieces were sent, the sender's vector is the program's again when the root has
 * read the others.
 */
static void pair_end(struct pair *p, size_t n_sent, bool is_root)
{
    struct dm_coll_shm *shm = p->shm;

    if (n_sent == dm_split_n_pieces(p->bytes, p->piece))
        return;
    dm_coll_shm_next(shm);
    dm_coll_shm_finish(p->run, shm);
    if (!is_root)
        dm_coll_shm_await_finished(p->run, shm, p->other);
}

/*
 * The first piece that is left, and again. The length of the other's span is the ring's, 0: there
 * is none.
 */
static void pair_send(struct pair *p)
{
    struct dm_coll_shm *shm = p->shm;
    const char *own = (const char *)p->a->sbuf + p->a->rtype->true_lb;
    struct dm_coll_shm_span span = {(uint64_t)(uintptr_t)own, 0};
    uint64_t number = shm->round;
    size_t n_sent = 0;

    if (!pair_barrier(p, &span))
        return;
    span = *dm_coll_shm_span(shm, p->other);
    for (int64_t i; (i = dm_split_claim_front(dm_coll_shm_split(shm, p->other), number)) >= 0;
         n_sent++) {
        size_t at = (size_t)i * p->piece;
        int err;

        dm_coll_shm_next(shm);
        if (!dm_coll_shm_claim(p->run, shm, span.len))
            return;
        err = dm_host_vm_write(pair_other_pid(p), span.addr + pair_slot(p, span.len > 0, at),
                               own + at, pair_piece_len(p, at));
        if (err != DM_OK) {
            pair_fail(p, err);
            return;
        }
        dm_coll_shm_post(p->run, shm, 0, p->bytes, false);
        dm_coll_shm_finish(p->run, shm);
    }
    pair_end(p, n_sent, false);
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

/* A piece that the other has sent, or sends just now. */
static bool pair_reduce_sent(struct pair *p, size_t at, const char *ring)
{
    struct dm_coll_shm *shm = p->shm;

    dm_coll_shm_next(shm);
    if (dm_coll_shm_await(p->run, shm, p->other, false) == NULL)
        return false;
    pair_reduce(p, ring != NULL ? ring + pair_slot(p, true, at) : NULL, at);
    dm_coll_shm_finish(p->run, shm);
    return true;
}

/* One that the other will not come to: to be read. */
static bool pair_reduce_read(struct pair *p, uint64_t from, size_t at, char *spare)
{
    char *in = spare != NULL ? spare : (char *)p->a->rbuf + p->a->rtype->true_lb + at;
    int err = dm_host_vm_read(pair_other_pid(p), from + at, in, pair_piece_len(p, at));

    if (err == DM_OK)
        pair_reduce(p, in, at);
    else
        pair_fail(p, err);
    return err == DM_OK;
}

/* Has the other posted its next piece? */
static inline bool pair_has_next(const struct pair *p)
{
    const struct dm_coll_shm_head *head = dm_coll_shm_head_of(p->shm, p->other, p->shm->round + 1);

    return atomic_load_explicit(&head->round, memory_order_acquire) > p->shm->round;
}

static void pair_reduce_all(struct pair *p, uint64_t number, uint64_t from, char *ring, char *spare)
{
    struct dm_split *split = dm_coll_shm_split(p->shm, p->shm->me);
    size_t n = 0; /* reduced of what was sent */

    for (;;) {
        bool is_next = n < dm_split_n_front(split) && pair_has_next(p);
        int64_t i = is_next ? -1 : dm_split_claim_back(split, number);

        if (i >= 0) {
            if (!pair_reduce_read(p, from, (size_t)i * p->piece, spare))
                return;
        } else if (n == dm_split_n_front(split)) {
            pair_end(p, n, true);
            return;
        } else if (!pair_reduce_sent(p, n++ * p->piece, ring)) {
            return;
        }
    }
}

/*
 * In place what comes may not be written over: there is a ring for it, and space for what is
 * read.
 */
static void pair_receive(struct pair *p)
{
    struct dm_coll_shm *shm = p->shm;
    size_t true_lb = (size_t)p->a->rtype->true_lb, ring_len = DM_COLL_SHM_BIG * p->piece;
    bool is_in_place = p->a->sbuf == p->a->rbuf;
    char *ring = is_in_place ? dm_coll_alloc(p->run, ring_len + p->piece) : NULL;
    struct dm_coll_shm_span span = {(uint64_t)(uintptr_t)p->a->rbuf + true_lb, 0};
    uint64_t number = shm->round;

    if (is_in_place && ring == NULL)
        return;
    if (is_in_place)
        span = (struct dm_coll_shm_span){(uint64_t)(uintptr_t)ring, ring_len};
    dm_coll_shm_split_open(shm, 0, 0, p->bytes, p->piece);
    if (pair_barrier(p, &span))
        pair_reduce_all(p, number, dm_coll_shm_span(shm, p->other)->addr, ring,
                        is_in_place ? ring + ring_len : NULL);
}

void dm_coll_shm_pair_reduce(struct dm_run *run, struct dm_coll_shm *shm,
                             const struct dm_coll_args *a, size_t bytes, int root)
{
    struct pair p = {.run = run, .shm = shm, .a = a, .bytes = bytes, .other = 1 - shm->me};
    size_t size = (size_t)a->rtype->size;

    p.piece = dm_split_piece(bytes, PIECE, size);
    shm->n_rounds = ROUNDS;
    dm_coll_shm_next(shm);
    if (shm->me == root)
        pair_receive(&p);
    else
        pair_send(&p);
}
