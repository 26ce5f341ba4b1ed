/*
 * Rails that come while the job runs: peers are told, each by a packet with the rail's address.
 */
#ifndef DM_CHANNEL_RAILS_H
#define DM_CHANNEL_RAILS_H

#include "channel/chan.h"

/* Register the handler. */
void dm_chan_rails_start(struct dm_chan *chan);
/* Upcall of the adaptation layer: tell all peers. */
void dm_chan_joined(void *arg);
/* Tell this peer of those that have come so far. */
void dm_chan_report_rails(struct dm_chan *chan, struct dm_chan_peer *peer);

#endif
