/*
 * Distributed graph topologies: each process knows its own edges.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/topo/attach.h"
#include "mpi/topo/topo.h"

/* An edge on its way to one of its ends. */
struct edge {
    int is_in; /* it leads to the process that gets this */
    int other;
    int weight;
};
#define EDGE_INTS (sizeof(struct edge) / sizeof(int))

/* What the processes say of weights, or that they have wrong arguments. */
enum says { SAYS_WEIGHTED = 1, SAYS_UNWEIGHTED = 2, SAYS_EMPTY = 4, SAYS_FAILED = 8 };

/* What a process of MPI_Dist_graph_create has for another one, in an alltoall. */
struct parcel {
    int n_edges;
    int says; /* enum says */
};
#define PARCEL_INTS (sizeof(struct parcel) / sizeof(int))

/* The edges that a process knows or gets to know, by the rank they go to or come from. */
struct bundle {
    struct edge *edges;
    struct parcel *parcels;
    MPI_Count *counts; /* in ints */
    MPI_Count *displs;
    size_t n;
};

/* ---- checks ---- */

static int dist_graph_check_ranks(const struct dm_comm *comm, int n, const int ranks[],
                                  const char *name)
{
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= comm->size)
            return DM_FAIL(DM_ERR_RANK, "%s[%d] is %d; the communicator has ranks 0 to %d", name, i,
                           ranks[i], comm->size - 1);
    return DM_OK;
}

static int dist_graph_check_weights(int n, const int weights[], const char *name)
{
    if (n == 0 || weights == MPI_UNWEIGHTED)
        return DM_OK;
    if (weights == NULL || weights == MPI_WEIGHTS_EMPTY)
        return DM_FAIL(DM_ERR_ARG, "%s is %s, but there are %d edges", name,
                       weights == NULL ? "a null pointer" : "MPI_WEIGHTS_EMPTY", n);
    for (int i = 0; i < n; i++)
        if (weights[i] < 0)
            return DM_FAIL(DM_ERR_ARG, "%s[%d] is %d, it must not be negative", name, i,
                           weights[i]);
    return DM_OK;
}

static int dist_graph_check_list(const struct dm_comm *comm, int n, const int ranks[],
                                 const char *ranks_name, const int weights[],
                                 const char *weights_name)
{
    int err = dist_graph_check_ranks(comm, n, ranks, ranks_name);

    return err == DM_OK ? dist_graph_check_weights(n, weights, weights_name) : err;
}

static enum says dist_graph_what_is_said(int n, const int weights[])
{
    if (n > 0)
        return weights == MPI_UNWEIGHTED ? SAYS_UNWEIGHTED : SAYS_WEIGHTED;
    return weights == MPI_UNWEIGHTED ? 0 : SAYS_EMPTY;
}

/* Together: those who have edges decide. */
static int dist_graph_conclude(int says, bool *is_weighted_p)
{
    if ((says & SAYS_FAILED) != 0)
        return DM_FAIL(DM_ERR_OTHER, "another process has failed in the same call");
    if ((says & SAYS_WEIGHTED) != 0 && (says & SAYS_UNWEIGHTED) != 0)
        return DM_FAIL(DM_ERR_TOPOLOGY, "MPI_UNWEIGHTED must be given for all edges or none");
    *is_weighted_p = says != 0 && (says & SAYS_UNWEIGHTED) == 0;
    return DM_OK;
}

/* ---- the object ---- */

static int dist_graph_new(int n_in, int n_out, bool is_weighted, struct dm_topo **topo_p)
{
    struct dm_topo *topo;
    size_t used = 0;
    int err = dm_topo_new(MPI_DIST_GRAPH, 2 * ((size_t)n_in + (size_t)n_out), topo_p);

    if (err != DM_OK)
        return err;
    topo = *topo_p;
    topo->n_in = n_in;
    topo->n_out = n_out;
    topo->in = dm_topo_take(topo, &used, (size_t)n_in);
    topo->out = dm_topo_take(topo, &used, (size_t)n_out);
    topo->of.dist.is_weighted = is_weighted;
    topo->of.dist.in_weights = dm_topo_take(topo, &used, (size_t)n_in);
    topo->of.dist.out_weights = dm_topo_take(topo, &used, (size_t)n_out);
    return DM_OK;
}

/* err is what has been so far: if it failed at one process the call fails at all. */
static int dist_graph_attach(struct dm_comm *comm, int err, struct dm_topo *topo,
                             struct dm_info *info, struct dm_comm **comm_p)
{
    (void)info; /* no hint is known */
    if (err != DM_OK)
        return dm_comm_dup_or_fail(comm, err, comm_p);
    return dm_topo_attach(comm, comm->size, NULL, topo, comm_p);
}

/* The first n numbers of a list, which may be a null pointer if n is 0. */
static void dist_graph_copy_ints(int n, const int from[], int to[])
{
    if (n > 0)
        memcpy(to, from, (size_t)n * sizeof(*to));
}

int dm_dist_graph_create_adjacent(struct dm_comm *comm, int n_in, const int sources[],
                                  const int in_weights[], int n_out, const int dests[],
                                  const int out_weights[], struct dm_info *info, int reorder,
                                  struct dm_comm **comm_p)
{
    struct dm_topo *topo = NULL;
    bool is_weighted = false;
    int err = dm_topo_check_comm(comm);

    (void)reorder;
    *comm_p = NULL;
    if (err != DM_OK)
        return err;
    err = dist_graph_check_list(comm, n_in, sources, "sources", in_weights, "sourceweights");
    if (err == DM_OK)
        err = dist_graph_check_list(comm, n_out, dests, "destinations", out_weights, "destweights");
    if (err == DM_OK)
        err = dist_graph_conclude(dist_graph_what_is_said(n_in, in_weights) |
                                      dist_graph_what_is_said(n_out, out_weights),
                                  &is_weighted);
    if (err == DM_OK)
        err = dist_graph_new(n_in, n_out, is_weighted, &topo);
    if (err != DM_OK)
        return dist_graph_attach(comm, err, NULL, info, comm_p);
    dist_graph_copy_ints(n_in, sources, topo->in);
    dist_graph_copy_ints(n_out, dests, topo->out);
    if (is_weighted) {
        dist_graph_copy_ints(n_in, in_weights, topo->of.dist.in_weights);
        dist_graph_copy_ints(n_out, out_weights, topo->of.dist.out_weights);
    }
    return dist_graph_attach(comm, DM_OK, topo, info, comm_p);
}

/* ---- edges named by anybody ---- */

/* Room for n edges to or from the ranks of comm. DM_ENOMEM. */
static int bundle_open(struct bundle *b, const struct dm_comm *comm)
{
    size_t size = (size_t)comm->size;

    b->edges = NULL;
    b->n = 0;
    b->parcels = calloc(size, sizeof(*b->parcels));
    b->counts = calloc(size, sizeof(*b->counts));
    b->displs = calloc(size, sizeof(*b->displs));
    return b->parcels != NULL && b->counts != NULL && b->displs != NULL
               ? DM_OK
               : DM_FAIL(DM_ENOMEM, "edges from and to %zu processes", size);
}

static void bundle_close(struct bundle *b)
{
    free(b->edges);
    free(b->parcels);
    free(b->counts);
    free(b->displs);
}

/* From the numbers of edges in the parcels to counts, displacements and memory. */
static int dist_graph_lay_out(struct bundle *b, int size)
{
    for (int i = 0; i < size; i++) {
        b->counts[i] = (MPI_Count)b->parcels[i].n_edges * (MPI_Count)EDGE_INTS;
        b->displs[i] = (MPI_Count)(b->n * EDGE_INTS);
        b->n += (size_t)b->parcels[i].n_edges;
    }
    b->edges = malloc((b->n + 1) * sizeof(*b->edges));
    return b->edges != NULL ? DM_OK : DM_FAIL(DM_ENOMEM, "%zu edges", b->n);
}

/* What this process has named, packed for both ends of each edge. */
static int bundle_pack(struct bundle *b, int size, int n, const int sources[], const int degrees[],
                       const int dests[], const int weights[])
{
    bool has_weights = weights != MPI_UNWEIGHTED;
    size_t *at;
    int err;

    for (int i = 0, e = 0; i < n; i++)
        for (int k = 0; k < degrees[i]; k++, e++) {
            b->parcels[sources[i]].n_edges++;
            b->parcels[dests[e]].n_edges++;
        }
    err = dist_graph_lay_out(b, size);
    if (err != DM_OK)
        return err;
    at = malloc((size_t)size * sizeof(*at));
    if (at == NULL)
        return DM_FAIL(DM_ENOMEM, "places of edges of %d processes", size);
    for (int i = 0; i < size; i++)
        at[i] = (size_t)b->displs[i] / EDGE_INTS;
    for (int i = 0, e = 0; i < n; i++)
        for (int k = 0; k < degrees[i]; k++, e++) {
            int weight = has_weights ? weights[e] : 0;

            b->edges[at[sources[i]]++] = (struct edge){0, dests[e], weight};
            b->edges[at[dests[e]]++] = (struct edge){1, sources[i], weight};
        }
    free(at);
    return DM_OK;
}

/* All processes give their edges to those whom they concern; *says_p is what all of them say. */
static int dist_graph_exchange(struct dm_comm *comm, struct bundle *out, struct bundle *in,
                               int *says_p)
{
    struct dm_type *type = dm_type_get(MPI_INT);
    int err = dm_coll_alltoall(out->parcels, PARCEL_INTS, type, in->parcels, PARCEL_INTS, type,
                               comm, dm_coll_blocking());

    *says_p = 0;
    for (int i = 0; i < comm->size && err == DM_OK; i++)
        *says_p |= in->parcels[i].says;
    if (err != DM_OK || (*says_p & SAYS_FAILED) != 0)
        return err;
    err = dist_graph_lay_out(in, comm->size);
    return err == DM_OK ? dm_coll_alltoallv(out->edges, dm_counts_wide(out->counts),
                                            dm_counts_wide(out->displs), type, in->edges,
                                            dm_counts_wide(in->counts), dm_counts_wide(in->displs),
                                            type, comm, dm_coll_blocking())
                        : err;
}

/* The topology that the edges make. */
static int bundle_unpack(const struct bundle *b, bool is_weighted, struct dm_topo **topo_p)
{
    struct dm_topo *topo;
    int n_in = 0;
    int n_out = 0;
    int err;

    for (size_t i = 0; i < b->n; i++)
        n_in += b->edges[i].is_in;
    err = dist_graph_new(n_in, (int)b->n - n_in, is_weighted, topo_p);
    if (err != DM_OK)
        return err;
    topo = *topo_p;
    n_in = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct edge *edge = &b->edges[i];

        if (edge->is_in != 0) {
            topo->in[n_in] = edge->other;
            topo->of.dist.in_weights[n_in++] = edge->weight;
        } else {
            topo->out[n_out] = edge->other;
            topo->of.dist.out_weights[n_out++] = edge->weight;
        }
    }
    return DM_OK;
}

/* Number of edges in *n_p. */
static int dist_graph_check_lists(const struct dm_comm *comm, int n, const int sources[],
                                  const int degrees[], const int dests[], const int weights[],
                                  int *n_p)
{
    int64_t n_edges = 0;
    int err = dist_graph_check_ranks(comm, n, sources, "sources");

    for (int i = 0; i < n && err == DM_OK; i++) {
        if (degrees[i] < 0)
            err = DM_FAIL(DM_ERR_ARG, "degrees[%d] is %d, it must not be negative", i, degrees[i]);
        n_edges += degrees[i];
    }
    if (err == DM_OK && n_edges > INT32_MAX)
        err = DM_FAIL(DM_ERR_ARG, "%lld edges are too many for one process", (long long)n_edges);
    if (err == DM_OK && n_edges > 0 && dests == NULL)
        err = DM_FAIL(DM_ERR_ARG, "destinations is a null pointer, but there are %lld edges",
                      (long long)n_edges);
    *n_p = (int)n_edges;
    return err == DM_OK
               ? dist_graph_check_list(comm, *n_p, dests, "destinations", weights, "weights")
               : err;
}

int dm_dist_graph_create(struct dm_comm *comm, int n, const int sources[], const int degrees[],
                         const int dests[], const int weights[], struct dm_info *info, int reorder,
                         struct dm_comm **comm_p)
{
    struct bundle out = {0};
    struct bundle in = {0};
    struct dm_topo *topo = NULL;
    bool is_weighted = false;
    int n_edges = 0;
    int says = 0;
    bool has_exchanged;
    int failed;
    int err = dm_topo_check_comm(comm);

    (void)reorder;
    *comm_p = NULL;
    if (err != DM_OK)
        return err;
    /* With wrong arguments all the same: the others wait. */
    failed = dist_graph_check_lists(comm, n, sources, degrees, dests, weights, &n_edges);
    err = bundle_open(&out, comm);
    if (err == DM_OK)
        err = bundle_open(&in, comm);
    for (int i = 0; i < comm->size && err == DM_OK; i++)
        out.parcels[i].says =
            failed != DM_OK ? SAYS_FAILED : (int)dist_graph_what_is_said(n_edges, weights);
    if (err == DM_OK)
        err = bundle_pack(&out, comm->size, failed != DM_OK ? 0 : n, sources, degrees, dests,
                          weights);
    if (err == DM_OK)
        err = dist_graph_exchange(comm, &out, &in, &says);
    has_exchanged = err == DM_OK;
    if (has_exchanged)
        err = failed != DM_OK ? failed : dist_graph_conclude(says, &is_weighted);
    if (err == DM_OK)
        err = bundle_unpack(&in, is_weighted, &topo);
    bundle_close(&out);
    bundle_close(&in);
    return has_exchanged ? dist_graph_attach(comm, err, topo, info, comm_p) : err;
}

/* ---- questions ---- */

int dm_dist_graph_neighbors_count(struct dm_comm *comm, int *n_in, int *n_out, int *is_weighted)
{
    const struct dm_topo *topo;
    int err = dm_topo_of(comm, MPI_DIST_GRAPH, &topo);

    if (err != DM_OK)
        return err;
    *n_in = topo->n_in;
    *n_out = topo->n_out;
    *is_weighted = topo->of.dist.is_weighted;
    return DM_OK;
}

/* Both lists, as far as there is room; weights only into an array of the program. */
static void dist_graph_count(bool is_weighted, int n, const int ranks[], const int weights[],
                             int ranks_out[], int weights_out[])
{
    dist_graph_copy_ints(n, ranks, ranks_out);
    if (is_weighted && weights_out != NULL && weights_out != MPI_UNWEIGHTED &&
        weights_out != MPI_WEIGHTS_EMPTY)
        dist_graph_copy_ints(n, weights, weights_out);
}

int dm_dist_graph_neighbors(struct dm_comm *comm, int max_in, int sources[], int in_weights[],
                            int max_out, int dests[], int out_weights[])
{
    const struct dm_topo *topo;
    int err = dm_topo_of(comm, MPI_DIST_GRAPH, &topo);

    if (err != DM_OK)
        return err;
    dist_graph_count(topo->of.dist.is_weighted, max_in < topo->n_in ? max_in : topo->n_in, topo->in,
                     topo->of.dist.in_weights, sources, in_weights);
    dist_graph_count(topo->of.dist.is_weighted, max_out < topo->n_out ? max_out : topo->n_out,
                     topo->out, topo->of.dist.out_weights, dests, out_weights);
    return DM_OK;
}
