/*
 * The arena of this host (util/arena.h), which our own launcher makes. Under another launcher the first process
 * of each host makes it, and the others of that host open it.
 */
#ifndef DM_DAPL_ADAPT_OPEN_ARENA_H
#define DM_DAPL_ADAPT_OPEN_ARENA_H

struct dm_adapt;

/*
 * Open it, and tell providers by the environment (DM_ARENA_ENV) where it is; without one memory files of each
 * process serve. Under another launcher all processes of the job must call it: it has a fence where several share
 * a host. An error of the launcher's.
 */
int dm_open_arena(struct dm_adapt *adapt);

#endif
