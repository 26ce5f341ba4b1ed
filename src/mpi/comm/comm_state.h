/*
 * What communicator creation keeps: the agreements that threads of this process are in.
 */
#ifndef DM_MPI_COMM_COMM_STATE_H
#define DM_MPI_COMM_COMM_STATE_H

#include "util/list.h"

struct dm_comm_state {
    struct dm_list agreements;
    void *owner; /* the agreement that has offered the mask of free ids, or NULL */
};
extern struct dm_comm_state dm_comm_state;

#endif
