/*
 * Files (MPI-4.0 chapter 14): the bodies of the MPI functions.
 *
 * An MPI_File is the handle of a struct dm_file as a pointer; 0 is MPI_FILE_NULL. What is said to
 * be collective is so over the processes that opened the file; all of them get an error when one
 * of them fails, unless it is about the data of one process.
 */
#ifndef DM_IO_IO_H
#define DM_IO_IO_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"

struct dm_file; /* private: file.h */

int dm_io_start(void);
void dm_io_stop(void);
/* Counters for DATUM_STATS, at most max; how many. */
int dm_io_stats(struct dm_adapt_stat *stats, int max);

static inline struct dm_file *dm_file_get(MPI_File fh)
{
    uintptr_t value = (uintptr_t)fh;

    return value <= UINT32_MAX ? dm_handle_get(DM_KIND_FILE, (int)(uint32_t)value) : NULL;
}
MPI_File dm_file_handle(const struct dm_file *file);
/* The communicator of those who have opened it; NULL: one process. */
struct dm_comm *dm_file_comm(const struct dm_file *file);
/* The error handler of a file, or of MPI_FILE_NULL, and the handle that its functions get. */
struct dm_errhandler *dm_file_errhandler(struct dm_file *file, const void **handle_p);
int dm_file_set_errhandler(struct dm_file *file, struct dm_errhandler *eh);
int dm_file_get_errhandler(struct dm_file *file, struct dm_errhandler **eh_p);
MPI_File dm_file_f2c(MPI_Fint handle);
MPI_Fint dm_file_c2f(MPI_File fh);

/* ---- section 14.2: files ---- */

/* Collective; on an intercommunicator DM_ERR_COMM. */
int dm_file_open(struct dm_comm *comm, const char *name, int amode, struct dm_info *info,
                 struct dm_file **file_p);
/* The same with arguments that are wrong at this process: nobody has the file; returns err. comm may be NULL. */
int dm_file_decline_open(struct dm_comm *comm, int err);
/* Collective. The file is closed also when this fails. */
int dm_file_close(struct dm_file *f);
int dm_file_delete(const char *name, struct dm_info *info);
int dm_file_set_size(struct dm_file *f, MPI_Offset size);
int dm_file_preallocate(struct dm_file *f, MPI_Offset size);
int dm_file_get_size(struct dm_file *f, MPI_Offset *size);
int dm_file_get_group(struct dm_file *f, struct dm_group **group_p);
int dm_file_get_amode(struct dm_file *f, int *amode);
int dm_file_set_info(struct dm_file *f, struct dm_info *info);
/* The same with an info that is wrong at this process: the hints stay, at all; returns err. */
int dm_file_decline_info(struct dm_file *f, int err);
int dm_file_get_info(struct dm_file *f, struct dm_info **info_p);

/* ---- section 14.3: views ---- */

int dm_file_set_view(struct dm_file *f, MPI_Offset disp, struct dm_type *etype,
                     struct dm_type *filetype, const char *datarep, struct dm_info *info);
/* The same with arguments that are wrong at this process: the view stays, at all; returns err. */
int dm_file_decline_view(struct dm_file *f, int err);
int dm_file_get_view(struct dm_file *f, MPI_Offset *disp, struct dm_type **etype_p,
                     struct dm_type **filetype_p, char *datarep);

/* ---- section 14.4: data access ---- */

int dm_file_read_at(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                    struct dm_type *type, MPI_Status *status);
int dm_file_read_at_all(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                        struct dm_type *type, MPI_Status *status);
int dm_file_write_at(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                     struct dm_type *type, MPI_Status *status);
int dm_file_write_at_all(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                         struct dm_type *type, MPI_Status *status);
int dm_file_iread_at(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                     struct dm_type *type, struct dm_req **req_p);
int dm_file_iread_at_all(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                         struct dm_type *type, struct dm_req **req_p);
int dm_file_iwrite_at(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                      struct dm_type *type, struct dm_req **req_p);
int dm_file_iwrite_at_all(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                          struct dm_type *type, struct dm_req **req_p);
int dm_file_read(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                 MPI_Status *status);
int dm_file_read_all(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                     MPI_Status *status);
int dm_file_write(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                  MPI_Status *status);
int dm_file_write_all(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                      MPI_Status *status);
int dm_file_iread(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                  struct dm_req **req_p);
int dm_file_iread_all(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                      struct dm_req **req_p);
int dm_file_iwrite(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                   struct dm_req **req_p);
int dm_file_iwrite_all(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                       struct dm_req **req_p);
int dm_file_read_shared(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                        MPI_Status *status);
int dm_file_write_shared(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                         MPI_Status *status);
int dm_file_iread_shared(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                         struct dm_req **req_p);
int dm_file_iwrite_shared(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                          struct dm_req **req_p);
int dm_file_read_ordered(struct dm_file *f, void *buf, size_t count, struct dm_type *type,
                         MPI_Status *status);
int dm_file_write_ordered(struct dm_file *f, const void *buf, size_t count, struct dm_type *type,
                          MPI_Status *status);

/* A collective call that this process cannot make, as its arguments are wrong. */
enum dm_file_call {
    DM_CALL_READ_ALL,
    DM_CALL_WRITE_ALL,
    DM_CALL_READ_ORDERED,
    DM_CALL_WRITE_ORDERED,
    DM_CALL_START_READ_ALL, /* nonblocking ones, and _begin of split ones */
    DM_CALL_START_WRITE_ALL,
    DM_CALL_START_READ_ORDERED,
    DM_CALL_START_WRITE_ORDERED
};
/* It takes part with nothing to move, so that the others do not wait; returns err, which has just been noted. */
int dm_file_decline(struct dm_file *f, enum dm_file_call call, int err);

int dm_file_seek(struct dm_file *f, MPI_Offset offset, int whence);
int dm_file_get_position(struct dm_file *f, MPI_Offset *offset);
int dm_file_get_byte_offset(struct dm_file *f, MPI_Offset offset, MPI_Offset *disp);
int dm_file_seek_shared(struct dm_file *f, MPI_Offset offset, int whence);
int dm_file_get_position_shared(struct dm_file *f, MPI_Offset *offset);

/* Split collectives; one at a time for each file. */
int dm_file_read_at_all_begin(struct dm_file *f, MPI_Offset offset, void *buf, size_t count,
                              struct dm_type *type);
int dm_file_read_at_all_end(struct dm_file *f, void *buf, MPI_Status *status);
int dm_file_write_at_all_begin(struct dm_file *f, MPI_Offset offset, const void *buf, size_t count,
                               struct dm_type *type);
int dm_file_write_at_all_end(struct dm_file *f, const void *buf, MPI_Status *status);
int dm_file_read_all_begin(struct dm_file *f, void *buf, size_t count, struct dm_type *type);
int dm_file_read_all_end(struct dm_file *f, void *buf, MPI_Status *status);
int dm_file_write_all_begin(struct dm_file *f, const void *buf, size_t count, struct dm_type *type);
int dm_file_write_all_end(struct dm_file *f, const void *buf, MPI_Status *status);
int dm_file_read_ordered_begin(struct dm_file *f, void *buf, size_t count, struct dm_type *type);
int dm_file_read_ordered_end(struct dm_file *f, void *buf, MPI_Status *status);
int dm_file_write_ordered_begin(struct dm_file *f, const void *buf, size_t count,
                                struct dm_type *type);
int dm_file_write_ordered_end(struct dm_file *f, const void *buf, MPI_Status *status);

/* ---- section 14.5: data representations ---- */

int dm_file_get_type_extent(struct dm_file *f, struct dm_type *type, MPI_Aint *extent);
/* A conversion function of one of the two forms; both NULL: data are as in memory. */
struct dm_conversion {
    MPI_Datarep_conversion_function *narrow;
    MPI_Datarep_conversion_function_c *wide;
};
static inline struct dm_conversion dm_conversion_int(MPI_Datarep_conversion_function *fn)
{
    return (struct dm_conversion){.narrow = fn, .wide = NULL};
}
static inline struct dm_conversion dm_conversion_wide(MPI_Datarep_conversion_function_c *fn)
{
    return (struct dm_conversion){.narrow = NULL, .wide = fn};
}
int dm_register_datarep(const char *name, struct dm_conversion read, struct dm_conversion write,
                        MPI_Datarep_extent_function *extent, void *extra);

/* ---- section 14.6: consistency ---- */

int dm_file_set_atomicity(struct dm_file *f, int flag);
int dm_file_get_atomicity(struct dm_file *f, int *flag);
int dm_file_sync(struct dm_file *f);

#endif
