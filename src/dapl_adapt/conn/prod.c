/*
 * A few more bytes over a new connection.
 */
#include "dapl_adapt/conn/prod.h"

#include <stdint.h>

#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/log.h"

#define PRODS 3

_Static_assert(PRODS < DM_RDMAQ_SAID, "a descriptor for each, and for the first message");

static const uint64_t delays_ns[PRODS] = {10000000, 100000000, 1000000000};

static const struct dm_ia *prod_ia(struct dm_link *link)
{
    return link->kind == DM_LINK_PIPE ? link->conn->ia : dm_rdmaq_of(link)->ia;
}

void dm_prod_begin(struct dm_link *link)
{
    if (!link->is_active || link->answer.probe == 0 || !prod_ia(link)->caps.is_late)
        return;
    link->n_tries = 0;
    link->deadline = UINT64_MAX;
    link->next_try = dm_clock_ns() + delays_ns[0];
    dm_list_add_tail(&link->conn->adapt->poll.connecting, &link->wait);
}

static DAT_RETURN prod_post(const struct dm_link *link, DAT_DTO_COOKIE cookie, DAT_LMR_TRIPLET *lmr,
                            DAT_RMR_TRIPLET *rmr)
{
    DAT_RETURN rc;

    dm_link_first(link, lmr);
    rmr->virtual_address = link->answer.probe;
    rmr->rmr_context = link->answer.probe_ctx;
    rmr->segment_length = lmr->segment_length;
    dm_serial_lock();
    rc = DAT_EP_POST_RDMA_WRITE(link->ep, 1, lmr, cookie, rmr, DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_unlock();
    return rc;
}

/* A full queue is under way: no need. */
static DAT_RETURN prod_pipe(struct dm_link *link)
{
    struct dm_tx *tx = &link->conn->tx;
    struct dm_tx_desc own, *desc = dm_tx_desc(tx, &own);
    DAT_RETURN rc;

    if (tx->n_posted + tx->n_extra - tx->sq.done + DM_TX_RESERVE >= tx->sq.size)
        return DAT_SUCCESS;
    rc = prod_post(link, dm_cookie(DM_COOKIE_TX, link, tx->n_posted + tx->n_extra), desc->iov,
                   &desc->rmr);
    if (rc != DAT_SUCCESS)
        return rc;
    tx->n_extra++;
    tx->sq.n_signalled++;
    link->conn->ia->n_signalled++;
    return rc;
}

static DAT_RETURN prod_rdma(struct dm_link *link)
{
    struct dm_rdmaq *rdmaq = dm_rdmaq_of(link);
    uint32_t place = link->n_tries + 1;
    struct dm_desc *desc = &rdmaq->posted->said[place];
    DAT_RETURN rc;

    if (rdmaq->rq_used >= rdmaq->rq_size)
        return DAT_SUCCESS;
    rc = prod_post(
        link, dm_cookie(DM_COOKIE_REQ, link, (uint32_t)link->kind << 16 | place << DM_COOKIE_PLACE),
        &desc->lmr, &desc->rmr);
    if (rc != DAT_SUCCESS)
        return rc;
    rdmaq->rq_used++;
    rdmaq->ia->n_signalled++;
    return rc;
}

int dm_prod_timer(struct dm_link *link, uint64_t now)
{
    struct dm_conn *conn = link->conn;
    DAT_RETURN rc;

    if (link->next_try == 0 || now < link->next_try)
        return 0;
    DM_TRACE(CONN, "prod rank %d link %d", conn->proc, link->kind);
    rc = link->kind == DM_LINK_PIPE ? prod_pipe(link) : prod_rdma(link);
    if (rc == DAT_SUCCESS && ++link->n_tries < PRODS) {
        link->next_try = now + delays_ns[link->n_tries];
        return 1;
    }
    link->next_try = 0;
    dm_list_del(&link->wait);
    if (rc != DAT_SUCCESS && link->kind >= DM_LINK_EXTRA)
        conn->adapt->ops->rdma_break(link);
    else if (rc != DAT_SUCCESS)
        (void)dm_conn_post_failed(conn, rc);
    return 1;
}
