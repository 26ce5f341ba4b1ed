/*
 * Collectives in two levels: on each node over its segment, and by messages among one rank of
 * each node, its node root. That is the node's leader; on the root's node it is the root.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/rounds.h"

#define LONG_BCAST     ((size_t)128 << 10) /* bytes from which on messages are cut */
#define LONG_REDUCE    ((size_t)256 << 10)
#define LONG_ALLREDUCE ((size_t)8 << 10)
#define LONG_ALLGATHER ((size_t)64 << 10)

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

/* ---- allgather: packed, node by node ---- */

struct blocks {
    MPI_Count *at;       /* of each rank, in bytes */
    MPI_Count *counts;   /* of each local rank, */
    MPI_Count *displs;   /* and where its block is */
    MPI_Count *node_len; /* of all blocks of each node, one after the other by ranks, */
    MPI_Count *node_at;  /* and where they are */
    MPI_Count total;
    char *buf;
};

static MPI_Count blocks_len(const struct dm_coll_args *a, int rank)
{
    return (MPI_Count)dm_coll_bytes(dm_coll_rcount(a, rank), a->rtype);
}

/* Where everything is in the buffer. */
static void blocks_lay_out(struct blocks *x, const struct dm_run *run,
                           const struct dm_coll_shm *shm, const struct dm_coll_args *a)
{
    const struct dm_node_map *nodes = shm->nodes;

    for (int i = 0; i < nodes->n_nodes; i++)
        x->node_len[i] = 0;
    for (int r = 0; r < run->size; r++)
        x->node_len[nodes->node_of[r]] += blocks_len(a, r);
    x->total = 0;
    for (int i = 0; i < nodes->n_nodes; i++) {
        x->node_at[i] = x->total;
        x->total += x->node_len[i];
        x->node_len[i] = 0;
    }
    for (int r = 0; r < run->size; r++) {
        int node = nodes->node_of[r];

        x->at[r] = x->node_at[node] + x->node_len[node];
        x->node_len[node] += blocks_len(a, r);
    }
    for (int i = 0; i < shm->n; i++) {
        x->counts[i] = blocks_len(a, shm->ranks[i]);
        x->displs[i] = x->at[shm->ranks[i]];
    }
}

static bool blocks_open(struct blocks *x, struct dm_run *run, const struct dm_coll_shm *shm,
                        const struct dm_coll_args *a)
{
    size_t n = (size_t)run->size + 2 * (size_t)shm->n + 2 * (size_t)shm->nodes->n_nodes;

    x->at = dm_coll_alloc_n(run, n, sizeof(*x->at));
    if (x->at == NULL)
        return false;
    x->counts = x->at + run->size;
    x->displs = x->counts + shm->n;
    x->node_len = x->displs + shm->n;
    x->node_at = x->node_len + shm->nodes->n_nodes;
    blocks_lay_out(x, run, shm, a);
    x->buf = dm_coll_alloc(run, (size_t)x->total);
    return x->buf != NULL;
}

/* Those of this node, to its leader. */
static void blocks_gather(struct dm_run *run, struct dm_coll_shm *shm, const struct blocks *x,
                          const struct dm_coll_args *a)
{
    struct dm_coll_args mine = *a;

    mine.rbuf = x->buf;
    mine.rtype = dm_coll_byte();
    mine.rcounts = dm_counts_wide(x->counts);
    mine.rdispls = dm_counts_wide(x->displs);
    mine.root = 0;
    mine.is_in_place = false;
    dm_coll_among(run, shm->ranks, shm->n, shm->me);
    dm_coll_shm_gather(run, shm, &mine);
    dm_coll_among(run, NULL, 0, 0);
}

/* Those of each node, from its leader to the others. */
static void blocks_exchange(struct dm_run *run, struct dm_coll_shm *shm, const struct blocks *x)
{
    int node = shm->nodes->node;
    const struct dm_coll_args between = {.sbuf = x->buf + x->node_at[node],
                                         .scount = (size_t)x->node_len[node],
                                         .stype = dm_coll_byte(),
                                         .rbuf = x->buf,
                                         .rtype = dm_coll_byte(),
                                         .rcounts = dm_counts_wide(x->node_len),
                                         .rdispls = dm_counts_wide(x->node_at),
                                         .is_in_place = true};

    among_node_roots(run, shm, shm->nodes->leaders,
                     (size_t)x->total < LONG_ALLGATHER ? dm_coll_allgather_bruck
                                                       : dm_coll_allgather_ring,
                     &between);
}

void dm_coll_allgather_nodes(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);
    struct blocks x;

    if (blocks_open(&x, run, shm, a)) {
        if (shm->n > 1)
            blocks_gather(run, shm, &x, a);
        else
            dm_coll_copy(run, a->sbuf, a->scount, a->stype, x.buf + x.at[run->rank],
                         (size_t)blocks_len(a, run->rank), dm_coll_byte());
        if (shm->me == 0 && !run->is_stopped)
            blocks_exchange(run, shm, &x);
        if (shm->n > 1 && !run->is_stopped)
            dm_coll_shm_bcast(run, shm, x.buf, (size_t)x.total, dm_coll_byte(), 0);
        for (int r = 0; r < run->size && !run->is_stopped; r++)
            if (!a->is_in_place || r != run->rank)
                dm_coll_unpack(run, x.buf + x.at[r], dm_coll_rplace(a, r), dm_coll_rcount(a, r),
                               a->rtype);
    }
    dm_coll_shm_close(run, shm);
}
