/*
 * Agreement on the context id of a new communicator.
 */
#ifndef DM_MPI_COMM_AGREE_H
#define DM_MPI_COMM_AGREE_H

#include "mpi/core/core.h"

/* Who takes part. */
struct dm_comm_circle {
    struct dm_comm *comm; /* all its ranks, both groups of an intercommunicator; */
    const int *ranks;     /* or these n of them, in this order */
    int n;
    int me;               /* which of them I am */
    int tag;              /* tells concurrent agreements over comm apart */
    struct dm_comm *peer; /* comm's ranks and the group of rank peer_rank of this communicator, */
    int peer_rank;        /* where `leader` of comm talks to it; or NULL */
    int leader;
    bool is_bridge; /* peer is to be used, whatever it is at this rank */
};

/*
 * Agree on an id that is free in every process of the circle and take it; the caller
 * gives it back by dm_ctx_put if it makes no communicator. Collective. DM_ERR_OTHER when
 * there is none.
 */
int dm_comm_agree(const struct dm_comm_circle *circle, uint32_t *ctx_p);
/* The same over all ranks of comm. */
int dm_comm_agree_all(struct dm_comm *comm, uint32_t *ctx_p);

#endif
