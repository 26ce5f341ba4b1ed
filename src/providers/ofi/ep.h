/*
 * Endpoints. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_EP_H
#define DM_PROVIDERS_OFI_EP_H

#include "providers/net/ep.h"
#include "providers/ofi/ia.h"

struct dm_ofi_rkey;

struct dm_ofi_ep {
    struct dm_net_ep base;     /* recvs: those that are with the fabric, n_recvs */
    bool is_recv_open;         /* receives go to conn->fid now */
    bool is_ack_due;           /* the peer waits for the acknowledgement of a message */
    uint32_t n_unsignalled;    /* slots that only a later request will give back */
    bool must_signal;          /* the next request has to */
    uint32_t n_reads;          /* sent ones that bring data */
    uint32_t n_reads_in_row;   /* reads sent since there was none */
    uint32_t last_id;          /* of a request that is answered by a control message */
    struct dm_list recv_queue; /* receives behind those of recvs */
    struct dm_ofi_rkey *rkeys; /* what is known of the peer's regions, see rkey.c */
    uint32_t n_inval_due;      /* such that are gone, to be acknowledged */
    uint32_t n_inval_unacked;  /* and of ours, to be acknowledged by the peer */
    uint64_t immed_len;        /* of the next write with immediate data, if it is long */
    struct dm_list ctrls;      /* control messages that wait for space: dm_ofi_ctrl_entry */
};

static inline struct dm_ofi_ia *dm_ofi_ia_of(const struct dm_ofi_ep *ep)
{
    return (struct dm_ofi_ia *)ep->base.ep.obj.ia;
}

static inline struct dm_ofi_conn *dm_ofi_ep_conn(const struct dm_ofi_ep *ep)
{
    return (struct dm_ofi_conn *)ep->base.conn;
}

#endif
