/*
 * Collectives in two levels: on each node over its segment, and by messages among one rank of
 * each node, its top. The top is the node's lowest rank; on the root's node it is the root.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/coll_shm.h"

#define LONG_BCAST     ((size_t)128 << 10) /* bytes from which on messages are cut */
#define LONG_REDUCE    ((size_t)256 << 10)
#define LONG_ALLREDUCE ((size_t)8 << 10)

struct tops {
    const int *ranks; /* of each node */
    int lrank;        /* of my node's top */
    int root;         /* node of the root */
};

/* The nodes' tops when a rank is the root. */
static bool find_tops(struct dm_run *run, struct dm_coll_shm *b, int root, struct tops *tops)
{
    int *ranks = dm_coll_alloc_n(run, (size_t)b->n_nodes, sizeof(*ranks));

    if (ranks == NULL)
        return false;
    memcpy(ranks, b->leaders, (size_t)b->n_nodes * sizeof(*ranks));
    tops->ranks = ranks;
    tops->root = b->node_of[root];
    ranks[tops->root] = root;
    tops->lrank = 0;
    while (b->ranks[tops->lrank] != ranks[b->node])
        tops->lrank++;
    return true;
}

/* Run an algorithm among the tops, of which this process is one. */
static void among_tops(struct dm_run *run, struct dm_coll_shm *b, const int *ranks,
                       dm_coll_alg *alg, const struct dm_coll_args *a)
{
    dm_coll_among(run, ranks, b->n_nodes, b->node);
    alg(run, a);
    dm_coll_wait(run);
    dm_coll_among(run, NULL, 0, 0);
}

/* All of the node are here, known to the leader. */
static void nodes_report(struct dm_run *run, struct dm_coll_shm *b)
{
    dm_coll_shm_next(b);
    if (b->me != 0) {
        if (dm_coll_shm_claim(run, b, 0))
            dm_coll_shm_post(run, b, 0, 0, false);
        return;
    }
    for (int i = 1; i < b->n; i++)
        if (dm_coll_shm_await(run, b, i, false) == NULL)
            return;
}

static void nodes_release(struct dm_run *run, struct dm_coll_shm *b)
{
    dm_coll_shm_next(b);
    if (b->me != 0) {
        if (dm_coll_shm_await(run, b, 0, true) == NULL)
            return;
    } else if (dm_coll_shm_claim(run, b, 0)) {
        dm_coll_shm_post(run, b, 0, 0, true);
    }
    dm_coll_shm_finish(run, b);
}

void dm_coll_barrier_nodes(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);

    if (b->n > 1)
        nodes_report(run, b);
    if (b->me == 0)
        among_tops(run, b, b->leaders, dm_coll_barrier_dissemination, a);
    if (b->n > 1 && !run->is_stopped)
        nodes_release(run, b);
    dm_coll_shm_close(run, b);
}

void dm_coll_bcast_nodes(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);
    size_t bytes = dm_coll_bytes(a->rcount, a->rtype);
    struct tops tops;

    if (find_tops(run, b, a->root, &tops)) {
        struct dm_coll_args mine = *a;

        mine.root = tops.root;
        if (b->me == tops.lrank)
            among_tops(run, b, tops.ranks,
                       bytes < LONG_BCAST || b->n_nodes < 4 ? dm_coll_bcast_binomial
                                                            : dm_coll_bcast_scatter,
                       &mine);
        if (b->n > 1 && !run->is_stopped)
            dm_coll_shm_bcast(run, b, a->rbuf, a->rcount, a->rtype, tops.lrank);
    }
    dm_coll_shm_close(run, b);
}

void dm_coll_reduce_nodes(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);
    struct dm_coll_args mine = *a, between = *a;
    struct tops tops;

    if ((size_t)a->rtype->size > DM_COLL_SHM_PIECE) {
        dm_coll_reduce_binomial(run, a);
        return;
    }
    if (find_tops(run, b, a->root, &tops)) {
        between.root = tops.root;
        if (b->n > 1) {
            if (b->me == tops.lrank && b->node != tops.root)
                mine.rbuf = dm_coll_alloc_typed(run, a->rcount, a->rtype);
            if (!run->is_stopped)
                dm_coll_shm_reduce(run, b, &mine, tops.lrank);
            between.sbuf = mine.rbuf;
            between.is_in_place = b->node == tops.root;
        }
        if (b->me == tops.lrank && !run->is_stopped)
            among_tops(run, b, tops.ranks,
                       dm_coll_bytes(a->rcount, a->rtype) < LONG_REDUCE ? dm_coll_reduce_binomial
                                                                        : dm_coll_reduce_halving,
                       &between);
    }
    dm_coll_shm_close(run, b);
}

void dm_coll_allreduce_nodes(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);
    struct dm_coll_args between = *a;

    if ((size_t)a->rtype->size > DM_COLL_SHM_PIECE) {
        dm_coll_allreduce_tree(run, a);
        return;
    }
    if (b->n > 1) {
        dm_coll_shm_reduce(run, b, a, 0);
        between.sbuf = a->rbuf;
        between.is_in_place = true;
    }
    if (b->me == 0 && !run->is_stopped)
        among_tops(run, b, b->leaders,
                   dm_coll_bytes(a->rcount, a->rtype) < LONG_ALLREDUCE ? dm_coll_allreduce_doubling
                                                                       : dm_coll_allreduce_halving,
                   &between);
    if (b->n > 1 && !run->is_stopped)
        dm_coll_shm_bcast(run, b, a->rbuf, a->rcount, a->rtype, 0);
    dm_coll_shm_close(run, b);
}
