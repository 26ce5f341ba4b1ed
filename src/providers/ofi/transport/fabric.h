/*
 * What libfabric gives an instance: the fabric, its queues, the interface it is on. And the context
 * of a request.
 */
#ifndef DM_PROVIDERS_OFI_TRANSPORT_FABRIC_H
#define DM_PROVIDERS_OFI_TRANSPORT_FABRIC_H

#include <net/if.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "providers/common/common.h"

struct dm_ofi_ia;

struct dm_ofi_fabric {
    char prov[32];
    struct fi_info *info;
    struct fid_fabric *fid;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    int cq_fd;
    int eq_fd;
    bool is_split; /* 8 last bytes are a part of their own: the fabric's
                    * memory is filled by a processor, in order */
};

/* What happened to a request of the fabric. */
struct dm_ofi_done {
    int err; /* 0, or FI_E... */
    uint64_t flags;
    size_t len;    /* of a receive */
    uint64_t data; /* of a receive with FI_REMOTE_CQ_DATA */
};

/* The context of every request to the fabric: the first member of whatever
 * waits for it. After fi_close() of the endpoint all that was outstanding is
 * still reported, as FI_ECANCELED. */
struct dm_ofi_ctx {
    struct fi_context2 fi; /* the fabric's, where it wants one */
    void (*done)(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done);
};

/* Open what the parameters ask for; closed by dm_ofi_fabric_close(). */
DAT_RETURN dm_ofi_fabric_open(struct dm_ofi_ia *ia);
void dm_ofi_fabric_close(struct dm_ofi_ia *ia);
/* Have libfabric set itself up for this fabric, fast; load.c. */
void dm_ofi_load(const char *prov);
#endif
