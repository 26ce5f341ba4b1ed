/* test: np=1,2,4 timeout=60 cfg=EAGER_LIMIT=64|16k */
/*
 * Random nested datatypes by every way of moving data. Sender and receiver have types of their own
 * that hold the same elements elsewhere: bounds that were moved, negative displacements, gaps, types
 * shared by others and freed. What arrives is checked element by element, and that nothing beside
 * them has changed.
 *
 *   type_moves [SEED [ROUNDS]]
 */
#include "mp_test.h"

enum { N_MAX = 48, K_MAX = 300, SPAN_MAX = 1 << 22, FILL = 0x5a };

/* A datatype of n leaves, at these places in bytes. n divides N_MAX. */
struct shape {
    MPI_Datatype type;
    int n;
    long at[N_MAX];
    MPI_Aint extent;
};

/* Memory for blocks of count elements of a shape; buf is what MPI gets. */
struct area {
    struct shape shape;
    int count, n_blocks;
    long low;
    size_t span;
    unsigned char *mem, *buf;
};

static unsigned long long rng;
static MPI_Datatype leaf;
static int leaf_size, n_elems, n_round;
static unsigned seed = 1;
static struct area out, in;
static int left, right, root;

static int draw(int n)
{
    rng = rng * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((rng >> 33) % (unsigned)n);
}

/* ---- types ---- */

static void take(struct shape *to, const struct shape *from, long disp, long n_reps)
{
    for (long r = 0; r < n_reps; r++)
        for (int i = 0; i < from->n; i++)
            to->at[to->n++] = disp + r * (long)from->extent + from->at[i];
}

static void make_indexed(struct shape *to, const struct shape *s, int n, int kind)
{
    int lens[4], places[4], len = 1 + draw(2), step = len + 2;
    MPI_Aint disps[4];

    for (int i = 0; i < n; i++) {
        /* in any order, some below 0 */
        places[i] = (i * 5 % n - 1) * step + draw(2);
        lens[i] = len;
        disps[i] = places[i] * s->extent + (kind % 2 == 0 ? 0 : leaf_size * draw(2));
        take(to, s, kind % 2 == 0 ? places[i] * (long)s->extent : (long)disps[i], len);
    }
    if (kind == 0)
        MUST(MPI_Type_indexed(n, lens, places, s->type, &to->type));
    else if (kind == 1)
        MUST(MPI_Type_create_hindexed(n, lens, disps, s->type, &to->type));
    else if (kind == 2)
        MUST(MPI_Type_create_indexed_block(n, len, places, s->type, &to->type));
    else
        MUST(MPI_Type_create_hindexed_block(n, len, disps, s->type, &to->type));
}

static void make_vector(struct shape *to, const struct shape *s, int n)
{
    int len = 1 + draw(2), stride = len + draw(3);
    MPI_Aint bytes = stride * s->extent + leaf_size * draw(3);

    if (draw(3) == 0) {
        stride = -stride;
        bytes = -bytes;
    }
    if (draw(2) == 0) {
        MUST(MPI_Type_vector(n, len, stride, s->type, &to->type));
        bytes = stride * s->extent;
    } else {
        MUST(MPI_Type_create_hvector(n, len, bytes, s->type, &to->type));
    }
    for (int i = 0; i < n; i++)
        take(to, s, i * (long)bytes, len);
}

static void make_struct(struct shape *to, const struct shape *s)
{
    MPI_Aint low, true_extent, disps[3];
    MPI_Datatype types[3] = {s->type, leaf, s->type};
    struct shape one = {.n = 1, .extent = leaf_size};
    int lens[3] = {1, draw(3), 1};

    MUST(MPI_Type_get_true_extent(s->type, &low, &true_extent));
    disps[1] = leaf_size * (draw(5) - 2);
    disps[0] = disps[1] + 2 * leaf_size - low + (MPI_Aint)leaf_size * draw(3);
    disps[2] = disps[0] + true_extent + (MPI_Aint)leaf_size * draw(3);
    take(to, s, (long)disps[0], 1);
    take(to, &one, (long)disps[1], lens[1]);
    take(to, s, (long)disps[2], 1);
    MUST(MPI_Type_create_struct(3, lens, disps, types, &to->type));
}

static void make_subarray(struct shape *to, const struct shape *s)
{
    int sizes[2] = {2 + draw(3), 2 + draw(3)}, subs[2], starts[2], is_c = draw(2);
    int fast = is_c ? 1 : 0, slow = !fast;

    for (int d = 0; d < 2; d++) {
        subs[d] = 1 + draw(sizes[d]);
        starts[d] = draw(sizes[d] - subs[d] + 1);
    }
    for (int j = 0; j < subs[slow]; j++)
        take(to, s, ((starts[slow] + j) * sizes[fast] + starts[fast]) * (long)s->extent,
             subs[fast]);
    MUST(MPI_Type_create_subarray(2, sizes, subs, starts, is_c ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                                  s->type, &to->type));
}

static void make_resized(struct shape *to, const struct shape *s)
{
    MPI_Aint lb, extent;

    MUST(MPI_Type_get_extent(s->type, &lb, &extent));
    take(to, s, 0, 1);
    MUST(MPI_Type_create_resized(s->type, lb + (MPI_Aint)leaf_size * (draw(5) - 2),
                                 extent + (MPI_Aint)leaf_size * (draw(4) - 1), &to->type));
}

static void wrap(struct shape *to, const struct shape *s)
{
    MPI_Aint lb;
    int n = 1 + draw(3), how = draw(9);

    to->n = 0;
    if (how == 0) {
        take(to, s, 0, n);
        MUST(MPI_Type_contiguous(n, s->type, &to->type));
    } else if (how == 1) {
        make_vector(to, s, n);
    } else if (how == 2) {
        make_struct(to, s);
    } else if (how == 3) {
        make_subarray(to, s);
    } else if (how == 4) {
        take(to, s, 0, 1);
        MUST(MPI_Type_dup(s->type, &to->type));
    } else if (how <= 6) {
        make_resized(to, s);
    } else {
        make_indexed(to, s, n, draw(4));
    }
    MUST(MPI_Type_get_extent(to->type, &lb, &to->extent));
}

/* A committed type; the ones it is made of are freed. */
static void make_shape(struct shape *s)
{
    struct shape next;
    int depth = draw(5);

    *s = (struct shape){.n = 1, .extent = leaf_size};
    MUST(MPI_Type_dup(leaf, &s->type));
    for (int i = 0; i < depth; i++) {
        if (s->n > N_MAX / 16)
            break;
        wrap(&next, s);
        MUST(MPI_Type_free(&s->type));
        *s = next;
    }
    MUST(MPI_Type_commit(&s->type));
}

/* ---- memory ---- */

/* Where leaf k of a block is, in bytes from buf. */
static long place(const struct area *a, int block, int k)
{
    const struct shape *s = &a->shape;

    return ((long)block * a->count + k / s->n) * (long)s->extent + s->at[k % s->n];
}

static int has_overlap(const struct area *a)
{
    unsigned char *seen = calloc(1, a->span);
    int found = 0;

    for (int b = 0; b < a->n_blocks && !found; b++) {
        for (int k = 0; k < n_elems && !found; k++) {
            unsigned char *at = seen + (place(a, b, k) - a->low);

            for (int j = 0; j < leaf_size; j++)
                found = found || at[j]++ != 0;
        }
    }
    free(seen);
    return found;
}

static void measure(struct area *a)
{
    long high = 0;

    a->count = n_elems / a->shape.n;
    a->low = 0;
    for (int b = 0; b < a->n_blocks; b++) {
        for (int k = 0; k < n_elems; k++) {
            long at = place(a, b, k);

            a->low = at < a->low ? at : a->low;
            high = at + leaf_size > high ? at + leaf_size : high;
        }
    }
    a->span = (size_t)(high - a->low);
}

/* The area `which` (0: out, 1: in) of a rank, without memory: all ranks can draw it. */
static void plan(struct area *a, int rank, int which)
{
    rng = ((unsigned long long)seed << 32) + (unsigned)n_round * 1000003u + (unsigned)rank * 2u +
          (unsigned)which;
    for (int i = 0; i < 8; i++)
        (void)draw(2);
    for (;;) {
        make_shape(&a->shape);
        a->n_blocks = mp_size;
        if (N_MAX % a->shape.n == 0) {
            measure(a);
            if (a->span <= SPAN_MAX && !has_overlap(a))
                return;
        }
        MUST(MPI_Type_free(&a->shape.type));
    }
}

static void open_area(struct area *a, int which)
{
    plan(a, mp_rank, which);
    MUST(MPI_Alloc_mem((MPI_Aint)a->span, MPI_INFO_NULL, &a->mem));
    memset(a->mem, FILL, a->span);
    a->buf = a->mem - a->low;
}

static unsigned char value(int src, int dst, int k, int j)
{
    return (unsigned char)(src * 31 + dst * 17 + k * 7 + (k >> 8) * 3 + j * 5 + 1);
}

static void fill(void)
{
    for (int b = 0; b < mp_size; b++)
        for (int k = 0; k < n_elems; k++)
            for (int j = 0; j < leaf_size; j++)
                out.buf[place(&out, b, k) + j] = value(mp_rank, b, k, j);
}

/* Block b of `in` is the one that src has for dst; it becomes FILL. */
static void expect(int b, int src, int dst)
{
    for (int k = 0; k < n_elems; k++) {
        for (int j = 0; j < leaf_size; j++) {
            unsigned char *at = &in.buf[place(&in, b, k) + j];

            CHECK_EQ(*at, value(src, dst, k, j));
            *at = FILL;
        }
    }
}

static void expect_nothing_else(void)
{
    for (size_t i = 0; i < in.span; i++)
        CHECK_EQ(in.mem[i], FILL);
}

/* ---- ways ---- */

#define S out.buf, out.count, out.shape.type
#define R in.buf, in.count, in.shape.type
#define W MPI_COMM_WORLD

static void check_status(const MPI_Status *st)
{
    int n;

    CHECK_EQ(st->MPI_SOURCE, left);
    MUST(MPI_Get_count(st, in.shape.type, &n));
    CHECK_EQ(n, in.count);
    MUST(MPI_Get_elements(st, in.shape.type, &n));
    CHECK_EQ(n, n_elems);
}

static void sendrecv(void)
{
    MPI_Status st;

    MUST(MPI_Sendrecv(S, right, 1, R, left, 1, W, &st));
    check_status(&st);
    expect(0, left, 0);
}

/* What was sent with one type arrives in part of a longer buffer. */
static void partial(void)
{
    MPI_Request req[2];
    MPI_Status st[2];
    int n, less = out.count - 1;

    MUST(MPI_Irecv(R, left, 1, W, &req[0]));
    MUST(MPI_Isend(out.buf, less, out.shape.type, right, 1, W, &req[1]));
    MUST(MPI_Waitall(2, req, st));
    MUST(MPI_Get_elements(&st[0], leaf, &n));
    CHECK(n < n_elems && n >= 0);
    MUST(MPI_Get_elements(&st[0], in.shape.type, &less));
    CHECK_EQ(less, n);
    for (int k = 0; k < n; k++) {
        for (int j = 0; j < leaf_size; j++) {
            CHECK_EQ(in.buf[place(&in, 0, k) + j], value(left, 0, k, j));
            in.buf[place(&in, 0, k) + j] = FILL;
        }
    }
}

static void matched(void)
{
    MPI_Message msg;
    MPI_Request req;
    MPI_Status st;

    MUST(MPI_Issend(S, right, 1, W, &req));
    MUST(MPI_Mprobe(left, 1, W, &msg, &st));
    check_status(&st);
    MUST(MPI_Mrecv(R, &msg, &st));
    check_status(&st);
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    expect(0, left, 0);
}

/* The types are freed before anything starts. */
static void persistent(void)
{
    MPI_Request req[2];
    MPI_Status st[2];

    MUST(MPI_Send_init(S, right, 1, W, &req[0]));
    MUST(MPI_Recv_init(R, left, 1, W, &req[1]));
    for (int i = 0; i < 2; i++) {
        MUST(MPI_Startall(2, req));
        MUST(MPI_Waitall(2, req, st));
        check_status(&st[1]);
        expect(0, left, 0);
    }
    MUST(MPI_Request_free(&req[0]));
    MUST(MPI_Request_free(&req[1]));
}

static void freed(void)
{
    MPI_Datatype types[2];
    MPI_Request req[2];

    MUST(MPI_Type_dup(out.shape.type, &types[0]));
    MUST(MPI_Type_dup(in.shape.type, &types[1]));
    MUST(MPI_Isend(out.buf, out.count, types[0], right, 1, W, &req[0]));
    MUST(MPI_Irecv(in.buf, in.count, types[1], left, 1, W, &req[1]));
    MUST(MPI_Type_free(&types[0]));
    MUST(MPI_Type_free(&types[1]));
    MUST(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
    expect(0, left, 0);
}

static void buffered(void)
{
    MPI_Status st;
    int len;
    void *buf;

    MUST(MPI_Pack_size(out.count, out.shape.type, W, &len));
    len += MPI_BSEND_OVERHEAD;
    buf = malloc((size_t)len);
    MUST(MPI_Buffer_attach(buf, len));
    MUST(MPI_Bsend(S, right, 1, W));
    MUST(MPI_Recv(R, left, 1, W, &st));
    check_status(&st);
    MUST(MPI_Buffer_detach(&buf, &len));
    free(buf);
    expect(0, left, 0);
}

static void packed(void)
{
    MPI_Status st;
    int len, pos = 0, n;
    char *buf;

    MUST(MPI_Pack_size(out.count, out.shape.type, W, &len));
    buf = malloc((size_t)len);
    for (int i = 0; i < out.count; i++)
        MUST(MPI_Pack(out.buf + i * out.shape.extent, 1, out.shape.type, buf, len, &pos, W));
    CHECK_EQ(pos, n_elems * leaf_size);
    MUST(MPI_Sendrecv_replace(buf, pos, MPI_PACKED, right, 1, left, 1, W, &st));
    MUST(MPI_Get_count(&st, MPI_PACKED, &n));
    CHECK_EQ(n, pos);
    pos = 0;
    for (int i = 0; i < in.count; i++)
        MUST(MPI_Unpack(buf, n, &pos, in.buf + i * in.shape.extent, 1, in.shape.type, W));
    CHECK_EQ(pos, n);
    free(buf);
    expect(0, left, 0);
}

static void external(void)
{
    MPI_Aint len, pos = 0;
    char *buf;

    MUST(MPI_Pack_external_size("external32", out.count, out.shape.type, &len));
    CHECK_EQ(len, n_elems * leaf_size);
    buf = malloc((size_t)len);
    MUST(MPI_Pack_external("external32", S, buf, len, &pos));
    CHECK_EQ(pos, len);
    MUST(MPI_Sendrecv_replace(buf, (int)len, MPI_BYTE, right, 1, left, 1, W, MPI_STATUS_IGNORE));
    pos = 0;
    MUST(MPI_Unpack_external("external32", buf, len, &pos, R));
    CHECK_EQ(pos, len);
    free(buf);
    expect(0, left, 0);
}

/* What goes away and what comes share the places of one type. */
static void replaced(void)
{
    for (int k = 0; k < n_elems; k++)
        for (int j = 0; j < leaf_size; j++)
            in.buf[place(&in, 0, k) + j] = value(mp_rank, 0, k, j);
    MUST(MPI_Sendrecv_replace(R, right, 1, left, 1, W, MPI_STATUS_IGNORE));
    expect(0, left, 0);
}

static void partitioned(void)
{
    MPI_Request req[2];

    MUST(
        MPI_Psend_init(out.buf, out.count, 1, out.shape.type, right, 1, W, MPI_INFO_NULL, &req[0]));
    MUST(MPI_Precv_init(in.buf, in.count, 1, in.shape.type, left, 1, W, MPI_INFO_NULL, &req[1]));
    MUST(MPI_Startall(2, req));
    for (int i = out.count - 1; i >= 0; i--)
        MUST(MPI_Pready(i, req[0]));
    MUST(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
    MUST(MPI_Request_free(&req[0]));
    MUST(MPI_Request_free(&req[1]));
    expect(0, left, 0);
}

static void bcast(void)
{
    if (mp_rank == root)
        MUST(MPI_Bcast(S, root, W));
    else
        MUST(MPI_Bcast(R, root, W));
    if (mp_rank != root)
        expect(0, root, 0);
}

static void gather(void)
{
    MUST(MPI_Gather(S, R, root, W));
    for (int i = 0; mp_rank == root && i < mp_size; i++)
        expect(i, i, 0);
}

static void scatter(void)
{
    MUST(MPI_Scatter(S, R, root, W));
    expect(0, root, mp_rank);
}

static void allgather(void)
{
    MPI_Request req;

    MUST(MPI_Iallgather(S, R, W, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    for (int i = 0; i < mp_size; i++)
        expect(i, i, 0);
}

static void alltoall(void)
{
    MUST(MPI_Alltoall(S, R, W));
    for (int i = 0; i < mp_size; i++)
        expect(i, i, mp_rank);
}

/* Blocks in reverse order at both sides. */
static void alltoallw(void)
{
    int *v = malloc((size_t)mp_size * 4 * sizeof(int));
    int *sc = v, *sd = v + mp_size, *rc = sd + mp_size, *rd = rc + mp_size;
    MPI_Datatype *st = malloc((size_t)mp_size * 2 * sizeof(*st)), *rt = st + mp_size;
    MPI_Request req;

    for (int i = 0; i < mp_size; i++) {
        sc[i] = out.count;
        rc[i] = in.count;
        sd[i] = (int)((mp_size - 1 - i) * out.count * out.shape.extent);
        rd[i] = (int)((mp_size - 1 - i) * in.count * in.shape.extent);
        st[i] = out.shape.type;
        rt[i] = in.shape.type;
    }
    MUST(MPI_Ialltoallw(out.buf, sc, sd, st, in.buf, rc, rd, rt, W, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    for (int i = 0; i < mp_size; i++)
        expect(mp_size - 1 - i, i, mp_size - 1 - mp_rank);
    free(v);
    free(st);
}

static void neighbors(void)
{
    int yes = 1, n = mp_size;
    MPI_Comm ring;

    if (mp_size < 2)
        return;
    MUST(MPI_Cart_create(W, 1, &n, &yes, 0, &ring));
    MUST(MPI_Neighbor_alltoall(S, R, ring));
    expect(0, left, 1);
    expect(1, right, 0);
    MUST(MPI_Comm_free(&ring));
}

/* ---- one-sided ---- */

static void put(int how)
{
    struct area there;
    MPI_Win win;

    plan(&there, right, 1);
    MUST(MPI_Win_create(in.mem, (MPI_Aint)in.span, 1, MPI_INFO_NULL, W, &win));
    MUST(MPI_Win_fence(0, win));
    if (how == 0)
        MUST(MPI_Put(S, right, -there.low, there.count, there.shape.type, win));
    else
        MUST(MPI_Accumulate(S, right, -there.low, there.count, there.shape.type, MPI_REPLACE, win));
    MUST(MPI_Type_free(&there.shape.type));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_free(&win));
    expect(0, left, 0);
}

static void get(int how)
{
    struct area there;
    MPI_Win win;

    plan(&there, right, 0);
    MUST(MPI_Win_create(out.mem, (MPI_Aint)out.span, 1, MPI_INFO_NULL, W, &win));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    if (how == 0)
        MUST(MPI_Get(R, right, -there.low, there.count, there.shape.type, win));
    else
        MUST(MPI_Get_accumulate(NULL, 0, leaf, R, right, -there.low, there.count, there.shape.type,
                                MPI_NO_OP, win));
    MUST(MPI_Type_free(&there.shape.type));
    MUST(MPI_Win_unlock(right, win));
    MUST(MPI_Win_free(&win));
    expect(0, right, 0);
}

static void put_fence(void)
{
    put(0);
}

static void accumulate(void)
{
    put(1);
}

static void get_lock(void)
{
    get(0);
}

static void get_accumulate(void)
{
    get(1);
}

/* ---- rounds ---- */

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"sendrecv", sendrecv},       {"partial", partial},     {"matched", matched},
    {"persistent", persistent},   {"freed", freed},         {"buffered", buffered},
    {"packed", packed},           {"external", external},   {"replaced", replaced},
    {"partitioned", partitioned}, {"bcast", bcast},         {"gather", gather},
    {"scatter", scatter},         {"allgather", allgather}, {"alltoall", alltoall},
    {"alltoallw", alltoallw},     {"neighbors", neighbors}, {"put", put_fence},
    {"accumulate", accumulate},   {"get", get_lock},        {"get_accumulate", get_accumulate}};
enum { N_WAYS = sizeof(ways) / sizeof(ways[0]) };

static void round_of(int way)
{
    const MPI_Datatype leaves[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    int failures = mp_failures;

    rng = (unsigned long long)seed * 77777 + (unsigned)n_round;
    for (int i = 0; i < 8; i++)
        (void)draw(2);
    leaf = leaves[draw(4)];
    root = draw(mp_size);
    /* the numbers of both sides divide it */
    n_elems = N_MAX * (1 + (draw(3) > 0 ? draw(4) : draw(K_MAX)));
    MUST(MPI_Type_size(leaf, &leaf_size));
    open_area(&out, 0);
    open_area(&in, 1);
    fill();
    ways[way].run();
    expect_nothing_else();
    if (mp_failures > failures)
        fprintf(stderr, "rank %d: %s, seed %u, round %d\n", mp_rank, ways[way].name, seed, n_round);
    MUST(MPI_Type_free(&out.shape.type));
    MUST(MPI_Type_free(&in.shape.type));
    MPI_Free_mem(out.mem);
    MPI_Free_mem(in.mem);
}

int main(int argc, char **argv)
{
    int n_rounds = 3 * N_WAYS;

    mp_start(&argc, &argv);
    if (argc > 1)
        seed = (unsigned)atoi(argv[1]);
    if (argc > 2)
        n_rounds = atoi(argv[2]);
    left = (mp_rank + mp_size - 1) % mp_size;
    right = (mp_rank + 1) % mp_size;
    for (n_round = 0; n_round < n_rounds; n_round++) {
        round_of(n_round % N_WAYS);
        MUST(MPI_Barrier(W));
    }
    return mp_finish();
}
