/*
 * Split collectives (MPI-4.0 section 14.4.5): one nonblocking transfer for each file, between
 * _begin and _end.
 */
#include "io/access.h"

#include "mpi/pt2pt/pt2pt.h"

static int split_io_begin(struct dm_file *f, const struct dm_access *a, const char *what)
{
    struct dm_req *req = NULL;
    int err = dm_access_start(f, a, &req);

    if (err != DM_OK)
        return err;
    f->split = (struct dm_file_split){.what = what, .buf = a->buf, .req = req};
    return DM_OK;
}

static int split_io_end(struct dm_file *f, const char *what, const void *buf, MPI_Status *status)
{
    struct dm_req *req = f->split.req;
    int err;

    if (f->split.what != what)
        return DM_FAIL(DM_ERR_IO, "%s_begin of \"%s\" was not called before %s_end", what,
                       f->disk.path, what);
    if (f->split.buf != buf)
        return DM_FAIL(DM_ERR_BUFFER, "buf is not that of %s_begin", what);
    dm_wait_for_job(req);
    f->split.what = NULL;
    err = req->err != DM_OK ? req->ops->finish(req, &req->status) : DM_OK;
    dm_access_status(status, dm_status_bytes(&req->status));
    dm_req_unref(req);
    return err;
}

/* Their names are compared by address. */
static const char split_read_at_all[] = "MPI_File_read_at_all";
static const char split_write_at_all[] = "MPI_File_write_at_all";
static const char split_read_all[] = "MPI_File_read_all";
static const char split_write_all[] = "MPI_File_write_all";
static const char split_read_ordered[] = "MPI_File_read_ordered";
static const char split_write_ordered[] = "MPI_File_write_ordered";

int dm_file_read_at_all_begin(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                              struct dm_type *type)
{
    struct dm_access a = dm_access_all(dm_access_read(DM_AT_OFFSET, offset, buf, count, type));

    return split_io_begin(f, &a, split_read_at_all);
}

int dm_file_read_at_all_end(struct dm_file *f, void *buf, MPI_Status *status)
{
    return split_io_end(f, split_read_at_all, buf, status);
}

int dm_file_write_at_all_begin(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                               struct dm_type *type)
{
    struct dm_access a = dm_access_all(dm_access_write(DM_AT_OFFSET, offset, buf, count, type));

    return split_io_begin(f, &a, split_write_at_all);
}

int dm_file_write_at_all_end(struct dm_file *f, const void *buf, MPI_Status *status)
{
    return split_io_end(f, split_write_at_all, buf, status);
}

int dm_file_read_all_begin(struct dm_file *f, void *buf, size_t count, struct dm_type *type)
{
    struct dm_access a = dm_access_all(dm_access_read(DM_AT_INDIVIDUAL, 0, buf, count, type));

    return split_io_begin(f, &a, split_read_all);
}

int dm_file_read_all_end(struct dm_file *f, void *buf, MPI_Status *status)
{
    return split_io_end(f, split_read_all, buf, status);
}

int dm_file_write_all_begin(struct dm_file *f, const void *buf, size_t count, struct dm_type *type)
{
    struct dm_access a = dm_access_all(dm_access_write(DM_AT_INDIVIDUAL, 0, buf, count, type));

    return split_io_begin(f, &a, split_write_all);
}

int dm_file_write_all_end(struct dm_file *f, const void *buf, MPI_Status *status)
{
    return split_io_end(f, split_write_all, buf, status);
}

int dm_file_read_ordered_begin(struct dm_file *f, void *buf, size_t count, struct dm_type *type)
{
    struct dm_access a = dm_access_read(DM_AT_ORDERED, 0, buf, count, type);

    return split_io_begin(f, &a, split_read_ordered);
}

int dm_file_read_ordered_end(struct dm_file *f, void *buf, MPI_Status *status)
{
    return split_io_end(f, split_read_ordered, buf, status);
}

int dm_file_write_ordered_begin(struct dm_file *f, const void *buf, size_t count,
                                struct dm_type *type)
{
    struct dm_access a = dm_access_write(DM_AT_ORDERED, 0, buf, count, type);

    return split_io_begin(f, &a, split_write_ordered);
}

int dm_file_write_ordered_end(struct dm_file *f, const void *buf, MPI_Status *status)
{
    return split_io_end(f, split_write_ordered, buf, status);
}
