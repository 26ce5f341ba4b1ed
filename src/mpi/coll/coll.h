/*
 * Collective communication (MPI-4.0 chapter 6): the bodies of the MPI functions.
 *
 * Each does what the MPI function of that name says, on arguments that src/api has
 * checked. They are collective over comm, block, and take the algorithm that select.c's
 * table names for the operation, the number of ranks and the bytes. Buffers may be
 * MPI_IN_PLACE where the standard has it. On an intercommunicator they fail with
 * DM_ENOTSUP. Others: DM_ENOMEM for temporary memory, DM_ERR_TRUNCATE when the counts of
 * the ranks do not agree, and what point-to-point reports.
 */
#ifndef DM_MPI_COLL_COLL_H
#define DM_MPI_COLL_COLL_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"
#include "mpi/op/op.h"

/* Reads the setting COLL (algorithms named by the user): DM_ECONFIG when it names none of ours. */
int dm_coll_start(void);
void dm_coll_stop(void);

/* Section 6.3 to 6.8. */
int dm_barrier(struct dm_comm *comm);
int dm_bcast(void *buf, size_t count, struct dm_type *type, int root, struct dm_comm *comm);
int dm_gather(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf, size_t rcount,
              struct dm_type *rtype, int root, struct dm_comm *comm);
int dm_gatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
               struct dm_counts rcounts, struct dm_counts displs, struct dm_type *rtype, int root,
               struct dm_comm *comm);
int dm_scatter(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf, size_t rcount,
               struct dm_type *rtype, int root, struct dm_comm *comm);
int dm_scatterv(const void *sbuf, struct dm_counts scounts, struct dm_counts displs,
                struct dm_type *stype, void *rbuf, size_t rcount, struct dm_type *rtype, int root,
                struct dm_comm *comm);
int dm_allgather(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf, size_t rcount,
                 struct dm_type *rtype, struct dm_comm *comm);
int dm_allgatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                  struct dm_counts rcounts, struct dm_counts displs, struct dm_type *rtype,
                  struct dm_comm *comm);
int dm_alltoall(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf, size_t rcount,
                struct dm_type *rtype, struct dm_comm *comm);
int dm_alltoallv(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                 struct dm_type *stype, void *rbuf, struct dm_counts rcounts,
                 struct dm_counts rdispls, struct dm_type *rtype, struct dm_comm *comm);
/* Displacements in bytes; types are handles. */
int dm_alltoallw(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                 const MPI_Datatype *stypes, void *rbuf, struct dm_counts rcounts,
                 struct dm_counts rdispls, const MPI_Datatype *rtypes, struct dm_comm *comm);

/*
 * Sections 6.9 to 6.11. Results depend on nothing but the data, the number of ranks and
 * the root: the same call again gives the same bits, and an allreduce gives them to all
 * ranks.
 */
int dm_reduce(const void *sbuf, void *rbuf, size_t count, struct dm_type *type, struct dm_op *op,
              int root, struct dm_comm *comm);
int dm_allreduce(const void *sbuf, void *rbuf, size_t count, struct dm_type *type, struct dm_op *op,
                 struct dm_comm *comm);
int dm_reduce_scatter_block(const void *sbuf, void *rbuf, size_t rcount, struct dm_type *type,
                            struct dm_op *op, struct dm_comm *comm);
int dm_reduce_scatter(const void *sbuf, void *rbuf, struct dm_counts rcounts, struct dm_type *type,
                      struct dm_op *op, struct dm_comm *comm);
int dm_scan(const void *sbuf, void *rbuf, size_t count, struct dm_type *type, struct dm_op *op,
            struct dm_comm *comm);
int dm_exscan(const void *sbuf, void *rbuf, size_t count, struct dm_type *type, struct dm_op *op,
              struct dm_comm *comm);

#endif
