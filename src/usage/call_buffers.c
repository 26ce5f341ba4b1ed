/*
 * The buffers of a nonblocking or persistent collective: one on each side, or one for each block.
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

/* n blocks with counts and places of their own; with types places are in bytes. */
static void sides_add_blocks(struct usage_sides *sides, const void *buf, struct dm_counts counts,
                             struct dm_counts displs, const MPI_Datatype *types,
                             struct dm_type *type, int n, bool is_written)
{
    for (int i = 0; i < n && buf != MPI_IN_PLACE; i++) {
        struct dm_type *one = types != NULL ? dm_type_get(types[i]) : type;
        MPI_Count step = types != NULL || one == NULL ? 1 : one->extent;
        uintptr_t at = (uintptr_t)buf + (uintptr_t)(dm_count_at(displs, (size_t)i) * step);

        sides_add(sides, (const void *)at, (size_t)dm_count_at(counts, (size_t)i), one, is_written);
    }
}

static void sides_add_sent_blocks(struct usage_sides *sides, const struct dm_usage_call *call,
                                  int n)
{
    sides_add_blocks(sides, call->sbuf, call->scounts, call->sdispls, call->stypes, call->stype, n,
                     false);
}

static void sides_add_received_blocks(struct usage_sides *sides, const struct dm_usage_call *call,
                                      int n)
{
    sides_add_blocks(sides, call->rbuf, call->rcounts, call->rdispls, call->rtypes, call->rtype, n,
                     true);
}

static void sides_add_neighbors(struct usage_sides *sides, const struct dm_usage_call *call)
{
    const struct dm_topo *topo = call->comm->topo;
    bool is_allgather =
        call->coll == DM_USAGE_NEIGHBOR_ALLGATHER || call->coll == DM_USAGE_NEIGHBOR_ALLGATHERV;

    if (call->scounts.narrow != NULL || call->scounts.wide != NULL)
        sides_add_sent_blocks(sides, call, topo->n_out);
    else
        sides_add(sides, call->sbuf, call->scount * (is_allgather ? 1 : (size_t)topo->n_out),
                  call->stype, false);
    if (call->rcounts.narrow != NULL || call->rcounts.wide != NULL)
        sides_add_received_blocks(sides, call, topo->n_in);
    else
        sides_add(sides, call->rbuf, call->rcount * (size_t)topo->n_in, call->rtype, true);
}

static void sides_add_reduce_scatter(struct usage_sides *sides, const struct dm_usage_call *call)
{
    size_t all = 0;

    for (int i = 0; i < call->comm->size; i++)
        all += (size_t)dm_count_at(call->rcounts, (size_t)i);
    sides_add(sides, call->sbuf, all, call->rtype, false);
    sides_add(sides, call->rbuf, (size_t)dm_count_at(call->rcounts, (size_t)call->comm->rank),
              call->rtype, true);
}

size_t dm_usage_call_most_buffers(const struct dm_usage_call *call)
{
    const struct dm_topo *topo = call->comm->topo;
    size_t n_neighbors = topo != NULL ? (size_t)topo->n_in + (size_t)topo->n_out : 0;

    return 2 + 2 * (size_t)call->comm->size + n_neighbors;
}

int dm_usage_call_buffers(const struct dm_usage_call *call, struct dm_usage_buffer *buffers)
{
    struct usage_sides sides = {.buffers = buffers};
    size_t all = (size_t)call->comm->size;
    bool is_root = call->root == call->comm->rank;

    if (call->comm->remote != NULL)
        return 0;
    if (call->coll >= DM_USAGE_NEIGHBOR_ALLGATHER && call->comm->topo != NULL)
        sides_add_neighbors(&sides, call);
    switch (call->coll) {
    case DM_USAGE_GATHERV:
        sides_add(&sides, call->sbuf, call->scount, call->stype, false);
        if (is_root)
            sides_add_received_blocks(&sides, call, (int)all);
        break;
    case DM_USAGE_SCATTERV:
        if (is_root)
            sides_add_sent_blocks(&sides, call, (int)all);
        sides_add(&sides, call->rbuf, call->rcount, call->rtype, true);
        break;
    case DM_USAGE_ALLGATHERV:
        sides_add(&sides, call->sbuf, call->scount, call->stype, false);
        sides_add_received_blocks(&sides, call, (int)all);
        break;
    case DM_USAGE_ALLTOALLV:
    case DM_USAGE_ALLTOALLW:
        sides_add_sent_blocks(&sides, call, (int)all);
        sides_add_received_blocks(&sides, call, (int)all);
        break;
    case DM_USAGE_REDUCE_SCATTER:
        sides_add_reduce_scatter(&sides, call);
        break;
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
