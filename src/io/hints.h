/*
 * Hints (MPI-4.0 section 14.2.8): ROMIO's names, what they are set to, and what is in force.
 */
#ifndef DM_IO_HINTS_H
#define DM_IO_HINTS_H

#include "io/disk.h"
#include "mpi/core/core.h"

enum dm_hint_use { DM_HINT_AUTOMATIC, DM_HINT_ENABLE, DM_HINT_DISABLE };

struct dm_hints {
    uint64_t cb_buffer_size; /* bytes of the file that an aggregator holds; 0: plan.c says */
    uint64_t cb_nodes;       /* aggregators; 0: plan.c says */
    uint64_t cb_per_host;    /* of these on a host, at most; 0: not said */
    uint64_t ind_rd_buffer_size, ind_wr_buffer_size;
    uint64_t striping_unit, striping_factor; /* for making the file; 0: not said */
    enum dm_hint_use cb_read, cb_write;      /* collectives exchange data first */
    enum dm_hint_use cb_gather;              /* data for other hosts by one process of the host */
    enum dm_hint_use ds_read, ds_write; /* holes are read, too; holes are stepped over in memory */
    bool no_indep_rw;
};

void dm_hints_default(struct dm_hints *hints);
/*
 * Those of ROMIO's file for all programs of a user or a host: $ROMIO_HINTS, or /etc/romio-hints; a line is
 * "KEY VALUE", # begins a comment. What cannot be read is said, with its line.
 */
void dm_hints_read_file(struct dm_hints *hints);
/* Values that cannot be followed are left out. */
void dm_hints_read(struct dm_hints *hints, const struct dm_info *info);
/* A new info object with all that is in force. DM_ENOMEM. */
int dm_hints_write(const struct dm_hints *hints, const struct dm_disk *disk,
                   struct dm_info **info_p);
/* All that is in force, to stdout. */
void dm_hints_print(const struct dm_info *info, const char *path);

#endif
