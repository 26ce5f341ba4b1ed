/*
 * The predefined types themselves.
 */
#ifndef DM_MPI_DATATYPE_DATATYPE_STATE_H
#define DM_MPI_DATATYPE_DATATYPE_STATE_H

#include "mpi/datatype/predef_table.h"
#include "mpi/datatype/prog.h"

struct dm_datatype_state {
    int n;
    struct dm_type types[DM_PREDEF_N];
    struct dm_type_prog progs[DM_PREDEF_N];
};
extern struct dm_datatype_state dm_datatype_state;

#endif
