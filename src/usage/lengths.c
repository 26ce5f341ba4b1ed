/*
 * What counts and types of a collective call have to do with those of the other processes (MPI-4.0 chapter 6).
 */
#include <stdlib.h>

#include "mpi/coll/coll.h"
#include "usage/state.h"

/* ---- one side of a call ---- */

/* What block i of the send (receive) side has: all are alike without arrays. */
static struct dm_usage_length send_length(const struct dm_usage_call *call, int i)
{
    if (call->scounts.narrow == NULL && call->scounts.wide == NULL)
        return dm_usage_length_of(call->scount, call->stype);
    return dm_usage_length_of((size_t)dm_count_at(call->scounts, (size_t)i),
                              call->stypes != NULL ? dm_type_get(call->stypes[i]) : call->stype);
}

static struct dm_usage_length recv_length(const struct dm_usage_call *call, int i)
{
    if (call->rcounts.narrow == NULL && call->rcounts.wide == NULL)
        return dm_usage_length_of(call->rcount, call->rtype);
    return dm_usage_length_of((size_t)dm_count_at(call->rcounts, (size_t)i),
                              call->rtypes != NULL ? dm_type_get(call->rtypes[i]) : call->rtype);
}

/* All blocks of the receive side, in order. */
static struct dm_usage_length recv_length_of_all(const struct dm_usage_call *call)
{
    struct dm_usage_length all = {0};
    bool is_any = false;

    for (int i = 0; i < call->comm->size; i++) {
        struct dm_usage_length one = recv_length(call, i);

        is_any |= one.bytes > 0 && one.sum == 0;
        all.bytes += one.bytes;
        all.sum = (all.sum ^ one.bytes ^ one.sum) * UINT64_C(0x9e3779b97f4a7c15);
        all.sum ^= all.sum >> 31;
    }
    if (is_any)
        all.sum = 0;
    return all;
}

struct dm_usage_length dm_usage_length_common(const struct dm_usage_call *call)
{
    bool is_root = call->comm->rank == call->root;

    if (call->comm->remote != NULL)
        return (struct dm_usage_length){0};
    switch (call->coll) {
    case DM_USAGE_BCAST:
    case DM_USAGE_ALLGATHER:
    case DM_USAGE_ALLTOALL:
    case DM_USAGE_REDUCE:
    case DM_USAGE_ALLREDUCE:
    case DM_USAGE_REDUCE_SCATTER_BLOCK:
    case DM_USAGE_SCAN:
    case DM_USAGE_EXSCAN:
        return recv_length(call, 0);
    case DM_USAGE_GATHER:
        return is_root ? recv_length(call, 0) : send_length(call, 0);
    case DM_USAGE_SCATTER:
        return is_root ? send_length(call, 0) : recv_length(call, 0);
    case DM_USAGE_ALLGATHERV:
    case DM_USAGE_REDUCE_SCATTER:
        return recv_length_of_all(call);
    default:
        return (struct dm_usage_length){0};
    }
}

bool dm_usage_length_of_own_fits(const struct dm_usage_call *call)
{
    int me = call->comm->rank;
    struct dm_usage_length s, r;

    switch (call->coll) {
    case DM_USAGE_GATHER:
    case DM_USAGE_GATHERV:
    case DM_USAGE_SCATTER:
    case DM_USAGE_SCATTERV:
        if (call->root != me)
            return true;
        break;
    case DM_USAGE_ALLGATHER:
    case DM_USAGE_ALLGATHERV:
    case DM_USAGE_ALLTOALL:
        break;
    default:
        return true;
    }
    if (call->comm->remote != NULL || call->sbuf == MPI_IN_PLACE || call->rbuf == MPI_IN_PLACE)
        return true;
    s = send_length(call, me);
    r = recv_length(call, me);
    return dm_usage_length_fits(&s, &r);
}

/* ---- pairs ---- */

static int lengths_differ(int sender, struct dm_usage_length s, int receiver,
                          struct dm_usage_length r)
{
    if (dm_usage_length_fits(&s, &r))
        return DM_OK;
    if (s.bytes != r.bytes)
        return DM_FAIL(DM_EUSAGE,
                       "rank %d has %llu bytes for rank %d, which expects %llu bytes of it", sender,
                       (unsigned long long)s.bytes, receiver, (unsigned long long)r.bytes);
    return DM_FAIL(DM_EUSAGE,
                   "rank %d has %llu bytes for rank %d, which expects as many, but of other "
                   "basic types",
                   sender, (unsigned long long)s.bytes, receiver);
}

/* Of the root's blocks each process gets one, and compares it with its own. */
static int compare_with_root(const struct dm_usage_call *call)
{
    struct dm_comm *comm = call->comm;
    bool is_gather = call->coll == DM_USAGE_GATHERV;
    struct dm_usage_length *all = calloc((size_t)comm->size, sizeof(*all)), one, own;
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    int err;

    if (all == NULL)
        return DM_FAIL(DM_ENOMEM, "lengths of %d processes", comm->size);
    for (int i = 0; i < comm->size && comm->rank == call->root; i++)
        all[i] = is_gather ? recv_length(call, i) : send_length(call, i);
    err = dm_coll_scatter(all, sizeof(one), byte, &one, sizeof(one), byte, call->root, comm,
                          dm_coll_blocking());
    free(all);
    if (err != DM_OK || comm->rank == call->root)
        return err;
    own = is_gather ? send_length(call, 0) : recv_length(call, 0);
    if (is_gather)
        return lengths_differ(comm->rank, own, call->root, one);
    return lengths_differ(call->root, one, comm->rank, own);
}

/* What each sends to each. */
static int compare_all(const struct dm_usage_call *call)
{
    struct dm_comm *comm = call->comm;
    size_t n = (size_t)comm->size;
    struct dm_usage_length *all = calloc(2 * n, sizeof(*all));
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    int err;

    if (all == NULL)
        return DM_FAIL(DM_ENOMEM, "lengths of %zu processes", n);
    for (int i = 0; i < comm->size; i++)
        all[i] = call->sbuf == MPI_IN_PLACE ? recv_length(call, i) : send_length(call, i);
    err = dm_coll_alltoall(all, sizeof(*all), byte, all + n, sizeof(*all), byte, comm,
                           dm_coll_blocking());
    for (int i = 0; i < comm->size && err == DM_OK; i++)
        err = lengths_differ(i, all[n + (size_t)i], comm->rank, recv_length(call, i));
    free(all);
    return err;
}

/* Has any process found something? */
static int pairs_agree(struct dm_comm *comm, int err)
{
    int found = err != DM_OK, any = 0;
    int failed = dm_allreduce(&found, &any, 1, dm_type_get(MPI_INT), dm_op_get(MPI_MAX), comm);

    if (err != DM_OK || (failed == DM_OK && any == 0))
        return err;
    if (failed != DM_OK)
        return failed;
    return DM_FAIL(DM_EUSAGE, "counts or types of another process do not agree, which says so");
}

int dm_usage_compare_pairs(const struct dm_usage_call *call)
{
    struct dm_comm *comm = call->comm;

    if (comm->remote != NULL || call->is_nonblocking)
        return DM_OK;
    switch (call->coll) {
    case DM_USAGE_GATHERV:
    case DM_USAGE_SCATTERV:
        return pairs_agree(comm, compare_with_root(call));
    case DM_USAGE_ALLTOALLV:
    case DM_USAGE_ALLTOALLW:
        return pairs_agree(comm, compare_all(call));
    default:
        return DM_OK;
    }
}
