/*
 * The questions are those that hydra_nameserver knows.
 */
#include "tools/mpiexec/name_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mpiexec/server_ask.h"
#include "util/cfg.h"
#include "util/log.h"

/* The serial number of whoever asks here; it keeps its jobs apart itself. */
enum { OTHERS = -1 };

const char *dm_launch_names_keeper(const char *named)
{
    if (named != NULL)
        setenv(DM_LAUNCH_NAMES, named, 1);
    return dm_cfg_env(DM_LAUNCH_NAMES);
}

static bool names_answer(void *arg, const char *what, const char *service, const char *port,
                         char *reply)
{
    struct dm_launch_names *names = arg;

    if (strcmp(what, "PUBLISH") == 0)
        return port != NULL && dm_launch_names_publish(names, service, port, OTHERS);
    if (strcmp(what, "UNPUBLISH") == 0)
        return dm_launch_names_unpublish(names, service, OTHERS);
    return strcmp(what, "LOOKUP") == 0 &&
           dm_launch_names_lookup(names, service, reply, DM_LAUNCH_WORD_MAX);
}

void dm_launch_name_server_start(struct dm_launch_server *server, struct dm_launch_loop *loop,
                                 struct dm_launch_names *names)
{
    char name[DM_LAUNCH_SERVER_NAME];

    if (dm_cfg_env(DM_LAUNCH_NAMES) != NULL)
        return;
    if (dm_launch_server_open(server, loop, names_answer, names, name, sizeof(name)))
        setenv(DM_LAUNCH_NAMES, name, 1);
    else
        dm_log_warn("mpiexec: published names stay on the hosts where they are published: %s",
                    strerror(errno));
}
