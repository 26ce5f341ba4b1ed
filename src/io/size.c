/*
 * Sizes and synchronization of files (MPI-4.0 sections 14.2.4 to 14.2.6, 14.6.2).
 */
#include "io/file.h"

static int size_check(struct dm_file *f, MPI_Offset size)
{
    if ((f->amode & MPI_MODE_SEQUENTIAL) != 0)
        return DM_FAIL(DM_ERR_UNSUPPORTED_OPERATION, "\"%s\" is open with MPI_MODE_SEQUENTIAL",
                       f->disk.path);
    if (size < 0)
        return DM_FAIL(DM_ERR_ARG, "size is %lld", (long long)size);
    if ((f->amode & MPI_MODE_RDONLY) != 0)
        return DM_FAIL(DM_ERR_READ_ONLY, "\"%s\" is open for reading only", f->disk.path);
    return dm_file_check_idle(f);
}

/* Done by the first process while all are here. */
static int size_change(struct dm_file *f, MPI_Offset size,
                       int (*change)(const struct dm_disk *disk, uint64_t size))
{
    MPI_Offset first = size;
    int err = size_check(f, size), bad = dm_file_bcast(f, &first, sizeof(first));

    if (bad != DM_OK)
        return bad;
    if (err == DM_OK && first >= 0 && first != size)
        err = DM_FAIL(DM_ERR_NOT_SAME, "size is %lld, that of rank 0 is %lld", (long long)size,
                      (long long)first);
    err = dm_file_agree(f, err);
    if (err != DM_OK)
        return err;
    if (f->rank == 0)
        err = change(&f->disk, (uint64_t)size);
    err = dm_file_agree(f, err);
    dm_disk_refresh(&f->disk);
    return err;
}

int dm_file_set_size(struct dm_file *f, MPI_Offset size)
{
    return size_change(f, size, dm_disk_truncate);
}

int dm_file_preallocate(struct dm_file *f, MPI_Offset size)
{
    return size_change(f, size, dm_disk_allocate);
}

int dm_file_get_size(struct dm_file *f, MPI_Offset *size)
{
    uint64_t bytes = 0;
    int err = dm_file_see(f);

    if (err == DM_OK)
        err = dm_disk_size(&f->disk, &bytes);
    *size = (MPI_Offset)bytes;
    return err;
}

int dm_file_sync(struct dm_file *f)
{
    int err = DM_OK;

    if ((f->amode & MPI_MODE_RDONLY) == 0)
        err = dm_disk_sync(&f->disk);
    f->cache.has_writes = false;
    f->cache.is_old = false;
    err = dm_file_agree(f, err);
    dm_disk_refresh(&f->disk);
    return err;
}

int dm_file_set_atomicity(struct dm_file *f, int flag)
{
    int32_t first = flag != 0;
    int err = DM_OK, bad = dm_file_bcast(f, &first, sizeof(first));

    if (bad != DM_OK)
        return bad;
    if (first != (flag != 0))
        err = DM_FAIL(DM_ERR_NOT_SAME, "flag is %d, that of rank 0 is not", flag);
    err = dm_file_agree(f, err);
    if (err == DM_OK)
        f->is_atomic = flag != 0;
    return err;
}

int dm_file_get_atomicity(struct dm_file *f, int *flag)
{
    *flag = f->is_atomic;
    return DM_OK;
}
