/*
 * The DAT provider over libfabric's connected endpoints: an adapter instance of one process.
 *
 * Locks: ia->net.pia.lock guards everything, the fabric's calls included (they are
 * asked for without locks of their own); no call sleeps while it is held. Only
 * the queue of events is outside of it. Consumers' polls, waiting threads and
 * the progress thread drive the fabric, whoever has the lock.
 *
 * Completions come through done() of the request's context, with the lock held
 * and from dm_ofi_read_cq() alone. There an endpoint must not be closed: what
 * ends a connection from within calls dm_net_conn_fail(), and the rest is done
 * after the queue of completions has been read.
 *
 * ia_params: those of net.h, and
 *   prov=tcp       libfabric's provider
 */
#ifndef DM_PROVIDERS_OFI_IA_H
#define DM_PROVIDERS_OFI_IA_H

#include "providers/net/net.h"
#include "providers/ofi/ops.h"
#include "providers/ofi/transport/fabric.h"

struct dm_ofi_conn;

/* Connections by number: index, and a generation. */
struct dm_ofi_conn_numbers {
    struct dm_ofi_conn **conns;
    uint32_t n;
    uint32_t last; /* the index given last, and a count of them */
    uint32_t gen;
};

struct dm_ofi_ia {
    struct dm_net net;
    struct dm_ofi_fabric fabric;
    uint64_t secret;  /* of tokens */
    uint32_t n_sinks; /* made so far */
    struct dm_ofi_conn_numbers numbers;
    int sock_hint;
    char *excess; /* where what is too long for a receive goes; mapped */
};

/* The upper half of the fabric's 64-bit keys: of a zone's memory, of the control rings, of
 * what only one endpoint may use. Peers learn whole keys, by asking (rkey.c). */
uint32_t dm_ofi_pz_token(const struct dm_ofi_ia *ia, const struct dm_pz *pz);
uint32_t dm_ofi_ctrl_token(const struct dm_ofi_ia *ia);
uint32_t dm_ofi_ep_token(const struct dm_ofi_ia *ia, const struct dm_ep *ep);

#endif
