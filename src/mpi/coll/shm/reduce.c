/*
 * Reductions over a segment.
 *
 * Vectors lie in the slots packed. One rank's, the base, is reduced into, in place where one rank reduces for
 * all or for a part of the vector. When the operation commutes that is the lowest rank's and the others follow
 * upwards, (x0 + x1) + x2, which is what programs know from other MPI libraries: ScaLAPACK's xssep fails
 * its threshold in a tenth of its runs when sums of three are rounded the other way. Else it is the highest
 * rank's and the others follow downwards, each as the lower operand, so that any operation will do. The bits
 * depend on the number of ranks and the length alone, never on who comes when.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/coll_shm.h"
#include "util/port.h"
#include "util/copy.h"

#define SMALL_FLAT    ((size_t)16 << 10) /* bytes that everybody reduces for itself */
#define SMALL_COUNTED ((size_t)32 << 10) /* bytes that one rank reduces for all */
#define SMALL_SCAN    ((size_t)4 << 10)  /* bytes that each reduces with those of all below */
#define PIECE         ((size_t)16 << 10) /* bytes, at least, of what goes in several rounds */
#define FEW           3                  /* ranks whose vectors the root reduces alone */

struct reduction {
    struct dm_run *run;
    struct dm_coll_shm *b;
    const struct dm_coll_args *a;
    size_t size;   /* of an element */
    size_t n;      /* elements in a round, of which there are */
    size_t n_now;  /* this many in the present one */
    size_t total;  /* bytes of the vector */
    int last;      /* the highest lrank that is reduced */
    int base;      /* the lrank whose vector is reduced into */
    char *spare;   /* space for a round of packed elements, for those who open it */
    void *in, *io; /* space for n elements as they are in memory, when that is not packed */
};

static void reduce_to(struct reduction *f, int last)
{
    f->last = last;
    f->base = f->a->op->is_commutative ? 0 : last;
}

/* False: an element is too large for n parts of a slot, or there is no memory. */
static bool reduce_open(struct reduction *f, struct dm_run *run, const struct dm_coll_args *a,
                        size_t n_parts, size_t total)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);

    *f = (struct reduction){
        .run = run, .b = b, .a = a, .size = (size_t)a->rtype->size, .total = total};
    reduce_to(f, b->n - 1);
    f->n = dm_coll_shm_part(b, (int)n_parts) / f->size;
    if (a->rtype->is_contig)
        return true;
    f->in = dm_coll_alloc_typed(run, f->n, a->rtype);
    f->io = dm_coll_alloc_typed(run, f->n, a->rtype);
    return f->in != NULL && f->io != NULL;
}

/* Rounds in which pieces of a vector of so many bytes are written and read at the same time. */
static void reduce_pieces(struct reduction *f, size_t bytes)
{
    size_t piece = dm_coll_shm_piece(f->b, bytes), n;

    n = (piece > PIECE ? piece : PIECE) / f->size;
    if (n > 0 && n < f->n)
        f->n = n;
}

/* Rounds for so many elements of mine, or for as many of each. */
static void expect_rounds(struct reduction *f, size_t count)
{
    f->b->n_rounds = (uint32_t)((count + f->n - 1) / f->n);
}

static bool spare_open(struct reduction *f)
{
    f->spare = dm_coll_alloc(f->run, f->n * f->size);
    return f->spare != NULL;
}

/* io[i] = in[i] op io[i] for n packed elements. */
static void reduce_combine(struct reduction *f, const char *in, char *io, size_t n)
{
    struct dm_type *type = f->a->rtype;
    int err;

    if (dm_likely(type->is_contig)) {
        err = dm_op_apply(f->a->op, in - type->true_lb, io - type->true_lb, n, type);
    } else {
        dm_type_unpack(f->in, n, type, 0, in, n * f->size);
        dm_type_unpack(f->io, n, type, 0, io, n * f->size);
        err = dm_op_apply(f->a->op, f->in, f->io, n, type);
        dm_type_pack(f->io, n, type, 0, io, n * f->size);
    }
    if (dm_unlikely(err != DM_OK))
        dm_coll_fail(f->run, err);
}

/* My elements from number `at` on as packed bytes in the program's buffer; NULL: they are not packed. */
static char *direct(const struct reduction *f, const void *buf, size_t at)
{
    if (!f->a->rtype->is_contig)
        return NULL;
    return (char *)(uintptr_t)buf + f->a->rtype->true_lb + at * f->size;
}

/*
 * Is a lrank's vector as long as mine? Ranks that go through different numbers of rounds would take each other's
 * next collectives for this one.
 */
static bool agrees(struct reduction *f, int lrank, size_t len)
{
    const struct dm_coll_shm_head *head = dm_coll_shm_head(f->b, lrank);

    if (dm_likely(head->len == len && head->total == f->total))
        return true;
    dm_coll_fail(f->run, DM_FAIL(DM_ERR_TRUNCATE,
                                 "rank %d reduces a vector of another length than this one's "
                                 "%zu bytes",
                                 f->b->ranks[lrank], f->total));
    if (head->n_rounds != f->b->n_rounds)
        f->run->is_stopped = true;
    return false;
}

/*
 * io = x(lrank) op io: n elements that begin `skip` bytes into a place of len bytes. own: where mine are;
 * NULL: in my slot.
 */
static void reduce_lrank(struct reduction *f, int lrank, size_t len, size_t skip, const char *own,
                         char *io, size_t n)
{
    if (own != NULL && lrank == f->b->me)
        reduce_combine(f, own, io, n);
    else if (agrees(f, lrank, len))
        reduce_combine(f, dm_coll_shm_slot_data(f->b, lrank, len) + skip, io, n);
}

/* All lranks but the base. */
static void reduce_remaining(struct reduction *f, size_t len, size_t skip, const char *own,
                             char *io, size_t n)
{
    if (f->base == 0)
        for (int i = 1; i <= f->last; i++)
            reduce_lrank(f, i, len, skip, own, io, n);
    else
        for (int i = f->last - 1; i >= 0; i--)
            reduce_lrank(f, i, len, skip, own, io, n);
}

/* Elements in the round that begins with number `at`. */
static size_t reduce_begin(struct reduction *f, size_t at)
{
    size_t left = f->a->rcount - at;

    dm_coll_shm_next(f->b);
    f->n_now = left < f->n ? left : f->n;
    return f->n_now * f->size;
}

static void reduce_put(const struct reduction *f, size_t at, size_t from, size_t n)
{
    dm_coll_shm_pack(f->a->sbuf, f->a->rcount, f->a->rtype, (at + from) * f->size,
                     dm_coll_shm_slot_data(f->b, f->b->me, f->n_now * f->size) + from * f->size,
                     n * f->size);
}

static void reduce_take(const struct reduction *f, size_t at, const char *src, size_t len)
{
    dm_coll_shm_unpack(f->run, f->a->rbuf, f->a->rcount, f->a->rtype, at * f->size, src, len);
}

/* ---- a short vector to all ---- */

static void reduce_own(struct reduction *f, size_t len)
{
    struct dm_coll_shm *b = f->b;
    char *to = direct(f, f->a->rbuf, 0);
    char *io = to != NULL ? to : dm_coll_alloc(f->run, len);

    if (io == NULL || !agrees(f, f->base, len))
        return;
    if (b->me != f->base || !f->a->is_in_place || to == NULL)
        dm_copy(io, dm_coll_shm_slot_data(b, f->base, len), len);
    reduce_remaining(f, len, 0, NULL, io, f->n_now);
    if (to == NULL)
        reduce_take(f, 0, io, len);
}

static void reduce_for_all(void *arg)
{
    struct reduction *f = arg;
    size_t len = f->n_now * f->size;

    if (agrees(f, f->base, len))
        reduce_remaining(f, len, 0, NULL, dm_coll_shm_slot_data(f->b, f->base, len), f->n_now);
}

static void allreduce_small(struct reduction *f)
{
    struct dm_coll_shm *b = f->b;
    size_t len = reduce_begin(f, 0);

    expect_rounds(f, f->a->rcount);
    if (!dm_coll_shm_claim(f->run, b, len))
        return;
    reduce_put(f, 0, 0, f->n_now);
    if (b->is_flat) {
        if (dm_coll_shm_barrier(f->run, b, len, len))
            reduce_own(f, len);
    } else if (dm_coll_shm_barrier_work(f->run, b, len, len, reduce_for_all, f)) {
        if (agrees(f, f->base, len))
            reduce_take(f, 0, dm_coll_shm_slot_data(b, f->base, len), len);
    }
    dm_coll_shm_finish(f->run, b);
}

/* ---- a long vector: each rank reduces a part ---- */

/* First element of a lrank's part of n. */
static inline size_t reduce_part_of(const struct reduction *f, size_t n, int lrank)
{
    return n * (size_t)lrank / (size_t)f->b->n;
}

/* My vector but for the part that I reduce: that is read where it is, unless it is the base's. */
static void put_parts(const struct reduction *f, size_t at)
{
    size_t lo = reduce_part_of(f, f->n_now, f->b->me),
           hi = reduce_part_of(f, f->n_now, f->b->me + 1);

    if (f->b->me == f->base || !f->a->rtype->is_contig) {
        reduce_put(f, at, 0, f->n_now);
        return;
    }
    reduce_put(f, at, 0, lo);
    reduce_put(f, at, hi, f->n_now - hi);
}

static void reduce_part(struct reduction *f, size_t at, bool is_wanted)
{
    struct dm_coll_shm *b = f->b;
    size_t len = f->n_now * f->size, lo = reduce_part_of(f, f->n_now, b->me);
    size_t n = reduce_part_of(f, f->n_now, b->me + 1) - lo;
    char *io = dm_coll_shm_slot_data(b, f->base, len) + lo * f->size;

    if (n == 0 || !agrees(f, f->base, len))
        return;
    reduce_remaining(f, len, lo * f->size, direct(f, f->a->sbuf, at + lo), io, n);
    if (is_wanted)
        reduce_take(f, at + lo, io, n * f->size);
}

/* The parts of a round before that others have reduced. */
static void take_parts(const struct reduction *f, uint64_t round, size_t at, size_t n)
{
    const char *src = dm_coll_shm_slot_data_at(f->b, f->base, round, n * f->size);
    size_t lo = reduce_part_of(f, n, f->b->me), hi = reduce_part_of(f, n, f->b->me + 1);

    reduce_take(f, at, src, lo * f->size);
    reduce_take(f, at + hi, src + hi * f->size, (n - hi) * f->size);
}

/*
 * In each round the raw vectors are posted, and what was reduced in the round before is read: one
 * barrier a round. A slot is read one round longer than its own.
 */
static void reduce_parts(struct reduction *f, bool is_wanted)
{
    struct dm_coll_shm *b = f->b;
    size_t n_before = 0;

    expect_rounds(f, f->a->rcount + f->n);
    for (size_t at = 0; at < f->a->rcount + f->n; at += f->n) {
        size_t len = 0;

        if (at < f->a->rcount)
            len = reduce_begin(f, at);
        else
            dm_coll_shm_next(b);
        if (!dm_coll_shm_claim(f->run, b, len))
            return;
        if (len > 0)
            put_parts(f, at);
        if (!dm_coll_shm_barrier(f->run, b, len, f->total))
            return;
        if (is_wanted && n_before > 0)
            take_parts(f, b->round - 1, at - f->n, n_before);
        if (len > 0)
            reduce_part(f, at, is_wanted);
        n_before = f->n_now;
    }
    b->n_finished--;
    dm_coll_shm_finish(f->run, b);
}

void dm_coll_allreduce_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);
    size_t bytes = dm_coll_bytes(a->rcount, a->rtype);
    struct reduction f;

    if ((size_t)a->rtype->size > b->space) {
        dm_coll_allreduce_tree(run, a);
        return;
    }
    dm_coll_shm_expect(b, 2 * bytes * (size_t)b->n);
    if (reduce_open(&f, run, a, 1, bytes)) {
        if (f.n >= a->rcount && bytes <= (b->is_flat ? SMALL_FLAT : SMALL_COUNTED))
            allreduce_small(&f);
        else
            reduce_parts(&f, true);
    }
    dm_coll_shm_close(run, b);
}

/* ---- to a root ---- */

static void reduce_give(struct reduction *f)
{
    for (size_t at = 0; at < f->a->rcount; at += f->n) {
        size_t len = reduce_begin(f, at);

        if (!dm_coll_shm_claim(f->run, f->b, len))
            return;
        reduce_put(f, at, 0, f->n_now);
        dm_coll_shm_post(f->run, f->b, len, f->total, false);
        dm_coll_shm_finish(f->run, f->b);
    }
}

/* The base's own vector, while the others still write theirs. */
static void reduce_given_first(const struct reduction *f, size_t at, size_t len)
{
    const char *own = direct(f, f->a->sbuf, at);
    char *io = direct(f, f->a->rbuf, at);

    if (io != NULL && io != own)
        dm_copy(io, own, len);
}

/*
 * Into the root's buffer, so that nothing is written that others wrote before. Where that is not packed,
 * into the base's slot, which is its poster's no more.
 */
static void reduce_round(struct reduction *f, size_t at, size_t len)
{
    struct dm_coll_shm *b = f->b;
    char *own = direct(f, f->a->sbuf, at), *io = direct(f, f->a->rbuf, at);
    const char *first = own;

    if (own == NULL) {
        /* mine are not posted: nobody else reads them */
        dm_coll_shm_head(b, b->me)->len = (uint32_t)len;
        dm_coll_shm_head(b, b->me)->total = f->total;
        reduce_put(f, at, 0, f->n_now);
    }
    if (b->me != f->base || own == NULL) {
        if (!agrees(f, f->base, len))
            return;
        first = dm_coll_shm_slot_data(b, f->base, len);
    }
    if (io == NULL) {
        io = dm_coll_shm_slot_data(b, f->base, len);
    } else if (io == own && b->me != f->base) {
        /* in place: mine must be kept */
        dm_copy(f->spare, own, len);
        own = f->spare;
    }
    if (b->me != f->base && io != first)
        dm_copy(io, first, len);
    reduce_remaining(f, len, 0, own, io, f->n_now);
    if (direct(f, f->a->rbuf, at) == NULL)
        reduce_take(f, at, io, len);
}

static void reduce_given(struct reduction *f)
{
    for (size_t at = 0; at < f->a->rcount; at += f->n) {
        size_t len = reduce_begin(f, at);

        if (!dm_coll_shm_claim(f->run, f->b, len))
            return;
        if (f->b->me == f->base)
            reduce_given_first(f, at, len);
        for (int i = 0; i < f->b->n; i++)
            if (i != f->b->me && dm_coll_shm_await(f->run, f->b, i, false) == NULL)
                return;
        reduce_round(f, at, len);
        dm_coll_shm_finish(f->run, f->b);
    }
}

void dm_coll_shm_reduce(struct dm_run *run, struct dm_coll_shm *b, const struct dm_coll_args *a,
                        int root)
{
    size_t bytes = dm_coll_bytes(a->rcount, a->rtype);
    struct reduction f;

    dm_coll_shm_expect(b, 2 * bytes * (size_t)b->n);
    if (dm_coll_shm_is_pair(b, a, bytes)) {
        dm_coll_shm_pair_reduce(run, b, a, bytes, root);
        b->n_rounds = 0;
        return;
    }
    if (!reduce_open(&f, run, a, 1, bytes))
        return;
    if (b->n > FEW && bytes > SMALL_COUNTED) {
        reduce_parts(&f, b->me == root);
    } else {
        reduce_pieces(&f, bytes);
        expect_rounds(&f, a->rcount);
        if (b->n == 2 && b->me == root && (root == 1 || a->op->is_commutative))
            f.base = root; /* either is right, and mine need not be waited for */
        if (b->me != root)
            reduce_give(&f);
        else if (!a->is_in_place || spare_open(&f))
            reduce_given(&f);
    }
    b->n_rounds = 0;
}

void dm_coll_reduce_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);

    if ((size_t)a->rtype->size > b->space) {
        dm_coll_reduce_binomial(run, a);
        return;
    }
    dm_coll_shm_reduce(run, b, a, a->root);
    dm_coll_shm_close(run, b);
}

/* ---- to each its block ---- */

/* Elements of a block in the round that begins with number `at` of each. */
static size_t in_block(const struct reduction *f, int lrank, size_t at)
{
    size_t count = dm_coll_rcount(f->a, lrank);

    if (at >= count)
        return 0;
    return count - at < f->n ? count - at : f->n;
}

/* Do all have vectors as long as mine? */
static bool all_agree(struct reduction *f)
{
    for (int i = 0; i < f->b->n; i++)
        if (!agrees(f, i, f->b->space))
            return false;
    return true;
}

static void scatter_round(struct reduction *f, size_t at, const size_t *firsts, size_t all)
{
    struct dm_coll_shm *b = f->b;
    const struct dm_coll_args *a = f->a;
    size_t stride = f->n * f->size, n = in_block(f, b->me, at);
    char *place, *io;

    dm_coll_shm_next(b);
    if (!dm_coll_shm_claim(f->run, b, b->space))
        return;
    place = dm_coll_shm_slot_data(b, b->me, b->space);
    for (int i = 0; i < b->n; i++)
        dm_coll_shm_pack(a->sbuf, all, a->rtype, (firsts[i] + at) * f->size,
                         place + stride * (size_t)i, in_block(f, i, at) * f->size);
    if (!dm_coll_shm_barrier(f->run, b, b->space, f->total))
        return;
    io = dm_coll_shm_slot_data(b, f->base, b->space) + stride * (size_t)b->me;
    if (all_agree(f) && n > 0) {
        reduce_remaining(f, b->space, stride * (size_t)b->me, NULL, io, n);
        dm_coll_shm_unpack(f->run, a->rbuf, dm_coll_rcount(a, b->me), a->rtype, at * f->size, io,
                           n * f->size);
    }
    dm_coll_shm_finish(f->run, b);
}

void dm_coll_reduce_scatter_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);
    size_t most = 0, all = 0, *firsts;
    struct reduction f;

    if ((size_t)a->rtype->size > dm_coll_shm_part(b, b->n)) {
        dm_coll_reduce_scatter_allreduce(run, a);
        return;
    }
    firsts = dm_coll_alloc_n(run, (size_t)b->n, sizeof(*firsts));
    for (int i = 0; i < b->n && firsts != NULL; i++) {
        size_t count = dm_coll_rcount(a, i);

        firsts[i] = all;
        all += count;
        most = count > most ? count : most;
    }
    if (firsts != NULL && reduce_open(&f, run, a, (size_t)b->n, dm_coll_bytes(all, a->rtype))) {
        dm_coll_shm_expect(b, 2 * all * f.size * (size_t)b->n);
        expect_rounds(&f, most);
        for (size_t at = 0; at < most && !run->is_stopped; at += f.n)
            scatter_round(&f, at, firsts, all);
    }
    dm_coll_shm_close(run, b);
}

/* ---- of those below: short vectors ---- */

/* The ranks below, and mine when it is inclusive. */
static void reduce_below(struct reduction *f, size_t len, bool is_inclusive)
{
    int top = is_inclusive ? f->b->me : f->b->me - 1;
    char *io = direct(f, f->a->rbuf, 0), *to = io;

    if (top < 0)
        return;
    reduce_to(f, top);
    if (io == NULL)
        io = f->spare;
    if (!agrees(f, f->base, len))
        return;
    dm_copy(io, dm_coll_shm_slot_data(f->b, f->base, len), len);
    reduce_remaining(f, len, 0, NULL, io, f->n_now);
    if (to == NULL)
        reduce_take(f, 0, io, len);
}

/* Everybody reads all below: each needs to run once. */
static void scan_small(struct reduction *f, bool is_inclusive)
{
    struct dm_coll_shm *b = f->b;
    size_t len = reduce_begin(f, 0);

    if (!dm_coll_shm_claim(f->run, b, len))
        return;
    reduce_put(f, 0, 0, f->n_now);
    dm_coll_shm_post(f->run, b, len, f->total, false);
    for (int i = 0; i < b->me; i++)
        if (dm_coll_shm_await(f->run, b, i, false) == NULL)
            return;
    reduce_below(f, len, is_inclusive);
    dm_coll_shm_finish(f->run, b);
}

/* ---- longer ones: what is reduced goes from lrank to lrank ---- */

/* Mine, and in the end what is reduced: in my slot, or where only I need it; NULL: nobody does. */
static char *scan_place(struct reduction *f, size_t at, size_t len, bool is_inclusive)
{
    char *result = direct(f, f->a->rbuf, at);

    if (f->b->me < f->b->n - 1)
        return dm_coll_shm_slot_data(f->b, f->b->me, len);
    if (!is_inclusive)
        return NULL;
    return result != NULL ? result : f->spare;
}

static void scan_round(struct reduction *f, size_t at, bool is_inclusive)
{
    struct dm_coll_shm *b = f->b;
    size_t len = reduce_begin(f, at);
    const char *below = NULL, *own = direct(f, f->a->sbuf, at);
    char *io = scan_place(f, at, len, is_inclusive);

    if (!dm_coll_shm_claim(f->run, b, b->me < b->n - 1 ? len : 0))
        return;
    if (io != NULL && io != own)
        dm_coll_shm_pack(f->a->sbuf, f->a->rcount, f->a->rtype, at * f->size, io, len);
    if (b->me > 0) {
        if (dm_coll_shm_await(f->run, b, b->me - 1, false) == NULL)
            return;
        if (agrees(f, b->me - 1, len))
            below = dm_coll_shm_slot_data(b, b->me - 1, len);
        if (io != NULL && below != NULL)
            reduce_combine(f, below, io, f->n_now);
    }
    if (b->me < b->n - 1)
        dm_coll_shm_post(f->run, b, len, f->total, false);
    if (is_inclusive && io != direct(f, f->a->rbuf, at))
        reduce_take(f, at, io, len);
    if (!is_inclusive && below != NULL)
        reduce_take(f, at, below, len);
    dm_coll_shm_finish(f->run, b);
}

/* Exscan of two is a copy. */
static void copy_up(struct reduction *f)
{
    struct dm_run *run = f->run;
    struct dm_coll_shm *b = f->b;
    const struct dm_coll_args *a = f->a;
    struct dm_coll_shm_buf mine = {(void *)(uintptr_t)a->sbuf, a->rcount, a->rtype};

    b->n_rounds = 1;
    dm_coll_shm_next(b);
    if (b->me > 0) {
        const struct dm_coll_shm_head *head = dm_coll_shm_await(run, b, 0, false);

        if (head != NULL && head->total == DM_COLL_SHM_BY_CMA)
            dm_coll_shm_cma_read(run, b, 0, dm_coll_shm_span(b, 0), a->rbuf, a->rcount, a->rtype,
                                 true);
        else if (head != NULL)
            agrees(f, 0, f->total);
        dm_coll_shm_finish(run, b);
        return;
    }
    if (!dm_coll_shm_claim(run, b, sizeof(struct dm_coll_shm_span)) ||
        !dm_coll_shm_show(run, mine, dm_coll_shm_span(b, 0)))
        return;
    dm_coll_shm_post(run, b, sizeof(struct dm_coll_shm_span), DM_COLL_SHM_BY_CMA, false);
    dm_coll_shm_finish(run, b);
    dm_coll_shm_await_all_finished(run, b);
}

static void reduce_scan(struct dm_run *run, const struct dm_coll_args *a, bool is_inclusive)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);
    size_t bytes = dm_coll_bytes(a->rcount, a->rtype);
    struct reduction f;

    dm_coll_shm_expect(b, bytes * (size_t)b->n);
    if (is_inclusive && dm_coll_shm_is_pair(b, a, bytes)) {
        dm_coll_shm_pair_reduce(run, b, a, bytes, 1);
        if (b->me == 0 && a->sbuf != a->rbuf)
            dm_coll_copy(run, a->sbuf, a->rcount, a->rtype, a->rbuf, a->rcount, a->rtype);
    } else if (reduce_open(&f, run, a, 1, bytes) && (a->rtype->is_contig || spare_open(&f))) {
        reduce_pieces(&f, bytes);
        expect_rounds(&f, a->rcount);
        if (b->n == 2 && !is_inclusive && dm_coll_shm_uses_cma(b, bytes))
            copy_up(&f);
        else if (bytes <= SMALL_SCAN && f.n >= a->rcount)
            scan_small(&f, is_inclusive);
        else
            for (size_t at = 0; at < a->rcount && !run->is_stopped; at += f.n)
                scan_round(&f, at, is_inclusive);
    }
    dm_coll_shm_close(run, b);
}

void dm_coll_scan_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    if ((size_t)a->rtype->size > dm_coll_shm_of(run)->space)
        dm_coll_scan_doubling(run, a);
    else
        reduce_scan(run, a, true);
}

void dm_coll_exscan_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    if ((size_t)a->rtype->size > dm_coll_shm_of(run)->space)
        dm_coll_exscan_doubling(run, a);
    else
        reduce_scan(run, a, false);
}
