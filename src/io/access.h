/*
 * One data access call (MPI-4.0 section 14.4), whatever its form.
 */
#ifndef DM_IO_ACCESS_H
#define DM_IO_ACCESS_H

#include "io/file.h"

/* Where it begins. */
enum dm_access_at {
    DM_AT_OFFSET,
    DM_AT_INDIVIDUAL, /* at the individual pointer */
    DM_AT_SHARED,     /* at the shared pointer */
    DM_AT_ORDERED     /* at the shared pointer, in the order of ranks; collective */
};

struct dm_access {
    bool is_write;
    enum dm_access_at at;
    bool is_coll;
    MPI_Offset offset; /* of DM_AT_OFFSET, in etypes */
    void *buf;
    size_t count;
    struct dm_type *type;
    int err; /* an error of the arguments, which is returned when all that is collective is over */
};

/* Of MPI_File_read... and of MPI_File_write...; offset counts with DM_AT_OFFSET only. */
static inline struct dm_access dm_access_read(enum dm_access_at at, MPI_Offset offset, void *buf,
                                              size_t count, struct dm_type *type)
{
    return (struct dm_access){.at = at,
                              .is_coll = at == DM_AT_ORDERED,
                              .offset = offset,
                              .buf = buf,
                              .count = count,
                              .type = type};
}

/* buf is only read from. */
static inline struct dm_access dm_access_write(enum dm_access_at at, MPI_Offset offset,
                                               const void *buf, size_t count, struct dm_type *type)
{
    struct dm_access a = dm_access_read(at, offset, (void *)(uintptr_t)buf, count, type);

    a.is_write = true;
    return a;
}

/* The collective form. */
static inline struct dm_access dm_access_all(struct dm_access a)
{
    a.is_coll = true;
    return a;
}

/* Blocking. */
int dm_access_run(struct dm_file *f, const struct dm_access *a, MPI_Status *status);
/* Nonblocking. */
int dm_access_start(struct dm_file *f, const struct dm_access *a, struct dm_req **req_p);
/* Fill a status, which may be MPI_STATUS_IGNORE, but for MPI_ERROR. */
void dm_access_status(MPI_Status *status, uint64_t bytes);

#endif
