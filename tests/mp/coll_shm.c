/* test: np=1,2,3,4,8,17 timeout=100 cfg=COLL_SHM=yes|no */
/*
 * Blocking collectives around the lengths at which memory that ranks share is used in
 * another way (with the flag, one slot, several, pieces of a slot for each rank), with every root, with types
 * that have gaps, MPI_IN_PLACE and an operation that does not commute; many communicators at
 * once, more than there is such memory for; communicators made and freed in a loop; roots that run ahead.
 */
#include <sched.h>

#include "coll_test.h"

#define N_LENGTHS 12
#define N_COMMS   40

static const int lengths[N_LENGTHS] = {1,    2,    24,    25,    1000,  1024,
                                       4096, 5000, 16384, 16385, 40000, 100003};
static MPI_Comm comm;
static int rank, n;

/* ---- data ---- */

static void bcasts(const struct layout *l, int len, int root)
{
    int *buf = new_buf(room(l, (size_t)len));

    if (rank == root)
        put_block(buf, l, 0, (size_t)len, root, 7);
    MUST(MPI_Bcast(buf, elems(l, (size_t)len), l->type, root, comm));
    check_block(buf, l, 0, (size_t)len, root, 7);
    check_rest(buf, room(l, (size_t)len));
    free(buf);
}

static void gathers(const struct layout *l, int len, int root, int in_place)
{
    size_t u = (size_t)len, all = room(l, u * (size_t)n);
    int *one = new_buf(room(l, u)), *many = new_buf(all);
    const void *give = in_place && rank == root ? MPI_IN_PLACE : one;
    void *take = in_place && rank == root ? MPI_IN_PLACE : one;

    put_block(one, l, 0, u, rank, 3);
    if (rank == root)
        put_block(many, l, u * (size_t)root, u, root, 3);
    MUST(MPI_Gather(give, elems(l, u), l->type, many, elems(l, u), l->type, root, comm));
    for (int i = 0; i < n && rank == root; i++)
        check_block(many, l, u * (size_t)i, u, i, 3);
    check_rest(many, all);
    for (int i = 0; i < n && rank == root; i++)
        put_block(many, l, u * (size_t)i, u, root, i);
    MUST(MPI_Scatter(many, elems(l, u), l->type, take, elems(l, u), l->type, root, comm));
    if (take == (void *)one)
        check_block(one, l, 0, u, root, rank);
    free(one);
    free(many);
}

static void all_to_all(const struct layout *l, int len, int in_place)
{
    size_t u = (size_t)len, all = room(l, u * (size_t)n);
    int *give = new_buf(all), *take = new_buf(all);

    for (int i = 0; i < n; i++)
        put_block(in_place ? take : give, l, u * (size_t)i, u, rank, i);
    MUST(MPI_Alltoall(in_place ? MPI_IN_PLACE : give, elems(l, u), l->type, take, elems(l, u),
                      l->type, comm));
    for (int i = 0; i < n; i++)
        check_block(take, l, u * (size_t)i, u, i, rank);
    put_block(in_place ? take : give, l, in_place ? u * (size_t)rank : 0, u, rank, 5);
    MUST(MPI_Allgather(in_place ? MPI_IN_PLACE : give, elems(l, u), l->type, take, elems(l, u),
                       l->type, comm));
    for (int i = 0; i < n; i++)
        check_block(take, l, u * (size_t)i, u, i, 5);
    check_rest(take, all);
    free(give);
    free(take);
}

/* Each rank has another length, one of them 0. */
static void allgatherv(int len)
{
    int *counts = malloc(2 * (size_t)n * sizeof(int)), *displs = counts + n, total = 0;
    int *give = new_buf((size_t)len), *take;

    for (int i = 0; i < n; i++) {
        counts[i] = i == n / 2 ? 0 : len / (i + 1);
        displs[i] = total;
        total += counts[i];
    }
    take = new_buf((size_t)total + 1);
    put_block(give, &layouts[0], 0, (size_t)counts[rank], rank, 9);
    MUST(MPI_Allgatherv(give, counts[rank], MPI_INT, take, counts, displs, MPI_INT, comm));
    for (int i = 0; i < n; i++)
        check_block(take, &layouts[0], (size_t)displs[i], (size_t)counts[i], i, 9);
    check_rest(take, (size_t)total + 1);
    free(counts);
    free(give);
    free(take);
}

/* ---- reductions ---- */

/* Affine maps x -> a x + b under composition: associative, not commutative. */
struct map {
    unsigned int a, b;
};
static MPI_Datatype map_type;
static MPI_Op compose_op;

static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const struct map *f = in;
    struct map *g = inout;

    (void)type;
    for (int i = 0; i < *len; i++)
        g[i] = (struct map){f[i].a * g[i].a, f[i].a * g[i].b + f[i].b};
}

static struct map map_of(int r, int k)
{
    return (struct map){(unsigned)(2 * r + 3), (unsigned)(r * 17 + k)};
}

/* What the ranks from 0 on give for element k, up to `last`. */
static struct map maps_to(int last, int k)
{
    struct map m = map_of(last, k);

    for (int r = last - 1; r >= 0; r--) {
        struct map f = map_of(r, k);

        m = (struct map){f.a * m.a, f.a * m.b + f.b};
    }
    return m;
}

static void check_maps(const struct map *got, int len, int first, int last)
{
    for (int k = 0; k < len; k++) {
        struct map want = maps_to(last, first + k);

        CHECK_EQ(got[k].a, want.a);
        CHECK_EQ(got[k].b, want.b);
    }
}

static void ordered(int len, int root, int in_place)
{
    size_t u = (size_t)len;
    struct map *give = malloc((u + 1) * (size_t)n * sizeof(*give));
    struct map *take = malloc((u + 1) * (size_t)n * sizeof(*take));
    struct map *from = in_place ? take : give;

    for (int k = 0; k < len * n; k++)
        give[k] = take[k] = map_of(rank, k);
    MUST(MPI_Allreduce(in_place ? MPI_IN_PLACE : from, take, len, map_type, compose_op, comm));
    check_maps(take, len, 0, n - 1);
    memcpy(take, give, u * sizeof(*take));
    MUST(MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : give, take, len, map_type, compose_op,
                    root, comm));
    if (rank == root)
        check_maps(take, len, 0, n - 1);
    memcpy(take, give, u * sizeof(*take));
    MUST(MPI_Scan(in_place ? MPI_IN_PLACE : from, take, len, map_type, compose_op, comm));
    check_maps(take, len, 0, rank);
    memcpy(take, give, u * sizeof(*take));
    MUST(MPI_Exscan(in_place ? MPI_IN_PLACE : from, take, len, map_type, compose_op, comm));
    if (rank > 0)
        check_maps(take, len, 0, rank - 1);
    memcpy(take, give, u * (size_t)n * sizeof(*take));
    MUST(MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : from, take, len, map_type, compose_op,
                                  comm));
    check_maps(take, len, len * rank, n - 1);
    free(give);
    free(take);
}

/* Blocks of lengths of their own, in place: a result may lie where other blocks were. */
static void uneven(int len)
{
    int *counts = malloc((size_t)n * sizeof(int)), total = 0, mine = 0;
    struct map *buf;

    for (int i = 0; i < n; i++) {
        counts[i] = i == n - 1 ? len : len / 7 * i;
        mine = i == rank ? total : mine;
        total += counts[i];
    }
    buf = malloc(((size_t)total + 1) * sizeof(*buf));
    for (int k = 0; k < total; k++)
        buf[k] = map_of(rank, k);
    MUST(MPI_Reduce_scatter(MPI_IN_PLACE, buf, counts, map_type, compose_op, comm));
    check_maps(buf, counts[rank], mine, n - 1);
    free(buf);
    free(counts);
}

/* A pair type has gaps; every rank must find the same place. */
static void pairs(int len)
{
    struct pair {
        double x;
        int i;
    } *give = calloc((size_t)len, sizeof(*give)), *take = calloc((size_t)len, sizeof(*take));

    for (int k = 0; k < len; k++) {
        give[k].x = (rank * 7 + k) % n;
        give[k].i = rank;
    }
    MUST(MPI_Allreduce(give, take, len, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
    for (int k = 0; k < len; k++) {
        double most = -1;
        int at = -1;

        for (int r = n - 1; r >= 0; r--)
            if ((r * 7 + k) % n >= most) {
                most = (r * 7 + k) % n;
                at = r;
            }
        CHECK_EQ(take[k].x, most);
        CHECK_EQ(take[k].i, at);
    }
    free(give);
    free(take);
}

/* The same bits on all ranks and each time, of a sum that depends on the order. */
static void same_bits(int len)
{
    size_t u = (size_t)len * sizeof(double);
    double *give = malloc(u), *take = malloc(u), *first = malloc(u), *others = malloc(u);

    for (int k = 0; k < len; k++)
        give[k] = (rank % 2 ? -1e16 : 1e16) / (rank + 1) + k * 1e-3 * (rank + 1);
    for (int i = 0; i < 4; i++) {
        MUST(MPI_Allreduce(give, take, len, MPI_DOUBLE, MPI_SUM, comm));
        if (i == 0)
            memcpy(first, take, u);
        memcpy(others, take, u);
        MUST(MPI_Bcast(others, len, MPI_DOUBLE, n - 1, comm));
        CHECK(memcmp(take, first, u) == 0);
        CHECK(memcmp(take, others, u) == 0);
    }
    free(give);
    free(take);
    free(first);
    free(others);
}

/* ---- all of it ---- */

static void everything(int big)
{
    for (int i = 0; i < N_LENGTHS; i++) {
        int len = lengths[i], even = (len + 1) / 2 * 2;
        int root = i % n;

        if (!big && len > 1024)
            break;
        for (int l = 0; l < N_LAYOUTS; l++) {
            bcasts(&layouts[l], even, root);
            if (len * n > 600000)
                continue;
            gathers(&layouts[l], even, root, i % 2);
            all_to_all(&layouts[l], even, (i + l) % 2);
        }
        if (len * n <= 600000) {
            ordered(len, root, i % 2);
            uneven(len);
        }
        allgatherv(len);
        pairs(len);
        same_bits(len);
        MUST(MPI_Barrier(comm));
    }
}

static void check_sum(MPI_Comm c, int salt)
{
    int mine = salt + rank, sum = -1;

    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, c));
    CHECK_EQ(sum, n * salt + n * (n - 1) / 2);
}

static void many_comms(void)
{
    MPI_Comm comms[N_COMMS];

    for (int i = 0; i < N_COMMS; i++)
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int k = 0; k < 20; k++)
        for (int i = 0; i < N_COMMS; i++)
            check_sum(comms[(i * 7 + k) % N_COMMS], i + k);
    /* some memory is free again, for those that had to do without */
    for (int i = 0; i < N_COMMS / 2; i++)
        MUST(MPI_Comm_free(&comms[i]));
    for (int k = 0; k < 20; k++)
        for (int i = N_COMMS / 2; i < N_COMMS; i++)
            check_sum(comms[i], i + k);
    for (int i = N_COMMS / 2; i < N_COMMS; i++)
        MUST(MPI_Comm_free(&comms[i]));
}

static void loops(void)
{
    for (int i = 0; i < 100; i++) {
        MPI_Comm part, dup;
        int sum = -1, one = 1, size;

        MUST(MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % (i % 3 + 1), -rank, &part));
        MPI_Comm_size(part, &size);
        for (int k = 0; k < i % 5; k++) {
            MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part));
            CHECK_EQ(sum, size);
        }
        MUST(MPI_Comm_dup(part, &dup));
        MUST(MPI_Comm_free(&part));
        MUST(MPI_Barrier(dup));
        MUST(MPI_Comm_free(&dup));
    }
}

/* A length of a few words, most often, or of more. */
static int ahead_len(int i)
{
    return i % 11 == 5 ? 200 : i % 301 == 100 ? 3000 : 1 + i % 12;
}

/*
 * Calls that nobody waits in but who reads, for as many rounds as it takes to go round all slots that there are,
 * more in the later rounds: no root overtakes who reads slowly.
 */
static void ahead(int n_calls)
{
    static long in[3000], out[3000];

    for (int i = 0; i < n_calls && mp_failures == 0; i++) {
        int len = ahead_len(i), root = i / 700 % n;

        for (int k = 0; k < len; k++)
            out[k] = in[k] = rank == root ? 10L * i + k : -1;
        if (i % 70 == 69 && rank != root)
            sched_yield();
        if (i % 3 != 2) {
            MUST(MPI_Bcast(in, len, MPI_LONG, root, comm));
            CHECK_EQ(in[0], 10L * i);
            CHECK_EQ(in[len - 1], 10L * i + len - 1);
        } else {
            out[0] = i;
            out[len - 1] = i + 1;
            MUST(MPI_Reduce(out, in, len, MPI_LONG, MPI_SUM, root, comm));
            CHECK(rank != root || in[len - 1] == (i + 1L) * n);
        }
    }
    MUST(MPI_Barrier(comm));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    make_layouts();
    MPI_Type_contiguous(2, MPI_UNSIGNED, &map_type);
    MPI_Type_commit(&map_type);
    MPI_Op_create(compose, 0, &compose_op);
    comm = MPI_COMM_WORLD;
    rank = mp_rank;
    n = mp_size;
    everything(n <= 8);
    many_comms();
    loops();
    ahead(n <= 8 ? 5000 : 2000);
    /* ranks in another order, and not all of them */
    MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank % 2, -mp_rank, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    everything(0);
    MPI_Comm_free(&comm);
    MPI_Op_free(&compose_op);
    MPI_Type_free(&map_type);
    free_layouts();
    return mp_finish();
}
