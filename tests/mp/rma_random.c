/* test: np=1,2,3,4 cfg=RMA=auto|emulated,RMA_UPDATE=auto|yes,PROGRESS=adaptive|thread timeout=60 */
/*
 * Random one-sided programs. Every rank draws the same program from the seed: windows of
 * every kind, epochs of every kind, and operations on slices of the windows' parts, none of which are
 * used in a way that the standard leaves open. So a small model (rma_model.h) tells what may come
 * out: one result, or for what ranks do concurrently, what atomic updates can have made of it.
 * RMA_RANDOM_SECONDS says how long (default 2), RMA_RANDOM_SEED which programs, RMA_RANDOM_ROUND
 * that only one of them is run.
 */
#include "rma_program.h"

static const char *const sync_names[] = {"fence", "pscw", "lock", "lock_all"};
static const char *const call_names[] = {"put",
                                         "get",
                                         "accumulate",
                                         "get_accumulate",
                                         "fetch_and_op",
                                         "compare_and_swap",
                                         "add under lock",
                                         "look twice"};

static int seen[MAX_RANKS * MAX_SLICES][MAX_COUNT];
static int all_seen[MAX_RANKS * MAX_SLICES][MAX_COUNT];

static void wrong(const char *what, const struct op *o, int slice, int place)
{
    if (++mp_failures > 5)
        return;
    fprintf(stderr,
            "seed %llu round %ld np %d: window %d, %s: rank %d: %s: ", (unsigned long long)seed,
            round_no, mp_size, (int)(w - wins), sync_names[sync_kind], w->rank, what);
    if (o != NULL)
        fprintf(stderr, "%s of %d at %d, phase %d, n %d, ", call_names[o->call], o->origin,
                o->target, o->phase, o->to.n);
    if (slice >= 0)
        fprintf(stderr, "slice %d, mode %d, type %d, ", slice,
                slices[o != NULL ? o->target : w->rank][slice].mode,
                (int)(slices[o != NULL ? o->target : w->rank][slice].k - kinds));
    fprintf(stderr, "place %d\n", place);
}

/* ---- calls ---- */

#define GUARD 64 /* bytes around the elements of a buffer */

static size_t buffer_len(const struct spread *s, const struct kind *k)
{
    return (size_t)(2 * s->n + 8) * (size_t)k->size + 2 * GUARD;
}

static char *buffer(const struct spread *s, const struct kind *k, const char *data)
{
    size_t len = buffer_len(s, k);
    char *buf = malloc(len);

    memset(buf, 0xa5, len);
    for (int i = 0; data != NULL && i < s->n; i++)
        memcpy(buf + GUARD + s->at[i] * k->size, data + i * k->size, (size_t)k->size);
    return buf;
}

/*
 * Inside a lock: add one, with another value in between, or see that the value does not change.
 */
static void under_lock(const struct op *o, MPI_Aint at, char *src, char *res)
{
    const struct slice *sl = &slices[o->target][o->slice];
    const struct kind *k = sl->k;
    int t = o->target;
    uint64_t was, change;

    MUST(MPI_Get(res, 1, k->type, t, at, 1, k->type, w->win));
    MUST(MPI_Win_flush(t, w->win));
    was = int_get(res, k->size, false);
    for (int i = 0; o->call == C_RMW && i < 2; i++) {
        int_put(src, k->size, was + (i == 0 ? 100 : 1));
        MUST(MPI_Put(src, 1, k->type, t, at, 1, k->type, w->win));
        MUST(MPI_Win_flush(t, w->win));
    }
    if (o->call == C_RMW)
        return;
    MUST(MPI_Get(res, 1, k->type, t, at, 1, k->type, w->win));
    MUST(MPI_Win_flush(t, w->win));
    change = was - int_get(initial[t] + sl->off + o->to.at[0] * k->size, k->size, false);
    if (was != int_get(res, k->size, false) || change > (uint64_t)mp_size)
        wrong("value under a shared lock", o, o->slice, (int)change);
}

static void issue(struct op *o, MPI_Request *req)
{
    const struct slice *sl = &slices[o->target][o->slice];
    const struct kind *k = sl->k;
    char *src, *res;
    MPI_Aint at;
    int t = o->target, n_from;

    expand(o, true);
    at = w->base[t] + (sl->off + o->to.first * k->size) / w->unit[t];
    o->src = buffer(&o->from, k, o->data);
    o->result = buffer(&o->into, k, NULL);
    src = o->src + GUARD + o->from.first * k->size;
    res = o->result + GUARD + o->into.first * k->size;
    n_from = o->from.count;
    if (o->op == MPI_NO_OP && o->seed % 2) { /* the origin's data do not matter */
        src = NULL;
        n_from = 0;
    }
#define FROM src, n_from, o->from.type
#define INTO res, o->into.count, o->into.type
#define TO   t, at, o->to.count, o->to.type
    switch (o->call) {
    case C_PUT:
        MUST(o->has_req ? MPI_Rput(FROM, TO, w->win, req) : MPI_Put(FROM, TO, w->win));
        break;
    case C_GET:
        MUST(o->has_req ? MPI_Rget(INTO, TO, w->win, req) : MPI_Get(INTO, TO, w->win));
        break;
    case C_ACC:
        MUST(o->has_req ? MPI_Raccumulate(FROM, TO, o->op, w->win, req)
                        : MPI_Accumulate(FROM, TO, o->op, w->win));
        break;
    case C_GACC:
        MUST(o->has_req ? MPI_Rget_accumulate(FROM, INTO, TO, o->op, w->win, req)
                        : MPI_Get_accumulate(FROM, INTO, TO, o->op, w->win));
        break;
    case C_FOP:
        MUST(MPI_Fetch_and_op(src, res, k->type, t, at, o->op, w->win));
        break;
    case C_CAS:
        MUST(MPI_Compare_and_swap(src, o->data + k->size, res, k->type, t, at, w->win));
        break;
    default:
        under_lock(o, at, src, res);
    }
}

/* ---- epochs ---- */

static MPI_Request reqs[MAX_OPS];
static int n_reqs;

/* A target that computes for a while. */
static void be_away(struct rng *r)
{
    double until = MPI_Wtime() + rnd(r, 40) * 1e-6;

    while (MPI_Wtime() < until)
        ;
}

/* My calls of a phase on this target, or any (-1). */
static bool issue_all(int phase, int target, struct rng *r)
{
    bool any = false;

    for (int i = 0; i < n_ops && mp_failures == 0; i++) {
        struct op *o = &ops[i];

        if (o->origin != w->rank || o->phase != phase || (target >= 0 && o->target != target))
            continue;
        any = true;
        if (is_rush && rnd(r, 24) == 0)
            be_away(r);
        issue(o, &reqs[n_reqs]);
        if (o->has_req && rnd(r, 3) == 0)
            MUST(MPI_Wait(&reqs[n_reqs], MPI_STATUS_IGNORE));
        else if (o->has_req)
            n_reqs++;
        if (sync_kind < LOCK || rnd(r, is_rush ? 48 : 6) != 0)
            continue;
        switch (rnd(r, 5)) {
        case 0:
            MUST(MPI_Win_flush(o->target, w->win));
            break;
        case 1:
            MUST(MPI_Win_flush_local(o->target, w->win));
            break;
        case 2:
            MUST(MPI_Win_flush_all(w->win));
            break;
        case 3:
            MUST(MPI_Win_flush_local_all(w->win));
            break;
        default:
            MUST(MPI_Win_sync(w->win));
        }
    }
    return any;
}

static void wait_all(void)
{
    MUST(MPI_Waitall(n_reqs, reqs, MPI_STATUSES_IGNORE));
    n_reqs = 0;
}

static void run_fence(struct rng *r)
{
    MUST(MPI_Win_fence(rnd(r, 2) ? MPI_MODE_NOPRECEDE : 0, w->win));
    for (int p = 0; p < N_PHASES; p++) {
        issue_all(p, -1, r);
        MUST(MPI_Win_fence((rnd(r, 2) ? MPI_MODE_NOSTORE : 0) |
                               (p == N_PHASES - 1 ? MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT : 0),
                           w->win));
    }
}

static void run_pscw(struct rng *r)
{
    MPI_Group all, post, start;
    int to[MAX_RANKS], from[MAX_RANKS], n_to = 0, n_from = 0, done = 0;

    MPI_Comm_group(w->comm, &all);
    for (int i = 0; i < mp_size; i++) {
        if (is_allowed[w->rank][i])
            from[n_from++] = i;
        if (is_allowed[i][w->rank])
            to[n_to++] = i;
    }
    MPI_Group_incl(all, n_from, from, &post);
    MPI_Group_incl(all, n_to, to, &start);
    for (int p = 0; p < N_PHASES; p++) {
        MUST(MPI_Win_post(post, 0, w->win));
        MUST(MPI_Win_start(start, 0, w->win));
        issue_all(p, -1, r);
        MUST(MPI_Win_complete(w->win));
        if (rnd(r, 2)) {
            MUST(MPI_Win_wait(w->win));
        } else {
            for (done = 0; !done && mp_failures == 0;)
                MUST(MPI_Win_test(w->win, &done));
        }
    }
    MPI_Group_free(&post);
    MPI_Group_free(&start);
    MPI_Group_free(&all);
}

static bool must_exclude(int phase, int target)
{
    for (int i = 0; i < n_ops; i++) {
        if (ops[i].call == C_RMW && ops[i].origin == w->rank && ops[i].phase == phase &&
            ops[i].target == target)
            return true;
    }
    return false;
}

static void run_lock(struct rng *r)
{
    for (int p = 0; p < N_PHASES; p++) {
        int first = rnd(r, mp_size);

        for (int i = 0; i < mp_size; i++) {
            int t = (first + i) % mp_size;
            bool excl = must_exclude(p, t) || rnd(r, 3) == 0;

            MUST(MPI_Win_lock(excl ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, t, 0, w->win));
            issue_all(p, t, r);
            wait_all();
            MUST(MPI_Win_unlock(t, w->win));
        }
    }
}

static void run_lock_all(struct rng *r)
{
    MUST(MPI_Win_lock_all(rnd(r, 2) ? MPI_MODE_NOCHECK : 0, w->win));
    for (int p = 0; p < N_PHASES; p++) {
        issue_all(p, -1, r);
        wait_all();
        if (rnd(r, 2)) {
            MUST(MPI_Win_flush_all(w->win));
        } else {
            for (int t = 0; t < mp_size; t++)
                MUST(MPI_Win_flush(t, w->win));
        }
    }
    MUST(MPI_Win_unlock_all(w->win));
}

/* ---- what must have come out ---- */

static char *part_at(char *part, const struct slice *sl, int element)
{
    return part + sl->off + element * sl->k->size;
}

/* One operation on the model's memory. Fetched elements are noted where they are certain. */
static void apply(struct op *o, char *part)
{
    const struct slice *sl = &slices[o->target][o->slice];
    const struct kind *k = sl->k;
    bool is_mine = o->origin == w->rank;

    if (!is_mine)
        expand(o, false);
    if (is_mine && o->call != C_PUT && o->call != C_ACC &&
        (sl->mode == M_GET || sl->mode == M_ORDER || sl->mode == M_SEQ))
        o->want = malloc((size_t)(o->to.n + 1) * (size_t)k->size);
    for (int i = 0; i < o->to.n; i++) {
        char *at = part_at(part, sl, o->to.at[i]), *in = o->data + i * k->size;

        if (o->want != NULL)
            memcpy(o->want + i * k->size, at, (size_t)k->size);
        if (o->call == C_RMW)
            int_put(at, k->size, int_get(at, k->size, false) + 1);
        else if (o->call == C_PUT ||
                 (o->call == C_CAS && memcmp(at, in + k->size, (size_t)k->size) == 0))
            memcpy(at, in, (size_t)k->size);
        else if (o->call >= C_ACC && o->call <= C_FOP)
            kind_combine(k, o->op, in, at);
    }
    if (!is_mine)
        collapse(o, false);
}

/*
 * The calls of the other ranks on one slice are kept expanded while their values are searched
 * again and again; -1: of none.
 */
static void keep_expanded(int t, int s)
{
    static int kept_t = -1, kept_s = -1;

    if (t == kept_t && s == kept_s)
        return;
    for (int i = 0; i < n_ops; i++) {
        if (ops[i].origin != w->rank && ops[i].target == kept_t && ops[i].slice == kept_s)
            collapse(&ops[i], false);
        if (ops[i].origin != w->rank && ops[i].target == t && ops[i].slice == s)
            expand(&ops[i], false);
    }
    kept_t = t;
    kept_s = s;
}

/* The slice's only possible contents, where there is one. */
static void simulate(int t, int s, char *part)
{
    keep_expanded(-1, -1);
    memcpy(part + slices[t][s].off, initial[t] + slices[t][s].off, (size_t)slices[t][s].len);
    for (int i = 0; i < n_ops; i++) {
        if (ops[i].target == t && ops[i].slice == s)
            apply(&ops[i], part);
    }
}

/* Does any replacement of this element in the slice bring `got`? *any: is there one at all? */
static bool is_candidate(int t, int s, int element, const char *got, bool *any)
{
    const struct kind *k = slices[t][s].k;
    bool found = false;

    *any = false;
    keep_expanded(t, s);
    for (int i = 0; i < n_ops; i++) {
        struct op *o = &ops[i];

        if (o->target != t || o->slice != s || o->op == MPI_NO_OP)
            continue;
        for (int j = 0; j < o->to.n; j++) {
            if (o->to.at[j] != element)
                continue;
            *any = true;
            found = found || kind_same(k, got, o->data + j * k->size);
        }
    }
    return found;
}

static void check_slice(int s, char *model, char *got)
{
    const struct slice *sl = &slices[w->rank][s];
    const struct kind *k = sl->k;
    int t = w->rank, row = t * MAX_SLICES + s, tail = sl->len / k->size * k->size;
    bool is_open = sl->mode == M_CAS || (sl->mode == M_ACC && sl->op == MPI_REPLACE);

    for (int i = 0; i < sl->len / k->size; i++) {
        const char *at = part_at(got, sl, i);
        bool any;

        if (kind_same(k, at, part_at(model, sl, i)))
            continue;
        if (is_open && sl->mode == M_ACC && is_candidate(t, s, i, at, &any))
            continue;
        if (is_open && sl->mode == M_CAS && i == sl->place)
            continue;
        wrong("memory", NULL, s, i);
    }
    if (memcmp(got + sl->off + tail, initial[t] + sl->off + tail, (size_t)(sl->len - tail)) != 0)
        wrong("bytes behind the last element", NULL, s, tail);
    if (sl->mode == M_CAS)
        seen[row][1] = (int)int_get(part_at(got, sl, sl->place), k->size, false);
}

static void check_memory(void)
{
    int t = w->rank, at = 0;
    char *got = malloc((size_t)w->size[t] + 1), *model = malloc((size_t)w->size[t] + 1);

    if (sync_kind >= LOCK) {
        MPI_Barrier(w->comm);
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, w->win));
    }
    if (w->size[t] > 0)
        memcpy(got, w->mem, (size_t)w->size[t]);
    if (sync_kind >= LOCK)
        MUST(MPI_Win_unlock(t, w->win));
    memcpy(model, initial[t], (size_t)w->size[t]);
    for (int s = 0; s <= n_slices[t]; s++) {
        int end = s < n_slices[t] ? slices[t][s].off : w->size[t];

        if (memcmp(got + at, initial[t] + at, (size_t)(end - at)) != 0)
            wrong("bytes beside the slices", NULL, -1, at);
        if (s == n_slices[t])
            break;
        simulate(t, s, model);
        check_slice(s, model, got);
        at = end + slices[t][s].len;
    }
    free(got);
    free(model);
}

/* Can atomic updates of one operation have shown this value on the way? */
static bool is_on_the_way(const struct op *o, int element, const char *got, const char *model)
{
    const struct slice *sl = &slices[o->target][o->slice];
    const struct kind *k = sl->k;
    const char *from = part_at(initial[o->target], sl, element);
    const char *to = part_at((char *)(uintptr_t)model, sl, element);
    bool any;

    if (kind_same(k, got, from) || (sl->op != MPI_REPLACE && kind_same(k, got, to)))
        return true;
    if (sl->op == MPI_REPLACE)
        return is_candidate(o->target, o->slice, element, got, &any);
    if (sl->op == MPI_BOR || sl->op == MPI_BAND) {
        uint64_t x = int_get(got, k->size, false), a = int_get(from, k->size, false);
        uint64_t b = int_get(to, k->size, false);

        return ((x ^ a) & ~(a ^ b)) == 0; /* no bit changes and comes back */
    }
    if (sl->op == MPI_LAND || sl->op == MPI_LOR || sl->op == MPI_LXOR)
        return int_get(got, k->size, false) < 2;
    if (sl->op == MPI_BXOR || k->class == COMPLEX)
        return true;
    return kind_cmp(k, got, from) * kind_cmp(k, got, to) <= 0;
}

/* Elements that a call brought, packed, or NULL when others have changed in the buffer. */
static char *take_fetched(const struct op *o)
{
    const struct kind *k = slices[o->target][o->slice].k;
    char *got = calloc((size_t)o->to.n + 1, (size_t)k->size), *same;

    for (int i = 0; i < o->to.n; i++)
        memcpy(got + i * k->size, o->result + GUARD + o->into.at[i] * k->size, (size_t)k->size);
    same = buffer(&o->into, k, o->call == C_PUT || o->call == C_ACC ? NULL : got);
    if (memcmp(same, o->result, buffer_len(&o->into, k)) != 0)
        wrong("result buffer", o, o->slice, 0);
    free(same);
    same = buffer(&o->from, k, o->data);
    if (o->call != C_RMW && memcmp(same, o->src, buffer_len(&o->from, k)) != 0)
        wrong("origin buffer", o, o->slice, 0);
    free(same);
    return got;
}

static void check_fetched(struct op *o, char *model)
{
    const struct slice *sl = &slices[o->target][o->slice];
    const struct kind *k = sl->k;
    char *got = take_fetched(o);
    int row = o->target * MAX_SLICES + o->slice;
    const char *first = part_at(initial[o->target], sl, o->to.n > 0 ? o->to.at[0] : 0);

    if (sl->mode == M_COUNT) {
        uint64_t turn = int_get(got, k->size, false) - int_get(first, k->size, false);

        if (turn >= MAX_COUNT)
            wrong("counter", o, o->slice, (int)turn);
        else
            seen[row][turn]++;
    } else if (sl->mode == M_CAS) {
        seen[row][0] += memcmp(got, first, (size_t)k->size) == 0;
        seen[row][2 + o->origin] = (int)int_get(got, k->size, false) + 1;
    } else if (o->call != C_PUT && o->call != C_ACC && o->call < C_RMW) {
        for (int i = 0; i < o->to.n; i++) {
            const char *at = got + i * k->size;

            if (o->want != NULL ? !kind_same(k, at, o->want + i * k->size)
                                : !is_on_the_way(o, o->to.at[i], at, model)) {
                wrong("fetched value", o, o->slice, i);
                break;
            }
        }
    }
    free(got);
}

static void check_calls(void)
{
    for (int t = 0; t < mp_size; t++) {
        char *model = malloc((size_t)w->size[t] + 1);

        for (int s = 0; s < n_slices[t]; s++) {
            if (t != w->rank) /* else check_memory has done it */
                simulate(t, s, model);
            for (int i = 0; i < n_ops; i++) {
                if (ops[i].target != t || ops[i].slice != s || ops[i].origin != w->rank)
                    continue;
                if (t == w->rank && slices[t][s].mode == M_ACC)
                    simulate(t, s, model);
                check_fetched(&ops[i], model);
            }
        }
        free(model);
    }
}

/* What only all ranks together can tell. */
static void check_together(void)
{
    int n_rows = mp_size * MAX_SLICES;

    MPI_Allreduce(seen, all_seen, n_rows * MAX_COUNT, MPI_INT, MPI_SUM, w->comm);
    for (int row = 0; row < n_rows; row++) {
        int t = row / MAX_SLICES, s = row % MAX_SLICES, n = 0, *all = all_seen[row];
        unsigned int start;

        if (s >= n_slices[t] || (slices[t][s].mode != M_COUNT && slices[t][s].mode != M_CAS))
            continue;
        for (int i = 0; i < n_ops; i++)
            n += ops[i].target == t && ops[i].slice == s;
        if (slices[t][s].mode == M_COUNT) {
            for (int i = 0; i < MAX_COUNT; i++) {
                if (all[i] != (i < n))
                    wrong("value of a counter is not there once", NULL, -1, row);
            }
            continue;
        }
        start = (unsigned char)*part_at(initial[t], &slices[t][s], slices[t][s].place);
        if (all[0] != (n > 0))
            wrong("number of those who won", NULL, -1, all[0]);
        for (int i = 0; i < n_ops; i++) {
            int got = all[2 + ops[i].origin] - 1;

            if (ops[i].target == t && ops[i].slice == s && got != all[1] &&
                (got != (int)start || all[1] != 20 + ops[i].origin))
                wrong("what one who swapped has seen", NULL, -1, got);
        }
    }
}

static void run_round(void)
{
    static void (*const run[])(struct rng *) = {run_fence, run_pscw, run_lock, run_lock_all};
    struct rng r;

    draw_program();
    for (int t = 0; t < mp_size; t++)
        draw_initial(t);
    r = rng_of(3, (uint64_t)w->rank, 0);
    memset(seen, 0, (size_t)(mp_size * MAX_SLICES) * sizeof(seen[0]));
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->rank, 0, w->win));
    if (w->size[w->rank] > 0)
        memcpy(w->mem, initial[w->rank], (size_t)w->size[w->rank]);
    MUST(MPI_Win_unlock(w->rank, w->win));
    MPI_Barrier(w->comm);
    run[sync_kind](&r);
    check_memory();
    check_calls();
    keep_expanded(-1, -1);
    for (int i = 0; i < n_ops; i++) {
        if (ops[i].origin == w->rank)
            collapse(&ops[i], true);
    }
    check_together();
}

/* ---- windows ---- */

static void make_window(int which, struct rng *r)
{
    static const int units[] = {1, 1, 2, 4, 8, 16};
    MPI_Aint here = 0, size;
    MPI_Comm host;
    int n_host;

    w = &wins[which];
    w->win = MPI_WIN_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, which % 2 ? mp_rank : -mp_rank, &w->comm);
    MPI_Comm_rank(w->comm, &w->rank);
    for (int i = 0; i < mp_size; i++) {
        int large = rnd(r, 4);

        w->size[i] = 16 * (large ? rnd(r, 80) : rnd(r, MAX_PART / 16));
        w->unit[i] = which == W_DYNAMIC ? 1 : units[rnd(r, 6)];
    }
    size = w->size[w->rank];
    w->mem = NULL;
    switch (which) {
    case W_MALLOC:
    case W_DYNAMIC:
        w->mem = malloc((size_t)size + 16);
        break;
    case W_ALLOC_MEM:
        MUST(MPI_Alloc_mem(size + 16, MPI_INFO_NULL, &w->mem));
        break;
    case W_ALLOCATE:
        MUST(MPI_Win_allocate(size, w->unit[w->rank], MPI_INFO_NULL, w->comm, &w->mem, &w->win));
        break;
    default:
        MPI_Comm_split_type(w->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
        MPI_Comm_size(host, &n_host);
        MPI_Comm_free(&host);
        if (n_host == mp_size)
            MUST(MPI_Win_allocate_shared(size, w->unit[w->rank], MPI_INFO_NULL, w->comm, &w->mem,
                                         &w->win));
        MPI_Allreduce(MPI_IN_PLACE, &n_host, 1, MPI_INT, MPI_MIN, w->comm);
    }
    if (which == W_MALLOC || which == W_ALLOC_MEM)
        MUST(MPI_Win_create(w->mem, size, w->unit[w->rank], MPI_INFO_NULL, w->comm, &w->win));
    if (which == W_DYNAMIC) {
        MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, w->comm, &w->win));
        MUST(MPI_Win_attach(w->win, w->mem, size + 16));
        MPI_Get_address(w->mem, &here);
    }
    MPI_Allgather(&here, 1, MPI_AINT, w->base, 1, MPI_AINT, w->comm);
}

static void free_window(int which)
{
    w = &wins[which];
    if (w->win != MPI_WIN_NULL)
        MUST(MPI_Win_free(&w->win));
    if (which == W_MALLOC || which == W_DYNAMIC)
        free(w->mem);
    if (which == W_ALLOC_MEM)
        MUST(MPI_Free_mem(w->mem));
    MPI_Comm_free(&w->comm);
}

static long setting(const char *name, long none)
{
    const char *text = getenv(name);
    long value = text != NULL ? atol(text) : none;

    MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return value;
}

/* Rounds on one set of windows; false: it is time to end. */
static bool generation(long first, long n, long only, double until)
{
    struct rng r;
    int go = 1;

    round_no = first;
    r = rng_of(4, 0, 0);
    for (int i = 0; i < N_WINS; i++)
        make_window(i, &r);
    for (long i = 0; i < n && go; i++) {
        round_no = first + i;
        if (only < 0 || only == round_no)
            run_round();
        if (i % 5 == 4 || mp_failures > 0) {
            go = MPI_Wtime() < until && mp_failures == 0;
            MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < N_WINS; i++)
        free_window(i);
    return go;
}

int main(int argc, char **argv)
{
    long seconds, only, n = 40;
    double until;

    mp_start(&argc, &argv);
    is_mpich = mp_is_library("MPICH");
    if (mp_size > MAX_RANKS) {
        fprintf(stderr, "at most %d ranks\n", MAX_RANKS);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    seconds = setting("RMA_RANDOM_SECONDS", 2);
    seed = (uint64_t)setting("RMA_RANDOM_SEED", 1);
    only = setting("RMA_RANDOM_ROUND", -1);
    until = MPI_Wtime() + (double)seconds;
    for (int i = 0; i < mp_size; i++)
        initial[i] = malloc(MAX_PART);
    for (long first = only < 0 ? 0 : only / n * n; generation(first, n, only, until); first += n) {
        if (only >= 0)
            break;
    }
    if (seconds > 10 && mp_rank == 0)
        printf("%ld rounds\n", round_no);
    for (int i = 0; i < mp_size; i++)
        free(initial[i]);
    return mp_finish();
}
