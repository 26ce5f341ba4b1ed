/*
 * What debuggers have to know of the channel (util/queues.h).
 */
#include "channel/chan.h"
#include "util/queues.h"

const uint32_t dm_chan_queues_at[DM_N_CHAN_AT] = {
    [DM_AT_CHAN_ALL] = DM_AT(struct dm_chan, all, sizeof(void *)),
    [DM_AT_PEER_NEXT] = DM_AT(struct dm_chan_peer, next, sizeof(void *)),
    [DM_AT_PEER_QUEUE] = DM_AT(struct dm_chan_peer, queue.head, sizeof(void *)),
    [DM_AT_SEND_NEXT] = DM_AT(struct dm_chan_send, next, sizeof(void *)),
    [DM_AT_SEND_DONE] = DM_AT(struct dm_chan_send, done, sizeof(void *)),
};
