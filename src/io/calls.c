/*
 * The data access functions of MPI-4.0 section 14.4: which access each of them is.
 */
#include "io/access.h"

/* ---- with wrong arguments ---- */

int dm_file_decline(struct dm_file *f, enum dm_file_call call, int err)
{
    static const struct {
        bool is_write, starts;
        enum dm_access_at at;
    } rows[] = {
        [DM_CALL_READ_ALL] = {false, false, DM_AT_INDIVIDUAL},
        [DM_CALL_WRITE_ALL] = {true, false, DM_AT_INDIVIDUAL},
        [DM_CALL_READ_ORDERED] = {false, false, DM_AT_ORDERED},
        [DM_CALL_WRITE_ORDERED] = {true, false, DM_AT_ORDERED},
        [DM_CALL_START_READ_ALL] = {false, true, DM_AT_INDIVIDUAL},
        [DM_CALL_START_WRITE_ALL] = {true, true, DM_AT_INDIVIDUAL},
        [DM_CALL_START_READ_ORDERED] = {false, true, DM_AT_ORDERED},
        [DM_CALL_START_WRITE_ORDERED] = {true, true, DM_AT_ORDERED},
    };
    struct dm_access a = {.is_write = rows[call].is_write,
                          .at = rows[call].at,
                          .is_coll = true,
                          .type = dm_type_get(MPI_BYTE),
                          .err = err};
    struct dm_req *req;

    return rows[call].starts ? dm_access_start(f, &a, &req)
                             : dm_access_run(f, &a, MPI_STATUS_IGNORE);
}

/* ---- blocking ---- */

int dm_file_read_at(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                    struct dm_type *type, MPI_Status *status)
{
    struct dm_access a = dm_access_read(DM_AT_OFFSET, offset, buf, count, type);

    return dm_access_run(f, &a, status);
}

int dm_file_read_at_all(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                        struct dm_type *type, MPI_Status *status)
{
    struct dm_access a = dm_access_all(dm_access_read(DM_AT_OFFSET, offset, buf, count, type));

    return dm_access_run(f, &a, status);
}

int dm_file_write_at(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                     struct dm_type *type, MPI_Status *status)
{
    struct dm_access a = dm_access_write(DM_AT_OFFSET, offset, buf, count, type);

    return dm_access_run(f, &a, status);
}

int dm_file_write_at_all(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                         struct dm_type *type, MPI_Status *status)
{
    struct dm_access a = dm_access_all(dm_access_write(DM_AT_OFFSET, offset, buf, count, type));

    return dm_access_run(f, &a, status);
}

int dm_file_read(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                 MPI_Status *status)
{
    struct dm_access a = dm_access_read(DM_AT_INDIVIDUAL, 0, buf, count, type);

    return dm_access_run(f, &a, status);
}

int dm_file_read_all(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                     MPI_Status *status)
{
    struct dm_access a = dm_access_all(dm_access_read(DM_AT_INDIVIDUAL, 0, buf, count, type));

    return dm_access_run(f, &a, status);
}

int dm_file_write(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                  MPI_Status *status)
{
    struct dm_access a = dm_access_write(DM_AT_INDIVIDUAL, 0, buf, count, type);

    return dm_access_run(f, &a, status);
}

int dm_file_write_all(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                      MPI_Status *status)
{
    struct dm_access a = dm_access_all(dm_access_write(DM_AT_INDIVIDUAL, 0, buf, count, type));

    return dm_access_run(f, &a, status);
}

int dm_file_read_shared(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                        MPI_Status *status)
{
    struct dm_access a = dm_access_read(DM_AT_SHARED, 0, buf, count, type);

    return dm_access_run(f, &a, status);
}

int dm_file_write_shared(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                         MPI_Status *status)
{
    struct dm_access a = dm_access_write(DM_AT_SHARED, 0, buf, count, type);

    return dm_access_run(f, &a, status);
}

int dm_file_read_ordered(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                         MPI_Status *status)
{
    struct dm_access a = dm_access_read(DM_AT_ORDERED, 0, buf, count, type);

    return dm_access_run(f, &a, status);
}

int dm_file_write_ordered(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                          MPI_Status *status)
{
    struct dm_access a = dm_access_write(DM_AT_ORDERED, 0, buf, count, type);

    return dm_access_run(f, &a, status);
}

/* ---- nonblocking ---- */

int dm_file_iread_at(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                     struct dm_type *type, struct dm_req **req_p)
{
    struct dm_access a = dm_access_read(DM_AT_OFFSET, offset, buf, count, type);

    return dm_access_start(f, &a, req_p);
}

int dm_file_iread_at_all(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                         struct dm_type *type, struct dm_req **req_p)
{
    struct dm_access a = dm_access_all(dm_access_read(DM_AT_OFFSET, offset, buf, count, type));

    return dm_access_start(f, &a, req_p);
}

int dm_file_iwrite_at(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                      struct dm_type *type, struct dm_req **req_p)
{
    struct dm_access a = dm_access_write(DM_AT_OFFSET, offset, buf, count, type);

    return dm_access_start(f, &a, req_p);
}

int dm_file_iwrite_at_all(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                          struct dm_type *type, struct dm_req **req_p)
{
    struct dm_access a = dm_access_all(dm_access_write(DM_AT_OFFSET, offset, buf, count, type));

    return dm_access_start(f, &a, req_p);
}

int dm_file_iread(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                  struct dm_req **req_p)
{
    struct dm_access a = dm_access_read(DM_AT_INDIVIDUAL, 0, buf, count, type);

    return dm_access_start(f, &a, req_p);
}

int dm_file_iread_all(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                      struct dm_req **req_p)
{
    struct dm_access a = dm_access_all(dm_access_read(DM_AT_INDIVIDUAL, 0, buf, count, type));

    return dm_access_start(f, &a, req_p);
}

int dm_file_iwrite(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                   struct dm_req **req_p)
{
    struct dm_access a = dm_access_write(DM_AT_INDIVIDUAL, 0, buf, count, type);

    return dm_access_start(f, &a, req_p);
}

int dm_file_iwrite_all(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                       struct dm_req **req_p)
{
    struct dm_access a = dm_access_all(dm_access_write(DM_AT_INDIVIDUAL, 0, buf, count, type));

    return dm_access_start(f, &a, req_p);
}

int dm_file_iread_shared(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                         struct dm_req **req_p)
{
    struct dm_access a = dm_access_read(DM_AT_SHARED, 0, buf, count, type);

    return dm_access_start(f, &a, req_p);
}

int dm_file_iwrite_shared(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                          struct dm_req **req_p)
{
    struct dm_access a = dm_access_write(DM_AT_SHARED, 0, buf, count, type);

    return dm_access_start(f, &a, req_p);
}
