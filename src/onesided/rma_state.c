/*
 * The state that all windows share, and what it has counted.
 */
#include "onesided/state.h"

struct dm_rma_state dm_rma_state;

int dm_onesided_stats(struct dm_adapt_stat *stats, int max)
{
    const struct dm_adapt_stat rows[] = {
        {"one-sided: loads and stores", "", dm_rma_state.counts.n_mapped},
        {"  RDMA", "", dm_rma_state.counts.n_rdma},
        {"  updates by RDMA", "", dm_rma_state.counts.n_updates},
        {"  by waiting targets", "", dm_rma_state.counts.n_assists},
        {"  halves by waiting targets", "", dm_rma_state.counts.n_shared},
        {"  packets", "", dm_rma_state.counts.n_packets},
        {"  locks by word", "", dm_rma_state.counts.n_locks_word},
        {"  locks by fetch-and-add", "", dm_rma_state.counts.n_locks_atomic},
        {"  locks by message", "", dm_rma_state.counts.n_locks_asked},
        {"  synchronizations by word", "", dm_rma_state.counts.n_syncs_word},
        {"  synchronizations by message", "", dm_rma_state.counts.n_syncs_packet},
        {"  sleepers woken", "", dm_rma_state.counts.n_wakes},
    };
    int n = 0;

    for (; n < max && n < (int)(sizeof(rows) / sizeof(rows[0])); n++)
        stats[n] = rows[n];
    return n;
}
