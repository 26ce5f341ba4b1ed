/*
 * What the transfers of this process did, for DATUM_STATS, and which way each file goes, for
 * DATUM_EXPLAIN; hints in force, for ROMIO_PRINT_HINTS.
 */
#include "io/file.h"

#include "util/cfg.h"
#include "util/log.h"

static uint64_t io_bytes[2][DM_N_WAYS]; /* read, written */

static const char *const io_names[2][DM_N_WAYS] = {
    {"files: bytes read, one range", "  read, each range by itself", "  read with holes",
     "  read from mappings", "  read in two phases", "  handed out within the host"},
    {"files: bytes written, one range", "  written, each range by itself", "  written with holes",
     "  written to mappings", "  written in two phases", "  gathered within the host"},
};

static const char *const io_ways[DM_N_WAYS] = {
    "as one range", "each range by itself", "with the holes",
    "by a mapping", "in two phases",        "by way of one process of the host",
};

/* Once for each way of each file. */
static void io_explain(struct dm_file *f, const struct dm_move *m)
{
    for (int i = 0; i < DM_N_WAYS; i++) {
        unsigned int bit = 1u << (2 * i + m->is_write);

        if (m->n_way[i] == 0 || (f->explained & bit) != 0)
            continue;
        f->explained |= bit;
        dm_log_info("file \"%s\" on %s, %d ranks: %s %s", f->disk.path, f->disk.fs, f->size,
                    m->is_write ? "written" : "read", io_ways[i]);
    }
}

void dm_move_count(struct dm_file *f, const struct dm_move *m)
{
    for (int i = 0; i < DM_N_WAYS; i++)
        io_bytes[m->is_write][i] += m->n_way[i];
    if (dm_cfg()->explain && f->rank == 0)
        io_explain(f, m);
}

void dm_file_print_hints(struct dm_file *f)
{
    struct dm_info *info;

    if (f->rank != 0 || dm_cfg_env("ROMIO_PRINT_HINTS") == NULL)
        return;
    if (dm_file_get_info(f, &info) == DM_OK)
        dm_hints_print(info, f->disk.path);
    if (info != NULL)
        (void)dm_info_free(info);
}

int dm_io_stats(struct dm_adapt_stat *stats, int max)
{
    int n = 0;

    for (int w = 0; w < 2; w++)
        for (int i = 0; i < DM_N_WAYS && n < max; i++)
            stats[n++] = (struct dm_adapt_stat){io_names[w][i], "bytes", io_bytes[w][i]};
    if (n < max)
        stats[n++] = (struct dm_adapt_stat){"files: operations on words of locks", "",
                                            dm_file_lock_operations()};
    return n;
}
