/*
 * Collectives in two levels: on each node over its segment, and by messages among one rank of
 * each node, its node root. That is the node's leader; on the root's node it is the root.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/rounds.h"

#define LONG_BCAST     ((size_t)128 << 10) /* bytes from which on messages are cut */
#define LONG_REDUCE    ((size_t)256 << 10)
#define LONG_ALLREDUCE ((size_t)8 << 10)

struct node_roots {
    const int *ranks; /* of each node */
    int lrank;        /* of my node's */
    int root;         /* node of the root */
};

/* The node roots when a rank is the root. */
static bool find_node_roots(struct dm_run *run, struct dm_coll_shm *shm, int root,
                            struct node_roots *roots)
{
    int *ranks = dm_coll_alloc_n(run, (size_t)shm->nodes->n_nodes, sizeof(*ranks));

    if (ranks == NULL)
        return false;
    memcpy(ranks, shm->nodes->leaders, (size_t)shm->nodes->n_nodes * sizeof(*ranks));
    roots->ranks = ranks;
    roots->root = shm->nodes->node_of[root];
    ranks[roots->root] = root;
    roots->lrank = 0;
    while (shm->ranks[roots->lrank] != ranks[shm->nodes->node])
        roots->lrank++;
    return true;
}

/* Run an algorithm among the node roots, of which this process is one. */
static void among_node_roots(struct dm_run *run, struct dm_coll_shm *shm, const int *ranks,
                             dm_coll_alg *alg, const struct dm_coll_args *a)
{
    dm_coll_among(run, ranks, shm->nodes->n_nodes, shm->nodes->node);
    alg(run, a);
    dm_coll_wait(run);
    dm_coll_among(run, NULL, 0, 0);
}

/* All of the node are here, known to the leader. */
static void nodes_gather(struct dm_run *run, struct dm_coll_shm *shm)
{
    dm_coll_shm_next(shm);
    if (shm->me != 0) {
        if (dm_coll_shm_claim(run, shm, 0))
            dm_coll_shm_post(run, shm, 0, 0, false);
        return;
    }
    for (int i = 1; i < shm->n; i++)
        if (dm_coll_shm_await(run, shm, i, false) == NULL)
            return;
}

static void nodes_release(struct dm_run *run, struct dm_coll_shm *shm)
{
    dm_coll_shm_next(shm);
    if (shm->me != 0) {
        if (dm_coll_shm_await(run, shm, 0, true) == NULL)
            return;
    } else if (dm_coll_shm_claim(run, shm, 0)) {
        dm_coll_shm_post(run, shm, 0, 0, true);
    }
    dm_coll_shm_finish(run, shm);
}

void dm_coll_barrier_nodes(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);

    if (shm->n > 1)
        nodes_gather(run, shm);
    if (shm->me == 0)
        among_node_roots(run, shm, shm->nodes->leaders, dm_coll_barrier_dissemination, a);
    if (shm->n > 1 && !run->is_stopped)
        nodes_release(run, shm);
    dm_coll_shm_close(run, shm);
}

void dm_coll_bcast_nodes(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);
    size_t bytes = dm_coll_bytes(a->rcount, a->rtype);
    struct node_roots roots;

    if (find_node_roots(run, shm, a->root, &roots)) {
        struct dm_coll_args mine = *a;

        mine.root = roots.root;
        if (shm->me == roots.lrank)
            among_node_roots(run, shm, roots.ranks,
                             bytes < LONG_BCAST || shm->nodes->n_nodes < 4 ? dm_coll_bcast_binomial
                                                                           : dm_coll_bcast_scatter,
                             &mine);
        if (shm->n > 1 && !run->is_stopped)
            dm_coll_shm_bcast(run, shm, a->rbuf, a->rcount, a->rtype, roots.lrank);
    }
    dm_coll_shm_close(run, shm);
}

void dm_coll_reduce_nodes(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);
    struct dm_coll_args mine = *a, between = *a;
    struct node_roots roots;

    if ((size_t)a->rtype->size > DM_COLL_SHM_PIECE) {
        dm_coll_reduce_binomial(run, a);
        return;
    }
    if (find_node_roots(run, shm, a->root, &roots)) {
        between.root = roots.root;
        if (shm->n > 1) {
            if (shm->me == roots.lrank && shm->nodes->node != roots.root)
                mine.rbuf = dm_coll_alloc_typed(run, a->rcount, a->rtype);
            if (!run->is_stopped)
                dm_coll_shm_reduce(run, shm, &mine, roots.lrank);
            between.sbuf = mine.rbuf;
            between.is_in_place = shm->nodes->node == roots.root;
        }
        if (shm->me == roots.lrank && !run->is_stopped)
            among_node_roots(run, shm, roots.ranks,
                             dm_coll_bytes(a->rcount, a->rtype) < LONG_REDUCE
                                 ? dm_coll_reduce_binomial
                                 : dm_coll_reduce_halving,
                             &between);
    }
    dm_coll_shm_close(run, shm);
}

void dm_coll_allreduce_nodes(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);
    struct dm_coll_args between = *a;

    if ((size_t)a->rtype->size > DM_COLL_SHM_PIECE) {
        dm_coll_allreduce_tree(run, a);
        return;
    }
    if (shm->n > 1) {
        dm_coll_shm_reduce(run, shm, a, 0);
        between.sbuf = a->rbuf;
        between.is_in_place = true;
    }
    if (shm->me == 0 && !run->is_stopped)
        among_node_roots(run, shm, shm->nodes->leaders,
                         dm_coll_bytes(a->rcount, a->rtype) < LONG_ALLREDUCE
                             ? dm_coll_allreduce_doubling
                             : dm_coll_allreduce_halving,
                         &between);
    if (shm->n > 1 && !run->is_stopped)
        dm_coll_shm_bcast(run, shm, a->rbuf, a->rcount, a->rtype, 0);
    dm_coll_shm_close(run, shm);
}
