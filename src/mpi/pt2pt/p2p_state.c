/*
 * The state of point-to-point.
 */
#include "mpi/pt2pt/p2p.h"

struct dm_p2p dm_p2p;
