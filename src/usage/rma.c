/*
 * Buffers of one-sided calls: in use until the program synchronizes with the target (MPI-4.0 section 12.7), also if
 * there is a request that the program has not completed (section 12.3.5). They are let go at the beginning of that
 * call; what arrives later is another epoch's.
 */
#include "usage/state.h"

#define MOST 1000 /* calls without a request that are looked after at a time */

static void rma_add(struct dm_usage_request *call, const void *win, int rank)
{
    call->win = win;
    call->target = rank;
    dm_list_add_tail(&dm_usage_state.rmas, &call->rma_link);
}

void dm_usage_rma(const char *fn, const void *win, int rank, const struct dm_usage_buffer *buffers,
                  int n)
{
    struct dm_usage_request *call;

    if (!dm_usage_has(DM_USAGE_BUFFERS) || rank == MPI_PROC_NULL || dm_usage_state.n_rmas == MOST)
        return;
    call = dm_usage_request_new(fn, buffers, n);
    if (call == NULL)
        return;
    call->is_rma = true;
    dm_usage_request_activate(call);
    rma_add(call, win, rank);
    dm_usage_state.n_rmas++;
}

void dm_usage_rma_requested(const char *fn, MPI_Request handle, const void *win, int rank,
                            const struct dm_usage_buffer *buffers, int n)
{
    struct dm_usage_request *call = dm_usage_request_add(fn, handle, buffers, n);

    if (call != NULL)
        rma_add(call, win, rank);
}

/* A request of the program stays active: it has to be completed all the same. */
static void rma_end(struct dm_usage_request *call)
{
    dm_list_del(&call->rma_link);
    dm_usage_request_release(call);
    if (!call->is_rma)
        return;
    dm_usage_state.n_rmas--;
    dm_usage_request_drop(call);
}

void dm_usage_synced(const void *win, int rank)
{
    if (!dm_usage_has(DM_USAGE_BUFFERS))
        return;
    dm_list_for_each_safe (it, tmp, &dm_usage_state.rmas) {
        struct dm_usage_request *call = dm_container_of(it, struct dm_usage_request, rma_link);

        if (call->win == win && (rank == MPI_ANY_SOURCE || rank == call->target))
            rma_end(call);
    }
}

void dm_usage_rmas_drop(void)
{
    dm_list_for_each_safe (it, tmp, &dm_usage_state.rmas) {
        struct dm_usage_request *call = dm_container_of(it, struct dm_usage_request, rma_link);

        if (call->is_rma)
            rma_end(call);
    }
}
