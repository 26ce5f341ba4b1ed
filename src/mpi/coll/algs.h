/*
 * The algorithms of the collectives, and when each is taken: tables. Includes nothing, so that
 * datum-info can print them (--coll-algorithms, --coll-table).
 *
 * A new algorithm is a row of DM_COLL_ALGS, a function dm_coll_FUNCTION (alg/alg.h), and rows of
 * DM_COLL_CHOICES where it is the best one; without those it is taken when the user names it.
 */
#ifndef DM_MPI_COLL_ALGS_H
#define DM_MPI_COLL_ALGS_H

/* Collectives that choose: name, name for the user. */
#define DM_COLL_KINDS(X)                                                                           \
    X(BARRIER, "barrier")                                                                          \
    X(BCAST, "bcast")                                                                              \
    X(GATHER, "gather")                                                                            \
    X(GATHERV, "gatherv")                                                                          \
    X(SCATTER, "scatter")                                                                          \
    X(SCATTERV, "scatterv")                                                                        \
    X(ALLGATHER, "allgather")                                                                      \
    X(ALLGATHERV, "allgatherv")                                                                    \
    X(ALLTOALL, "alltoall")                                                                        \
    X(ALLTOALLV, "alltoallv") /* and alltoallw */                                                  \
    X(REDUCE, "reduce")                                                                            \
    X(ALLREDUCE, "allreduce")                                                                      \
    X(REDUCE_SCATTER, "reduce_scatter") /* and reduce_scatter_block */                             \
    X(SCAN, "scan")                                                                                \
    X(EXSCAN, "exscan")                                                                            \
    X(NEIGHBOR_ALLGATHER, "neighbor_allgather") /* and allgatherv */                               \
    X(NEIGHBOR_ALLTOALL, "neighbor_alltoall")   /* and alltoallv, alltoallw */

/* What an algorithm demands of the call, or a row of the table: name, bit, word. */
#define DM_COLL_NEEDS(X)                                                                           \
    X(COMMUTES, 1, "commutes")           /* a commutative operation */                             \
    X(POW2, 2, "pow2")                   /* 2^n ranks */                                           \
    X(ONE_NODE, 4, "one-node")           /* all ranks on one host */                               \
    X(SEVERAL_NODES, 8, "several-nodes") /* not all on one */                                      \
    /* all on one host, of one job, and more than its cores, as the launcher says: */              \
    X(OVERSUBSCRIBED, 128, "oversubscribed")                                                       \
    /* of blocking calls (shm/coll_shm.h): */                                                      \
    X(SHARED, 16, "shared")   /* all ranks share memory */                                         \
    X(NODES, 32, "nodes")     /* those of each node do, and some node has several */               \
    X(ORDERED, 64, "ordered") /* the operation commutes, or nodes have consecutive ranks */

enum dm_coll_needs {
#define DM_COLL_NEED(NAME, BIT, WORD) DM_COLL_##NAME = (BIT),
    DM_COLL_NEEDS(DM_COLL_NEED)
#undef DM_COLL_NEED
};

/* clang-format off */

/* Collective, name, function, needs. */
#define DM_COLL_ALGS(X)                                                                            \
    X(BARRIER, shm, barrier_shm, DM_COLL_SHARED)                                                   \
    X(BARRIER, nodes, barrier_nodes, DM_COLL_NODES)                                                \
    X(BARRIER, dissemination, barrier_dissemination, 0)                                            \
    X(BARRIER, tree, barrier_tree, 0)                                                              \
    X(BARRIER, linear, barrier_linear, 0)                                                          \
    X(BCAST, shm, bcast_shm, DM_COLL_SHARED)                                                       \
    X(BCAST, nodes, bcast_nodes, DM_COLL_NODES)                                                    \
    X(BCAST, binomial, bcast_binomial, 0)                                                          \
    X(BCAST, scatter, bcast_scatter, 0)                                                            \
    X(BCAST, linear, bcast_linear, 0)                                                              \
    X(GATHER, shm, gather_shm, DM_COLL_SHARED)                                                     \
    X(GATHER, linear, gather_linear, 0)                                                            \
    X(GATHER, binomial, gather_binomial, 0)                                                        \
    X(GATHERV, shm, gather_shm, DM_COLL_SHARED)                                                    \
    X(GATHERV, linear, gather_linear, 0)                                                           \
    X(SCATTER, shm, scatter_shm, DM_COLL_SHARED)                                                   \
    X(SCATTER, linear, scatter_linear, 0)                                                          \
    X(SCATTER, binomial, scatter_binomial, 0)                                                      \
    X(SCATTERV, shm, scatter_shm, DM_COLL_SHARED)                                                  \
    X(SCATTERV, linear, scatter_linear, 0)                                                         \
    X(ALLGATHER, shm, allgather_shm, DM_COLL_SHARED)                                               \
    X(ALLGATHER, nodes, allgather_nodes, DM_COLL_NODES)                                            \
    X(ALLGATHER, doubling, allgather_doubling, DM_COLL_POW2)                                       \
    X(ALLGATHER, bruck, allgather_bruck, 0)                                                        \
    X(ALLGATHER, ring, allgather_ring, 0)                                                          \
    X(ALLGATHER, linear, allgather_linear, 0)                                                      \
    X(ALLGATHERV, shm, allgather_shm, DM_COLL_SHARED)                                              \
    X(ALLGATHERV, nodes, allgather_nodes, DM_COLL_NODES)                                           \
    X(ALLGATHERV, bruck, allgather_bruck, 0)                                                       \
    X(ALLGATHERV, ring, allgather_ring, 0)                                                         \
    X(ALLTOALL, shm, alltoall_shm, DM_COLL_SHARED)                                                 \
    X(ALLTOALL, linear, alltoall_linear, 0)                                                        \
    X(ALLTOALL, bruck, alltoall_bruck, 0)                                                          \
    X(ALLTOALL, central, alltoall_central, 0)                                                      \
    X(ALLTOALL, pairwise, alltoall_pairwise, 0)                                                    \
    X(ALLTOALLV, shm, alltoall_shm, DM_COLL_SHARED)                                                \
    X(ALLTOALLV, linear, alltoall_linear, 0)                                                       \
    X(ALLTOALLV, pairwise, alltoall_pairwise, 0)                                                   \
    X(REDUCE, shm, reduce_shm, DM_COLL_SHARED)                                                     \
    X(REDUCE, nodes, reduce_nodes, DM_COLL_NODES | DM_COLL_ORDERED)                                \
    X(REDUCE, binomial, reduce_binomial, 0)                                                        \
    X(REDUCE, linear, reduce_linear, 0)                                                            \
    X(REDUCE, halving, reduce_halving, 0)                                                          \
    X(ALLREDUCE, shm, allreduce_shm, DM_COLL_SHARED)                                               \
    X(ALLREDUCE, nodes, allreduce_nodes, DM_COLL_NODES | DM_COLL_ORDERED)                          \
    X(ALLREDUCE, doubling, allreduce_doubling, 0)                                                  \
    X(ALLREDUCE, tree, allreduce_tree, 0)                                                          \
    X(ALLREDUCE, linear, allreduce_linear, 0)                                                      \
    X(ALLREDUCE, halving, allreduce_halving, 0)                                                    \
    X(REDUCE_SCATTER, shm, reduce_scatter_shm, DM_COLL_SHARED)                                     \
    X(REDUCE_SCATTER, allreduce, reduce_scatter_allreduce, 0)                                      \
    X(REDUCE_SCATTER, pairwise, reduce_scatter_pairwise, DM_COLL_COMMUTES)                         \
    X(REDUCE_SCATTER, ordered, reduce_scatter_ordered, 0)                                          \
    X(REDUCE_SCATTER, tree, reduce_scatter_tree, 0)                                                \
    X(REDUCE_SCATTER, linear, reduce_scatter_linear, 0)                                            \
    X(SCAN, shm, scan_shm, DM_COLL_SHARED)                                                         \
    X(SCAN, doubling, scan_doubling, 0)                                                            \
    X(SCAN, chain, scan_chain, 0)                                                                  \
    X(SCAN, linear, scan_linear, 0)                                                                \
    X(EXSCAN, shm, exscan_shm, DM_COLL_SHARED)                                                     \
    X(EXSCAN, doubling, exscan_doubling, 0)                                                        \
    X(EXSCAN, chain, exscan_chain, 0)                                                              \
    X(EXSCAN, linear, exscan_linear, 0)                                                            \
    X(NEIGHBOR_ALLGATHER, direct, neighbor_allgather_direct, 0)                                    \
    X(NEIGHBOR_ALLTOALL, direct, neighbor_alltoall_direct, 0)

/*
 * Collective, algorithm, needs beside its own, most ranks, most bytes; the first row of a
 * collective that fits wins, and its last one always fits. Where few ranks may share cores few
 * messages are better than few rounds: a hand-over between processes costs more than the bytes.
 */
#define DM_COLL_ANY 0x7fffffff
#define DM_COLL_ALL ((size_t)-1)
#define DM_COLL_KIB(n) ((size_t)(n) << 10)
#define DM_COLL_CHOICES(X)                                                                         \
    X(BARRIER, shm, 0, DM_COLL_ANY, DM_COLL_ALL)                                                   \
    X(BARRIER, nodes, 0, DM_COLL_ANY, DM_COLL_ALL)                                                 \
    X(BARRIER, dissemination, DM_COLL_POW2, 4, DM_COLL_ALL)                                        \
    X(BARRIER, linear, 0, 8, DM_COLL_ALL)                                                          \
    X(BARRIER, linear, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_ALL)                                    \
    X(BARRIER, tree, 0, 64, DM_COLL_ALL)                                                           \
    X(BARRIER, dissemination, 0, DM_COLL_ANY, DM_COLL_ALL)                                         \
    /* bytes of the buffer */                                                                      \
    X(BCAST, shm, 0, DM_COLL_ANY, DM_COLL_ALL)                                                     \
    X(BCAST, nodes, 0, DM_COLL_ANY, DM_COLL_ALL)                                                   \
    X(BCAST, binomial, 0, DM_COLL_ANY, DM_COLL_KIB(8))                                             \
    X(BCAST, linear, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_ALL)                                      \
    X(BCAST, binomial, 0, 32, DM_COLL_ALL)                                                         \
    X(BCAST, binomial, 0, DM_COLL_ANY, DM_COLL_KIB(128))                                           \
    X(BCAST, scatter, 0, DM_COLL_ANY, DM_COLL_ALL)                                                 \
    /* bytes of one block */                                                                       \
    X(GATHER, shm, 0, DM_COLL_ANY, DM_COLL_ALL)                                                    \
    X(GATHER, linear, 0, 16, DM_COLL_ALL)                                                          \
    X(GATHER, binomial, 0, DM_COLL_ANY, DM_COLL_KIB(4))                                            \
    X(GATHER, linear, 0, DM_COLL_ANY, DM_COLL_ALL)                                                 \
    X(GATHERV, shm, 0, DM_COLL_ANY, DM_COLL_ALL)                                                   \
    X(GATHERV, linear, 0, DM_COLL_ANY, DM_COLL_ALL)                                                \
    X(SCATTER, shm, 0, 4096, DM_COLL_ALL)                                                          \
    X(SCATTER, linear, 0, 16, DM_COLL_ALL)                                                         \
    X(SCATTER, binomial, 0, DM_COLL_ANY, DM_COLL_KIB(4))                                           \
    X(SCATTER, linear, 0, DM_COLL_ANY, DM_COLL_ALL)                                                \
    X(SCATTERV, shm, 0, 4096, DM_COLL_ALL)                                                         \
    X(SCATTERV, linear, 0, DM_COLL_ANY, DM_COLL_ALL)                                               \
    /* bytes of all blocks together */                                                             \
    X(ALLGATHER, shm, 0, DM_COLL_ANY, DM_COLL_ALL)                                                 \
    X(ALLGATHER, nodes, 0, DM_COLL_ANY, DM_COLL_KIB(4096))                                         \
    X(ALLGATHER, doubling, 0, 4, DM_COLL_KIB(256))                                                 \
    X(ALLGATHER, linear, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_ALL)                                  \
    X(ALLGATHER, doubling, 0, DM_COLL_ANY, DM_COLL_KIB(256))                                       \
    X(ALLGATHER, bruck, 0, DM_COLL_ANY, DM_COLL_KIB(64))                                           \
    X(ALLGATHER, ring, 0, DM_COLL_ANY, DM_COLL_ALL)                                                \
    X(ALLGATHERV, shm, 0, DM_COLL_ANY, DM_COLL_ALL)                                                \
    X(ALLGATHERV, nodes, 0, DM_COLL_ANY, DM_COLL_KIB(4096))                                        \
    X(ALLGATHERV, bruck, 0, DM_COLL_ANY, DM_COLL_KIB(64))                                          \
    X(ALLGATHERV, ring, 0, DM_COLL_ANY, DM_COLL_ALL)                                               \
    /* bytes of one block; unknown (0) with counts of its own for every rank */                    \
    X(ALLTOALL, shm, 0, 4096, DM_COLL_ALL)                                                         \
    X(ALLTOALL, linear, 0, 4, DM_COLL_KIB(256))                                                    \
    X(ALLTOALL, central, DM_COLL_OVERSUBSCRIBED, 32, 64)                                           \
    X(ALLTOALL, linear, 0, 8, DM_COLL_KIB(1))                                                      \
    X(ALLTOALL, linear, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_KIB(1))                                \
    X(ALLTOALL, bruck, 0, DM_COLL_ANY, DM_COLL_KIB(1))                                             \
    X(ALLTOALL, linear, 0, DM_COLL_ANY, DM_COLL_KIB(256))                                          \
    X(ALLTOALL, pairwise, 0, DM_COLL_ANY, DM_COLL_ALL)                                             \
    X(ALLTOALLV, shm, 0, 4096, DM_COLL_ALL)                                                        \
    X(ALLTOALLV, linear, 0, DM_COLL_ANY, DM_COLL_ALL)                                              \
    /* bytes of the vector */                                                                      \
    X(REDUCE, shm, 0, DM_COLL_ANY, DM_COLL_ALL)                                                    \
    X(REDUCE, nodes, 0, DM_COLL_ANY, DM_COLL_ALL)                                                  \
    X(REDUCE, binomial, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_ALL)                                   \
    X(REDUCE, binomial, 0, 16, DM_COLL_KIB(512))                                                   \
    X(REDUCE, binomial, 0, DM_COLL_ANY, DM_COLL_KIB(64))                                           \
    X(REDUCE, halving, 0, DM_COLL_ANY, DM_COLL_ALL)                                                \
    X(ALLREDUCE, shm, 0, DM_COLL_ANY, DM_COLL_ALL)                                                 \
    X(ALLREDUCE, nodes, 0, DM_COLL_ANY, DM_COLL_ALL)                                               \
    X(ALLREDUCE, doubling, 0, 2, DM_COLL_KIB(32))                                                  \
    X(ALLREDUCE, doubling, DM_COLL_POW2, 4, DM_COLL_KIB(4))                                        \
    X(ALLREDUCE, linear, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_KIB(64))                              \
    X(ALLREDUCE, tree, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_ALL)                                    \
    X(ALLREDUCE, doubling, DM_COLL_POW2, DM_COLL_ANY, DM_COLL_KIB(4))                              \
    X(ALLREDUCE, tree, 0, 32, DM_COLL_KIB(32))                                                     \
    X(ALLREDUCE, doubling, 0, DM_COLL_ANY, DM_COLL_KIB(8))                                         \
    X(ALLREDUCE, halving, 0, DM_COLL_ANY, DM_COLL_ALL)                                             \
    X(REDUCE_SCATTER, shm, 0, 2, DM_COLL_KIB(32))                                                  \
    X(REDUCE_SCATTER, allreduce, 0, 2, DM_COLL_KIB(4))                                             \
    X(REDUCE_SCATTER, pairwise, 0, 2, DM_COLL_ALL)                                                 \
    X(REDUCE_SCATTER, shm, 0, 4096, DM_COLL_ALL)                                                   \
    X(REDUCE_SCATTER, allreduce, 0, 4, DM_COLL_KIB(4))                                             \
    X(REDUCE_SCATTER, pairwise, 0, 4, DM_COLL_ALL)                                                 \
    X(REDUCE_SCATTER, linear, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_KIB(64))                         \
    X(REDUCE_SCATTER, tree, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_ALL)                               \
    X(REDUCE_SCATTER, tree, 0, 32, DM_COLL_KIB(512))                                               \
    X(REDUCE_SCATTER, allreduce, 0, DM_COLL_ANY, DM_COLL_KIB(4))                                   \
    X(REDUCE_SCATTER, pairwise, 0, DM_COLL_ANY, DM_COLL_ALL)                                       \
    X(REDUCE_SCATTER, ordered, 0, DM_COLL_ANY, DM_COLL_ALL)                                        \
    X(SCAN, shm, 0, 32, DM_COLL_ALL)                                                               \
    X(SCAN, linear, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_ALL)                                       \
    X(SCAN, chain, DM_COLL_ONE_NODE, 32, DM_COLL_ALL)                                              \
    X(SCAN, doubling, 0, DM_COLL_ANY, DM_COLL_KIB(64))                                             \
    X(SCAN, chain, 0, 64, DM_COLL_ALL)                                                             \
    X(SCAN, doubling, 0, DM_COLL_ANY, DM_COLL_ALL)                                                 \
    X(EXSCAN, shm, 0, 32, DM_COLL_ALL)                                                             \
    X(EXSCAN, linear, DM_COLL_OVERSUBSCRIBED, 32, DM_COLL_ALL)                                     \
    X(EXSCAN, chain, DM_COLL_ONE_NODE, 32, DM_COLL_ALL)                                            \
    X(EXSCAN, doubling, 0, DM_COLL_ANY, DM_COLL_KIB(64))                                           \
    X(EXSCAN, chain, 0, 64, DM_COLL_ALL)                                                           \
    X(EXSCAN, doubling, 0, DM_COLL_ANY, DM_COLL_ALL)                                               \
    /* no bytes: processes may have different ones */                                              \
    X(NEIGHBOR_ALLGATHER, direct, 0, DM_COLL_ANY, DM_COLL_ALL)                                     \
    X(NEIGHBOR_ALLTOALL, direct, 0, DM_COLL_ANY, DM_COLL_ALL)

/* clang-format on */

#endif
