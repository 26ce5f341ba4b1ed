/* test: np=1,2,3,4,7 timeout=120 */
/*
 * Neighbourhood collectives on grids, graphs and distributed graphs: which block comes where, with
 * MPI_PROC_NULL, oneself and the same process several times as neighbours, several datatypes, short
 * and long blocks.
 */
#include "coll_test.h"

#define MAX  64
#define LONG 12000

/* The neighbours of this process; slot: which of its blocks a source has for me. */
struct hood {
    MPI_Comm comm;
    int n_in, n_out, is_clear;
    int in[MAX], slot[MAX], out[MAX];
};

static int is_wide; /* call the _c twins */

/* ---- topologies ---- */

static int cart(struct hood *h, int n, const int dims[], const int periods[])
{
    int n_self = 0;

    MUST(MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, 0, &h->comm));
    if (h->comm == MPI_COMM_NULL)
        return 0;
    h->n_in = h->n_out = 2 * n;
    h->is_clear = 1;
    for (int i = 0; i < 2 * n; i += 2) {
        MPI_Cart_shift(h->comm, i / 2, 1, &h->in[i], &h->in[i + 1]);
        h->out[i] = h->in[i];
        h->out[i + 1] = h->in[i + 1];
        /* the one before me sent it to the one after itself */
        h->slot[i] = i + 1;
        h->slot[i + 1] = i;
        n_self += h->in[i] == mp_rank;
        /* MPICH 4.0.2 swaps them in two of the functions. */
        h->is_clear &= h->in[i] != h->in[i + 1] || !mp_is_library("MPICH");
    }
    /* MPICH 4.0.2 confuses several dimensions with oneself as neighbour. */
    if (n_self < 2 || !mp_is_library("MPICH"))
        return 1;
    MPI_Comm_free(&h->comm);
    return 0;
}

/* A list of edges that all know; the k-th from a to b in one list is the k-th in the other. */
static int lists(struct hood *h, int n_edges, int edges[][2])
{
    int n_of[MAX] = {0};

    h->n_in = h->n_out = 0;
    h->is_clear = 1;
    for (int i = 0; i < n_edges; i++) {
        if (edges[i][1] == mp_rank) {
            h->in[h->n_in] = edges[i][0];
            h->slot[h->n_in++] = n_of[edges[i][0]];
        }
        n_of[edges[i][0]]++;
        if (edges[i][0] == mp_rank)
            h->out[h->n_out++] = edges[i][1];
    }
    return 1;
}

static int dist_graph(struct hood *h, int n_edges, int edges[][2])
{
    lists(h, n_edges, edges);
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, h->n_in, h->in, MPI_UNWEIGHTED, h->n_out,
                                        h->out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &h->comm));
    return 1;
}

static int drawn_graph(struct hood *h)
{
    int edges[MAX][2], n = 0;

    for (int i = 0; i < MAX && i < 8 * mp_size; i++) {
        int from = (i * 7 + i / 3) % mp_size, to = (i * i + 5) % mp_size, is_there = 0;

        /* MPICH takes several edges between the same processes in the opposite order. */
        for (int k = 0; k < n && mp_is_library("MPICH"); k++)
            is_there |= edges[k][0] == from && edges[k][1] == to;
        edges[n][0] = from;
        edges[n][1] = to;
        n += !is_there;
    }
    dist_graph(h, n, edges);
    /* MPICH 4.0.2 loses blocks of MPI_Neighbor_alltoallw, but not of the _c twin. */
    h->is_clear = !mp_is_library("MPICH");
    return 1;
}

/* Everybody to the right, but the last one has nobody and nobody has it. */
static int one_way(struct hood *h)
{
    int edges[MAX][2], n = 0;

    for (int i = 0; i < mp_size - 1; i++, n++) {
        edges[n][0] = i;
        edges[n][1] = (i + 1) % (mp_size - 1);
    }
    return dist_graph(h, n, edges);
}

/* A star with self edges: all are neighbours of 0, each node of itself. */
static int star(struct hood *h)
{
    int index[MAX], edges[MAX], n = 0;

    for (int i = 0; i < mp_size; i++) {
        edges[n++] = i;
        for (int k = 1; k < mp_size && i == 0; k++)
            edges[n++] = k;
        if (i > 0)
            edges[n++] = 0;
        index[i] = n;
    }
    MUST(MPI_Graph_create(MPI_COMM_WORLD, mp_size, index, edges, 0, &h->comm));
    MPI_Graph_neighbors_count(h->comm, mp_rank, &h->n_in);
    MPI_Graph_neighbors(h->comm, mp_rank, MAX, h->in);
    h->n_out = h->n_in;
    h->is_clear = 1;
    memcpy(h->out, h->in, sizeof(h->out));
    for (int i = 0; i < h->n_in; i++)
        h->slot[i] = h->in[i] == mp_rank ? 0 : mp_rank == 0 ? 1 : mp_rank;
    return 1;
}

/* ---- what is moved ---- */

/* Payload ints of a block that differs in size; some have none. */
static size_t size_of(int src, int slot, size_t n)
{
    return n * (size_t)((src * 5 + slot * 3) % 4);
}

/* The receive buffers: expected blocks of n ints (or by size_of) at every i * stride. */
static void check_in(const struct hood *h, int *buf, const struct layout *l, size_t len, size_t n,
                     size_t stride, int is_same, int is_varied)
{
    for (int i = 0; i < h->n_in; i++) {
        int slot = is_same ? 99 : h->slot[i];

        if (h->in[i] == MPI_PROC_NULL)
            continue;
        check_block(buf, l, (size_t)i * stride, is_varied ? size_of(h->in[i], slot, n) : n,
                    h->in[i], slot);
    }
    check_rest(buf, len);
}

static void allgather(const struct hood *h, const struct layout *ls, const struct layout *lr,
                      size_t n)
{
    size_t rlen = room(lr, n * (size_t)h->n_in);
    int *sbuf = new_buf(room(ls, n));
    int *rbuf = new_buf(rlen);

    put_block(sbuf, ls, 0, n, mp_rank, 99);
    if (is_wide)
        MUST(MPI_Neighbor_allgather_c(sbuf, elems(ls, n), ls->type, rbuf, elems(lr, n), lr->type,
                                      h->comm));
    else
        MUST(MPI_Neighbor_allgather(sbuf, elems(ls, n), ls->type, rbuf, elems(lr, n), lr->type,
                                    h->comm));
    check_in(h, rbuf, lr, rlen, n, n, 1, 0);
    free(sbuf);
    free(rbuf);
}

static void alltoall(const struct hood *h, const struct layout *ls, const struct layout *lr,
                     size_t n)
{
    size_t rlen = room(lr, n * (size_t)h->n_in);
    int *sbuf = new_buf(room(ls, n * (size_t)h->n_out));
    int *rbuf = new_buf(rlen);

    for (int i = 0; i < h->n_out; i++)
        put_block(sbuf, ls, (size_t)i * n, n, mp_rank, i);
    if (is_wide)
        MUST(MPI_Neighbor_alltoall_c(sbuf, elems(ls, n), ls->type, rbuf, elems(lr, n), lr->type,
                                     h->comm));
    else
        MUST(MPI_Neighbor_alltoall(sbuf, elems(ls, n), ls->type, rbuf, elems(lr, n), lr->type,
                                   h->comm));
    check_in(h, rbuf, lr, rlen, n, n, 0, 0);
    free(sbuf);
    free(rbuf);
}

/* Counts and displacements of either width, for n_in or n_out blocks with holes between. */
struct vec {
    int counts[MAX], displs[MAX];
    MPI_Count wide[MAX];
    MPI_Aint places[MAX];
};

static void set_vec(struct vec *v, int i, int count, int displ)
{
    v->counts[i] = count;
    v->wide[i] = count;
    v->displs[i] = displ;
    v->places[i] = displ;
}

static void allgatherv(const struct hood *h, const struct layout *ls, const struct layout *lr,
                       size_t n)
{
    size_t mine = size_of(mp_rank, 99, n), stride = 3 * n + 2;
    size_t rlen = room(lr, stride * (size_t)h->n_in);
    int *sbuf = new_buf(room(ls, mine));
    int *rbuf = new_buf(rlen);
    struct vec in;

    put_block(sbuf, ls, 0, mine, mp_rank, 99);
    for (int i = 0; i < h->n_in; i++)
        set_vec(&in, i, elems(lr, size_of(h->in[i] < 0 ? 1 : h->in[i], 99, n)),
                elems(lr, (size_t)i * stride));
    if (is_wide)
        MUST(MPI_Neighbor_allgatherv_c(sbuf, elems(ls, mine), ls->type, rbuf, in.wide, in.places,
                                       lr->type, h->comm));
    else
        MUST(MPI_Neighbor_allgatherv(sbuf, elems(ls, mine), ls->type, rbuf, in.counts, in.displs,
                                     lr->type, h->comm));
    check_in(h, rbuf, lr, rlen, n, stride, 1, 1);
    free(sbuf);
    free(rbuf);
}

static void alltoallv(const struct hood *h, const struct layout *ls, const struct layout *lr,
                      size_t n)
{
    size_t stride = 3 * n + 2;
    size_t rlen = room(lr, stride * (size_t)h->n_in);
    int *sbuf = new_buf(room(ls, stride * (size_t)h->n_out));
    int *rbuf = new_buf(rlen);
    struct vec in, out;

    for (int i = 0; i < h->n_out; i++) {
        put_block(sbuf, ls, (size_t)i * stride, size_of(mp_rank, i, n), mp_rank, i);
        set_vec(&out, i, elems(ls, size_of(mp_rank, i, n)), elems(ls, (size_t)i * stride));
    }
    for (int i = 0; i < h->n_in; i++)
        set_vec(&in, i, elems(lr, size_of(h->in[i] < 0 ? 1 : h->in[i], h->slot[i], n)),
                elems(lr, (size_t)i * stride));
    if (is_wide)
        MUST(MPI_Neighbor_alltoallv_c(sbuf, out.wide, out.places, ls->type, rbuf, in.wide,
                                      in.places, lr->type, h->comm));
    else
        MUST(MPI_Neighbor_alltoallv(sbuf, out.counts, out.displs, ls->type, rbuf, in.counts,
                                    in.displs, lr->type, h->comm));
    check_in(h, rbuf, lr, rlen, n, stride, 0, 1);
    free(sbuf);
    free(rbuf);
}

/* Every block has a layout of its own. */
static void alltoallw(const struct hood *h, size_t n)
{
    size_t stride = 8 * n + 16; /* ints of memory */
    int *sbuf = new_buf(stride * (size_t)h->n_out);
    int *rbuf = new_buf(stride * (size_t)h->n_in);
    MPI_Datatype in_types[MAX], out_types[MAX];
    struct vec in, out;

    for (int i = 0; i < h->n_out; i++) {
        const struct layout *l = &layouts[i % N_LAYOUTS];
        size_t len = size_of(mp_rank, i, n);

        put_block(sbuf + (size_t)i * stride, l, 0, len, mp_rank, i);
        set_vec(&out, i, elems(l, len), (int)((size_t)i * stride * sizeof(int)));
        out_types[i] = l->type;
    }
    for (int i = 0; i < h->n_in; i++) {
        const struct layout *l = &layouts[(i + mp_rank) % N_LAYOUTS];

        set_vec(&in, i, elems(l, size_of(h->in[i] < 0 ? 1 : h->in[i], h->slot[i], n)),
                (int)((size_t)i * stride * sizeof(int)));
        in_types[i] = l->type;
    }
    if (is_wide)
        MUST(MPI_Neighbor_alltoallw_c(sbuf, out.wide, out.places, out_types, rbuf, in.wide,
                                      in.places, in_types, h->comm));
    else
        MUST(MPI_Neighbor_alltoallw(sbuf, out.counts, out.places, out_types, rbuf, in.counts,
                                    in.places, in_types, h->comm));
    for (int i = 0; i < h->n_in; i++)
        if (h->in[i] != MPI_PROC_NULL)
            check_block(rbuf + (size_t)i * stride, &layouts[(i + mp_rank) % N_LAYOUTS], 0,
                        size_of(h->in[i], h->slot[i], n), h->in[i], h->slot[i]);
    check_rest(rbuf, stride * (size_t)h->n_in);
    free(sbuf);
    free(rbuf);
}

static void all(struct hood *h, int is_there)
{
    static const size_t sizes[] = {0, 2, 50, LONG};
    MPI_Comm dup;

    if (!is_there)
        return;
    MPI_Comm_dup(h->comm, &dup);
    MPI_Comm_free(&h->comm);
    h->comm = dup;
    for (is_wide = 0; is_wide < 2; is_wide++)
        for (int s = 0; s < 4; s++)
            for (int i = 0; i < (sizes[s] == LONG ? 1 : N_LAYOUTS * N_LAYOUTS); i++) {
                const struct layout *ls = &layouts[i / N_LAYOUTS], *lr = &layouts[i % N_LAYOUTS];

                allgather(h, ls, lr, sizes[s]);
                alltoall(h, ls, lr, sizes[s]);
                allgatherv(h, ls, lr, sizes[s]);
                if (h->is_clear)
                    alltoallv(h, ls, lr, sizes[s]);
                if (i == 0 && h->is_clear)
                    alltoallw(h, sizes[s]);
            }
    MPI_Comm_free(&h->comm);
}

int main(int argc, char **argv)
{
    static const int yes[3] = {1, 1, 1}, no[3] = {0, 0, 0}, mixed[3] = {1, 0, 1};
    int dims[2] = {0, 0};
    struct hood h;

    mp_start(&argc, &argv);
    make_layouts();
    MPI_Dims_create(mp_size, 2, dims);
    all(&h, cart(&h, 1, &mp_size, yes));
    all(&h, cart(&h, 1, &mp_size, no));
    all(&h, cart(&h, 2, dims, yes));
    all(&h, cart(&h, 2, dims, mixed));
    all(&h, cart(&h, 3, (int[]){1, mp_size, 1}, yes));
    all(&h, cart(&h, 3, (int[]){1, mp_size > 1 ? 2 : 1, 1}, mixed));
    all(&h, cart(&h, 0, NULL, NULL));
    all(&h, drawn_graph(&h));
    all(&h, one_way(&h));
    all(&h, star(&h));
    free_layouts();
    return mp_finish();
}
