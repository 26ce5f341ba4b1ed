/*
 * Bulk RDMA beside the pipe; to oneself it is a copy.
 */
#include "channel/channel.h"

#include <string.h>

#include "channel/chan.h"
#include "util/err.h"

int dm_chan_rdma_write(struct dm_chan *chan, int proc, struct dm_rdma *rdma, const void *local,
                       struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    struct dm_conn *conn;

    if (proc == chan->rank) {
        memmove((void *)(uintptr_t)remote, local, len);
        rdma->done(rdma, DM_OK);
        return DM_OK;
    }
    conn = dm_adapt_conn(chan->adapt, proc);
    if (dm_unlikely(conn == NULL))
        return DM_ENOMEM;
    return dm_adapt_rdma_write(conn, rdma, local, mr, remote, rkey, len);
}

int dm_chan_rdma_read(struct dm_chan *chan, int proc, struct dm_rdma *rdma, void *local,
                      struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    struct dm_conn *conn;

    if (proc == chan->rank) {
        memmove(local, (const void *)(uintptr_t)remote, len);
        rdma->done(rdma, DM_OK);
        return DM_OK;
    }
    conn = dm_adapt_conn(chan->adapt, proc);
    if (dm_unlikely(conn == NULL))
        return DM_ENOMEM;
    return dm_adapt_rdma_read(conn, rdma, local, mr, remote, rkey, len);
}

bool dm_chan_prefers_pipe(struct dm_chan *chan, int proc)
{
    struct dm_conn *conn;

    if (proc == chan->rank)
        return true;
    conn = dm_adapt_conn(chan->adapt, proc);
    return conn == NULL || dm_adapt_prefers_pipe(conn);
}
