/* test: np=1,2,3,4,7 timeout=100 cfg=COLL=|bcast=scatter;gather=binomial;scatter=binomial;allgather=bruck;alltoall=bruck;barrier=dissemination;reduce=halving;allreduce=halving;reduce_scatter=ordered|allgather=ring;alltoall=pairwise;alltoallv=pairwise;barrier=tree;allreduce=doubling;reduce_scatter=pairwise */
/*
 * Random collectives against a plain model: operation, communicator (of one group or two), lengths,
 * layouts, root, MPI_IN_PLACE, and the form: blocking, nonblocking or persistent, many outstanding,
 * completed in an order of each rank's own. All ranks draw the same numbers; argument 1 (or
 * COLL_RANDOM_SEED) is the seed, argument 2 the number of batches; COLL_RANDOM_SECONDS: for so long.
 */
#include "coll_test.h"

#define N_BATCH   24
#define MAX_PROCS 20
#define N_COMMS   9
#define PRIME     10007

enum kind {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    RED_SCAT_BLOCK,
    RED_SCAT,
    SCAN,
    EXSCAN,
    N_KINDS
};
enum form { BLOCKING, NONBLOCKING, PERSISTENT };

struct circle {
    MPI_Comm comm;
    int is_inter, side; /* side: which group of two is mine */
    int rank, n, m;     /* n in my group; m in the other one (the same one if there is one) */
    int mine[MAX_PROCS], others[MAX_PROCS]; /* world ranks */
};

/* Where a block of a buffer is: payload int k is at base + place(layout, first + k). */
struct block {
    size_t base, first, len;
    const struct layout *l;
};

struct op {
    enum kind kind;
    enum form form;
    struct circle *c;
    unsigned int salt;
    int n, root, is_root, is_leaf, in_place, is_member;
    int red; /* enum red */
    const struct layout *sl, *rl;
    int scounts[MAX_PROCS], sdispls[MAX_PROCS], rcounts[MAX_PROCS], rdispls[MAX_PROCS];
    MPI_Datatype stypes[MAX_PROCS], rtypes[MAX_PROCS];
    int *sbuf, *rbuf, *sfill, *rfill, *want;
    size_t slen, rlen, n_checked;
    MPI_Request req;
};

static struct circle circles[N_COMMS];
static int n_circles, n_cases;
static MPI_Op affine_op;
static MPI_Datatype pair_type;
static unsigned long long rng, own_rng;
/*
 * MPICH 4.0.2 crashes or goes wrong in many of these: MPI_IN_PLACE in reduce and all-to-all with
 * types, nonblocking ones over intercommunicators, persistent ones started twice, types freed
 * early. The blocking forms are enough to check this program's model.
 */
static int is_mpich;

static unsigned int draw(unsigned long long *state, unsigned int n)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned int)(*state >> 33) % n;
}

static int val(const struct op *o, int src, int dst, size_t k)
{
    return value(src, dst, k + o->salt % 4096);
}

/* ---- a reduction that does not commute: the maps x -> a x + b modulo a prime ---- */

static void compose(const int *first, int *then)
{
    int b = (then[0] * first[1] + then[1]) % PRIME;

    then[0] = then[0] * first[0] % PRIME;
    then[1] = b;
}

static void affine(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        compose((int *)in + 2 * i, (int *)inout + 2 * i);
}

/* ---- reductions: elements are one or two ints of memory ---- */

enum red {
    SUM,
    MAX,
    AFFINE,
    SUM_DOUBLE,
    PROD_DOUBLE,
    MIN_LONG,
    MINLOC,
    XOR,
    AND,
    MAX_FLOAT,
    N_REDS
};

static int red_width(const struct op *o)
{
    return o->red == AFFINE || (o->red >= SUM_DOUBLE && o->red <= MINLOC) ? 2 : 1;
}

static MPI_Datatype red_type(const struct op *o)
{
    const MPI_Datatype types[N_REDS] = {
        MPI_INT,       MPI_INT,  pair_type,    MPI_DOUBLE, MPI_DOUBLE,
        MPI_LONG_LONG, MPI_2INT, MPI_UNSIGNED, MPI_INT,    MPI_FLOAT,
    };

    return types[o->red];
}

static MPI_Op red_op(const struct op *o)
{
    const MPI_Op ops[N_REDS] = {
        MPI_SUM, MPI_MAX,    affine_op, MPI_SUM,  MPI_PROD,
        MPI_MIN, MPI_MINLOC, MPI_BXOR,  MPI_LAND, MPI_MAX,
    };

    return ops[o->red];
}

/* Element e of what a process puts in; numbers that are exact in all orders. */
static void operand(const struct op *o, int id, size_t e, int *x)
{
    int v = val(o, id, 0, e) % 1000;
    double d = o->red == PROD_DOUBLE ? 1 + v % 2 : v;
    long long l = (long long)v << 33;
    float f = (float)v / 4;

    x[0] = o->red == AND ? v % 8 : v;
    if (o->red == AFFINE)
        x[1] = val(o, id, 1, e) % 1000;
    else if (o->red == MINLOC)
        x[0] = v % 3, x[1] = id;
    else if (o->red == SUM_DOUBLE || o->red == PROD_DOUBLE)
        memcpy(x, &d, sizeof(d));
    else if (o->red == MIN_LONG)
        memcpy(x, &l, sizeof(l));
    else if (o->red == MAX_FLOAT)
        memcpy(x, &f, sizeof(f));
}

/* then = first op then. */
static void combine(const struct op *o, const int *first, int *then)
{
    double d[2];
    long long l[2];
    float f[2];

    memcpy(&d[0], first, red_width(o) == 2 ? sizeof(d[0]) : 0);
    memcpy(&d[1], then, red_width(o) == 2 ? sizeof(d[1]) : 0);
    memcpy(&l[0], first, red_width(o) == 2 ? sizeof(l[0]) : 0);
    memcpy(&l[1], then, red_width(o) == 2 ? sizeof(l[1]) : 0);
    memcpy(&f[0], first, sizeof(f[0]));
    memcpy(&f[1], then, sizeof(f[1]));
    switch (o->red) {
    case SUM:
        then[0] += first[0];
        break;
    case MAX:
        then[0] = first[0] > then[0] ? first[0] : then[0];
        break;
    case AFFINE:
        compose(first, then);
        break;
    case SUM_DOUBLE:
    case PROD_DOUBLE:
        d[1] = o->red == SUM_DOUBLE ? d[0] + d[1] : d[0] * d[1];
        memcpy(then, &d[1], sizeof(d[1]));
        break;
    case MIN_LONG:
        memcpy(then, l[0] < l[1] ? &l[0] : &l[1], sizeof(l[0]));
        break;
    case MINLOC:
        if (first[0] < then[0] || (first[0] == then[0] && first[1] < then[1]))
            memcpy(then, first, 2 * sizeof(int));
        break;
    case XOR:
        then[0] ^= first[0];
        break;
    case AND:
        then[0] = first[0] != 0 && then[0] != 0;
        break;
    default:
        memcpy(then, f[0] > f[1] ? &f[0] : &f[1], sizeof(f[0]));
    }
}

/* Elements [first, first + n) of the operands of ids[0..n_ids) in their order. */
static void model(const struct op *o, const int *ids, int n_ids, size_t first, size_t n, int *out)
{
    size_t w = (size_t)red_width(o);

    for (size_t e = 0; e < n; e++) {
        int acc[2] = {0, 0};

        for (int i = 0; i < n_ids; i++) {
            int x[2] = {0, 0};

            operand(o, ids[i], first + e, x);
            if (i > 0)
                combine(o, acc, x);
            memcpy(acc, x, sizeof(acc));
        }
        memcpy(out + e * w, acc, w * sizeof(int));
    }
}

/* ---- buffers ---- */

static void new_bufs(struct op *o, size_t slen, size_t rlen)
{
    o->slen = slen;
    o->rlen = rlen;
    o->n_checked = rlen;
    o->sfill = new_buf(slen + 1);
    o->rfill = new_buf(rlen + 1);
    o->sbuf = new_buf(slen + 1);
    o->rbuf = new_buf(rlen + 1);
    o->want = new_buf(rlen + 1);
}

static void put(const struct op *o, int *buf, const struct block *b, int src, int dst)
{
    for (size_t k = 0; k < b->len; k++)
        buf[b->base + place(b->l, b->first + k)] = val(o, src, dst, k);
}

static size_t block_len(const struct op *o, int src, int dst)
{
    if (o->kind == GATHER || o->kind == SCATTER || o->kind == ALLGATHER || o->kind == ALLTOALL)
        return (size_t)o->n;
    if (o->kind == ALLTOALLV || o->kind == ALLTOALLW)
        return 2 * (((unsigned int)(src + dst) * 7u + o->salt) % 6u) * (unsigned int)(o->n / 2 + 1);
    return 2 * (((unsigned int)src * 7u + (unsigned int)dst * 3u + o->salt) % 5u) *
           (unsigned int)(o->n / 2 + 1);
}

/*
 * Blocks of the peers in one buffer, with the counts and displacements that describe them; backwards and
 * with gaps where the operation allows that. Returns the ints of memory.
 */
static size_t lay_out(const struct op *o, const struct layout *l, const size_t *lens, int n,
                      struct block *blocks, int *counts, int *displs, MPI_Datatype *types)
{
    int has_gaps =
        o->kind == GATHERV || o->kind == SCATTERV || o->kind == ALLGATHERV || o->kind == ALLTOALLV;
    size_t at = 0, base = 0;

    for (int k = 0; k < n; k++) {
        int i = has_gaps ? n - 1 - k : k;

        if (o->kind == ALLTOALLW) {
            const struct layout *li = &layouts[(unsigned int)(i + (int)o->salt % 3) % N_LAYOUTS];

            blocks[i] = (struct block){.base = base, .len = lens[i], .l = li};
            displs[i] = (int)(base * sizeof(int));
            base += room(li, lens[i]);
            types[i] = li->type;
            counts[i] = elems(li, lens[i]);
            continue;
        }
        blocks[i] = (struct block){.first = at, .len = lens[i], .l = l};
        counts[i] = elems(l, lens[i]);
        displs[i] = elems(l, at);
        at += lens[i] + (has_gaps ? 2 : 0);
    }
    return o->kind == ALLTOALLW ? base + 4 : room(l, at);
}

/* ---- preparing: what goes in, what must come out ---- */

static void prepare_bcast(struct op *o, int root_id)
{
    struct block b = {.len = (size_t)o->n, .l = o->is_root ? o->sl : o->rl};

    new_bufs(o, 0, room(b.l, b.len));
    if (o->is_root)
        put(o, o->rfill, &b, root_id, 0);
    if (o->is_root || o->is_leaf)
        put(o, o->want, &b, root_id, 0);
}

/* All that move blocks: sends says whether one goes to each peer, gets whether one comes. */
static void prepare_move(struct op *o, int me, int root_id)
{
    int to_root = o->kind == GATHER || o->kind == GATHERV;
    int from_root = o->kind == SCATTER || o->kind == SCATTERV;
    int same_to_all = o->kind == ALLGATHER || o->kind == ALLGATHERV;
    const struct circle *c = o->c;
    int n_out = to_root || same_to_all ? 1 : c->m, n_in = from_root ? 1 : c->m;
    int sends = !from_root || o->is_root, gets = !to_root || o->is_root;
    struct block out[MAX_PROCS], in[MAX_PROCS];
    size_t out_len[MAX_PROCS] = {0}, in_len[MAX_PROCS] = {0}, slen, rlen;

    sends = sends && (!to_root || o->is_leaf);
    gets = gets && (!from_root || o->is_leaf);
    for (int i = 0; i < n_out; i++)
        out_len[i] = block_len(o, me, to_root ? root_id : same_to_all ? 0 : c->others[i]);
    for (int i = 0; i < n_in; i++)
        in_len[i] = from_root ? block_len(o, root_id, me)
                              : block_len(o, c->others[i], same_to_all ? 0 : me);
    slen = lay_out(o, o->sl, out_len, n_out, out, o->scounts, o->sdispls, o->stypes);
    rlen = lay_out(o, o->rl, in_len, n_in, in, o->rcounts, o->rdispls, o->rtypes);
    new_bufs(o, slen, rlen);
    for (int i = 0; i < n_out && sends; i++)
        put(o, o->sfill, &out[i], me, to_root ? root_id : same_to_all ? 0 : c->others[i]);
    for (int i = 0; i < n_in && gets; i++) {
        int from = from_root ? root_id : c->others[i];

        if (!from_root || !o->in_place)
            put(o, o->want, &in[i], from, same_to_all ? 0 : me);
        if (!o->in_place || from_root)
            continue;
        /* The input is in the receive buffer: all of an all-to-all, or the own block. */
        if (!to_root && !same_to_all)
            put(o, o->rfill, &in[i], me, c->others[i]);
        else if (from == me)
            put(o, o->rfill, &in[i], me, same_to_all ? 0 : me);
    }
}

/* Elements that rank i of n gets of `total`. */
static int share(const struct op *o, int i, int n, int total)
{
    int base = total / n;
    int count = base + (i == 0 ? total % n : 0);

    if (o->kind == RED_SCAT && n > 1 && base > 0)
        count += i == (int)(o->salt % (unsigned int)n)         ? base
                 : i == (int)((o->salt + 1) % (unsigned int)n) ? -base
                                                               : 0;
    return count;
}

static void prepare_reduce(struct op *o, int me)
{
    const struct circle *c = o->c;
    int is_scatter = o->kind == RED_SCAT || o->kind == RED_SCAT_BLOCK;
    int total = is_scatter ? o->n * c->n * (c->is_inter ? c->m : 1) : o->n, first = 0;
    int n_ids = c->m, w = red_width(o), count = total;
    int gets = o->kind != REDUCE || o->is_root;

    if (is_scatter) {
        for (int i = 0; i < c->n; i++) {
            o->rcounts[i] = share(o, i, c->n, total);
            first += i < c->rank ? o->rcounts[i] : 0;
        }
        count = o->rcounts[c->rank];
    }
    if (o->kind == SCAN || o->kind == EXSCAN)
        n_ids = c->rank + (o->kind == SCAN);
    new_bufs(o, (size_t)(total * w), (size_t)(total * w));
    for (int e = 0; e < total; e++)
        operand(o, me, (size_t)e, &o->sfill[e * w]);
    if (o->in_place) {
        memcpy(o->rfill, o->sfill, o->slen * sizeof(int));
        memcpy(o->want, o->sfill, o->slen * sizeof(int));
    }
    if (is_scatter || gets)
        model(o, c->others, n_ids, (size_t)first, gets ? (size_t)count : 0, o->want);
    /* The rest is not told. */
    if (is_scatter && o->in_place)
        o->n_checked = (size_t)(count * w);
    if (o->kind == EXSCAN && c->rank == 0)
        o->n_checked = 0;
}

static void fill(struct op *o)
{
    memcpy(o->sbuf, o->sfill, (o->slen + 1) * sizeof(int));
    memcpy(o->rbuf, o->rfill, (o->rlen + 1) * sizeof(int));
}

static void check(struct op *o)
{
    int bad = memcmp(o->rbuf, o->want, o->n_checked * sizeof(int)) != 0 ||
              memcmp(o->sbuf, o->sfill, (o->slen + 1) * sizeof(int)) != 0 ||
              o->rbuf[o->rlen] != SENTINEL;

    n_cases++;
    if (!bad)
        return;
    fprintf(stderr, "kind %d form %d comm %d n %d root %d in place %d red %d salt %u\n", o->kind,
            o->form, (int)(o->c - circles), o->n, o->root, o->in_place, o->red, o->salt);
    for (size_t i = 0; i < o->n_checked; i++)
        CHECK_EQ(o->rbuf[i], o->want[i]);
    CHECK(!bad);
}

/* ---- calling ---- */

#define CALL(o, F, I, ...)                                                                         \
    ((o)->form == BLOCKING      ? MPI_##F(__VA_ARGS__)                                             \
     : (o)->form == NONBLOCKING ? MPI_##I(__VA_ARGS__, &(o)->req)                                  \
                                : MPI_##F##_init(__VA_ARGS__, MPI_INFO_NULL, &(o)->req))

static int call_move(struct op *o, MPI_Datatype st, MPI_Datatype rt)
{
    const void *sbuf =
        o->in_place && o->kind != SCATTER && o->kind != SCATTERV ? MPI_IN_PLACE : (void *)o->sbuf;
    void *rbuf = o->in_place && sbuf != MPI_IN_PLACE ? MPI_IN_PLACE : (void *)o->rbuf;
    MPI_Comm comm = o->c->comm;

    switch (o->kind) {
    case GATHER:
        return CALL(o, Gather, Igather, sbuf, o->scounts[0], st, rbuf, o->rcounts[0], rt, o->root,
                    comm);
    case GATHERV:
        return CALL(o, Gatherv, Igatherv, sbuf, o->scounts[0], st, rbuf, o->rcounts, o->rdispls, rt,
                    o->root, comm);
    case SCATTER:
        return CALL(o, Scatter, Iscatter, sbuf, o->scounts[0], st, rbuf, o->rcounts[0], rt, o->root,
                    comm);
    case SCATTERV:
        return CALL(o, Scatterv, Iscatterv, sbuf, o->scounts, o->sdispls, st, rbuf, o->rcounts[0],
                    rt, o->root, comm);
    case ALLGATHER:
        return CALL(o, Allgather, Iallgather, sbuf, o->scounts[0], st, rbuf, o->rcounts[0], rt,
                    comm);
    case ALLGATHERV:
        return CALL(o, Allgatherv, Iallgatherv, sbuf, o->scounts[0], st, rbuf, o->rcounts,
                    o->rdispls, rt, comm);
    case ALLTOALL:
        return CALL(o, Alltoall, Ialltoall, sbuf, o->scounts[0], st, rbuf, o->rcounts[0], rt, comm);
    case ALLTOALLV:
        return CALL(o, Alltoallv, Ialltoallv, sbuf, o->scounts, o->sdispls, st, rbuf, o->rcounts,
                    o->rdispls, rt, comm);
    default:
        return CALL(o, Alltoallw, Ialltoallw, sbuf, o->scounts, o->sdispls, o->stypes, rbuf,
                    o->rcounts, o->rdispls, o->rtypes, comm);
    }
}

static int call_reduce(struct op *o, MPI_Datatype t)
{
    const void *sbuf = o->in_place ? MPI_IN_PLACE : (void *)o->sbuf;
    MPI_Comm comm = o->c->comm;
    MPI_Op op = red_op(o);

    switch (o->kind) {
    case REDUCE:
        return CALL(o, Reduce, Ireduce, sbuf, o->rbuf, o->n, t, op, o->root, comm);
    case ALLREDUCE:
        return CALL(o, Allreduce, Iallreduce, sbuf, o->rbuf, o->n, t, op, comm);
    case RED_SCAT_BLOCK:
        return CALL(o, Reduce_scatter_block, Ireduce_scatter_block, sbuf, o->rbuf, o->rcounts[0], t,
                    op, comm);
    case RED_SCAT:
        return CALL(o, Reduce_scatter, Ireduce_scatter, sbuf, o->rbuf, o->rcounts, t, op, comm);
    case SCAN:
        return CALL(o, Scan, Iscan, sbuf, o->rbuf, o->n, t, op, comm);
    default:
        return CALL(o, Exscan, Iexscan, sbuf, o->rbuf, o->n, t, op, comm);
    }
}

/* With types that are freed before the operation is complete. */
static void call(struct op *o)
{
    const struct layout *bl = o->is_root ? o->sl : o->rl;
    MPI_Datatype st, rt, red;

    MPI_Type_dup(o->kind == BCAST ? bl->type : o->sl->type, &st);
    MPI_Type_dup(o->rl->type, &rt);
    MPI_Type_dup(pair_type, &red);
    if (o->kind == BARRIER)
        MUST(CALL(o, Barrier, Ibarrier, o->c->comm));
    else if (o->kind == BCAST)
        MUST(CALL(o, Bcast, Ibcast, o->rbuf, elems(bl, (size_t)o->n), st, o->root, o->c->comm));
    else if (o->kind >= REDUCE)
        MUST(call_reduce(o, o->red == AFFINE ? red : red_type(o)));
    else
        MUST(call_move(o, st, rt));
    MPI_Type_free(&st);
    MPI_Type_free(&rt);
    MPI_Type_free(&red);
}

/* ---- drawing ---- */

static void draw_root(struct op *o, int *root_id)
{
    const struct circle *c = o->c;
    unsigned int side = draw(&rng, 2), r = draw(&rng, 1 << 20);

    if (!c->is_inter) {
        o->root = (int)(r % (unsigned int)c->n);
        o->is_root = c->rank == o->root;
        o->is_leaf = 1;
        *root_id = c->mine[o->root];
        return;
    }
    o->is_leaf = c->side != (int)side;
    o->root = (int)(r % (unsigned int)(o->is_leaf ? c->m : c->n));
    *root_id = (o->is_leaf ? c->others : c->mine)[o->root];
    if (o->is_leaf)
        return;
    o->is_root = c->rank == o->root;
    o->root = o->is_root ? MPI_ROOT : MPI_PROC_NULL;
}

static void draw_op(struct op *o)
{
    static const int sizes[] = {0, 2, 6, 34, 126, 1026};
    int rooted, root_id;

    memset(o, 0, sizeof(*o));
    o->req = MPI_REQUEST_NULL;
    o->c = &circles[draw(&rng, (unsigned int)n_circles)];
    o->kind = (enum kind)draw(&rng, o->c->is_inter ? SCAN : N_KINDS);
    o->form = (enum form)draw(&rng, 3);
    if (is_mpich)
        o->form = BLOCKING;
    o->salt = draw(&rng, 100000);
    o->n = sizes[draw(&rng, 6)];
    if (draw(&rng, 16) == 0)
        o->n = 20002;
    if (o->n > 126 && o->kind != BCAST && o->kind < REDUCE)
        o->n /= 8;
    o->n -= o->kind < REDUCE ? o->n % 2 : 0;
    o->red = (int)draw(&rng, N_REDS);
    o->sl = &layouts[draw(&rng, N_LAYOUTS)];
    o->rl = &layouts[draw(&rng, N_LAYOUTS)];
    draw_root(o, &root_id);
    rooted = o->kind == GATHER || o->kind == GATHERV || o->kind == SCATTER || o->kind == SCATTERV ||
             o->kind == REDUCE;
    o->in_place = draw(&rng, 3) == 0 && !is_mpich && !o->c->is_inter && (!rooted || o->is_root) &&
                  o->kind != BARRIER && o->kind != BCAST;
    o->is_member = o->c->comm != MPI_COMM_NULL;
    if (o->kind == BARRIER || !o->is_member)
        new_bufs(o, 0, 0);
    else if (o->kind == BCAST)
        prepare_bcast(o, root_id);
    else if (o->kind >= REDUCE)
        prepare_reduce(o, mp_rank);
    else
        prepare_move(o, mp_rank, root_id);
    fill(o);
}

/* ---- completing, in this rank's own order ---- */

static void complete(struct op *ops, int n)
{
    MPI_Request reqs[N_BATCH];
    int order[N_BATCH], how = (int)draw(&own_rng, 4), left = 0;

    for (int i = 0; i < n; i++) {
        int j = (int)draw(&own_rng, (unsigned int)i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < n; i++) {
        reqs[i] = ops[order[i]].req;
        left += reqs[i] != MPI_REQUEST_NULL;
    }
    if (how == 0)
        MUST(MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; how == 1 && i < n; i++)
        MUST(MPI_Wait(&reqs[i], MPI_STATUS_IGNORE));
    while (how == 2 && left > 0) {
        int index;

        MUST(MPI_Waitany(n, reqs, &index, MPI_STATUS_IGNORE));
        CHECK(index != MPI_UNDEFINED);
        left--;
    }
    while (how == 3 && left > 0) {
        int done, indices[N_BATCH];

        MUST(MPI_Testsome(n, reqs, &done, indices, MPI_STATUSES_IGNORE));
        CHECK(done != MPI_UNDEFINED);
        left -= done;
    }
    for (int i = 0; i < n; i++)
        if (ops[order[i]].form != PERSISTENT) {
            CHECK_EQ(reqs[i], MPI_REQUEST_NULL);
            ops[order[i]].req = MPI_REQUEST_NULL;
        }
}

static void start(struct op *ops, int n)
{
    int at = (int)draw(&own_rng, (unsigned int)n);

    for (int i = 0; i < n; i++) {
        struct op *o = &ops[(i + at) % n];

        if (o->form == PERSISTENT && o->is_member)
            MUST(MPI_Start(&o->req));
    }
}

static void batch(void)
{
    static struct op ops[N_BATCH];
    int n = 1 + (int)draw(&rng, N_BATCH);

    for (int i = 0; i < n; i++) {
        draw_op(&ops[i]);
        if (ops[i].is_member)
            call(&ops[i]);
    }
    start(ops, n);
    complete(ops, n);
    for (int i = 0; i < n; i++)
        check(&ops[i]);
    for (int i = 0; i < n; i++)
        fill(&ops[i]);
    start(ops, n);
    complete(ops, n);
    for (int i = 0; i < n; i++) {
        struct op *o = &ops[i];

        if (o->form == PERSISTENT && o->is_member) {
            check(o);
            MUST(MPI_Request_free(&o->req));
        }
        free(o->sbuf);
        free(o->rbuf);
        free(o->sfill);
        free(o->rfill);
        free(o->want);
    }
}

/* ---- communicators ---- */

static void world_ranks(MPI_Group group, int *n, int *ids)
{
    MPI_Group world;
    int own[MAX_PROCS];

    MPI_Group_size(group, n);
    for (int i = 0; i < *n; i++)
        own[i] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, *n, own, world, ids);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
}

static void add(MPI_Comm comm, int side)
{
    struct circle *c = &circles[n_circles++];
    MPI_Group group;

    c->comm = comm;
    c->side = side;
    c->n = c->m = 1;
    if (comm == MPI_COMM_NULL) /* of others */
        return;
    MPI_Comm_test_inter(comm, &c->is_inter);
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_group(comm, &group);
    world_ranks(group, &c->n, c->mine);
    if (c->is_inter)
        MPI_Comm_remote_group(comm, &group);
    else
        MPI_Comm_group(comm, &group);
    world_ranks(group, &c->m, c->others);
}

static void add_inter(int side, int leader0, int leader1)
{
    MPI_Comm local, comm;

    MPI_Comm_split(MPI_COMM_WORLD, side, mp_rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side == 0 ? leader1 : leader0, 5, &comm);
    MPI_Comm_free(&local);
    add(comm, side);
}

static int is_time_over(double start)
{
    const char *text = getenv("COLL_RANDOM_SECONDS");
    int is_over = text == NULL || MPI_Wtime() - start > atof(text);

    MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return is_over;
}

int main(int argc, char **argv)
{
    int n_batches = argc > 2 ? atoi(argv[2]) : 40;
    const char *seed = argc > 1 ? argv[1] : getenv("COLL_RANDOM_SEED");
    double start;
    MPI_Comm comm;

    mp_start(&argc, &argv);
    is_mpich = mp_is_library("MPICH");
    start = MPI_Wtime();
    rng = seed != NULL ? strtoull(seed, NULL, 0) : 20261;
    own_rng = rng + (unsigned long long)mp_rank * 7919;
    make_layouts();
    MPI_Type_contiguous(2, MPI_INT, &pair_type);
    MPI_Type_commit(&pair_type);
    MPI_Op_create(affine, 0, &affine_op);
    add(MPI_COMM_WORLD, 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    add(comm, 0);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -mp_rank, &comm);
    add(comm, 0);
    add(MPI_COMM_SELF, 0);
    MPI_Comm_split(MPI_COMM_WORLD, mp_rank % 2 == 0 ? 0 : MPI_UNDEFINED, mp_rank, &comm);
    add(comm, 0);
    MPI_Comm_split(MPI_COMM_WORLD, mp_rank == 0 && mp_size > 1 ? MPI_UNDEFINED : 0, -mp_rank,
                   &comm);
    add(comm, 0);
    if (mp_size > 1) {
        add_inter(mp_rank % 2, 0, 1);
        add_inter(mp_rank > 0, 0, 1);
    }
    for (int i = 0; i < n_batches || !is_time_over(start); i++)
        batch();
    if (mp_rank == 0)
        printf("%d cases from seed %s\n", n_cases, seed != NULL ? seed : "20261");
    for (int i = 0; i < n_circles; i++)
        if (circles[i].comm != MPI_COMM_WORLD && circles[i].comm != MPI_COMM_SELF &&
            circles[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&circles[i].comm);
    MPI_Op_free(&affine_op);
    MPI_Type_free(&pair_type);
    free_layouts();
    return mp_finish();
}
