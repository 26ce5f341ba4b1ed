/*
 * The sending side of the pipe as plain bytes: no packets, no queue.
 */
#include "channel/channel.h"

#include "channel/chan.h"
#include "util/err.h"

int dm_chan_put(struct dm_chan *chan, int proc, const struct iovec *iov, int n_iov, size_t *taken_p)
{
    struct dm_chan_peer *peer = dm_chan_peer(chan, proc);

    *taken_p = 0;
    if (peer == NULL)
        return DM_ENOMEM;
    if (peer->is_lost)
        return DM_EPEER;
    if (peer->conn == NULL)
        return dm_chan_self_put(chan, iov, n_iov, taken_p);
    return dm_adapt_eager_put(peer->conn, iov, n_iov, taken_p);
}
