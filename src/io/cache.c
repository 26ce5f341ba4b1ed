/*
 * Hosts that have caches of their own of a file. What a process has written it must read back, whichever way
 * both go (MPI-4.0 section 14.6.1); between an exchange, in which an aggregator of another host has accessed
 * the file for it, and what it does alone, two caches would be.
 *
 * So aggregators write out what they have written before an exchange is over, and processes what they have
 * written alone before the next exchange. Reading looks at the server first if others may have written.
 */
#include "io/file.h"
#include "mpi/node/node.h"

void dm_file_cache_init(struct dm_file *f)
{
    f->cache.is_own = !f->disk.is_coherent && !dm_node_is_one(f->group);
}

int dm_file_see(struct dm_file *f)
{
    int err = DM_OK;

    if (!f->cache.is_own || (!f->is_atomic && !f->cache.is_old))
        return DM_OK;
    /* What is to be written cannot be dropped; in atomic mode there is nothing. */
    if (!f->is_atomic)
        err = dm_disk_sync(&f->disk);
    dm_disk_refresh(&f->disk);
    f->cache.is_old = false;
    return err;
}

void dm_file_wrote(struct dm_file *f)
{
    f->cache.has_writes = f->cache.is_own;
}

int dm_file_show(struct dm_file *f)
{
    if (f->is_atomic)
        return f->cache.is_own ? dm_disk_sync(&f->disk) : DM_OK;
    dm_file_wrote(f);
    return DM_OK;
}

int dm_file_write_out(struct dm_file *f)
{
    bool has_writes = f->cache.has_writes;

    f->cache.has_writes = false;
    return has_writes ? dm_disk_write_out(&f->disk, 0, 0) : DM_OK;
}

void dm_file_others_wrote(struct dm_file *f)
{
    f->cache.is_old = f->cache.is_own;
}
