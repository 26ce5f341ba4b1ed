/*
 * How the data of a rendezvous move: the protocols of util/rndv.h. For rndv.c, which announces
 * messages and matches the announcements.
 */
#ifndef DM_MPI_PT2PT_RNDV_PROTO_H
#define DM_MPI_PT2PT_RNDV_PROTO_H

#include "mpi/pt2pt/p2p.h"

/* At the sender: complete an RTS, whose first_len is set, with the protocol that is offered. */
void dm_p2p_rndv_offer(struct dm_p2p_req *r, struct dm_p2p_rts *rts);
/* At the receiver: get what the RTS has not brought, as it is offered or through the pipe. */
void dm_p2p_rndv_fetch(struct dm_p2p_req *r, const struct dm_p2p_rts *rts);
/* Send a FIN: the peer's request is done. */
void dm_p2p_rndv_fin(struct dm_p2p_req *r);
/* Send FIN or HELP with these flags to the peer's request. */
void dm_p2p_rndv_answer(struct dm_p2p_req *r, unsigned type, unsigned flags);
/* At the receiver: send a CTS; where: NULL for the pipe. */
void dm_p2p_rndv_cts(struct dm_p2p_req *r, const struct dm_p2p_cts *where);
/* At the receiver: register the buffer, and say where it is. False: it cannot be. */
bool dm_p2p_rndv_describe(struct dm_p2p_req *r, struct dm_p2p_cts *where);
/* Register the handlers of CTS, DATA and FIN. */
void dm_p2p_rndv_proto_start(void);

#endif
