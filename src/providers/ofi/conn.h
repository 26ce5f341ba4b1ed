/*
 * Connections: one fid_ep each, from fi_connect or fi_accept to the end. ia->lock is held in all
 * functions.
 */
#ifndef DM_PROVIDERS_OFI_CONN_H
#define DM_PROVIDERS_OFI_CONN_H

#include "providers/net/conn.h"
#include "providers/ofi/ep.h"
#include "providers/ofi/wire.h"

/* What is longer than the shortest of the other side's receives asks first. */
struct dm_ofi_min_recv {
    uint64_t peer;
    uint64_t own;        /* the shortest of ours, or less, */
    uint64_t reported;   /* and what the peer knows of it */
    uint32_t n;          /* receives of this length with the fabric; 0: look again */
    bool is_peer_asking; /* since it was reported */
};

/* Control messages, see ctrl.h. */
struct dm_ofi_ctrl_link {
    struct fid_mr *mr;
    uint64_t key;
    uint64_t peer_addr; /* address and key of the peer's ring */
    uint64_t peer_key;
    struct dm_ofi_ctrl *ring;   /* what the peer writes to */
    struct dm_ofi_ctrl *copies; /* of what goes behind data; NULL: none yet */
    uint32_t n_sent;
    uint32_t n_acked;
    uint32_t n_read;
    uint32_t n_reported;
};

/* Writes whose end the fabric does not report: it may still read their memory. An empty write
 * behind them that is reported shows that they are done (lmr.c). */
struct dm_ofi_unsignalled {
    bool is_any;
    bool is_flushing; /* the empty write is on its way */
    struct dm_ofi_ctx ctx;
};

struct dm_ofi_conn {
    struct dm_net_conn base; /* sock: the fabric's */
    struct fid_ep *fid;
    uint32_t number;              /* ours, in ia->numbers */
    uint32_t peer_number;         /* how the peer knows it: in CQ data to it */
    bool is_shutdown;             /* FI_SHUTDOWN has come */
    bool is_asked;                /* the peer has begun a request */
    uint32_t cqdata_due;          /* bits 1 << kind, to be sent when there is space */
    struct dm_ofi_ctx cqdata_ctx; /* of CQ data and control messages; nobody waits for them */
    struct dm_ofi_min_recv min_recv;
    struct dm_ofi_ctrl_link ctrl;
    struct dm_ofi_unsignalled unsignalled;
};

static inline struct dm_ofi_ia *dm_ofi_conn_ia(const struct dm_ofi_conn *conn)
{
    return (struct dm_ofi_ia *)conn->base.net;
}

static inline struct dm_ofi_ep *dm_ofi_conn_ep(const struct dm_ofi_conn *conn)
{
    return (struct dm_ofi_ep *)conn->base.ep;
}

/* The one with this number; NULL: it is gone. */
struct dm_ofi_conn *dm_ofi_conn_by_number(struct dm_ofi_ia *ia, uint32_t number);

/* ---- what the fabric says of connections ---- */

void dm_ofi_conn_connected(struct dm_ofi_conn *conn);
void dm_ofi_conn_shutdown(struct dm_ofi_conn *conn);
/* err: FI_E... */
void dm_ofi_conn_error(struct dm_ofi_conn *conn, int err);
/* Somebody connects to the passive endpoint fid: info is taken over. */
void dm_ofi_conn_incoming(struct dm_ofi_ia *ia, const struct fid *fid, struct fi_info *info,
                          const void *data, size_t len);
/* A message of the handshake has come. */
void dm_ofi_conn_greeted(struct dm_ofi_conn *conn, const struct dm_ofi_handshake *handshake);

#endif
