/*
 * Starting RDMA transfers.
 */
#include "dapl_adapt/rma/rma.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/rdma.h"
#include "dapl_adapt/public/types.h"
#include "dapl_adapt/rma/value.h"
#include "dapl_adapt/rma/rdmaq.h"
#include "dapl_adapt/rma/stripe.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/port.h"

void dm_rdma_fail(struct dm_conn *conn)
{
    dm_rdmaq_fail(conn);
    dm_value_fail(conn);
}

static int rdma_start(struct dm_conn *conn, struct dm_rdma *rdma, void *local, struct dm_mr *mr,
                      uint64_t remote, const struct dm_rkey *rkey, size_t len, bool is_read,
                      const uint32_t *value)
{
    struct dm_adapt *adapt = conn->adapt;
    int err;

    rdma->next = NULL;
    rdma->conn = conn;
    rdma->mr = mr;
    rdma->owns_mr = false;
    rdma->local = (uint64_t)(uintptr_t)local;
    rdma->remote = remote;
    rdma->rkey = *rkey;
    rdma->left = len;
    rdma->n_posted = 0;
    rdma->err = DM_OK;
    rdma->is_read = is_read;
    rdma->end = value == NULL                     ? DM_RDMA_END_NONE
                : dm_cfg()->fin == DM_FIN_CHAINED ? DM_RDMA_END_MESSAGE
                                                  : DM_RDMA_END_VALUE;
    rdma->value = value != NULL ? *value : 0;
    rdma->is_atomic = false;
    rdma->is_queued = false;
    rdma->stripes = NULL;
    if (dm_conn_is_lost(conn))
        return DM_EPEER;
    if (len == 0) {
        rdma->done(rdma, DM_OK);
        return DM_OK;
    }
    err = dm_conn_want_links(conn);
    if (err != DM_OK)
        return err;
    if (mr == NULL) {
        err = dm_adapt_reg(adapt, local, len, &rdma->mr);
        if (err != DM_OK)
            return err;
        rdma->owns_mr = true;
    }
    if (dm_likely(len < 2 * dm_cfg()->stripe || adapt->rails.n_ias == 1) || value != NULL ||
        !dm_stripe_start(conn, rdma))
        dm_rdma_start(conn, &conn->links->rdmaq[0], rdma);
    return DM_OK;
}

int dm_adapt_rdma_write(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                        struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    return rdma_start(conn, rdma, (void *)(uintptr_t)local, mr, remote, rkey, len, false, NULL);
}

int dm_adapt_rdma_read(struct dm_conn *conn, struct dm_rdma *rdma, void *local, struct dm_mr *mr,
                       uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    return rdma_start(conn, rdma, local, mr, remote, rkey, len, true, NULL);
}

int dm_adapt_rdma_write_value(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                              struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey,
                              size_t len, uint32_t value)
{
    return rdma_start(conn, rdma, (void *)(uintptr_t)local, mr, remote, rkey, len, false, &value);
}
