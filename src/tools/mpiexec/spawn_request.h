/*
 * A request of PMI-1 to start processes: blocks of lines, one for each program, the last of which
 * counts.
 *
 *     mcmd=spawn
 *     nprocs=2
 *     execname=worker
 *     totspawns=1
 *     spawnssofar=1
 *     arg1=-v
 *     argcnt=1
 *     preput_num=1
 *     preput_key_0=K
 *     preput_val_0=V
 *     info_num=1
 *     info_key_0=wdir
 *     info_val_0=/tmp
 *     endcmd
 *
 * Datum's client says is_escaped=1 in front: values are escaped words then (dm_pmi_wire_escape),
 * and more=TEXT goes on with the value before. own=NUMBER is what it calls its job.
 */
#ifndef DM_TOOLS_MPIEXEC_SPAWN_REQUEST_H
#define DM_TOOLS_MPIEXEC_SPAWN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/mpiexec/options.h"

struct dm_launch_request_app {
    int n;
    char *command;
    struct dm_launch_list args;
    struct dm_launch_list keys; /* of the info, in order; as many values */
    struct dm_launch_list values;
};

struct dm_launch_request {
    struct dm_launch_request_app *apps;
    size_t n_apps;
    struct dm_launch_list keys; /* pairs for the new job's space; as many values */
    struct dm_launch_list values;
    uint64_t own; /* 0: not said */
    int n_total;  /* programs that will come */
    int n_sofar;
    bool is_escaped;
    size_t len;      /* bytes of all texts */
    char **last;     /* the value that more= goes on with, */
    size_t last_len; /* its length, */
    size_t last_max; /* and the bytes there for it */
    const char *why; /* what is wrong with it, NULL: nothing */
};

/*
 * Take a line of a block, of which the first, mcmd=spawn, has been seen. True: the request is
 * whole, and good unless why is set.
 */
bool dm_launch_request_line(struct dm_launch_request *request, const char *line);
/* The info's value of a key, NULL: it has none. */
const char *dm_launch_request_info(const struct dm_launch_request_app *app, const char *key);
void dm_launch_request_free(struct dm_launch_request *request);

#endif
