/*
 * How type objects come and go.
 */
#ifndef DM_MPI_DATATYPE_LIFE_H
#define DM_MPI_DATATYPE_LIFE_H

#include "mpi/datatype/datatype.h"

/* An empty object with one reference and no handle. DM_ENOMEM. */
int dm_type_alloc(struct dm_type **type_p);
/* Another handle for what type is, with the same envelope; as get_contents returns it. */
int dm_type_clone(const struct dm_type *type, struct dm_type_env *env, struct dm_type **new_p);
/* Free the types of MPI_Type_create_f90_* (f90.c). */
void dm_type_f90_stop(void);

#endif
