/*
 * What communicator creation keeps: the agreements that threads of this process are in.
 */
#ifndef DM_MPI_COMM_COMM_STATE_H
#define DM_MPI_COMM_COMM_STATE_H

#include "channel/channel.h"
#include "util/list.h"

struct dm_comm_state {
    struct dm_list agreements;
    void *owner;              /* the agreement that has offered the mask of ids, or NULL */
    int n_idups;              /* agreements that are not blocking, */
    struct dm_list retries;   /* those that need another round, */
    struct dm_chan_hook hook; /* which they get from here */
};
extern struct dm_comm_state dm_comm_state;

#endif
