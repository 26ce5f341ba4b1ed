/*
 * What connections ask of the folders above them: progress, eager and rma hand it down at start.
 * All of it is for what is rare: connecting, failover, loss, a full request queue.
 */
#ifndef DM_DAPL_ADAPT_CORE_OPS_H
#define DM_DAPL_ADAPT_CORE_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"

struct dm_adapt;
struct dm_conn;
struct dm_link;

struct dm_conn_ops {
    /* dm_adapt_serve */
    int (*serve)(struct dm_adapt *adapt);
    /* Rails that come later (open_rails.h): it is time to look for them, perhaps. */
    int (*open_late)(struct dm_adapt *adapt);
    /* Parting (conn/part.h): a connection is to end, has ended, more than one may have to. */
    void (*part_begin)(struct dm_conn *conn);
    void (*part_left)(struct dm_conn *conn);
    void (*part_hurry)(struct dm_adapt *adapt);
    /* Take completions off the rails' queues (no upcalls); returns how many. */
    int (*drain)(struct dm_adapt *adapt);
    /* The same for all that was there when it was called. */
    void (*drain_all)(struct dm_adapt *adapt);
    /* The pipe's receiving side, before the peer can send. Lock held, or the main thread. */
    int (*pipe_prepare)(struct dm_conn *conn, DAT_EP_HANDLE ep);
    /* The pipe is established, for the first time or in a later epoch. */
    int (*pipe_up)(struct dm_conn *conn);
    /* Records of the peer that are here without a gap, since the processes met. */
    uint32_t (*pipe_arrived)(const struct dm_conn *conn);
    /* Post what is queued on an RDMA link. */
    void (*rdma_push)(struct dm_conn *conn, struct dm_rdmaq *rdmaq);
    /* Tell the peer that nothing more will come. False: not now, try again. */
    bool (*pipe_part)(struct dm_conn *conn);
    /* The endpoint is gone: what was posted and not done is queued again, on `to`. */
    void (*rdma_requeue)(struct dm_conn *conn, struct dm_rdmaq *rdmaq, struct dm_rdmaq *to);
    /* Is anything queued on any link? */
    bool (*rdma_is_wanted)(const struct dm_conn *conn);
    /* Does what is queued wait for a rail that reaches the memory? */
    bool (*rdma_is_starved)(const struct dm_conn *conn);
    /* Is nothing queued or posted on any link, nor expected from the peer? */
    bool (*rdma_is_idle)(const struct dm_conn *conn);
    /* What is queued ends with the error that the connection is lost by. */
    void (*rdma_fail)(struct dm_conn *conn);
    /* An extra RDMA link broke, or could not be made: others take its work. */
    void (*rdma_break)(struct dm_link *link);
};

#endif
