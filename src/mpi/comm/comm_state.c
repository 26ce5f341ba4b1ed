#include "mpi/comm/comm_state.h"

struct dm_comm_state dm_comm_state;
