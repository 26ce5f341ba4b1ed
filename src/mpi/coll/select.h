/*
 * Which algorithm a collective takes.
 */
#ifndef DM_MPI_COLL_SELECT_H
#define DM_MPI_COLL_SELECT_H

#include "mpi/coll/algs.h"
#include "mpi/coll/run.h"

enum dm_coll_kind {
#define DM_COLL_KIND(NAME, text) DM_COLL_##NAME,
    DM_COLL_KINDS(DM_COLL_KIND)
#undef DM_COLL_KIND
        DM_COLL_N
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
/* A collective that does nothing at this rank; it takes no tag unless it is persistent. _more: with a request. */
int dm_coll_nothing_more(struct dm_comm *comm, struct dm_coll_how how);
static inline int dm_coll_nothing(struct dm_comm *comm, struct dm_coll_how how)
{
    return dm_likely(how.req_p == NULL) ? DM_OK : dm_coll_nothing_more(comm, how);
}
/* Of a process that is alone, where dm_coll_is_copy. */
static inline int dm_coll_copy_alone(const void *sbuf, size_t scount, struct dm_type *stype,
                                     void *rbuf, size_t rcount, struct dm_type *rtype,
                                     struct dm_comm *comm, struct dm_coll_how how)
{
    int err = dm_coll_copy_own(sbuf, scount, stype, rbuf, rcount, rtype);

    return err == DM_OK ? dm_coll_nothing(comm, how) : err;
}

#endif
