#include "mpi/coll/coll_state.h"

struct dm_coll_state dm_coll_state;
