/*
 * Buffers of one-sided calls without a request: in use until the program synchronizes with the target (MPI-4.0 section
 * 12.7). They are let go at the beginning of that call; what arrives later is another epoch's.
 */
#include <stdlib.h>

#include "usage/state.h"

#define MOST 1000 /* calls that are looked after at a time */

struct usage_rma {
    struct dm_list link; /* in dm_usage_state.rmas */
    const void *win;
    int rank;
    struct dm_usage_request *call;
};

void dm_usage_rma(const char *fn, const void *win, int rank, const struct dm_usage_buffer *buffers,
                  int n)
{
    struct usage_rma *rma;

    if (!dm_usage_has(DM_USAGE_BUFFERS) || rank == MPI_PROC_NULL || dm_usage_state.n_rmas == MOST)
        return;
    rma = malloc(sizeof(*rma));
    if (rma == NULL)
        return;
    rma->win = win;
    rma->rank = rank;
    rma->call = dm_usage_request_new(fn, buffers, n);
    if (rma->call == NULL) {
        free(rma);
        return;
    }
    rma->call->is_rma = true;
    dm_usage_request_activate(rma->call);
    dm_list_add_tail(&dm_usage_state.rmas, &rma->link);
    dm_usage_state.n_rmas++;
}

static void rma_end(struct usage_rma *rma)
{
    dm_list_del(&rma->link);
    dm_usage_state.n_rmas--;
    dm_usage_request_deactivate(rma->call);
    dm_usage_request_drop(rma->call);
    free(rma);
}

void dm_usage_synced(const void *win, int rank)
{
    if (!dm_usage_has(DM_USAGE_BUFFERS))
        return;
    dm_list_for_each_safe (it, tmp, &dm_usage_state.rmas) {
        struct usage_rma *rma = dm_container_of(it, struct usage_rma, link);

        if (rma->win == win && (rank == MPI_ANY_SOURCE || rank == rma->rank))
            rma_end(rma);
    }
}

void dm_usage_rmas_drop(void)
{
    dm_list_for_each_safe (it, tmp, &dm_usage_state.rmas)
        rma_end(dm_container_of(it, struct usage_rma, link));
}
