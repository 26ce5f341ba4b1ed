/*
 * The protocol split, for the table in rndv_proto.c.
 */
#ifndef DM_MPI_PT2PT_RNDV_SPLIT_H
#define DM_MPI_PT2PT_RNDV_SPLIT_H

#include "mpi/pt2pt/p2p.h"

/* At the receiver: give the sender a part. False: the buffer cannot be registered. */
bool dm_p2p_split_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts);
/*
 * At the receiver, of a message that is offered to be read: the same if the sender waits; else read, and let it
 * help if it comes to wait. False: not worth it, or not possible.
 */
bool dm_p2p_split_begin(struct dm_p2p_req *r, const struct dm_p2p_rts *rts);
/* At the receiver: one of r->rndv.n_parts is there, or failed. */
void dm_p2p_split_step(struct dm_p2p_req *r, int err);
/* At the sender: a CTS with a part, or an invitation, has come. */
void dm_p2p_split_send(struct dm_p2p_req *r);
/* Register the handler of HELP. */
void dm_p2p_split_listen(void);

#endif
