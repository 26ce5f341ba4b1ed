/*
 * For rma_random.c: the program of a round, drawn from the seed alike in every rank. A part of a
 * window is divided into slices, each used in one way; operations on them belong to phases of the
 * round's epochs.
 */
#ifndef RMA_PROGRAM_H
#define RMA_PROGRAM_H

#include "rma_model.h"

#define MAX_RANKS  16
#define MAX_SLICES 12
#define MAX_OPS    4000
#define MAX_PART   49152
#define MAX_COUNT  64
#define N_PHASES   3

enum { W_MALLOC, W_ALLOC_MEM, W_ALLOCATE, W_SHARED, W_DYNAMIC, N_WINS };
enum sync { FENCE, PSCW, LOCK, LOCK_ALL, N_SYNCS };
/* How a slice is used. */
enum mode {
    M_PUT,   /* written by one */
    M_GET,   /* read by several */
    M_ACC,   /* combined by several with one operation */
    M_COUNT, /* fetched and added to by several: everybody gets another value */
    M_CAS,   /* swapped by several: one wins */
    M_ORDER, /* combined by one origin with several operations, in order */
    M_SEQ,   /* put, read and combined in different phases */
    M_RMW,   /* read, changed and written under an exclusive lock, looked at under a shared one */
    N_MODES
};
enum call { C_PUT, C_GET, C_ACC, C_GACC, C_FOP, C_CAS, C_RMW, C_LOOK, N_CALLS };

struct slice {
    int off, len; /* bytes of the target's part */
    enum mode mode;
    const struct kind *k;
    MPI_Op op;
    int place; /* of the one element that is counted, swapped or locked */
};

struct op {
    int origin, target, slice, phase;
    enum call call;
    MPI_Op op;
    bool has_req;
    uint64_t seed, key;
    /* at the origin */
    struct spread from, to, into;
    char *data;         /* elements of the origin; of a swap also what to compare with */
    char *src, *result; /* buffers of the call */
    char *want;         /* what must be fetched, where only one thing can be */
};

/* One window: ranks are those of its communicator. */
static struct win {
    MPI_Win win;
    MPI_Comm comm;
    int rank;
    char *mem;
    int size[MAX_RANKS], unit[MAX_RANKS];
    MPI_Aint base[MAX_RANKS]; /* displacement of the part's first byte */
} wins[N_WINS], *w;

static uint64_t seed = 1;
static long round_no;
static enum sync sync_kind;
static bool
    is_rush; /* many calls on few elements, little that ends them, targets that look or not */
static int n_derived; /* so many of 16 calls have derived types; 0: no type has holes either */
static bool is_allowed[MAX_RANKS][MAX_RANKS]; /* [target][origin] of start and post */
static struct slice slices[MAX_RANKS][MAX_SLICES];
static int n_slices[MAX_RANKS], n_ops;
static struct op ops[MAX_OPS];
static char *initial[MAX_RANKS]; /* what parts are filled with */

/* ---- the program ---- */

static struct rng rng_of(uint64_t a, uint64_t b, uint64_t c)
{
    struct rng r = {seed * 0x2545f4914f6cdd1du + (uint64_t)round_no * 0x9e3779b97f4a7c15u};

    r.at ^= rng_bits(&r) + a * 0xd6e8feb86659fd93u;
    r.at ^= rng_bits(&r) + b * 0xa0761d6478bd642fu;
    r.at ^= rng_bits(&r) + c;
    return r;
}

/* What a part is filled with before the round. */
static void draw_initial(int target)
{
    struct rng r = rng_of(1, (uint64_t)target, 0);
    char *mem = initial[target];

    for (int i = 0; i < w->size[target]; i += 8) {
        uint64_t bits = rng_bits(&r);

        memcpy(mem + i, &bits, 8);
    }
    for (int s = 0; s < n_slices[target]; s++) {
        const struct slice *sl = &slices[target][s];

        for (int i = 0; i + sl->k->size <= sl->len; i += sl->k->size)
            kind_value(sl->k, MPI_NO_OP, &r, mem + sl->off + i);
    }
}

static struct op *add_op(struct rng *r, int origin, int target, int slice, int phase,
                         enum call call)
{
    struct op *o = &ops[n_ops];

    if (n_ops == MAX_OPS || (sync_kind == PSCW && !is_allowed[target][origin]))
        return NULL;
    n_ops++;
    *o = (struct op){.origin = origin,
                     .target = target,
                     .slice = slice,
                     .phase = phase,
                     .call = call,
                     .op = slices[target][slice].op,
                     .seed = rng_bits(r)};
    o->has_req = sync_kind >= LOCK && call <= C_GACC && rnd(r, is_rush ? 12 : 3) == 0;
    return o;
}

/* A call that combines, now and then one that only reads. */
static struct op *add_acc(struct rng *r, int origin, int target, int slice, int phase)
{
    struct op *o = add_op(r, origin, target, slice, phase, (enum call)(C_ACC + rnd(r, 3)));

    if (o != NULL && o->call != C_ACC && rnd(r, 5) == 0)
        o->op = MPI_NO_OP;
    return o;
}

static void draw_ops(struct rng *r, int t, int s)
{
    struct slice *sl = &slices[t][s];
    int n = 1 + rnd(r, mp_size < 5 ? 2 * mp_size : 10), one = rnd(r, mp_size);
    int phase = 0;
    struct op *o;

    if (is_rush)
        n = 4 + rnd(r, 40);
    switch (sl->mode) {
    case M_PUT:
        add_op(r, one, t, s, rnd(r, N_PHASES), C_PUT);
        break;
    case M_GET:
        for (int i = 0; i < n; i++) {
            o = add_op(r, rnd(r, mp_size), t, s, rnd(r, N_PHASES), rnd(r, 4) ? C_GET : C_GACC);
            if (o != NULL)
                o->op = MPI_NO_OP;
        }
        break;
    case M_ACC:
        for (int i = 0; i < n; i++)
            add_acc(r, rnd(r, mp_size), t, s, rnd(r, N_PHASES));
        break;
    case M_COUNT:
    case M_CAS:
        n = sl->mode == M_COUNT ? 1 + rnd(r, MAX_COUNT / mp_size) : 1;
        for (int i = 0; i < mp_size * n; i++)
            add_op(r, i % mp_size, t, s,
                   sl->mode == M_COUNT ? i / mp_size % N_PHASES : rnd(r, N_PHASES),
                   sl->mode == M_COUNT ? C_FOP : C_CAS);
        break;
    case M_ORDER:
        for (int i = 0; i < n && i < (is_rush ? 40 : 6); i++) {
            phase += rnd(r, is_rush ? 12 : 4) == 0 && phase < N_PHASES - 1;
            if (sl->k->can_swap && rnd(r, 4) == 0) {
                add_op(r, one, t, s, phase, C_CAS);
                continue;
            }
            o = add_acc(r, one, t, s, phase);
            if (o != NULL && o->op != MPI_NO_OP)
                o->op = kind_op(sl->k, r);
        }
        break;
    case M_SEQ:
        for (int i = 0; i < N_PHASES; i++) {
            /* phases of different origins are ordered only where the target takes part */
            if (sync_kind <= PSCW)
                one = rnd(r, mp_size);
            add_op(r, one, t, s, i, (enum call)rnd(r, C_FOP));
        }
        break;
    default:
        for (int i = 0; i < mp_size; i++)
            add_op(r, i, t, s, rnd(r, N_PHASES), rnd(r, 3) ? C_RMW : C_LOOK);
    }
}

/* Places that a displacement can say are multiples of so many elements. */
static int step_of(const struct kind *k, int target)
{
    return k->size < w->unit[target] ? w->unit[target] / k->size : 1;
}

static void draw_slices(struct rng *r, int t)
{
    int at = 16 * rnd(r, 4), n = 0;

    while (n < MAX_SLICES && rnd(r, 16) != 0) {
        struct slice *sl = &slices[t][n];
        int units = is_rush && n > 0 ? 1 + rnd(r, 3)
                    : rnd(r, 12)     ? 1 + rnd(r, 12)
                                     : 1 + rnd(r, 1500);

        if (at + 16 * units > w->size[t])
            break;
        *sl = (struct slice){.off = at, .len = 16 * units};
        at += 16 * (units + rnd(r, 2) * rnd(r, 4));
        do {
            sl->mode = (enum mode)rnd(r, N_MODES);
            sl->k = &kinds[rnd(r, N_KINDS)];
        } while ((sl->mode == M_RMW && sync_kind != LOCK) || sl->k->size > sl->len ||
                 (n_derived == 0 && sl->k->class == PAIR) ||
                 ((sl->mode == M_COUNT || sl->mode == M_CAS || sl->mode == M_RMW) &&
                  sl->k->class > UNSIGNED));
        sl->op = kind_op(sl->k, r);
        if (sl->mode == M_COUNT)
            sl->op = MPI_SUM;
        sl->place = round_down(rnd(r, sl->len / sl->k->size), step_of(sl->k, t));
        n++;
    }
    n_slices[t] = n;
}

static int by_time(const void *a, const void *b)
{
    const struct op *x = a, *y = b;

    if (x->phase != y->phase)
        return x->phase - y->phase;
    return (x->key > y->key) - (x->key < y->key);
}

static void draw_program(void)
{
    struct rng r = rng_of(2, 0, 0);

    is_rush = rnd(&r, 3) == 0;
    n_derived = is_rush ? rnd(&r, 3) : 16;
    do
        w = &wins[is_rush && rnd(&r, 2) ? W_MALLOC : rnd(&r, N_WINS)];
    while (w->win == MPI_WIN_NULL);
    sync_kind = (enum sync)rnd(&r, N_SYNCS);
    for (int t = 0; t < mp_size; t++) {
        for (int o = 0; o < mp_size; o++)
            is_allowed[t][o] = rnd(&r, 3) > 0;
    }
    n_ops = 0;
    for (int t = 0; t < mp_size; t++) {
        draw_slices(&r, t);
        for (int s = 0; s < n_slices[t]; s++) {
            int first = n_ops;
            uint64_t key = 0;

            draw_ops(&r, t, s);
            /* mixed with others, but calls on one slice stay in order within a phase */
            for (int i = first; i < n_ops; i++) {
                uint64_t next = rng_bits(&r) >> 1;

                key = key > next ? key + 1 : next;
                ops[i].key = key;
            }
        }
    }
    qsort(ops, (size_t)n_ops, sizeof(ops[0]), by_time);
}

/* ---- one operation ---- */

/* Elements and data, which target and origin find alike; at the origin also the buffers' layout. */
static void expand(struct op *o, bool at_origin)
{
    const struct slice *sl = &slices[o->target][o->slice];
    const struct kind *k = sl->k;
    struct rng r = {o->seed};
    int room = sl->len / k->size, n = 1 + rnd(&r, rnd(&r, 2) && room > 8 ? 8 : room);
    bool is_one = o->call >= C_FOP, is_plain = is_one || rnd(&r, 16) >= n_derived;
    bool is_any = sl->mode == M_ORDER || sl->mode == M_SEQ;
    MPI_Op use = is_any ? MPI_NO_OP : o->call == C_PUT ? MPI_REPLACE : o->op;

    if (is_one)
        n = 1;
    else if (rnd(&r, 30) == 0)
        n = 0;
    spread_make(&o->to, k, &r, n, room, step_of(k, o->target), is_plain, at_origin);
    if (sl->mode == M_COUNT || sl->mode == M_CAS || sl->mode == M_RMW)
        o->to.first = o->to.at[0] = sl->place;
    o->data = calloc((size_t)n + 2, (size_t)k->size);
    for (int i = 0; i < n; i++)
        kind_value(k, use, &r, o->data + i * k->size);
    if (sl->mode == M_COUNT)
        int_put(o->data, k->size, 1);
    if (sl->mode == M_CAS)
        int_put(o->data, k->size, (uint64_t)(20 + o->origin));
    if (o->call == C_CAS)
        memcpy(o->data + k->size, initial[o->target] + sl->off + o->to.at[0] * k->size,
               (size_t)k->size);
    if (at_origin) {
        spread_make(&o->from, k, &r, n, n + 1 + rnd(&r, n + 5), 1, is_plain, true);
        spread_make(&o->into, k, &r, n, n + 1 + rnd(&r, n + 5), 1, is_plain, true);
    }
}

static void collapse(struct op *o, bool at_origin)
{
    spread_free(&o->to);
    free(o->data);
    if (at_origin) {
        spread_free(&o->from);
        spread_free(&o->into);
        free(o->src);
        free(o->result);
        free(o->want);
    }
}

#endif
