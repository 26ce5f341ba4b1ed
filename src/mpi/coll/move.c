/*
 * Bodies of the collectives that move data: what MPI_IN_PLACE means, and the bytes that the
 * choice of the algorithm goes by.
 */
#include "mpi/coll/select.h"

static int in_place_error(const char *what)
{
    return DM_FAIL(DM_ERR_BUFFER, "MPI_IN_PLACE is not allowed as the %s of this rank", what);
}

static DM_COLD int apart_error(int i, const void *to)
{
    return DM_FAIL(DM_ERR_BUFFER,
                   "rank %d sends to itself what it receives, at %p; pass "
                   "MPI_IN_PLACE instead",
                   i, to);
}

/*
 * What this rank gives to itself may not be what it gets: programs that pass the same elements
 * twice mean MPI_IN_PLACE. i is its rank; MPI_Gather and MPI_Scatter know a block of one side only.
 */
static int check_apart(const struct dm_coll_args *a, int i, const void *from, const void *to)
{
    const struct dm_type *type = dm_coll_stype(a, i);

    if (from != to || type != dm_coll_rtype(a, i) || type->size == 0 || dm_coll_scount(a, i) == 0 ||
        dm_coll_rcount(a, i) == 0)
        return DM_OK;
    return apart_error(i, to);
}

int dm_coll_copy_own(const void *sbuf, size_t scount, const struct dm_type *stype, void *rbuf,
                     size_t rcount, const struct dm_type *rtype)
{
    if (sbuf == MPI_IN_PLACE || rbuf == MPI_IN_PLACE)
        return DM_OK;
    if (dm_unlikely(sbuf == rbuf && stype == rtype && stype->size > 0 && scount > 0 && rcount > 0))
        return apart_error(0, rbuf);
    return dm_type_copy(sbuf, scount, stype, rbuf, rcount, rtype);
}

/* Between groups nothing is in place; what does not count is not looked at. */
static int run_inter(enum dm_coll_kind kind, const struct dm_coll_args *a, bool sends, bool gets,
                     struct dm_comm *comm, struct dm_coll_how how)
{
    if (sends && a->sbuf == MPI_IN_PLACE)
        return in_place_error("send buffer");
    if (gets && a->rbuf == MPI_IN_PLACE)
        return in_place_error("receive buffer");
    return dm_coll_run(kind, 0, a, comm, how);
}

int dm_coll_bcast_run(void *buf, size_t count, struct dm_type *type, int root, struct dm_comm *comm,
                      struct dm_coll_how how)
{
    struct dm_coll_args a = {.rbuf = buf, .rcount = count, .rtype = type, .root = root};

    if (comm->remote != NULL)
        return run_inter(DM_COLL_BCAST, &a, false, root != MPI_PROC_NULL, comm, how);
    if (buf == MPI_IN_PLACE)
        return in_place_error("buffer");
    if (dm_coll_is_alone(comm))
        return dm_coll_nothing(comm, how);
    return dm_coll_run_some(DM_COLL_BCAST, dm_coll_bytes(count, type), &a, comm, how);
}

/* ---- to and from a root ---- */

/* Both forms, between groups and inside one. */
static int coll_gather(enum dm_coll_kind kind, struct dm_coll_args *a, struct dm_comm *comm,
                       struct dm_coll_how how)
{
    bool is_root = comm->rank == a->root;
    size_t bytes;
    int err = DM_OK;

    if (comm->remote != NULL)
        return run_inter(kind, a, a->root >= 0, a->root == MPI_ROOT, comm, how);
    a->is_in_place = a->sbuf == MPI_IN_PLACE;
    if (a->is_in_place && !is_root)
        return in_place_error("send buffer");
    if (is_root && a->rbuf == MPI_IN_PLACE)
        return in_place_error("receive buffer");
    if (is_root && !a->is_in_place)
        err = check_apart(a, comm->rank, a->sbuf, dm_coll_rplace(a, comm->rank));
    if (err != DM_OK)
        return err;
    /* Bytes of one block, unknown when they differ. */
    if (kind == DM_COLL_GATHERV)
        return dm_coll_run(kind, 0, a, comm, how);
    bytes = is_root ? dm_coll_bytes(a->rcount, a->rtype) : dm_coll_bytes(a->scount, a->stype);
    return dm_coll_run_some(kind, bytes, a, comm, how);
}

int dm_coll_gather_run(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                       size_t rcount, struct dm_type *rtype, int root, struct dm_comm *comm,
                       struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype,
                             .root = root};

    if (dm_coll_is_copy(rbuf, comm, how))
        return dm_coll_copy_alone(sbuf, scount, stype, rbuf, rcount, rtype, comm, how);
    return coll_gather(DM_COLL_GATHER, &a, comm, how);
}

int dm_coll_gatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                    struct dm_counts rcounts, struct dm_counts displs, struct dm_type *rtype,
                    int root, struct dm_comm *comm, struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = displs,
                             .rtype = rtype,
                             .root = root};

    return coll_gather(DM_COLL_GATHERV, &a, comm, how);
}

static int coll_scatter(enum dm_coll_kind kind, struct dm_coll_args *a, struct dm_comm *comm,
                        struct dm_coll_how how)
{
    bool is_root = comm->rank == a->root;
    size_t bytes;
    int err = DM_OK;

    if (comm->remote != NULL)
        return run_inter(kind, a, a->root == MPI_ROOT, a->root >= 0, comm, how);
    a->is_in_place = a->rbuf == MPI_IN_PLACE;
    if (a->is_in_place && !is_root)
        return in_place_error("receive buffer");
    if (is_root && a->sbuf == MPI_IN_PLACE)
        return in_place_error("send buffer");
    if (is_root && !a->is_in_place)
        err = check_apart(a, comm->rank, dm_coll_splace(a, comm->rank), a->rbuf);
    if (err != DM_OK)
        return err;
    if (kind == DM_COLL_SCATTERV)
        return dm_coll_run(kind, 0, a, comm, how);
    bytes = is_root ? dm_coll_bytes(a->scount, a->stype) : dm_coll_bytes(a->rcount, a->rtype);
    return dm_coll_run_some(kind, bytes, a, comm, how);
}

int dm_coll_scatter(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                    size_t rcount, struct dm_type *rtype, int root, struct dm_comm *comm,
                    struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype,
                             .root = root};

    if (dm_coll_is_copy(sbuf, comm, how))
        return dm_coll_copy_alone(sbuf, scount, stype, rbuf, rcount, rtype, comm, how);
    return coll_scatter(DM_COLL_SCATTER, &a, comm, how);
}

int dm_coll_scatterv(const void *sbuf, struct dm_counts scounts, struct dm_counts displs,
                     struct dm_type *stype, void *rbuf, size_t rcount, struct dm_type *rtype,
                     int root, struct dm_comm *comm, struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdispls = displs,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype,
                             .root = root};

    return coll_scatter(DM_COLL_SCATTERV, &a, comm, how);
}

/* ---- all to all ---- */

static int allgather_run(enum dm_coll_kind kind, struct dm_coll_args *a, struct dm_comm *comm,
                         struct dm_coll_how how)
{
    size_t total = 0;
    int err = DM_OK;

    if (comm->remote != NULL)
        return run_inter(kind, a, true, true, comm, how);
    a->is_in_place = a->sbuf == MPI_IN_PLACE;
    if (a->rbuf == MPI_IN_PLACE)
        return in_place_error("receive buffer");
    if (a->is_in_place) {
        a->sbuf = dm_coll_rplace(a, comm->rank);
        a->scount = dm_coll_rcount(a, comm->rank);
        a->stype = a->rtype;
    } else {
        err = check_apart(a, comm->rank, a->sbuf, dm_coll_rplace(a, comm->rank));
    }
    if (err != DM_OK)
        return err;
    if (kind == DM_COLL_ALLGATHER)
        total = a->rcount * (size_t)comm->size;
    for (int i = 0; kind == DM_COLL_ALLGATHERV && i < comm->size; i++)
        total += dm_coll_rcount(a, i);
    return dm_coll_run_some(kind, dm_coll_bytes(total, a->rtype), a, comm, how);
}

int dm_coll_allgather_run(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                          size_t rcount, struct dm_type *rtype, struct dm_comm *comm,
                          struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype};

    if (dm_coll_is_copy(rbuf, comm, how))
        return dm_coll_copy_alone(sbuf, scount, stype, rbuf, rcount, rtype, comm, how);
    return allgather_run(DM_COLL_ALLGATHER, &a, comm, how);
}

int dm_coll_allgatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                       struct dm_counts rcounts, struct dm_counts displs, struct dm_type *rtype,
                       struct dm_comm *comm, struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = displs,
                             .rtype = rtype};

    return allgather_run(DM_COLL_ALLGATHERV, &a, comm, how);
}

static int alltoall_run(enum dm_coll_kind kind, struct dm_coll_args *a, struct dm_comm *comm,
                        struct dm_coll_how how)
{
    int err = DM_OK;

    if (comm->remote != NULL)
        return run_inter(kind, a, true, true, comm, how);
    a->is_in_place = a->sbuf == MPI_IN_PLACE;
    if (a->rbuf == MPI_IN_PLACE)
        return in_place_error("receive buffer");
    if (!a->is_in_place)
        err = check_apart(a, comm->rank, dm_coll_splace(a, comm->rank),
                          dm_coll_rplace(a, comm->rank));
    if (err != DM_OK)
        return err;
    if (kind == DM_COLL_ALLTOALLV)
        return dm_coll_run(kind, 0, a, comm, how);
    return dm_coll_run_some(kind, dm_coll_bytes(a->rcount, a->rtype), a, comm, how);
}

int dm_coll_alltoall_run(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                         size_t rcount, struct dm_type *rtype, struct dm_comm *comm,
                         struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype};

    if (dm_coll_is_copy(rbuf, comm, how))
        return dm_coll_copy_alone(sbuf, scount, stype, rbuf, rcount, rtype, comm, how);
    return alltoall_run(DM_COLL_ALLTOALL, &a, comm, how);
}

int dm_coll_alltoallv(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                      struct dm_type *stype, void *rbuf, struct dm_counts rcounts,
                      struct dm_counts rdispls, struct dm_type *rtype, struct dm_comm *comm,
                      struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdispls = sdispls,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = rdispls,
                             .rtype = rtype};

    return alltoall_run(DM_COLL_ALLTOALLV, &a, comm, how);
}

int dm_coll_alltoallw(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                      const MPI_Datatype *stypes, void *rbuf, struct dm_counts rcounts,
                      struct dm_counts rdispls, const MPI_Datatype *rtypes, struct dm_comm *comm,
                      struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdispls = sdispls,
                             .stypes = stypes,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = rdispls,
                             .rtypes = rtypes};

    return alltoall_run(DM_COLL_ALLTOALLV, &a, comm, how);
}
