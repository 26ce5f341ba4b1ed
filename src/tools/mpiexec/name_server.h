/*
 * Names for jobs on several hosts: the first mpiexec, which has started all the others, keeps them, and
 * answers agents and mpiexecs that spawn (server.h).
 */
#ifndef DM_TOOLS_MPIEXEC_NAME_SERVER_H
#define DM_TOOLS_MPIEXEC_NAME_SERVER_H

#include "tools/mpiexec/names.h"
#include "tools/mpiexec/server.h"

/* Where names are kept, for those that we start: the server as dm_launch_ask takes it. */
#define DM_LAUNCH_NAMES "DATUM_NAMES"

/*
 * Who keeps the names of this mpiexec: a server that the user names (NULL: none), or one that whoever
 * has started us has named. Those that we start hear of it. NULL: nobody does but ourselves.
 */
const char *dm_launch_names_keeper(const char *named);
/*
 * Serve the names to those that we start from now on. Nothing, if somebody else keeps them, or it was
 * called before; what fails is reported, and names stay on their hosts. Server and names stay.
 */
void dm_launch_name_server_start(struct dm_launch_server *server, struct dm_launch_loop *loop,
                                 struct dm_launch_names *names);

#endif
