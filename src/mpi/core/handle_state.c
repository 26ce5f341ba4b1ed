/*
 * The handle tables of the process.
 */
#include "mpi/core/core.h"

struct dm_handles dm_handles;
