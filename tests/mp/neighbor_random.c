/* test: np=1,2,3,4,7 timeout=100 */
/*
 * Random neighbourhood collectives against a plain model: random distributed graphs (the same edge
 * several times, oneself, nobody), grids and rings with ends, blocks of several layouts and
 * lengths with gaps, the three forms, several outstanding, completed in an order of each rank's own. All ranks
 * draw the same numbers; argument 1 (or COLL_RANDOM_SEED) is the seed, argument 2 the number of batches.
 */
#include "coll_test.h"

#define MAX_EDGES 40
#define N_HOODS   5
#define N_BATCH   8

enum kind { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, N_KINDS };
enum form { BLOCKING, NONBLOCKING, PERSISTENT, N_FORMS };

/* slot: which of its blocks for me a source's is, among those that go out of it. */
struct hood {
    MPI_Comm comm;
    int n_in, n_out;
    int in[MAX_EDGES], slot[MAX_EDGES], out[MAX_EDGES];
};

struct op {
    enum kind kind;
    enum form form;
    const struct hood *h;
    unsigned int salt;
    int n;
    const struct layout *sl, *rl;
    int scounts[MAX_EDGES + 1], sdispls[MAX_EDGES + 1], rcounts[MAX_EDGES + 1],
        rdispls[MAX_EDGES + 1];
    MPI_Aint sat[MAX_EDGES + 1], rat[MAX_EDGES + 1];
    MPI_Datatype stypes[MAX_EDGES + 1], rtypes[MAX_EDGES + 1];
    int *sbuf, *rbuf, *want, *kept;
    size_t slen, rlen;
    MPI_Request req;
};

static struct hood hoods[N_HOODS];
static int n_hoods;
static unsigned long long rng, own_rng;
static int is_mpich; /* its blocking forms are enough to check the model (see coll_random.c) */

static unsigned int draw(unsigned long long *state, unsigned int n)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned int)(*state >> 33) % n;
}

/* ---- neighbourhoods ---- */

/* A list of edges that all know: the k-th from a to b here is the k-th there. */
static void make_graph(int n_edges, const int (*edges)[2])
{
    struct hood *h = &hoods[n_hoods++];
    int n_of[MAX_EDGES * 2] = {0};

    for (int i = 0; i < n_edges; i++) {
        int from = edges[i][0], to = edges[i][1];

        if (to == mp_rank) {
            h->in[h->n_in] = from;
            h->slot[h->n_in++] = n_of[from];
        }
        if (from == mp_rank)
            h->out[h->n_out++] = to;
        n_of[from]++;
    }
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, h->n_in, h->in, MPI_UNWEIGHTED, h->n_out,
                                        h->out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &h->comm));
}

/* has_twins: the same edge may come again, which MPICH 4.0.2 confuses. */
static void draw_graph(int n_edges, int has_twins)
{
    int edges[MAX_EDGES][2];

    if (is_mpich && n_edges > mp_size * mp_size / 2 + 1)
        n_edges = mp_size * mp_size / 2 + 1;
    has_twins = has_twins && !is_mpich;

    for (int i = 0; i < n_edges; i++) {
        int is_new = 0;

        while (!is_new) {
            edges[i][0] = (int)draw(&rng, (unsigned int)mp_size);
            edges[i][1] = (int)draw(&rng, (unsigned int)mp_size);
            is_new = 1;
            for (int k = 0; k < i && !has_twins; k++)
                is_new &= edges[k][0] != edges[i][0] || edges[k][1] != edges[i][1];
        }
    }
    make_graph(n_edges, (const int(*)[2])edges);
}

/* A line with ends, so that there are neighbours that are nobody. */
static void make_line(void)
{
    struct hood *h = &hoods[n_hoods++];
    int dims[1] = {mp_size}, periods[1] = {0};

    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &h->comm));
    h->n_in = h->n_out = 2;
    MPI_Cart_shift(h->comm, 0, 1, &h->in[0], &h->in[1]);
    for (int i = 0; i < 2; i++) {
        h->out[i] = h->in[i];
        h->slot[i] = 1 - i;
    }
}

/* ---- operations ---- */

/* Payload ints of the block in slot k of a sender. */
static size_t block_len(const struct op *o, int from, int k)
{
    int is_v = o->kind == ALLGATHERV || o->kind == ALLTOALLV || o->kind == ALLTOALLW;

    if (!is_v)
        return (size_t)o->n;
    if (o->kind == ALLGATHERV)
        k = 0;
    return 2 * (((unsigned int)from * 5u + (unsigned int)k * 3u + o->salt) % 4u) *
           (unsigned int)(o->n / 2 + 1);
}

static int val(const struct op *o, int from, int k, size_t i)
{
    return value(from, o->kind <= ALLGATHERV ? 0 : k, i + o->salt % 4096);
}

static const struct layout *layout_of(const struct op *o, const struct layout *l, int i)
{
    return o->kind == ALLTOALLW ? &layouts[((unsigned int)i + o->salt) % N_LAYOUTS] : l;
}

/* Put the blocks of one side one after the other, with gaps where those may be; the ints of memory. */
static size_t lay_out(const struct op *o, const struct layout *l, const size_t *lens, int n,
                      size_t *base, int *counts, int *displs, MPI_Aint *at, MPI_Datatype *types)
{
    int has_gaps = o->kind == ALLGATHERV || o->kind == ALLTOALLV;
    size_t payload = 0, ints = 0;

    for (int i = 0; i < n; i++) {
        const struct layout *li = layout_of(o, l, i);

        counts[i] = elems(li, lens[i]);
        types[i] = li->type;
        displs[i] = elems(li, payload);
        at[i] = (MPI_Aint)(ints * sizeof(int));
        /* In units of payload, but for alltoallw, where a block is somewhere of its own. */
        base[i] = o->kind == ALLTOALLW ? ints : payload;
        payload += lens[i] + (has_gaps ? 2 : 0);
        ints += room(li, lens[i]);
    }
    return o->kind == ALLTOALLW ? ints + 4 : room(l, payload);
}

static size_t place_of(const struct op *o, const struct layout *l, int i, size_t base, size_t k)
{
    return o->kind == ALLTOALLW ? base + place(layout_of(o, l, i), k) : place(l, base + k);
}

static void prepare(struct op *o)
{
    const struct hood *h = o->h;
    int n_out = o->kind <= ALLGATHERV ? 1 : h->n_out;
    size_t out_len[MAX_EDGES + 1], in_len[MAX_EDGES + 1], out[MAX_EDGES + 1], in[MAX_EDGES + 1];

    for (int i = 0; i < n_out; i++)
        out_len[i] = block_len(o, mp_rank, i);
    for (int i = 0; i < h->n_in; i++)
        in_len[i] = h->in[i] == MPI_PROC_NULL ? (size_t)o->n : block_len(o, h->in[i], h->slot[i]);
    o->slen = lay_out(o, o->sl, out_len, n_out, out, o->scounts, o->sdispls, o->sat, o->stypes);
    o->rlen = lay_out(o, o->rl, in_len, h->n_in, in, o->rcounts, o->rdispls, o->rat, o->rtypes);
    o->sbuf = new_buf(o->slen + 1);
    o->kept = new_buf(o->slen + 1);
    o->rbuf = new_buf(o->rlen + 1);
    o->want = new_buf(o->rlen + 1);
    for (int i = 0; i < n_out; i++)
        for (size_t k = 0; k < out_len[i]; k++)
            o->sbuf[place_of(o, o->sl, i, out[i], k)] = val(o, mp_rank, i, k);
    memcpy(o->kept, o->sbuf, (o->slen + 1) * sizeof(int));
    for (int i = 0; i < h->n_in; i++)
        for (size_t k = 0; k < in_len[i] && h->in[i] != MPI_PROC_NULL; k++)
            o->want[place_of(o, o->rl, i, in[i], k)] = val(o, h->in[i], h->slot[i], k);
}

static void draw_op(struct op *o)
{
    static const int sizes[] = {0, 2, 6, 34, 126, 1026, 9000};

    memset(o, 0, sizeof(*o));
    o->req = MPI_REQUEST_NULL;
    o->h = &hoods[draw(&rng, (unsigned int)n_hoods)];
    /* MPICH 4.0.2 writes nothing in some of alltoallw. */
    o->kind = (enum kind)draw(&rng, is_mpich ? ALLTOALLW : N_KINDS);
    o->form = (enum form)draw(&rng, N_FORMS);
    if (is_mpich)
        o->form = BLOCKING;
    o->salt = draw(&rng, 100000);
    o->n = sizes[draw(&rng, 7)];
    o->sl = &layouts[draw(&rng, N_LAYOUTS)];
    o->rl = &layouts[draw(&rng, N_LAYOUTS)];
    prepare(o);
}

#define CALL(o, F, I, ...)                                                                         \
    ((o)->form == BLOCKING      ? MPI_##F(__VA_ARGS__)                                             \
     : (o)->form == NONBLOCKING ? MPI_##I(__VA_ARGS__, &(o)->req)                                  \
                                : MPI_##F##_init(__VA_ARGS__, MPI_INFO_NULL, &(o)->req))

static int call(struct op *o)
{
    MPI_Comm comm = o->h->comm;
    MPI_Datatype st = o->sl->type, rt = o->rl->type;
    int n = elems(o->rl, (size_t)o->n);

    switch (o->kind) {
    case ALLGATHER:
        return CALL(o, Neighbor_allgather, Ineighbor_allgather, o->sbuf, o->scounts[0], st, o->rbuf,
                    n, rt, comm);
    case ALLGATHERV:
        return CALL(o, Neighbor_allgatherv, Ineighbor_allgatherv, o->sbuf, o->scounts[0], st,
                    o->rbuf, o->rcounts, o->rdispls, rt, comm);
    case ALLTOALL:
        return CALL(o, Neighbor_alltoall, Ineighbor_alltoall, o->sbuf, elems(o->sl, (size_t)o->n),
                    st, o->rbuf, n, rt, comm);
    case ALLTOALLV:
        return CALL(o, Neighbor_alltoallv, Ineighbor_alltoallv, o->sbuf, o->scounts, o->sdispls, st,
                    o->rbuf, o->rcounts, o->rdispls, rt, comm);
    default:
        return CALL(o, Neighbor_alltoallw, Ineighbor_alltoallw, o->sbuf, o->scounts, o->sat,
                    o->stypes, o->rbuf, o->rcounts, o->rat, o->rtypes, comm);
    }
}

static void check(const struct op *o)
{
    int is_bad = memcmp(o->rbuf, o->want, (o->rlen + 1) * sizeof(int)) != 0 ||
                 memcmp(o->sbuf, o->kept, (o->slen + 1) * sizeof(int)) != 0;

    if (!is_bad)
        return;
    fprintf(stderr, "kind %d form %d hood %d n %d salt %u\n", o->kind, o->form, (int)(o->h - hoods),
            o->n, o->salt);
    for (size_t i = 0; i <= o->rlen; i++)
        CHECK_EQ(o->rbuf[i], o->want[i]);
    CHECK(!is_bad);
}

/* Start the persistent ones and complete all, each rank from another one on. */
static void complete(struct op *ops, int n)
{
    int at = (int)draw(&own_rng, (unsigned int)n);

    for (int i = 0; i < n; i++)
        if (ops[(i + at) % n].form == PERSISTENT)
            MUST(MPI_Start(&ops[(i + at) % n].req));
    at = (int)draw(&own_rng, (unsigned int)n);
    for (int i = 0; i < n; i++)
        MUST(MPI_Wait(&ops[(i + at) % n].req, MPI_STATUS_IGNORE));
}

static void batch(void)
{
    static struct op ops[N_BATCH];
    int n = 1 + (int)draw(&rng, N_BATCH);

    for (int i = 0; i < n; i++) {
        draw_op(&ops[i]);
        MUST(call(&ops[i]));
    }
    complete(ops, n);
    for (int i = 0; i < n; i++) {
        check(&ops[i]);
        for (size_t k = 0; k <= ops[i].rlen && ops[i].form == PERSISTENT; k++)
            ops[i].rbuf[k] = SENTINEL;
    }
    complete(ops, n);
    for (int i = 0; i < n; i++) {
        check(&ops[i]);
        if (ops[i].form == PERSISTENT)
            MUST(MPI_Request_free(&ops[i].req));
        free(ops[i].sbuf);
        free(ops[i].kept);
        free(ops[i].rbuf);
        free(ops[i].want);
    }
}

int main(int argc, char **argv)
{
    const char *seed = argc > 1 ? argv[1] : getenv("COLL_RANDOM_SEED");
    int n_batches = argc > 2 ? atoi(argv[2]) : 60, ring[MAX_EDGES][2];

    mp_start(&argc, &argv);
    is_mpich = mp_is_library("MPICH");
    rng = seed != NULL ? strtoull(seed, NULL, 0) : 4711;
    own_rng = rng + (unsigned long long)mp_rank * 7919;
    make_layouts();
    draw_graph(mp_size > 1 ? mp_size : 1, 0);
    draw_graph(2 * mp_size < MAX_EDGES ? 2 * mp_size : MAX_EDGES, 1);
    draw_graph(MAX_EDGES, 1);
    for (int i = 0; i < mp_size && i < MAX_EDGES; i++) {
        ring[i][0] = i;
        ring[i][1] = (i + 1) % mp_size;
    }
    make_graph(mp_size < MAX_EDGES ? mp_size : MAX_EDGES, (const int(*)[2])ring);
    make_line();
    for (int i = 0; i < n_batches; i++)
        batch();
    for (int i = 0; i < n_hoods; i++)
        MPI_Comm_free(&hoods[i].comm);
    free_layouts();
    return mp_finish();
}
