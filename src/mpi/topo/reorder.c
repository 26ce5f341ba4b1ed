/*
 * Placement: the first n processes are sorted by host, the nodes of the topology are put in an
 * order in which neighbours are near each other, and one sequence is laid upon the other. Of
 * several such orders, and ranks as they are, the one with the fewest edges between hosts wins.
 */
#include "mpi/topo/reorder.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/node/node.h"

struct placing {
    const struct dm_topo_plan *plan;
    const int *hosts; /* of each rank: a number counted from 0 in order of first appearance */
    int n_hosts;
    int *by_host; /* ranks, those of a host together */
    int *visit;   /* nodes in the order that is tried */
    int *order;   /* what comes of it */
    int *best;
    int64_t best_cut;
};

/* ---- hosts ---- */

/* Fills in hosts and by_host. */
static void reorder_sort_hosts(struct placing *p, const struct dm_node_map *nodes)
{
    int n_sorted = 0;

    p->hosts = nodes->node_of;
    while (p->n_hosts < nodes->n_nodes && nodes->leaders[p->n_hosts] < p->plan->n)
        p->n_hosts++;
    for (int h = 0; h < p->n_hosts; h++)
        for (int i = nodes->leaders[h]; i < p->plan->n; i++)
            if (p->hosts[i] == h)
                p->by_host[n_sorted++] = i;
}

/* Processes per host, or 0 when hosts have different numbers of them. */
static int reorder_host_size(const struct placing *p)
{
    int k = p->plan->n / p->n_hosts;

    for (int i = 0; i < p->plan->n; i++)
        if (p->hosts[p->by_host[i]] != i / k)
            return 0;
    return k;
}

/* ---- orders of nodes ---- */

static void reorder_visit_as_numbered(struct placing *p)
{
    for (int i = 0; i < p->plan->n; i++)
        p->visit[i] = i;
}

/* Breadth first from the lowest node that has not been seen; order is used to mark the others. */
static void reorder_visit_by_edges(struct placing *p)
{
    int n_seen = 0;

    memset(p->order, 0, (size_t)p->plan->n * sizeof(*p->order));
    for (int root = 0; root < p->plan->n; root++) {
        int next = n_seen;

        if (p->order[root] == 0)
            p->visit[n_seen++] = root;
        p->order[root] = 1;
        for (; next < n_seen; next++) {
            int node = p->visit[next];

            for (int e = node > 0 ? p->plan->index[node - 1] : 0; e < p->plan->index[node]; e++) {
                int other = p->plan->edges[e];

                if (p->order[other] == 0)
                    p->visit[n_seen++] = other;
                p->order[other] = 1;
            }
        }
    }
}

/* Sides from dimension d on of a brick of k places with the fewest edges through its faces. */
static double reorder_best_brick(const struct dm_topo_plan *plan, int d, int k, int sides[])
{
    double best = -1;
    int *tried = sides + plan->n_dims; /* a copy for each depth */

    if (d == plan->n_dims)
        return k == 1 ? 0 : -1;
    for (int side = 1; side <= k && side <= plan->dims[d]; side++) {
        double cost;

        if (k % side != 0 || plan->dims[d] % side != 0)
            continue;
        cost = reorder_best_brick(plan, d + 1, k / side, tried);
        if (cost < 0)
            continue;
        cost += side < plan->dims[d] ? 1.0 / side : 0;
        if (best >= 0 && cost >= best)
            continue;
        best = cost;
        memcpy(sides + d + 1, tried + d + 1, (size_t)(plan->n_dims - d - 1) * sizeof(*sides));
        sides[d] = side;
    }
    return best;
}

/* Brick by brick, where each host has room for one. */
static bool reorder_visit_bricks(struct placing *p, int sides[])
{
    const struct dm_topo_plan *plan = p->plan;
    int k = reorder_host_size(p);

    if (k == 0 || reorder_best_brick(plan, 0, k, sides) < 0)
        return false;
    for (int node = 0; node < plan->n; node++) {
        int rest = node;
        int brick = 0;
        int inside = 0;
        int n_bricks = 1;
        int n_inside = 1;

        for (int d = plan->n_dims - 1; d >= 0; d--) {
            int coord = rest % plan->dims[d];

            rest /= plan->dims[d];
            brick += coord / sides[d] * n_bricks;
            inside += coord % sides[d] * n_inside;
            n_bricks *= plan->dims[d] / sides[d];
            n_inside *= sides[d];
        }
        p->visit[brick * k + inside] = node;
    }
    return true;
}

/* ---- the choice ---- */

/* Edges between hosts. */
static int64_t reorder_cut(const struct placing *p)
{
    int64_t n = 0;
    int e = 0;

    for (int node = 0; node < p->plan->n; node++)
        for (; e < p->plan->index[node]; e++)
            n += p->hosts[p->order[node]] != p->hosts[p->order[p->plan->edges[e]]];
    return n;
}

/* Is the order of visit better than what there was? */
static void reorder_consider(struct placing *p, const int ranks[])
{
    int64_t n;

    for (int i = 0; i < p->plan->n; i++)
        p->order[p->visit[i]] = ranks != NULL ? ranks[i] : i;
    n = reorder_cut(p);
    if (n >= p->best_cut)
        return;
    p->best_cut = n;
    memcpy(p->best, p->order, (size_t)p->plan->n * sizeof(*p->best));
}

int dm_topo_reorder(struct dm_comm *comm, const struct dm_topo_plan *plan, int **order_p)
{
    size_t n = (size_t)plan->n;
    size_t n_sides = (size_t)plan->n_dims * ((size_t)plan->n_dims + 1);
    int *mem = malloc((3 * n + n_sides) * sizeof(*mem));
    int *best = malloc(n * sizeof(*best));
    const struct dm_node_map *nodes = dm_node_map(comm->group);
    struct placing p = {.plan = plan, .best = best, .best_cut = INT64_MAX};
    int64_t as_is;

    *order_p = NULL;
    if (mem == NULL || best == NULL || nodes == NULL) {
        free(mem);
        free(best);
        return DM_FAIL(DM_ENOMEM, "placing of %d processes", plan->n);
    }
    p.by_host = mem;
    p.visit = p.by_host + n;
    p.order = p.visit + n;
    reorder_sort_hosts(&p, nodes);
    reorder_visit_as_numbered(&p);
    reorder_consider(&p, NULL);
    as_is = p.best_cut;
    if (p.n_hosts > 1) {
        reorder_consider(&p, p.by_host);
        if (plan->n_dims == 0) {
            reorder_visit_by_edges(&p);
            reorder_consider(&p, p.by_host);
        } else if (reorder_visit_bricks(&p, p.order + n)) {
            reorder_consider(&p, p.by_host);
        }
    }
    free(mem);
    if (p.best_cut < as_is) {
        *order_p = best;
        return DM_OK;
    }
    free(best);
    return DM_OK;
}

int dm_topo_reordered_rank(const int order[], int n, int rank)
{
    if (order == NULL)
        return rank < n ? rank : MPI_UNDEFINED;
    for (int i = 0; i < n; i++)
        if (order[i] == rank)
            return i;
    return MPI_UNDEFINED;
}
