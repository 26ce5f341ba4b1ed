/*
 * What providers over networks have in common of struct dm_prov_ops: the beginning of the
 * initializer; each adds its own sizes, and ia.open, ia.close, ep.is_idle and mem.lmr_hide.
 */
#ifndef DM_PROVIDERS_NET_PROV_OPS_H
#define DM_PROVIDERS_NET_PROV_OPS_H

#include "providers/common/provider.h"
#include "providers/net/conn.h"
#include "providers/net/key.h"
#include "providers/net/srq.h"

/* clang-format off */
#define DM_NET_PROV_OPS \
    .ia = {.start = dm_net_start, \
           .disconnect = dm_net_conns_disconnect, \
           .stop = dm_net_stop, \
           .reap = dm_net_reap, \
           .forked = dm_net_forked, \
           .mem_alloc = dm_net_mem_alloc, \
           .mem_free = dm_net_mem_free, \
           .kick = dm_net_kick, \
           .poll = dm_net_poll, \
           .sleep = dm_net_sleep}, \
    .ep = {.create = dm_net_ep_create, \
           .destroy = dm_net_ep_destroy, \
           .modified = dm_net_ep_modified, \
           .n_recvs = dm_net_ep_n_recvs, \
           .set_marks = dm_net_ep_set_marks, \
           .reset = dm_net_ep_reset, \
           .connect = dm_net_ep_connect, \
           .disconnect = dm_net_ep_disconnect}, \
    .cm = {.listen = dm_net_cm_listen, \
           .listen_any = dm_net_cm_listen_any, \
           .unlisten = dm_net_cm_unlisten, \
           .accept = dm_net_cm_accept, \
           .reject = dm_net_cm_reject, \
           .is_listening = dm_net_cm_is_listening, \
           .handoff = dm_net_cm_handoff}, \
    .mem = {.lmr_size = sizeof(struct dm_lmr), \
            .lmr_register = dm_net_lmr_register, \
            .lmr_deregister = dm_net_lmr_deregister, \
            .key_new = dm_net_key_new, \
            .key_free = dm_net_key_free, \
            .rmr_hide = dm_net_rmr_hide, \
            .rmr_shut = dm_net_rmr_shut}, \
    .srq = {.size = sizeof(struct dm_net_srq), \
            .create = dm_net_srq_create, \
            .destroy = dm_net_srq_destroy, \
            .count = dm_net_srq_count, \
            .resize = dm_net_srq_resize, \
            .set_low = dm_net_srq_set_low}, \
    .post = dm_net_post, \
    .post_send = dm_net_post_send, \
    .post_recv = dm_net_post_recv, \
    .post_rdma_read = dm_net_post_rdma_read, \
    .post_rdma_write = dm_net_post_rdma_write, \
    .srq_post_recv = dm_net_srq_post_recv
/* clang-format on */

#endif
