/*
 * Names for jobs on several hosts: the first mpiexec, which has started all the others, keeps them and
 * answers agents, and mpiexecs that spawn, over TCP (name_client.h). Who lacks the token is told no.
 */
#ifndef DM_TOOLS_MPIEXEC_NAME_SERVER_H
#define DM_TOOLS_MPIEXEC_NAME_SERVER_H

#include "tools/mpiexec/loop.h"
#include "tools/mpiexec/names.h"

/* Where names are kept, for those that we start: the server as dm_launch_names_ask takes it. */
#define DM_LAUNCH_NAMES "DATUM_NAMES"

enum { DM_LAUNCH_NAME_CLIENTS = 256 }; /* that ask at one time */

struct dm_launch_name_client;

struct dm_launch_name_server {
    struct dm_launch_loop *loop;
    struct dm_launch_names *names; /* the caller's */
    struct dm_launch_watch watch;  /* of the socket */
    int fd;
    char token[33];
    struct dm_launch_name_client *clients[DM_LAUNCH_NAME_CLIENTS]; /* NULL: not needed yet */
};

/*
 * Who keeps the names of this mpiexec: a server that the user names (NULL: none), or one that whoever
 * has started us has named. Those that we start hear of it. NULL: nobody does but ourselves.
 */
const char *dm_launch_names_keeper(const char *named);
/*
 * Serve the names to those that we start from now on. Nothing, if somebody else keeps them, or it was
 * called before; what fails is told, and names stay on their hosts. Server and names stay.
 */
void dm_launch_name_server_start(struct dm_launch_name_server *server, struct dm_launch_loop *loop,
                                 struct dm_launch_names *names);

#endif
