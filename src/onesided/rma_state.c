/*
 * The state that all windows share, and what it has counted.
 */
#include "onesided/state.h"

struct dm_rma_state dm_rma_state;

/* Lines of DATUM_STATS: what belongs to a line above is indented. */
static const char *const path_names[DM_N_PATHS] = {
    [DM_PATH_LOAD_STORE] = "one-sided: load and store",
    [DM_PATH_ASSIST] = "  assist",
    [DM_PATH_SPLIT_COPY] = "  split copy",
    [DM_PATH_GET_MODIFY_PUT] = "  get-modify-put",
    [DM_PATH_ATOMIC] = "  provider's atomics",
    [DM_PATH_RDMA] = "  RDMA write, read",
    [DM_PATH_AM_GET] = "  active-message get",
    [DM_PATH_PACKETS] = "  packets",
};

const char *dm_rma_path_name(enum dm_rma_path path)
{
    return path_names[path];
}

int dm_onesided_stats(struct dm_adapt_stat *stats, int max)
{
    const struct dm_adapt_stat syncs[] = {
        {"  locks by word", "", dm_rma_state.counts.n_locks_word},
        {"  locks by fetch-and-add", "", dm_rma_state.counts.n_locks_atomic},
        {"  locks by fetch-and-add: operations", "", dm_rma_state.counts.n_lock_adds},
        {"  locks by packet", "", dm_rma_state.counts.n_locks_packet},
        {"  synchronizations by word", "", dm_rma_state.counts.n_syncs_word},
        {"  synchronizations by packet", "", dm_rma_state.counts.n_syncs_packet},
        {"  sleepers woken", "", dm_rma_state.counts.n_wakes},
    };
    int n = 0;

    for (int i = 0; i < DM_N_PATHS && n < max; i++)
        stats[n++] = (struct dm_adapt_stat){path_names[i], "", dm_rma_state.counts.n_path[i]};
    for (size_t i = 0; i < sizeof(syncs) / sizeof(syncs[0]) && n < max; i++)
        stats[n++] = syncs[i];
    return n;
}
