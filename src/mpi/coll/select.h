/*
 * Which algorithm a collective takes.
 */
#ifndef DM_MPI_COLL_SELECT_H
#define DM_MPI_COLL_SELECT_H

#include "mpi/coll/run.h"

enum dm_coll_kind {
    DM_COLL_BARRIER,
    DM_COLL_BCAST,
    DM_COLL_GATHER,
    DM_COLL_GATHERV,
    DM_COLL_SCATTER,
    DM_COLL_SCATTERV,
    DM_COLL_ALLGATHER,
    DM_COLL_ALLGATHERV,
    DM_COLL_ALLTOALL,
    DM_COLL_ALLTOALLV, /* and alltoallw */
    DM_COLL_REDUCE,
    DM_COLL_ALLREDUCE,
    DM_COLL_REDUCE_SCATTER, /* and reduce_scatter_block */
    DM_COLL_SCAN,
    DM_COLL_EXSCAN,
    DM_COLL_NEIGHBOR_ALLGATHER, /* and allgatherv */
    DM_COLL_NEIGHBOR_ALLTOALL,  /* and alltoallv, alltoallw */
    DM_COLL_N
};

/* What an algorithm demands of the call. */
enum dm_coll_needs {
    DM_COLL_COMMUTES = 1, /* a commutative operation */
    DM_COLL_POW2 = 2,     /* 2^n ranks */
    /* Of the communicator, for blocking calls (shm/board.h): */
    DM_COLL_ONE_NODE = 4, /* all ranks share memory */
    DM_COLL_NODES = 8,    /* those of each node do, and some node has several */
    DM_COLL_ORDERED = 16, /* the operation commutes, or the nodes have consecutive ranks */
};

/* A row of the table: first one that fits wins. */
struct dm_coll_choice {
    enum dm_coll_kind kind;
    const char *name;
    dm_coll_alg *alg;
    unsigned int needs; /* enum dm_coll_needs */
    int max_ranks;
    size_t max_bytes; /* what bytes means is the matter of each collective's body */
};

/*
 * Run a collective, or make its request, as how says: bytes must be the same in all ranks of a
 * group, since they all must choose alike. Returns the run's error. DM_ERR_COMM when it
 * is not for intercommunicators.
 */
int dm_coll_run(enum dm_coll_kind kind, size_t bytes, const struct dm_coll_args *args,
                struct dm_comm *comm, struct dm_coll_how how);
/* The same where 0 bytes inside one group mean that there is nothing to do. */
int dm_coll_run_some(enum dm_coll_kind kind, size_t bytes, const struct dm_coll_args *args,
                     struct dm_comm *comm, struct dm_coll_how how);
/* The same with this algorithm. */
int dm_coll_run_alg(dm_coll_alg *alg, const struct dm_coll_args *args, struct dm_comm *comm,
                    struct dm_coll_how how);
/* A collective that does nothing at this rank; it takes no tag when it blocks. */
int dm_coll_nothing(struct dm_comm *comm, struct dm_coll_how how);
/*
 * Take the user's choice, "bcast=ring,barrier=tree" (commas, semicolons or blanks
 * between), where it can do the job: DM_ECONFIG for a name that is not in the table.
 */
int dm_coll_force(const char *text);

#endif
