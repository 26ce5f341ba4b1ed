/*
 * Envelope and contents: which constructor made a type, with which arguments.
 */
#ifndef DM_MPI_DATATYPE_ENV_H
#define DM_MPI_DATATYPE_ENV_H

#include "mpi/datatype/datatype.h"

struct dm_type_env {
    int refs;
    int combiner;
    bool is_large; /* made by the form of the constructor with _c */
    size_t n_ints;
    size_t n_addrs;
    size_t n_types;
    size_t n_filled; /* ints put so far */
    MPI_Count *ints; /* in the order of MPI_Type_get_contents */
    MPI_Count *addrs;
    struct dm_type **types; /* a reference each; NULL while not put */
};

/* Room for that many values; NULL when memory is out. */
struct dm_type_env *dm_env_new(int combiner, size_t n_ints, size_t n_addrs, size_t n_types);
/* Both take NULL. */
void dm_env_ref(struct dm_type_env *env);
void dm_env_unref(struct dm_type_env *env);
/* Append integers; all take an env of NULL and do nothing then. */
void dm_env_int(struct dm_type_env *env, MPI_Count value);
void dm_env_ints(struct dm_type_env *env, struct dm_counts values, size_t n);
void dm_env_addrs(struct dm_type_env *env, struct dm_counts values, size_t n);
void dm_env_type(struct dm_type_env *env, size_t i, struct dm_type *type);

#endif
