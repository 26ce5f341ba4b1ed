/*
 * Bulk RDMA on the second endpoint of a connection.
 *
 * A transfer waits in the connection's queue until the link is up and the request
 * queue has a place; it is split by what the provider moves at once. Reads have one
 * local segment and registrations allow everything, as iWARP wants them. Every part is
 * signalled; the transfer is done when all parts have come back.
 */
#include <string.h>

#include "dapl_adapt/adapt.h"
#include "dapl_adapt/eager.h"
#include "util/err.h"
#include "util/log.h"

static void finish(struct dm_adapt *adapt, struct dm_rdma *rdma)
{
    rdma->next = NULL;
    if (adapt->done_head == NULL)
        adapt->done_head = rdma;
    else
        adapt->done_tail->next = rdma;
    adapt->done_tail = rdma;
}

void dm_rma_completed(struct dm_rdma *rdma, bool is_ok)
{
    struct dm_conn *conn = rdma->conn;

    conn->rq_used--;
    rdma->n_posted--;
    if (!is_ok && rdma->err == DM_OK)
        rdma->err = DM_EPEER;
    if (rdma->err != DM_OK)
        rdma->left = 0;
    if (rdma->n_posted == 0 && rdma->left == 0 && !rdma->is_queued)
        finish(conn->adapt, rdma);
}

/* Post the next part of a transfer. */
static DAT_RETURN post_part(struct dm_conn *conn, struct dm_rdma *rdma)
{
    uint64_t len = rdma->left < conn->ia->max_rdma ? rdma->left : conn->ia->max_rdma;
    DAT_LMR_TRIPLET lmr;
    DAT_RMR_TRIPLET rmr;
    DAT_DTO_COOKIE cookie;
    DAT_RETURN rc;

    lmr.virtual_address = rdma->local;
    lmr.segment_length = (DAT_SEG_LENGTH)len;
    lmr.lmr_context = rdma->mr->lmr[conn->ia->index].lctx;
    rmr.virtual_address = rdma->remote;
    rmr.segment_length = (DAT_SEG_LENGTH)len;
    rmr.rmr_context = rdma->rkey.ctx[conn->peer_rail];
    cookie.as_64 = (uint64_t)(uintptr_t)rdma | DM_COOKIE_RDMA;
    if (rdma->is_read)
        rc = DAT_EP_POST_RDMA_READ(conn->link[DM_LINK_RDMA].ep, 1, &lmr, cookie, &rmr,
                                   DAT_COMPLETION_DEFAULT_FLAG);
    else
        rc = DAT_EP_POST_RDMA_WRITE(conn->link[DM_LINK_RDMA].ep, 1, &lmr, cookie, &rmr,
                                    DAT_COMPLETION_DEFAULT_FLAG);
    if (rc != DAT_SUCCESS)
        return rc;
    conn->rq_used++;
    conn->ia->n_signalled++;
    rdma->n_posted++;
    rdma->local += len;
    rdma->remote += len;
    rdma->left -= len;
    return DAT_SUCCESS;
}

void dm_rma_push(struct dm_conn *conn)
{
    struct dm_rdma *rdma;
    DAT_RETURN rc = DAT_SUCCESS;

    while ((rdma = conn->queue_head) != NULL && conn->rq_used < conn->rq_size &&
           conn->link[DM_LINK_RDMA].may_post && !conn->tx.is_lost) {
        if (rdma->left > 0)
            rc = post_part(conn, rdma);
        if (rc != DAT_SUCCESS)
            break;
        if (rdma->left == 0) {
            conn->queue_head = rdma->next;
            rdma->is_queued = false;
            if (rdma->n_posted == 0)
                finish(conn->adapt, rdma);
        }
    }
    if (rc != DAT_SUCCESS && !(DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES && conn->rq_used > 0))
        dm_eager_post_failed(conn, rc);
}

void dm_rma_fail(struct dm_conn *conn)
{
    struct dm_rdma *rdma;

    while ((rdma = conn->queue_head) != NULL) {
        conn->queue_head = rdma->next;
        rdma->is_queued = false;
        rdma->left = 0;
        rdma->err = conn->err;
        if (rdma->n_posted == 0)
            finish(conn->adapt, rdma);
    }
}

static int start(struct dm_conn *conn, struct dm_rdma *rdma, void *local, struct dm_mr *mr,
                 uint64_t remote, const struct dm_rkey *rkey, size_t len, bool is_read)
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
    rdma->is_queued = true;
    if (conn->tx.is_lost)
        return DM_EPEER;
    if (len == 0) {
        rdma->done(rdma, DM_OK);
        return DM_OK;
    }
    if (mr == NULL) {
        err = dm_adapt_reg(adapt, local, len, &rdma->mr);
        if (err != DM_OK)
            return err;
        rdma->owns_mr = true;
    }
    if (conn->queue_head == NULL)
        conn->queue_head = rdma;
    else
        conn->queue_tail->next = rdma;
    conn->queue_tail = rdma;
    if (conn->link[DM_LINK_RDMA].may_post)
        dm_rma_push(conn);
    else if (conn->is_up)
        dm_conn_start(conn, DM_LINK_RDMA);
    else
        dm_adapt_connect(conn);
    return DM_OK;
}

int dm_adapt_rdma_write(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                        struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    return start(conn, rdma, (void *)(uintptr_t)local, mr, remote, rkey, len, false);
}

int dm_adapt_rdma_read(struct dm_conn *conn, struct dm_rdma *rdma, void *local, struct dm_mr *mr,
                       uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    return start(conn, rdma, local, mr, remote, rkey, len, true);
}
