/*
 * The buffers of a nonblocking or persistent collective, for those that have one piece on each side.
 */
#include "usage/state.h"

struct usage_sides {
    struct dm_usage_buffer *buffers;
    int n;
};

static void sides_add(struct usage_sides *sides, const void *buf, size_t count,
                      struct dm_type *type, bool is_written)
{
    if (buf == MPI_IN_PLACE || count == 0 || type == NULL)
        return;
    sides->buffers[sides->n++] = (struct dm_usage_buffer){.buf = buf,
                                                          .count = count,
                                                          .type = type,
                                                          .peer = MPI_UNDEFINED,
                                                          .tag = MPI_UNDEFINED,
                                                          .is_written = is_written};
}

int dm_usage_call_buffers(const struct dm_usage_call *call, struct dm_usage_buffer buffers[2])
{
    struct usage_sides sides = {.buffers = buffers};
    size_t all = (size_t)call->comm->size;
    bool is_root = call->root == call->comm->rank;

    if (call->comm->remote != NULL)
        return 0;
    switch (call->coll) {
    case DM_USAGE_BCAST:
        sides_add(&sides, call->rbuf, call->rcount, call->rtype, !is_root);
        break;
    case DM_USAGE_GATHER:
        sides_add(&sides, call->sbuf, call->scount, call->stype, false);
        if (is_root)
            sides_add(&sides, call->rbuf, call->rcount * all, call->rtype, true);
        break;
    case DM_USAGE_SCATTER:
        if (is_root)
            sides_add(&sides, call->sbuf, call->scount * all, call->stype, false);
        sides_add(&sides, call->rbuf, call->rcount, call->rtype, true);
        break;
    case DM_USAGE_ALLGATHER:
        sides_add(&sides, call->sbuf, call->scount, call->stype, false);
        sides_add(&sides, call->rbuf, call->rcount * all, call->rtype, true);
        break;
    case DM_USAGE_ALLTOALL:
        sides_add(&sides, call->sbuf, call->scount * all, call->stype, false);
        sides_add(&sides, call->rbuf, call->rcount * all, call->rtype, true);
        break;
    case DM_USAGE_REDUCE:
        sides_add(&sides, call->sbuf, call->rcount, call->rtype, false);
        if (is_root)
            sides_add(&sides, call->rbuf, call->rcount, call->rtype, true);
        break;
    case DM_USAGE_ALLREDUCE:
    case DM_USAGE_SCAN:
    case DM_USAGE_EXSCAN:
        sides_add(&sides, call->sbuf, call->rcount, call->rtype, false);
        sides_add(&sides, call->rbuf, call->rcount, call->rtype, true);
        break;
    case DM_USAGE_REDUCE_SCATTER_BLOCK:
        sides_add(&sides, call->sbuf, call->rcount * all, call->rtype, false);
        sides_add(&sides, call->rbuf, call->rcount, call->rtype, true);
        break;
    default:
        break;
    }
    return sides.n;
}
