/*
 * What this process knows of its job.
 */
#include "mpi/core/core.h"

struct dm_world dm_world;
