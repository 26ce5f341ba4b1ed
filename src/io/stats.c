/*
 * What the transfers of this process did, for DATUM_STATS.
 */
#include "io/file.h"

static uint64_t io_bytes[2][DM_N_WAYS]; /* read, written */

static const char *const io_names[2][DM_N_WAYS] = {
    {"files: bytes read, one range", "  read, each range by itself", "  read with holes",
     "  read from mappings", "  read in two phases"},
    {"files: bytes written, one range", "  written, each range by itself", "  written with holes",
     "  written to mappings", "  written in two phases"},
};

void dm_move_count(const struct dm_move *m)
{
    for (int i = 0; i < DM_N_WAYS; i++)
        io_bytes[m->is_write][i] += m->n_way[i];
}

int dm_io_stats(struct dm_adapt_stat *stats, int max)
{
    int n = 0;

    for (int w = 0; w < 2; w++)
        for (int i = 0; i < DM_N_WAYS && n < max; i++)
            stats[n++] = (struct dm_adapt_stat){io_names[w][i], "bytes", io_bytes[w][i]};
    return n;
}
