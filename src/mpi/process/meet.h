/*
 * Two processes meet at a port: what ends in a bridge, an intercommunicator of just these two.
 */
#ifndef DM_MPI_PROCESS_MEET_H
#define DM_MPI_PROCESS_MEET_H

#include "mpi/core/core.h"

/* How long to wait for the other one. */
struct dm_meet_wait {
    uint64_t until;             /* time of dm_clock_ns, UINT64_MAX: for ever */
    bool (*is_over)(void *arg); /* asked now and then: shall the wait end? NULL: no */
    void *arg;
};

/* A bridge to the other process. */
struct dm_meeting {
    struct dm_comm *bridge; /* the other one is rank 0 of its remote group; no error handler */
    int tag;                /* that both know, and that no other meeting of either has now */
};

void dm_meet_start(void);
void dm_meet_stop(void);

/* A port of this process: opens what is needed for others to connect. */
int dm_meet_open(char name[MPI_MAX_PORT_NAME]);
int dm_meet_close(const char *name);

/*
 * Wait for somebody at a port of this process, or go to a port of another one. The caller ends
 * with dm_meet_part. DM_ERR_PORT when there is no such port (any more) or nobody has come in time,
 * DM_EAGAIN when is_over said so.
 */
int dm_meet_accept(const char *name, const struct dm_meet_wait *wait, struct dm_meeting *meeting_p);
int dm_meet_connect(const char *name, const struct dm_meet_wait *wait,
                    struct dm_meeting *meeting_p);
void dm_meet_part(struct dm_meeting *meeting);

#endif
