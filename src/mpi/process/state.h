/*
 * What the files of src/mpi/process share.
 */
#ifndef DM_MPI_PROCESS_STATE_H
#define DM_MPI_PROCESS_STATE_H

#include "mpi/process/handshake.h"
#include "mpi/process/handshake_pkt.h"
#include "pmi/pmi.h"

struct dm_process_state {
    struct dm_handshake_lists lists; /* set up by dm_handshake_start */
    struct dm_pmi *pmi;
    struct dm_comm *parent; /* MPI_Comm_get_parent; no reference: its end sets it to NULL */
};
extern struct dm_process_state dm_process_state;

/*
 * All ranks of comm learn how it went at the root: err there, which becomes everybody's, with its
 * text. n further ints are the root's, too.
 */
int dm_process_report(struct dm_comm *comm, int root, int err, int n, int *values);
/* An intracommunicator is needed. */
int dm_process_check_comm(const struct dm_comm *comm);
/*
 * The intercommunicator that a bridge at the root is for; err: how the bridge went there. The
 * bridge ends. Collective over comm and its like at the other side.
 */
int dm_process_join_groups(struct dm_comm *comm, int root, int err, struct dm_bridge *bridge,
                           struct dm_comm **comm_p);
/* An info object that counts at the root only, NULL for MPI_INFO_NULL. DM_ERR_INFO. */
int dm_process_check_info(MPI_Info handle, struct dm_info **info_p);

/* Notify the launcher which jobs this process is connected with, and is to end with. */
void dm_jobs_start(void);
/* The communicators of new connections are made: their error handlers count from now on. */
void dm_jobs_review(void);
void dm_jobs_stop(void);

#endif
