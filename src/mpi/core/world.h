/*
 * What this process knows of its job. Processes of other jobs that it has met have numbers, too; those
 * are its own and mean nothing to others.
 */
#ifndef DM_MPI_CORE_WORLD_H
#define DM_MPI_CORE_WORLD_H

#include "channel/channel.h"

struct dm_comm; /* comm_obj.h */

/* What one process knows; the one struct of the MPI layer that everybody reads (core.c). */
struct dm_world {
    struct dm_chan *chan;
    struct dm_comm *comm_world;
    struct dm_comm *comm_self;
    struct dm_comm *comm_hidden; /* like the world, for agreements among groups; has no handle */
    int rank;                    /* process number in the job */
    int size;
    int state; /* enum dm_world_state */
    int thread_level;
    int appnum;        /* MPI_APPNUM, -1 when the launcher does not say */
    int universe_size; /* MPI_UNIVERSE_SIZE, likewise */
    const char *(*host_of)(void *arg, int proc);
    void *host_arg;
    void (*abort)(void *arg, int code, const char *text); /* ends the job, does not return */
    void *abort_arg;
    /* The references of groups to a process of another job become n more; or NULL. */
    void (*count_foreign)(int proc, int n);
    /* The same of communicators that end this job when the process is lost; or NULL. */
    void (*count_fatal)(int proc, int n);
};
/* Idle: up, but neither the world model nor a session is there to use it. */
enum dm_world_state { DM_WORLD_BEFORE, DM_WORLD_UP, DM_WORLD_IDLE, DM_WORLD_DONE };
extern struct dm_world dm_world;

/* Is a process of another job? Its number is above those of this one's. */
static inline bool dm_world_is_foreign(int proc)
{
    return proc >= dm_world.size;
}
/*
 * Nothing will come from a process any more: it is lost, or it is of another job and has called
 * MPI_Finalize while there are still communicators with it here.
 */
static inline bool dm_world_is_gone(int proc)
{
    return dm_chan_is_lost(dm_world.chan, proc) ||
           (dm_world_is_foreign(proc) &&
            dm_adapt_proc_has_ended(dm_chan_adapt(dm_world.chan), proc));
}
/* Make progress until *n_pending is 0: the one waiting loop of blocking calls. */
static inline void dm_wait_for(const int *n_pending)
{
    if (*n_pending != 0)
        dm_chan_wait(dm_world.chan, n_pending);
}

#endif
