/*
 * The hosts of a job, and which rank runs on which.
 */
#ifndef DM_TOOLS_MPIEXEC_PLACEMENT_H
#define DM_TOOLS_MPIEXEC_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/mpiexec/options.h"

struct dm_launch_host {
    char *name;
    int slots; /* 0: not said */
};

struct dm_launch_place {
    struct dm_launch_host *hosts; /* all that are named; ranks may be on some of them only */
    int n_hosts;
    int n_common; /* of them, the first ones: for programs that have no hosts of their own */
    int n_ranks;
    int *host_of; /* n_ranks; indices of hosts */
    int *app_of;  /* n_ranks */
};

/* Add the hosts of a text NAME[:SLOTS][,...]. False: reported. */
bool dm_launch_place_hosts(struct dm_launch_place *place, const char *text);
/* Add those of a file: lines NAME[:SLOTS] or NAME slots=N, # begins a comment. False: reported. */
bool dm_launch_place_hostfile(struct dm_launch_place *place, const char *path);
/*
 * Add those that a resource manager has given to this job (Slurm, PBS, LSF, Grid Engine). False:
 * reported; without one, there are none.
 */
bool dm_launch_place_resources(struct dm_launch_place *place);
/* Add the hosts that programs have of their own, but those that are there. False: reported. */
bool dm_launch_place_programs(struct dm_launch_place *place,
                              const struct dm_launch_options *options);
/*
 * Put the ranks of the programs on their own hosts, or on all, of which there is at least one: -ppn,
 * or as many as its slots, on each in turn, or one with -map-by node. False: reported, or no memory.
 */
bool dm_launch_place_ranks(struct dm_launch_place *place, const struct dm_launch_options *options);
/* The process mapping as PMI spells it; false: it does not fit. */
bool dm_launch_place_mapping(const struct dm_launch_place *place, char *text, size_t len);
/* Has this host any ranks? */
bool dm_launch_place_is_used(const struct dm_launch_place *place, int host);
/* Has this host an address? */
bool dm_launch_place_exists(const char *name);
/* Is this host the one that we are on? */
bool dm_launch_place_is_here(const char *name);
void dm_launch_place_free(struct dm_launch_place *place);

#endif
