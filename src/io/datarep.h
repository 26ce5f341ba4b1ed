/*
 * Data representations (MPI-4.0 section 14.5): native, internal (the same), external32, and those
 * that the program registers.
 */
#ifndef DM_IO_DATAREP_H
#define DM_IO_DATAREP_H

#include "io/io.h"
#include "mpi/datatype/datatype.h"
#include "util/list.h"

enum dm_datarep_kind { DM_REP_NATIVE, DM_REP_EXTERNAL32, DM_REP_USER };

struct dm_datarep {
    struct dm_list link; /* of those that were registered; they stay */
    enum dm_datarep_kind kind;
    struct dm_conversion read, write;
    MPI_Datarep_extent_function *extent;
    void *extra;
    char name[MPI_MAX_DATAREP_STRING];
};

extern const struct dm_datarep dm_datarep_native;
void dm_datarep_start(void);
void dm_datarep_stop(void);
/* DM_ERR_UNSUPPORTED_DATAREP. */
int dm_datarep_find(const char *name, const struct dm_datarep **rep_p);

static inline bool dm_datarep_converts(const struct dm_datarep *rep)
{
    return rep->kind != DM_REP_NATIVE;
}
/* Bytes in the file of the data of one element. Runs the program's callbacks, as all below. */
int dm_datarep_size(const struct dm_datarep *rep, struct dm_type *type, MPI_Count *size_p);
/* The extent of a type in the file. */
int dm_datarep_extent(const struct dm_datarep *rep, struct dm_type *type, MPI_Aint *extent_p);
/* The type as it is in the file: type itself with a reference, or one of dm_type_rebuild. */
int dm_datarep_type(const struct dm_datarep *rep, struct dm_type *type, struct dm_type **new_p);
/*
 * Convert n elements of type, from number `first` of those at buf on, to size bytes as they are in
 * the file; and back. DM_ERR_CONVERSION, or what a callback returned.
 */
int dm_datarep_encode(const struct dm_datarep *rep, const void *buf, struct dm_type *type,
                      size_t first, size_t n, void *file, size_t size);
int dm_datarep_decode(const struct dm_datarep *rep, void *buf, struct dm_type *type, size_t first,
                      size_t n, const void *file, size_t size);

#endif
