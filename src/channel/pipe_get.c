/*
 * The receiving side of the pipe as plain bytes: copies out of the records. Packets are
 * parsed in place instead (packet.c); where handlers are registered, nothing is left here.
 */
#include "channel/channel.h"

#include <string.h>

#include "channel/chan.h"
#include "util/err.h"
#include "util/copy.h"

int dm_chan_get(struct dm_chan *chan, int proc, const struct iovec *iov, int n_iov, size_t *got_p)
{
    struct dm_chan_peer *peer = dm_chan_peer(chan, proc);
    size_t got = 0, space = 0;
    int i = -1;

    *got_p = 0;
    if (peer == NULL)
        return DM_ENOMEM;
    if (peer->conn == NULL)
        return dm_chan_self_get(chan, iov, n_iov, got_p);
    for (;;) {
        const void *data;
        size_t len;

        while (space == 0 && ++i < n_iov)
            space = iov[i].iov_len;
        if (space == 0)
            break;
        len = dm_adapt_eager_peek(peer->conn, &data);
        if (len == 0)
            break;
        if (len > space)
            len = space;
        dm_copy((char *)iov[i].iov_base + (iov[i].iov_len - space), data, len);
        dm_adapt_eager_consume(peer->conn, len);
        space -= len;
        got += len;
    }
    *got_p = got;
    return got == 0 && peer->is_lost ? DM_EPEER : DM_OK;
}
