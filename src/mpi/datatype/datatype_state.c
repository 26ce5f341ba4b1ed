/* Filled by dm_datatype_start. */
#include "mpi/datatype/datatype_state.h"

struct dm_datatype_state dm_datatype_state;
