/*
 * What counts and types of a collective call have to do with those of the other processes (MPI-4.0 chapter 6).
 */
#include "usage/state.h"

/* ---- one side of a call ---- */

struct dm_usage_length dm_usage_length_sent(const struct dm_usage_call *call, int i)
{
    if (call->scounts.narrow == NULL && call->scounts.wide == NULL)
        return dm_usage_length_of(call->scount, call->stype);
    return dm_usage_length_of((size_t)dm_count_at(call->scounts, (size_t)i),
                              call->stypes != NULL ? dm_type_get(call->stypes[i]) : call->stype);
}

struct dm_usage_length dm_usage_length_received(const struct dm_usage_call *call, int i)
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
        struct dm_usage_length one = dm_usage_length_received(call, i);

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
        return dm_usage_length_received(call, 0);
    case DM_USAGE_GATHER:
        return is_root ? dm_usage_length_received(call, 0) : dm_usage_length_sent(call, 0);
    case DM_USAGE_SCATTER:
        return is_root ? dm_usage_length_sent(call, 0) : dm_usage_length_received(call, 0);
    case DM_USAGE_ALLGATHERV:
    case DM_USAGE_REDUCE_SCATTER:
        return recv_length_of_all(call);
    default:
        return (struct dm_usage_length){0};
    }
}

int dm_usage_basic_common(const struct dm_usage_call *call)
{
    bool is_root = call->comm->rank == call->root;
    bool is_sent =
        (call->coll == DM_USAGE_GATHER && !is_root) || (call->coll == DM_USAGE_SCATTER && is_root);
    const struct dm_type *type = is_sent ? call->stype : call->rtype;

    return dm_usage_length_common(call).bytes > 0 && type != NULL ? type->basic : MPI_DATATYPE_NULL;
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
    s = dm_usage_length_sent(call, me);
    r = dm_usage_length_received(call, me);
    return dm_usage_length_fits(&s, &r);
}
