/*
 * The pipe by send and receive.
 */
#ifndef DM_DAPL_ADAPT_EAGER_SR_H
#define DM_DAPL_ADAPT_EAGER_SR_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/provider/dat.h"

struct dm_conn;
struct dm_ia;
struct dm_rx;

/*
 * Memory for the trailers and the triplets of what is posted, unless it is there; whether records arrive in
 * cells. DM_ENOMEM.
 */
int dm_eager_sr_alloc(struct dm_conn *conn);
/* Can a rail's receives have two parts? */
bool dm_eager_sr_can_split(const struct dm_ia *ia);
/* Allocate that and post all buffers. Lock held. */
int dm_eager_sr_setup(struct dm_conn *conn, DAT_EP_HANDLE ep);
/* Post n slots from `slot` on. */
int dm_eager_sr_post(struct dm_conn *conn, DAT_EP_HANDLE ep, uint32_t slot, uint32_t n);
/* A message of len bytes has arrived in a slot. */
void dm_eager_sr_arrived(struct dm_conn *conn, uint32_t slot, uint32_t len);
/* Where the data of a record of len bytes are that has arrived in a slot. */
char *dm_eager_sr_at(const struct dm_rx *rx, uint32_t slot, uint32_t len);
/* Give a slot back to the endpoint, or to the shared queue. */
int dm_eager_sr_repost(struct dm_conn *conn, uint32_t slot);

#endif
