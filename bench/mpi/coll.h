/*
 * Collectives, one behind the other.
 */
#ifndef DATUM_BENCH_COLL_H
#define DATUM_BENCH_COLL_H

#include "bench.h"

/* The rooted ones take another root each time, and scans go up and down by turns, so that no rank runs ahead. */
#define REPEAT(b, n, call)                                                                         \
    double start;                                                                                  \
    int len = (int)(b)->len, n_doubles = len / (int)sizeof(double);                                \
    (void)len;                                                                                     \
    (void)n_doubles;                                                                               \
    MPI_Barrier((b)->comm);                                                                        \
    start = MPI_Wtime();                                                                           \
    for (int i = 0; i < (n); i++) {                                                                \
        int root = i % (b)->size;                                                                  \
        MPI_Comm turn = i % 2 == 0 ? (b)->comm : (b)->reverse;                                     \
        (void)root;                                                                                \
        (void)turn;                                                                                \
        call;                                                                                      \
    }                                                                                              \
    return MPI_Wtime() - start

#define COLL(group_, name_, least_, is_all)                                                        \
    .group = (group_), .unit = UNIT_US, .run = (name_), .per_run = 1, .least = (least_),           \
    .most = (size_t)1 << 28, .dflt_most = 1 << 20, .is_all_to_all = (is_all)

#endif
