/*
 * The operations of this provider.
 */
#include "providers/shm/ia.h"

#include "providers/shm/ep.h"
#include "providers/shm/lmr.h"
#include "providers/shm/srq.h"

static const struct dm_prov_ops ops = {
    .ia = {.size = sizeof(struct dm_shm_ia),
           .open = dm_shm_ia_open,
           .start = dm_shm_ia_start,
           .stop = dm_shm_ia_stop,
           .forked = dm_shm_ia_forked,
           .close = dm_shm_ia_close,
           .mem_alloc = dm_shm_mem_alloc,
           .mem_free = dm_shm_mem_free,
           .kick = dm_shm_kick,
           .evd_moved = dm_shm_evd_moved,
           .quiesce = dm_shm_ia_quiesce,
           .poll = dm_shm_poll,
           .deadline = dm_shm_model_deadline,
           .sleep = dm_shm_model_sleep,
           .clock = dm_shm_model_clock,
           .wait = dm_shm_datagram_wait,
           .datagrams = dm_shm_datagrams},
    .ep = {.size = sizeof(struct dm_shm_ep),
           .create = dm_shm_ep_create,
           .destroy = dm_shm_ep_destroy,
           .close = dm_shm_ep_close,
           .refresh = dm_shm_ep_refresh,
           .modified = dm_shm_ep_modified,
           .is_idle = dm_shm_ep_is_idle,
           .n_recvs = dm_shm_ep_n_recvs,
           .set_marks = dm_shm_ep_set_marks,
           .reset = dm_shm_ep_reset,
           .connect = dm_shm_ep_connect,
           .common_connect = dm_shm_ep_common_connect,
           .disconnect = dm_shm_ep_disconnect,
           .has_received = dm_shm_ep_has_received},
    .cm = {.listen = dm_shm_cm_listen,
           .listen_any = dm_shm_cm_listen_any,
           .unlisten = dm_shm_cm_unlisten,
           .accept = dm_shm_cm_accept,
           .reject = dm_shm_cm_reject,
           .is_listening = dm_shm_cm_is_listening,
           .handoff = dm_shm_cm_handoff},
    .mem = {.lmr_size = sizeof(struct dm_shm_lmr),
            .lmr_prepare = dm_shm_lmr_prepare,
            .lmr_register = dm_shm_lmr_register,
            .lmr_hide = dm_shm_lmr_hide,
            .lmr_deregister = dm_shm_lmr_deregister,
            .key_new = dm_shm_key_new,
            .key_free = dm_shm_key_free,
            .rmr_hide = dm_shm_rmr_hide,
            .rmr_shut = dm_shm_rmr_shut},
    .srq = {.size = sizeof(struct dm_shm_srq),
            .create = dm_shm_srq_create,
            .destroy = dm_shm_srq_destroy,
            .count = dm_shm_srq_count,
            .resize = dm_shm_srq_resize,
            .set_low = dm_shm_srq_set_low},
    .post = dm_shm_post,
    .post_send = dm_shm_post_send,
    .post_recv = dm_shm_post_recv,
    .post_rdma_read = dm_shm_post_rdma_read,
    .post_rdma_write = dm_shm_post_rdma_write,
    .srq_post_recv = dm_shm_srq_post_recv,
};

const struct dm_prov_ops *dm_prov_ops_get(void)
{
    return &ops;
}
