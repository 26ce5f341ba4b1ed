/*
 * Published names: those of the jobs of this mpiexec or agent, and of others through a server
 * (-nameserver, or the mpiexec that has started this one).
 */
#ifndef DM_TOOLS_MPIEXEC_NAMES_H
#define DM_TOOLS_MPIEXEC_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* A name, and the serial number of the job that has published it. */
struct dm_launch_name {
    char *service;
    char *port;
    int serial;
};

struct dm_launch_names {
    struct dm_launch_name *list;
    size_t n;
    const char *server; /* as dm_launch_ask takes it, NULL: none */
};

/* False: it is published already, or there is no memory, or the server does not answer. */
bool dm_launch_names_publish(struct dm_launch_names *names, const char *service, const char *port,
                             int serial);
/* False: it is not published, by this job. */
bool dm_launch_names_unpublish(struct dm_launch_names *names, const char *service, int serial);
/* False: there is none, or it is longer than len bytes. */
bool dm_launch_names_lookup(struct dm_launch_names *names, const char *service, char *port,
                            size_t len);
/* Unpublish what a job has published. */
void dm_launch_names_drop(struct dm_launch_names *names, int serial);
void dm_launch_names_fini(struct dm_launch_names *names);

#endif
