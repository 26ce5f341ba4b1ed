/*
 * The operations of this provider.
 */
#include "providers/ofi/ops.h"

#include "providers/net/key.h"
#include "providers/ofi/ep.h"
#include "providers/ofi/srq.h"

static const struct dm_prov_ops ops = {
    .ia = {.size = sizeof(struct dm_ofi_ia),
           .open = dm_ofi_ia_open,
           .start = dm_ofi_ia_start,
           .disconnect = dm_ofi_ia_disconnect,
           .stop = dm_ofi_ia_stop,
           .close = dm_ofi_ia_close,
           .reap = dm_ofi_ia_reap,
           .mem_alloc = dm_net_mem_alloc,
           .mem_free = dm_net_mem_free,
           .kick = dm_net_kick,
           .poll = dm_net_poll,
           .sleep = dm_net_sleep},
    .ep = {.size = sizeof(struct dm_ofi_ep),
           .create = dm_ofi_ep_create,
           .destroy = dm_ofi_ep_destroy,
           .modified = dm_ofi_ep_modified,
           .is_idle = dm_ofi_ep_is_idle,
           .n_recvs = dm_ofi_ep_n_recvs,
           .set_marks = dm_ofi_ep_set_marks,
           .reset = dm_ofi_ep_reset,
           .connect = dm_ofi_ep_connect,
           .disconnect = dm_ofi_ep_disconnect},
    .cm = {.listen = dm_ofi_cm_listen,
           .listen_any = dm_ofi_cm_listen_any,
           .unlisten = dm_ofi_cm_unlisten,
           .accept = dm_ofi_cm_accept,
           .reject = dm_ofi_cm_reject,
           .is_listening = dm_ofi_cm_is_listening,
           .handoff = dm_ofi_cm_handoff},
    .mem = {.lmr_size = sizeof(struct dm_lmr),
            .lmr_register = dm_net_lmr_register,
            .lmr_hide = dm_ofi_lmr_hide,
            .lmr_deregister = dm_net_lmr_deregister,
            .key_new = dm_net_key_new,
            .key_free = dm_net_key_free,
            .rmr_hide = dm_net_rmr_hide,
            .rmr_shut = dm_net_rmr_shut},
    .srq = {.size = sizeof(struct dm_ofi_srq),
            .create = dm_ofi_srq_create,
            .destroy = dm_ofi_srq_destroy,
            .count = dm_ofi_srq_count,
            .resize = dm_ofi_srq_resize,
            .set_low = dm_ofi_srq_set_low},
    .post = dm_ofi_post,
    .post_send = dm_ofi_post_send,
    .post_recv = dm_ofi_post_recv,
    .post_rdma_read = dm_ofi_post_rdma_read,
    .post_rdma_write = dm_ofi_post_rdma_write,
    .srq_post_recv = dm_ofi_srq_post_recv,
};

const struct dm_prov_ops *dm_prov_ops_get(void)
{
    return &ops;
}
