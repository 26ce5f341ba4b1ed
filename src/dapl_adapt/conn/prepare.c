/*
 * What a link needs before it is connected: region, RDMA queue, endpoint.
 */
#include "dapl_adapt/conn/prepare.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "dapl_adapt/conn/addr.h"
#include "dapl_adapt/conn/receives.h"
#include "dapl_adapt/conn/ring.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/region.h"
#include "util/err.h"

#define RDMA_RECVS   4
#define NOTIFY_RECVS 2

static int prepare_min(int a, int b)
{
    return a < b ? a : b;
}

static int prepare_rdmaq(struct dm_rdmaq *rdmaq, struct dm_ia *ia, int rq_size)
{
    rdmaq->ia = ia;
    rdmaq->rq_size = prepare_min(prepare_min(DM_RDMAQ_REQS, rq_size), ia->limits.max_req);
    if (rdmaq->posted == NULL)
        rdmaq->posted = calloc(1, sizeof(*rdmaq->posted));
    return rdmaq->posted != NULL ? DM_OK : DM_FAIL(DM_ENOMEM, "requests of an RDMA link");
}

/*
 * Requests of the pipe: a record has two in the basic design. Where a completion is a message of its own,
 * for which both sides make system calls, there are few.
 */
static int prepare_requests(const struct dm_conn *conn, const struct dm_ia *ia)
{
    return (conn->adapt->rings.is_basic || dm_ia_is_software(ia) ? 4 : 2) *
               (int)conn->ring.n_slots +
           8;
}

/* The region is registered with the pipe's rail; its memory stays when that changes. */
static int prepare_region(struct dm_conn *conn, const struct dm_link *link, struct dm_ia *ia)
{
    struct dm_ia *old = conn->ia;
    int err;

    conn->ia = ia;
    if (conn->region.ptr != NULL && conn->rx.ring.gen == 0 && conn->tx.ring.gen == 0) {
        dm_region_free(&conn->region, false); /* nothing in it yet */
        old->depth.space += conn->ring.n_events;
        conn->ring.n_events = 0;
    }
    if (conn->region.ptr == NULL) {
        conn->ring.has_srq = dm_receives_are_shared(conn, ia);
        err = dm_ring_make(conn, ia, link->answer.n_slots, link->answer.slot_size);
        if (err != DM_OK)
            return err;
        conn->ctl = (void *)conn->region.ptr;
    } else {
        old->depth.space += conn->ring.n_events;
        ia->depth.space -= conn->ring.n_events;
        err = dm_region_move(ia, &conn->region);
    }
    conn->sq_size = prepare_min(prepare_requests(conn, ia), ia->limits.max_req);
    return err;
}

/*
 * How many receives the pipe may need: for all slots, if records are sent; else for notifications. Both
 * ends know of each other which it will be where they are on one host, and nothing moves.
 */
static int prepare_receives(const struct dm_conn *conn, const struct dm_link *link,
                            const struct dm_ia *ia)
{
    bool is_local = ia->caps.is_local && ia->caps.can_share && !dm_conn_can_move(conn);
    bool is_sent = conn->adapt->rings.wants_sendrecv || ia->caps.needs_sendrecv ||
                   conn->ring.has_srq || link->answer.sendrecv;
    bool is_known = conn->addr != NULL ? (conn->addr->eager & DM_ADDR_SRQ) == 0
                                       : link->answer.kind == DM_PRIVATE_CONNECT;

    return is_local && is_known && !is_sent ? NOTIFY_RECVS : (int)conn->ring.n_slots + 2;
}

int dm_conn_prepare(struct dm_conn *conn, struct dm_link *link, struct dm_ia *ia)
{
    int n_recv;
    int err = DM_OK;

    atomic_fetch_add_explicit(&link->gen, 1, memory_order_relaxed);
    link->has_spoken = link->is_ended = false;
    if (link->kind == DM_LINK_PIPE)
        conn->rx.ep = DAT_HANDLE_NULL;
    if (link->kind < DM_LINK_EXTRA &&
        (conn->ia != ia || conn->region.lmr.handle == DAT_HANDLE_NULL))
        err = prepare_region(conn, link, ia); /* only while the pipe is being made */
    if (err == DM_OK && link->kind != DM_LINK_PIPE)
        err = prepare_rdmaq(dm_rdmaq_of(link), ia, conn->rq_size);
    if (err != DM_OK)
        return err;
    n_recv = prepare_min(prepare_receives(conn, link, ia), ia->limits.max_recv);
    if (link->kind == DM_LINK_PIPE)
        return dm_ia_ep_create(ia, n_recv, conn->sq_size, conn->ring.has_srq, &link->ep);
    n_recv = prepare_min(dm_conn_has_values() ? RDMA_RECVS + DM_VALUES : RDMA_RECVS,
                         ia->limits.max_recv);
    return dm_ia_ep_create(ia, n_recv, dm_rdmaq_of(link)->rq_size, false, &link->ep);
}
