/*
 * Collective communication (MPI-4.0 chapter 6): the bodies of the MPI functions.
 *
 * dm_coll_x is the body of MPI_X, MPI_Ix and MPI_X_init, on arguments that src/api has checked; how
 * says which. It is collective over comm and takes the algorithm that the table of algs.h, or the
 * user, names for the operation, the number of ranks and the bytes. Buffers may be MPI_IN_PLACE
 * where the standard has it. On an intercommunicator root is MPI_ROOT, MPI_PROC_NULL or a rank of
 * the remote group. Errors: DM_ENOMEM for temporary memory, DM_ERR_BUFFER for MPI_IN_PLACE in the
 * wrong place, DM_ERR_COMM for an intercommunicator that the operation cannot have, and, of
 * blocking calls or in the request, DM_ERR_TRUNCATE when the counts of the ranks do not agree, and
 * what point-to-point reports.
 */
#ifndef DM_MPI_COLL_COLL_H
#define DM_MPI_COLL_COLL_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"
#include "mpi/op/op.h"
#include "util/tune.h"

/*
 * Before all others of this layer, and of the channel: read the settings COLL and COLL_FILE.
 * DM_ECONFIG with the place when they cannot be understood or name no algorithm of ours.
 */
int dm_coll_settings(void);
/*
 * Take a provider's tuned rows, too (tuned may be NULL). The number is the same in processes that
 * choose alike, which all of a job must. DM_ECONFIG as above, when DATUM_TUNE names the file; else
 * wrong rows are left out.
 */
int dm_coll_choose(const struct dm_tune_rail *tuned, uint32_t *hash_p);
void dm_coll_forget(void);
int dm_coll_start(void);
void dm_coll_stop(void);

/* Which of the three forms of a collective is called. */
struct dm_coll_how {
    struct dm_req **req_p; /* gets the request; NULL: the call blocks */
    bool is_persistent;
};
static inline struct dm_coll_how dm_coll_blocking(void)
{
    return (struct dm_coll_how){.req_p = NULL, .is_persistent = false};
}
/* The request is started, of kind DM_REQ_COLL. */
static inline struct dm_coll_how dm_coll_nonblocking(struct dm_req **req_p)
{
    return (struct dm_coll_how){.req_p = req_p, .is_persistent = false};
}
/* The request is inactive, of kind DM_REQ_PERSISTENT; no hints are known. */
static inline struct dm_coll_how dm_coll_persistent(const struct dm_info *info,
                                                    struct dm_req **req_p)
{
    (void)info;
    return (struct dm_coll_how){.req_p = req_p, .is_persistent = true};
}

/* Is this process the only one? */
static inline bool dm_coll_is_alone(const struct dm_comm *comm)
{
    return comm->size == 1 && comm->remote == NULL;
}

/* What a process gives to itself; nothing where one buffer is MPI_IN_PLACE. */
int dm_coll_copy_own(const void *sbuf, size_t scount, const struct dm_type *stype, void *rbuf,
                     size_t rcount, const struct dm_type *rtype);
/* Is a copy all that a call has to do, that blocks or whose request is over at once? buf may not be MPI_IN_PLACE. */
static inline bool dm_coll_is_copy(const void *buf, const struct dm_comm *comm,
                                   struct dm_coll_how how)
{
    return dm_coll_is_alone(comm) && !how.is_persistent && buf != MPI_IN_PLACE;
}

/*
 * Section 6.3 to 6.8. Of one process the first two do nothing, and others copy, so that the call is all they cost:
 * dm_coll_x is inline and dm_coll_x_run the rest.
 */
int dm_coll_barrier_run(struct dm_comm *comm, struct dm_coll_how how);
static inline int dm_coll_barrier(struct dm_comm *comm, struct dm_coll_how how)
{
    return dm_coll_is_alone(comm) && how.req_p == NULL ? DM_OK : dm_coll_barrier_run(comm, how);
}
int dm_coll_bcast_run(void *buf, size_t count, struct dm_type *type, int root, struct dm_comm *comm,
                      struct dm_coll_how how);
static inline int dm_coll_bcast(void *buf, size_t count, struct dm_type *type, int root,
                                struct dm_comm *comm, struct dm_coll_how how)
{
    return dm_coll_is_alone(comm) && how.req_p == NULL && buf != MPI_IN_PLACE
               ? DM_OK
               : dm_coll_bcast_run(buf, count, type, root, comm, how);
}
int dm_coll_gather_run(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                       size_t rcount, struct dm_type *rtype, int root, struct dm_comm *comm,
                       struct dm_coll_how how);
static inline int dm_coll_gather(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                                 size_t rcount, struct dm_type *rtype, int root,
                                 struct dm_comm *comm, struct dm_coll_how how)
{
    return dm_coll_is_copy(rbuf, comm, how) && how.req_p == NULL
               ? dm_coll_copy_own(sbuf, scount, stype, rbuf, rcount, rtype)
               : dm_coll_gather_run(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, how);
}
int dm_coll_gatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                    struct dm_counts rcounts, struct dm_counts displs, struct dm_type *rtype,
                    int root, struct dm_comm *comm, struct dm_coll_how how);
int dm_coll_scatter(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                    size_t rcount, struct dm_type *rtype, int root, struct dm_comm *comm,
                    struct dm_coll_how how);
int dm_coll_scatterv(const void *sbuf, struct dm_counts scounts, struct dm_counts displs,
                     struct dm_type *stype, void *rbuf, size_t rcount, struct dm_type *rtype,
                     int root, struct dm_comm *comm, struct dm_coll_how how);
int dm_coll_allgather_run(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                          size_t rcount, struct dm_type *rtype, struct dm_comm *comm,
                          struct dm_coll_how how);
static inline int dm_coll_allgather(const void *sbuf, size_t scount, struct dm_type *stype,
                                    void *rbuf, size_t rcount, struct dm_type *rtype,
                                    struct dm_comm *comm, struct dm_coll_how how)
{
    return dm_coll_is_copy(rbuf, comm, how) && how.req_p == NULL
               ? dm_coll_copy_own(sbuf, scount, stype, rbuf, rcount, rtype)
               : dm_coll_allgather_run(sbuf, scount, stype, rbuf, rcount, rtype, comm, how);
}
int dm_coll_allgatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                       struct dm_counts rcounts, struct dm_counts displs, struct dm_type *rtype,
                       struct dm_comm *comm, struct dm_coll_how how);
int dm_coll_alltoall_run(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                         size_t rcount, struct dm_type *rtype, struct dm_comm *comm,
                         struct dm_coll_how how);
static inline int dm_coll_alltoall(const void *sbuf, size_t scount, struct dm_type *stype,
                                   void *rbuf, size_t rcount, struct dm_type *rtype,
                                   struct dm_comm *comm, struct dm_coll_how how)
{
    return dm_coll_is_copy(rbuf, comm, how) && how.req_p == NULL
               ? dm_coll_copy_own(sbuf, scount, stype, rbuf, rcount, rtype)
               : dm_coll_alltoall_run(sbuf, scount, stype, rbuf, rcount, rtype, comm, how);
}
int dm_coll_alltoallv(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                      struct dm_type *stype, void *rbuf, struct dm_counts rcounts,
                      struct dm_counts rdispls, struct dm_type *rtype, struct dm_comm *comm,
                      struct dm_coll_how how);
/* Displacements in bytes; types are handles. */
int dm_coll_alltoallw(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                      const MPI_Datatype *stypes, void *rbuf, struct dm_counts rcounts,
                      struct dm_counts rdispls, const MPI_Datatype *rtypes, struct dm_comm *comm,
                      struct dm_coll_how how);

/*
 * Sections 6.9 to 6.11. Results depend on nothing but the data, the number of ranks and
 * the root: the same call again gives the same bits, and an allreduce gives them to all
 * ranks.
 */
int dm_coll_reduce_run(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                       struct dm_op *op, int root, struct dm_comm *comm, struct dm_coll_how how);
static inline int dm_coll_reduce(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                                 struct dm_op *op, int root, struct dm_comm *comm,
                                 struct dm_coll_how how)
{
    return dm_coll_is_copy(rbuf, comm, how) && how.req_p == NULL
               ? dm_coll_copy_own(sbuf, count, type, rbuf, count, type)
               : dm_coll_reduce_run(sbuf, rbuf, count, type, op, root, comm, how);
}
int dm_coll_allreduce_run(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                          struct dm_op *op, struct dm_comm *comm, struct dm_coll_how how);
static inline int dm_coll_allreduce(const void *sbuf, void *rbuf, size_t count,
                                    struct dm_type *type, struct dm_op *op, struct dm_comm *comm,
                                    struct dm_coll_how how)
{
    return dm_coll_is_copy(rbuf, comm, how) && how.req_p == NULL
               ? dm_coll_copy_own(sbuf, count, type, rbuf, count, type)
               : dm_coll_allreduce_run(sbuf, rbuf, count, type, op, comm, how);
}
int dm_coll_reduce_scatter_block(const void *sbuf, void *rbuf, size_t rcount, struct dm_type *type,
                                 struct dm_op *op, struct dm_comm *comm, struct dm_coll_how how);
int dm_coll_reduce_scatter(const void *sbuf, void *rbuf, struct dm_counts rcounts,
                           struct dm_type *type, struct dm_op *op, struct dm_comm *comm,
                           struct dm_coll_how how);
int dm_coll_scan_run(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                     struct dm_op *op, struct dm_comm *comm, struct dm_coll_how how);
static inline int dm_coll_scan(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                               struct dm_op *op, struct dm_comm *comm, struct dm_coll_how how)
{
    return dm_coll_is_copy(rbuf, comm, how) && how.req_p == NULL
               ? dm_coll_copy_own(sbuf, count, type, rbuf, count, type)
               : dm_coll_scan_run(sbuf, rbuf, count, type, op, comm, how);
}
int dm_coll_exscan(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                   struct dm_op *op, struct dm_comm *comm, struct dm_coll_how how);

/* ---- for the library's own use ---- */

/*
 * A persistent request that replaces n words by their bitwise OR over all processes of comm, of
 * both groups of an intercommunicator; done(arg) is called each time it is complete, in
 * the progress engine or in its start.
 */
int dm_coll_or_init(uint32_t *words, size_t n, struct dm_comm *comm, void (*done)(void *arg),
                    void *arg, struct dm_req **req_p);

static inline int dm_barrier(struct dm_comm *comm)
{
    return dm_coll_barrier(comm, dm_coll_blocking());
}
static inline int dm_bcast(void *buf, size_t count, struct dm_type *type, int root,
                           struct dm_comm *comm)
{
    return dm_coll_bcast(buf, count, type, root, comm, dm_coll_blocking());
}
static inline int dm_allgather(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                               size_t rcount, struct dm_type *rtype, struct dm_comm *comm)
{
    return dm_coll_allgather(sbuf, scount, stype, rbuf, rcount, rtype, comm, dm_coll_blocking());
}
static inline int dm_reduce(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                            struct dm_op *op, int root, struct dm_comm *comm)
{
    return dm_coll_reduce(sbuf, rbuf, count, type, op, root, comm, dm_coll_blocking());
}
static inline int dm_allreduce(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                               struct dm_op *op, struct dm_comm *comm)
{
    return dm_coll_allreduce(sbuf, rbuf, count, type, op, comm, dm_coll_blocking());
}

/*
 * Section 8.6: with the neighbours that comm's topology gives this process; arrays of counts and
 * the like have an element for each of them. DM_ERR_TOPOLOGY without a topology, DM_ERR_BUFFER for
 * MPI_IN_PLACE, DM_ERR_COMM on an intercommunicator.
 */
int dm_coll_neighbor_allgather(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                               size_t rcount, struct dm_type *rtype, struct dm_comm *comm,
                               struct dm_coll_how how);
int dm_coll_neighbor_allgatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                                struct dm_counts rcounts, struct dm_counts displs,
                                struct dm_type *rtype, struct dm_comm *comm,
                                struct dm_coll_how how);
int dm_coll_neighbor_alltoall(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                              size_t rcount, struct dm_type *rtype, struct dm_comm *comm,
                              struct dm_coll_how how);
int dm_coll_neighbor_alltoallv(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                               struct dm_type *stype, void *rbuf, struct dm_counts rcounts,
                               struct dm_counts rdispls, struct dm_type *rtype,
                               struct dm_comm *comm, struct dm_coll_how how);
/* Displacements in bytes; types are handles. */
int dm_coll_neighbor_alltoallw(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                               const MPI_Datatype *stypes, void *rbuf, struct dm_counts rcounts,
                               struct dm_counts rdispls, const MPI_Datatype *rtypes,
                               struct dm_comm *comm, struct dm_coll_how how);

#endif
