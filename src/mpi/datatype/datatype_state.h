/*
 * The predefined types themselves, and those made by precision and range.
 */
#ifndef DM_MPI_DATATYPE_DATATYPE_STATE_H
#define DM_MPI_DATATYPE_DATATYPE_STATE_H

#include "mpi/datatype/predef_table.h"
#include "mpi/datatype/prog.h"

struct dm_type_f90; /* f90.c */

struct dm_datatype_state {
    struct dm_type_f90 *f90; /* list */
    int n;
    struct dm_type types[DM_PREDEF_N];
    struct dm_type_prog progs[DM_PREDEF_N];
};
extern struct dm_datatype_state dm_datatype_state;

#endif
