/*
 * Starting a rank: its environment, directory, descriptors, cores.
 */
#ifndef DM_TOOLS_MPIEXEC_SPAWN_H
#define DM_TOOLS_MPIEXEC_SPAWN_H

#include <limits.h>
#include <sched.h>

#include "tools/mpiexec/node.h"

/* A program of the job on this host: found once, and what its ranks share. */
struct dm_launch_program {
    char path[PATH_MAX];
    char **argv;
    char *wdir; /* NULL: ours */
    char **env; /* with room for what is a rank's own at its front */
};

/* What a rank gets from its parent. */
struct dm_launch_child {
    const struct dm_launch_program *program;
    int fds[3];             /* standard descriptors; -1: as they are here */
    int pmi_from;           /* its end of the connection, -1: none */
    int pmi_to;             /* and the number under which it finds it */
    int arena;              /* memory that ranks share, inherited under its own number; -1: none */
    const cpu_set_t *cores; /* NULL: all */
    const sigset_t *mask;
    const struct rlimit *files;
    pid_t parent;
};

/* Find the program of an app and make its environment. 0, or an exit status (126, 127, 1), and why
 * (len bytes) says it. */
int dm_launch_program_find(struct dm_launch_program *program, const struct dm_launch_node *node,
                           const struct dm_launch_app *app, char *why, size_t len);
/* Write what is a rank's own into the environment. Valid until the next call. */
void dm_launch_program_identify(struct dm_launch_program *program,
                                const struct dm_launch_rank *rank);
void dm_launch_program_free(struct dm_launch_program *program);
/* Start a process: its number, or -1 with errno; *status_p is the exit status that this stands for.
 */
pid_t dm_launch_spawn(const struct dm_launch_child *child, int *status_p);

#endif
