/*
 * Collective calls whose blocks have lengths of their own: rank 0 of the communicator hears from each process how much
 * it has for which other one, and what it expects of which, and puts the two together.
 *
 * Between the same two processes the k-th block that one sends is the k-th one that the other receives, as in the
 * collectives themselves (mpi/coll/alg/neighbor_direct.c). Empty blocks are left out.
 */
#include <stdlib.h>

#include "usage/state.h"

/* All blocks of one direction, for sorting. */
struct edge_in_all {
    int from, to;
    uint32_t number; /* in the list of its process */
    struct dm_usage_length length;
};

static void edges_add(struct dm_usage_edges *e, int peer, struct dm_usage_length length,
                      bool is_out)
{
    if (length.bytes == 0 || peer == MPI_PROC_NULL)
        return;
    e->all[e->n_out + e->n_in] = (struct dm_usage_edge){.length = length, .peer = peer};
    if (is_out)
        e->n_out++;
    else
        e->n_in++;
}

static void edges_of_neighbors(const struct dm_usage_call *call, struct dm_usage_edges *e)
{
    const struct dm_topo *topo = call->comm->topo;

    for (int i = 0; i < topo->n_out; i++)
        edges_add(e, topo->out[i], dm_usage_length_sent(call, i), true);
    for (int k = 0; k < topo->n_in; k++) {
        int i = topo->kind == MPI_CART ? k ^ 1 : k;

        edges_add(e, topo->in[i], dm_usage_length_received(call, i), false);
    }
}

/* The root's to all of them, or theirs to it. */
static void edges_of_root(const struct dm_usage_call *call, struct dm_usage_edges *e, bool is_out)
{
    bool is_root = call->root == call->comm->rank;
    bool has_own = call->sbuf != MPI_IN_PLACE && call->rbuf != MPI_IN_PLACE;

    for (int i = 0; i < call->comm->size && is_root && is_out; i++)
        if (i != call->root || has_own)
            edges_add(e, i, dm_usage_length_sent(call, i), true);
    if (!is_root || has_own)
        edges_add(e, call->root,
                  is_out ? dm_usage_length_received(call, 0) : dm_usage_length_sent(call, 0),
                  !is_out);
    for (int i = 0; i < call->comm->size && is_root && !is_out; i++)
        if (i != call->root || has_own)
            edges_add(e, i, dm_usage_length_received(call, i), false);
}

static void edges_of_all(const struct dm_usage_call *call, struct dm_usage_edges *e)
{
    bool is_in_place = call->sbuf == MPI_IN_PLACE;

    for (int i = 0; i < call->comm->size; i++)
        edges_add(e, i,
                  is_in_place ? dm_usage_length_received(call, i) : dm_usage_length_sent(call, i),
                  true);
    for (int i = 0; i < call->comm->size; i++)
        edges_add(e, i, dm_usage_length_received(call, i), false);
}

static bool is_of_neighbors(const struct dm_usage_call *call)
{
    return call->coll >= DM_USAGE_NEIGHBOR_ALLGATHER && call->comm->topo != NULL;
}

static size_t edges_most(const struct dm_usage_call *call)
{
    if (call->comm->remote != NULL)
        return 0;
    if (is_of_neighbors(call))
        return (size_t)call->comm->topo->n_in + (size_t)call->comm->topo->n_out;
    switch (call->coll) {
    case DM_USAGE_GATHERV:
    case DM_USAGE_SCATTERV:
        return (size_t)call->comm->size + 1;
    case DM_USAGE_ALLTOALLV:
    case DM_USAGE_ALLTOALLW:
        return 2 * (size_t)call->comm->size;
    default:
        return 0;
    }
}

int dm_usage_edges_of(const struct dm_usage_call *call, struct dm_usage_edges *e)
{
    size_t most = edges_most(call);

    *e = (struct dm_usage_edges){.all = NULL};
    if (most == 0)
        return DM_OK;
    e->all = malloc(most * sizeof(*e->all));
    if (e->all == NULL)
        return DM_FAIL(DM_ENOMEM, "lengths of %zu blocks", most);
    if (is_of_neighbors(call))
        edges_of_neighbors(call, e);
    else if (call->coll == DM_USAGE_GATHERV || call->coll == DM_USAGE_SCATTERV)
        edges_of_root(call, e, call->coll == DM_USAGE_SCATTERV);
    else
        edges_of_all(call, e);
    return DM_OK;
}

/* ---- rank 0 ---- */

static int edge_by_pair(const void *a, const void *b)
{
    const struct edge_in_all *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Those of one direction, sorted; NULL without memory. */
static struct edge_in_all *edges_sorted(const struct dm_usage_edges *edges, int size, bool is_out,
                                        size_t *n_p)
{
    struct edge_in_all *all;
    size_t n = 0;

    for (int rank = 0; rank < size; rank++)
        n += is_out ? edges[rank].n_out : edges[rank].n_in;
    all = malloc((n + 1) * sizeof(*all));
    *n_p = n;
    n = 0;
    for (int rank = 0; rank < size && all != NULL; rank++) {
        uint32_t first = is_out ? 0 : edges[rank].n_out;
        uint32_t end = first + (is_out ? edges[rank].n_out : edges[rank].n_in);

        for (uint32_t i = first; i < end; i++) {
            int peer = edges[rank].all[i].peer;

            all[n++] = (struct edge_in_all){.from = is_out ? rank : peer,
                                            .to = is_out ? peer : rank,
                                            .number = i,
                                            .length = edges[rank].all[i].length};
        }
    }
    if (all != NULL)
        qsort(all, n, sizeof(*all), edge_by_pair);
    return all;
}

static int edge_order(const struct edge_in_all *a, const struct edge_in_all *b)
{
    struct edge_in_all x = *a, y = *b;

    x.number = y.number = 0;
    return edge_by_pair(&x, &y);
}

static void edge_say(struct dm_strbuf *sb, const struct edge_in_all *out,
                     const struct edge_in_all *in)
{
    const struct edge_in_all *any = out != NULL ? out : in;
    unsigned long long has = out != NULL ? out->length.bytes : 0;
    unsigned long long expects = in != NULL ? in->length.bytes : 0;

    dm_strbuf_addf(sb, "rank %d has %llu bytes for rank %d, which expects ", any->from, has,
                   any->to);
    if (has != expects)
        dm_strbuf_addf(sb, "%llu bytes of it", expects);
    else
        dm_strbuf_add(sb, "as many, but of other basic types");
}

bool dm_usage_edges_fit(const struct dm_usage_edges *edges, int size, struct dm_strbuf *sb)
{
    size_t n_out, n_in, i = 0, k = 0;
    struct edge_in_all *outs = edges_sorted(edges, size, true, &n_out);
    struct edge_in_all *ins = edges_sorted(edges, size, false, &n_in);
    bool fit = true;

    while (outs != NULL && ins != NULL && fit && (i < n_out || k < n_in)) {
        int order = i == n_out ? 1 : k == n_in ? -1 : edge_order(&outs[i], &ins[k]);
        const struct edge_in_all *out = order <= 0 ? &outs[i++] : NULL;
        const struct edge_in_all *in = order >= 0 ? &ins[k++] : NULL;

        fit = out != NULL && in != NULL && dm_usage_length_fits(&out->length, &in->length);
        if (!fit)
            edge_say(sb, out, in);
    }
    free(outs);
    free(ins);
    return fit;
}
