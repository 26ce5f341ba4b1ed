/* test: np=1,2,3,4,7 timeout=60 */
/*
 * Graph topologies: rings, stars, self and multiple edges, nodes without any, graphs smaller than
 * the communicator, one-way edges, and duplicates.
 */
#include "mp_test.h"

#define MAX_EDGES 256

struct graph {
    int n;
    int index[16];
    int edges[MAX_EDGES];
};

static void add(struct graph *g, int node, int other)
{
    int at = node > 0 && g->n <= node ? g->index[node - 1] : g->index[node];

    if (g->n <= node)
        g->n = node + 1;
    g->edges[at] = other;
    g->index[node] = at + 1;
}

static void add_node(struct graph *g)
{
    g->index[g->n] = g->n > 0 ? g->index[g->n - 1] : 0;
    g->n++;
}

static void check_graph(MPI_Comm comm, const struct graph *g)
{
    int kind = 0, n_nodes = -1, n_edges = -1, n = -1;
    int want_edges = g->index[g->n - 1];
    int index[16], edges[MAX_EDGES];

    MUST(MPI_Topo_test(comm, &kind));
    CHECK_EQ(kind, MPI_GRAPH);
    MUST(MPI_Graphdims_get(comm, &n_nodes, &n_edges));
    CHECK_EQ(n_nodes, g->n);
    CHECK_EQ(n_edges, want_edges);
    MUST(MPI_Graph_get(comm, n_nodes, n_edges, index, edges));
    CHECK(memcmp(index, g->index, (size_t)g->n * sizeof(int)) == 0);
    CHECK(memcmp(edges, g->edges, (size_t)want_edges * sizeof(int)) == 0);
    for (int r = 0; r < g->n; r++) {
        int first = r > 0 ? g->index[r - 1] : 0;

        MUST(MPI_Graph_neighbors_count(comm, r, &n));
        CHECK_EQ(n, g->index[r] - first);
        edges[n] = -7;
        MUST(MPI_Graph_neighbors(comm, r, n, edges));
        CHECK(memcmp(edges, g->edges + first, (size_t)n * sizeof(int)) == 0);
        CHECK_EQ(edges[n], -7);
    }
}

static void graph(const struct graph *g, int reorder)
{
    int mapped = -7, rank, size;
    MPI_Comm comm = MPI_COMM_WORLD, dup;

    if (g->n > mp_size)
        return;
    MUST(MPI_Graph_map(MPI_COMM_WORLD, g->n, g->index, g->edges, &mapped));
    MUST(MPI_Graph_create(MPI_COMM_WORLD, g->n, g->index, g->edges, reorder, &comm));
    if (!reorder)
        mapped = mp_rank < g->n ? mp_rank : MPI_UNDEFINED;
    if (comm == MPI_COMM_NULL) {
        CHECK(mapped == MPI_UNDEFINED);
        return;
    }
    MPI_Comm_size(comm, &size);
    CHECK_EQ(size, g->n);
    MPI_Comm_rank(comm, &rank);
    CHECK_EQ(rank, mapped);
    MUST(MPI_Comm_dup(comm, &dup));
    check_graph(comm, g);
    MPI_Comm_free(&comm);
    check_graph(dup, g);
    MPI_Comm_free(&dup);
}

static void ring(int n, int is_both)
{
    struct graph g = {0};

    for (int i = 0; i < n; i++) {
        if (is_both)
            add(&g, i, (i + n - 1) % n);
        add(&g, i, (i + 1) % n);
    }
    graph(&g, 0);
    graph(&g, 1);
}

static void star(int n)
{
    struct graph g = {0};

    add_node(&g);
    for (int i = 1; i < n; i++)
        add(&g, 0, i);
    for (int i = 1; i < n; i++) {
        add_node(&g);
        add(&g, i, 0);
    }
    graph(&g, 0);
    graph(&g, 1);
}

/* Node 0 has nothing, node 1 itself twice and 2 twice, the last one nothing. */
static void odd(void)
{
    struct graph g = {0};

    add_node(&g);
    graph(&g, 0);
    add_node(&g);
    add(&g, 1, 1);
    add(&g, 1, 1);
    graph(&g, 1);
    add(&g, 1, 2);
    add(&g, 1, 2);
    add_node(&g);
    graph(&g, 0);
    add_node(&g);
    graph(&g, 1);
}

static void empty(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int rank = 0, unused = 0;

    MUST(MPI_Graph_create(MPI_COMM_WORLD, 0, &unused, &unused, 0, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Graph_map(MPI_COMM_WORLD, 0, &unused, &unused, &rank));
    CHECK_EQ(rank, MPI_UNDEFINED);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    for (int n = 1; n <= mp_size; n++) {
        ring(n, 0);
        ring(n, 1);
        star(n);
    }
    odd();
    empty();
    return mp_finish();
}
