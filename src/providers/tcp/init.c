/*
 * The operations of this provider.
 */
#include "providers/tcp/ops.h"

#include "providers/net/key.h"
#include "providers/tcp/ep.h"
#include "providers/tcp/srq.h"

static const struct dm_prov_ops ops = {
    .ia = {.size = sizeof(struct dm_tcp_ia),
           .open = dm_tcp_ia_open,
           .start = dm_tcp_ia_start,
           .disconnect = dm_tcp_ia_disconnect,
           .stop = dm_tcp_ia_stop,
           .close = dm_tcp_ia_close,
           .reap = dm_tcp_ia_reap,
           .mem_alloc = dm_net_mem_alloc,
           .mem_free = dm_net_mem_free,
           .kick = dm_net_kick,
           .poll = dm_net_poll,
           .sleep = dm_net_sleep},
    .ep = {.size = sizeof(struct dm_tcp_ep),
           .create = dm_tcp_ep_create,
           .destroy = dm_tcp_ep_destroy,
           .modified = dm_tcp_ep_modified,
           .is_idle = dm_tcp_ep_is_idle,
           .n_recvs = dm_tcp_ep_n_recvs,
           .set_marks = dm_tcp_ep_set_marks,
           .reset = dm_tcp_ep_reset,
           .connect = dm_tcp_ep_connect,
           .disconnect = dm_tcp_ep_disconnect},
    .cm = {.listen = dm_tcp_cm_listen,
           .listen_any = dm_tcp_cm_listen_any,
           .unlisten = dm_tcp_cm_unlisten,
           .accept = dm_tcp_cm_accept,
           .reject = dm_tcp_cm_reject,
           .is_listening = dm_tcp_cm_is_listening,
           .handoff = dm_tcp_cm_handoff},
    .mem = {.lmr_size = sizeof(struct dm_lmr),
            .lmr_register = dm_net_lmr_register,
            .lmr_hide = dm_tcp_lmr_hide,
            .lmr_deregister = dm_net_lmr_deregister,
            .key_new = dm_net_key_new,
            .key_free = dm_net_key_free,
            .rmr_hide = dm_net_rmr_hide,
            .rmr_shut = dm_net_rmr_shut},
    .srq = {.size = sizeof(struct dm_tcp_srq),
            .create = dm_tcp_srq_create,
            .destroy = dm_tcp_srq_destroy,
            .count = dm_tcp_srq_count,
            .resize = dm_tcp_srq_resize,
            .set_low = dm_tcp_srq_set_low},
    .post = dm_tcp_post,
    .post_send = dm_tcp_post_send,
    .post_recv = dm_tcp_post_recv,
    .post_rdma_read = dm_tcp_post_rdma_read,
    .post_rdma_write = dm_tcp_post_rdma_write,
    .srq_post_recv = dm_tcp_srq_post_recv,
};

const struct dm_prov_ops *dm_prov_ops_get(void)
{
    return &ops;
}
