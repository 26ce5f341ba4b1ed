/*
 * Graph topologies: every process knows the whole graph.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/topo/attach.h"
#include "mpi/topo/reorder.h"
#include "mpi/topo/topo.h"

/* ---- making ---- */

static int graph_check(const struct dm_comm *comm, int n, const int index[], const int edges[])
{
    int at = 0;

    if (n > comm->size)
        return DM_FAIL(DM_ERR_ARG, "a graph of %d nodes for %d processes", n, comm->size);
    for (int i = 0; i < n; i++) {
        if (index[i] < at)
            return DM_FAIL(DM_ERR_ARG, "index[%d] is %d, but the edges before it end at %d", i,
                           index[i], at);
        at = index[i];
    }
    if (at > 0 && edges == NULL)
        return DM_FAIL(DM_ERR_ARG, "edges is a null pointer, but there are %d", at);
    for (int i = 0; i < at; i++)
        if (edges[i] < 0 || edges[i] >= n)
            return DM_FAIL(DM_ERR_ARG, "edges[%d] is %d; the graph has nodes 0 to %d", i, edges[i],
                           n - 1);
    return DM_OK;
}

/* The graph with all edges turned round; lists of neighbours come out in ascending order. */
static void graph_reverse(int n, const int index[], const int edges[], int new_index[],
                          int new_edges[])
{
    int e = 0;

    memset(new_index, 0, (size_t)n * sizeof(*new_index));
    for (int i = 0; i < index[n - 1]; i++)
        new_index[edges[i]]++;
    /* Beginnings first; filling makes ends of them. */
    for (int i = 0, at = 0; i < n; i++) {
        at += new_index[i];
        new_index[i] = at - new_index[i];
    }
    for (int node = 0; node < n; node++)
        for (; e < index[node]; e++)
            new_edges[new_index[edges[e]]++] = node;
}

/* Are there as many edges from a to b as from b to a, for all nodes? */
static int graph_check_symmetry(int n, const int index[], const int edges[], bool *is_symmetric_p)
{
    size_t n_ints = (size_t)n + (size_t)index[n - 1];
    int *back = malloc(2 * n_ints * sizeof(*back));
    int *forth;

    if (back == NULL)
        return DM_FAIL(DM_ENOMEM, "a graph of %d nodes, turned round", n);
    forth = back + n_ints;
    graph_reverse(n, index, edges, back, back + n);
    graph_reverse(n, back, back + n, forth, forth + n);
    *is_symmetric_p = memcmp(back, forth, n_ints * sizeof(*back)) == 0;
    free(back);
    return DM_OK;
}

static int graph_first_edge(const int index[], int node)
{
    return node > 0 ? index[node - 1] : 0;
}

/* The topology as a node of the graph sees it. */
static int make_graph(int n, const int index[], const int edges[], int node,
                      struct dm_topo **topo_p)
{
    struct dm_topo *topo;
    size_t used = 0;
    size_t n_edges = (size_t)index[n - 1];
    bool is_symmetric = false;
    int err = graph_check_symmetry(n, index, edges, &is_symmetric);

    if (err == DM_OK)
        err = dm_topo_new(MPI_GRAPH, (size_t)n + n_edges, topo_p);
    if (err != DM_OK)
        return err;
    topo = *topo_p;
    topo->of.graph.n_nodes = n;
    topo->of.graph.index = dm_topo_take(topo, &used, (size_t)n);
    topo->of.graph.edges = dm_topo_take(topo, &used, n_edges);
    topo->of.graph.is_symmetric = is_symmetric;
    memcpy(topo->of.graph.index, index, (size_t)n * sizeof(*index));
    if (n_edges > 0)
        memcpy(topo->of.graph.edges, edges, n_edges * sizeof(*edges));
    topo->in = topo->of.graph.edges + graph_first_edge(index, node);
    topo->out = topo->in;
    topo->n_in = index[node] - graph_first_edge(index, node);
    topo->n_out = topo->n_in;
    return DM_OK;
}

/* Checks the graph; the order of processes on it, NULL without reorder. */
static int place_graph(struct dm_comm *comm, int n, const int index[], const int edges[],
                       bool is_reordered, int **order_p)
{
    struct dm_topo_plan plan = {.n = n, .index = index, .edges = edges};
    int err = dm_topo_check_comm(comm);

    *order_p = NULL;
    if (err == DM_OK)
        err = graph_check(comm, n, index, edges);
    return err == DM_OK && n > 0 && is_reordered ? dm_topo_reorder(comm, &plan, order_p) : err;
}

int dm_graph_create(struct dm_comm *comm, int n, const int index[], const int edges[], int reorder,
                    struct dm_comm **comm_p)
{
    struct dm_topo *topo = NULL;
    int *order;
    int node;
    int err = place_graph(comm, n, index, edges, reorder != 0, &order);

    *comm_p = NULL;
    if (err != DM_OK || n == 0)
        return err;
    node = dm_topo_reordered_rank(order, n, comm->rank);
    if (node != MPI_UNDEFINED)
        err = make_graph(n, index, edges, node, &topo);
    if (err == DM_OK)
        err = dm_topo_attach(comm, n, order, topo, comm_p);
    free(order);
    return err;
}

int dm_graph_map(struct dm_comm *comm, int n, const int index[], const int edges[], int *rank)
{
    int *order;
    int err = place_graph(comm, n, index, edges, true, &order);

    if (err == DM_OK)
        *rank = dm_topo_reordered_rank(order, n, comm->rank);
    free(order);
    return err;
}

/* ---- questions ---- */

int dm_graphdims_get(struct dm_comm *comm, int *n_nodes, int *n_edges)
{
    const struct dm_topo *topo;
    int err = dm_topo_of(comm, MPI_GRAPH, &topo);

    if (err != DM_OK)
        return err;
    *n_nodes = topo->of.graph.n_nodes;
    *n_edges = topo->of.graph.index[*n_nodes - 1];
    return DM_OK;
}

int dm_graph_get(struct dm_comm *comm, int max_index, int max_edges, int index[], int edges[])
{
    int n_nodes;
    int n_edges;
    int err = dm_graphdims_get(comm, &n_nodes, &n_edges);

    if (err != DM_OK)
        return err;
    if (max_index < n_nodes || max_edges < n_edges)
        return DM_FAIL(DM_ERR_ARG, "room for %d nodes and %d edges; the graph has %d and %d",
                       max_index, max_edges, n_nodes, n_edges);
    if (index == NULL || (edges == NULL && n_edges > 0))
        return DM_FAIL(DM_ERR_ARG, "%s is a null pointer", index == NULL ? "index" : "edges");
    memcpy(index, comm->topo->of.graph.index, (size_t)n_nodes * sizeof(*index));
    if (n_edges > 0)
        memcpy(edges, comm->topo->of.graph.edges, (size_t)n_edges * sizeof(*edges));
    return DM_OK;
}

int dm_graph_neighbors_count(struct dm_comm *comm, int rank, int *n)
{
    const struct dm_topo *topo;
    int err = dm_topo_of(comm, MPI_GRAPH, &topo);

    if (err == DM_OK)
        *n = topo->of.graph.index[rank] - graph_first_edge(topo->of.graph.index, rank);
    return err;
}

int dm_graph_neighbors(struct dm_comm *comm, int rank, int max_neighbors, int neighbors[])
{
    int n;
    int err = dm_graph_neighbors_count(comm, rank, &n);

    for (int i = 0; err == DM_OK && i < n && i < max_neighbors; i++)
        neighbors[i] =
            comm->topo->of.graph.edges[graph_first_edge(comm->topo->of.graph.index, rank) + i];
    return err;
}
