/*
 * Long waits: they look for deadlocks.
 */
#include "api/where.h"

#include "mpi/core/core.h"
#include "mpi/pt2pt/pt2pt.h"

static void where_on_long(void *arg)
{
    (void)arg;
    dm_p2p_deadlock_look();
}

void dm_where_start(void)
{
    dm_wait_on_long(dm_world.chan, where_on_long, NULL);
}
