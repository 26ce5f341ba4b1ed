/*
 * Bodies of the collectives that move data: what MPI_IN_PLACE means, what a job of one
 * does, and the bytes that the choice of the algorithm goes by.
 */
#include "mpi/coll/body.h"

static int misplaced(const char *what)
{
    return DM_FAIL(DM_ERR_BUFFER, "MPI_IN_PLACE is not allowed as the %s of this rank", what);
}

int dm_bcast(void *buf, size_t count, struct dm_type *type, int root, struct dm_comm *comm)
{
    struct dm_coll_args a = {.rbuf = buf, .rcount = count, .rtype = type, .root = root};
    size_t bytes = dm_coll_bytes(count, type);

    if (comm->remote != NULL)
        return dm_coll_no_inter("broadcast");
    if (buf == MPI_IN_PLACE)
        return misplaced("buffer");
    if (bytes == 0 || comm->size == 1)
        return DM_OK;
    return dm_coll_run(DM_COLL_BCAST, bytes, &a, comm);
}

/* ---- to and from a root ---- */

/* Both forms; bytes of one block, or 0 when they differ. */
static int gather(enum dm_coll_kind kind, size_t bytes, struct dm_coll_args *a,
                  struct dm_comm *comm)
{
    a->is_in_place = a->sbuf == MPI_IN_PLACE;
    if (a->is_in_place && comm->rank != a->root)
        return misplaced("send buffer");
    if (comm->rank == a->root && a->rbuf == MPI_IN_PLACE)
        return misplaced("receive buffer");
    if (comm->size > 1)
        return dm_coll_run(kind, bytes, a, comm);
    if (a->is_in_place)
        return DM_OK;
    return dm_type_copy(a->sbuf, a->scount, a->stype, dm_coll_rplace(a, 0), dm_coll_rcount(a, 0),
                        a->rtype);
}

int dm_gather(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf, size_t rcount,
              struct dm_type *rtype, int root, struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype,
                             .root = root};
    size_t bytes;

    if (comm->remote != NULL)
        return dm_coll_no_inter("gather");
    bytes = comm->rank == root ? dm_coll_bytes(rcount, rtype) : dm_coll_bytes(scount, stype);
    return bytes > 0 ? gather(DM_COLL_GATHER, bytes, &a, comm) : DM_OK;
}

int dm_gatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
               struct dm_counts rcounts, struct dm_counts displs, struct dm_type *rtype, int root,
               struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = displs,
                             .rtype = rtype,
                             .root = root};

    if (comm->remote != NULL)
        return dm_coll_no_inter("gatherv");
    return gather(DM_COLL_GATHERV, 0, &a, comm);
}

static int scatter(enum dm_coll_kind kind, size_t bytes, struct dm_coll_args *a,
                   struct dm_comm *comm)
{
    a->is_in_place = a->rbuf == MPI_IN_PLACE;
    if (a->is_in_place && comm->rank != a->root)
        return misplaced("receive buffer");
    if (comm->rank == a->root && a->sbuf == MPI_IN_PLACE)
        return misplaced("send buffer");
    if (comm->size > 1)
        return dm_coll_run(kind, bytes, a, comm);
    if (a->is_in_place)
        return DM_OK;
    return dm_type_copy(dm_coll_splace(a, 0), dm_coll_scount(a, 0), a->stype, a->rbuf, a->rcount,
                        a->rtype);
}

int dm_scatter(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf, size_t rcount,
               struct dm_type *rtype, int root, struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype,
                             .root = root};
    size_t bytes;

    if (comm->remote != NULL)
        return dm_coll_no_inter("scatter");
    bytes = comm->rank == root ? dm_coll_bytes(scount, stype) : dm_coll_bytes(rcount, rtype);
    return bytes > 0 ? scatter(DM_COLL_SCATTER, bytes, &a, comm) : DM_OK;
}

int dm_scatterv(const void *sbuf, struct dm_counts scounts, struct dm_counts displs,
                struct dm_type *stype, void *rbuf, size_t rcount, struct dm_type *rtype, int root,
                struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdispls = displs,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype,
                             .root = root};

    if (comm->remote != NULL)
        return dm_coll_no_inter("scatterv");
    return scatter(DM_COLL_SCATTERV, 0, &a, comm);
}

/* ---- all to all ---- */

static int allgather(enum dm_coll_kind kind, size_t bytes, struct dm_coll_args *a,
                     struct dm_comm *comm)
{
    a->is_in_place = a->sbuf == MPI_IN_PLACE;
    if (a->rbuf == MPI_IN_PLACE)
        return misplaced("receive buffer");
    if (bytes == 0)
        return DM_OK;
    if (a->is_in_place) {
        a->sbuf = dm_coll_rplace(a, comm->rank);
        a->scount = dm_coll_rcount(a, comm->rank);
        a->stype = a->rtype;
    }
    if (comm->size > 1)
        return dm_coll_run(kind, bytes, a, comm);
    if (a->is_in_place)
        return DM_OK;
    return dm_type_copy(a->sbuf, a->scount, a->stype, dm_coll_rplace(a, 0), dm_coll_rcount(a, 0),
                        a->rtype);
}

int dm_allgather(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf, size_t rcount,
                 struct dm_type *rtype, struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype};

    if (comm->remote != NULL)
        return dm_coll_no_inter("allgather");
    return allgather(DM_COLL_ALLGATHER, dm_coll_bytes(rcount, rtype) * (size_t)comm->size, &a,
                     comm);
}

int dm_allgatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                  struct dm_counts rcounts, struct dm_counts displs, struct dm_type *rtype,
                  struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = displs,
                             .rtype = rtype};
    size_t total = 0;

    if (comm->remote != NULL)
        return dm_coll_no_inter("allgatherv");
    for (int i = 0; i < comm->size; i++)
        total += dm_coll_rcount(&a, i);
    return allgather(DM_COLL_ALLGATHERV, dm_coll_bytes(total, rtype), &a, comm);
}

static int alltoall(enum dm_coll_kind kind, size_t bytes, struct dm_coll_args *a,
                    struct dm_comm *comm)
{
    a->is_in_place = a->sbuf == MPI_IN_PLACE;
    if (a->rbuf == MPI_IN_PLACE)
        return misplaced("receive buffer");
    if (comm->size > 1)
        return dm_coll_run(kind, bytes, a, comm);
    if (a->is_in_place)
        return DM_OK;
    return dm_type_copy(dm_coll_splace(a, 0), dm_coll_scount(a, 0), dm_coll_stype(a, 0),
                        dm_coll_rplace(a, 0), dm_coll_rcount(a, 0), dm_coll_rtype(a, 0));
}

int dm_alltoall(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf, size_t rcount,
                struct dm_type *rtype, struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype};
    size_t bytes = dm_coll_bytes(rcount, rtype);

    if (comm->remote != NULL)
        return dm_coll_no_inter("alltoall");
    return bytes > 0 ? alltoall(DM_COLL_ALLTOALL, bytes, &a, comm) : DM_OK;
}

int dm_alltoallv(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                 struct dm_type *stype, void *rbuf, struct dm_counts rcounts,
                 struct dm_counts rdispls, struct dm_type *rtype, struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdispls = sdispls,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = rdispls,
                             .rtype = rtype};

    if (comm->remote != NULL)
        return dm_coll_no_inter("alltoallv");
    return alltoall(DM_COLL_ALLTOALLV, 0, &a, comm);
}

int dm_alltoallw(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                 const MPI_Datatype *stypes, void *rbuf, struct dm_counts rcounts,
                 struct dm_counts rdispls, const MPI_Datatype *rtypes, struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdispls = sdispls,
                             .stypes = stypes,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = rdispls,
                             .rtypes = rtypes};

    if (comm->remote != NULL)
        return dm_coll_no_inter("alltoallw");
    return alltoall(DM_COLL_ALLTOALLV, 0, &a, comm);
}
