/*
 * Two processes connect by a port: what ends in a bridge, an intercommunicator of just these two.
 */
#ifndef DM_MPI_PROCESS_HANDSHAKE_H
#define DM_MPI_PROCESS_HANDSHAKE_H

#include "mpi/core/core.h"

/* How long to wait for the other one. */
struct dm_handshake_wait {
    uint64_t until;             /* time of dm_clock_ns, UINT64_MAX: for ever */
    bool (*is_over)(void *arg); /* asked now and then: shall the wait end? NULL: no */
    void *arg;
};

/* A bridge to the other process. */
struct dm_bridge {
    struct dm_comm *comm; /* the other one is rank 0 of its remote group; no error handler */
    int tag;              /* that both know, and that no other bridge of either has now */
};

void dm_handshake_start(void);
void dm_handshake_stop(void);

/* A port of this process: opens what is needed for others to connect. */
int dm_handshake_open(char name[MPI_MAX_PORT_NAME]);
int dm_handshake_close(const char *name);

/*
 * Wait for somebody at a port of this process, or go to a port of another one. The caller ends
 * with dm_handshake_part. DM_ERR_PORT when there is no such port (any more) or nobody has come in time,
 * DM_EAGAIN when is_over said so.
 */
int dm_handshake_accept(const char *name, const struct dm_handshake_wait *wait,
                        struct dm_bridge *bridge_p);
int dm_handshake_connect(const char *name, const struct dm_handshake_wait *wait,
                         struct dm_bridge *bridge_p);
void dm_handshake_part(struct dm_bridge *bridge);

#endif
