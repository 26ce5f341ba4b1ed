/*
 * Setting up rings, and credits by RDMA write.
 *
 * Credits are counts of records consumed, absolute and of 16 bits: in the footer of
 * every record, and, when much is owed and nothing goes back, written to a word in the
 * peer's control page. The sender takes whichever is further.
 */
#include "dapl_adapt/eager.h"

#include <string.h>

#include "dapl_adapt/adapt.h"
#include "util/log.h"

void dm_eager_setup_rx(struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;
    struct dm_rx *rx = &conn->rx;

    rx->n_slots = adapt->n_slots;
    rx->stride = adapt->stride;
    rx->ring = conn->region.ptr + dm_region_ring();
    rx->lap = 1;
    rx->tag = dm_foot_tag(1);
    rx->due = adapt->n_slots / 2 > 0 ? adapt->n_slots / 2 : 1;
    rx->foot_step = rx->stride;
    rx->foot = (void *)(rx->ring + rx->stride - DM_FOOT_LEN);
}

void dm_eager_setup(struct dm_conn *conn, uint64_t addr, DAT_RMR_CONTEXT ctx)
{
    const struct dm_adapt *adapt = conn->adapt;
    struct dm_tx *tx = &conn->tx;
    char *mirror = conn->region.ptr + dm_region_mirror(adapt->n_slots, adapt->stride);

    tx->ep = conn->link[DM_LINK_PIPE].ep;
    tx->n_slots = adapt->n_slots;
    tx->stride = adapt->stride;
    tx->foot = mirror + tx->stride - DM_FOOT_LEN;
    tx->lap = 1;
    tx->tag = dm_foot_tag(1);
    tx->delta = addr + dm_region_ring() - (uint64_t)(uintptr_t)mirror;
    tx->lctx = conn->region.lmr.lctx;
    tx->rctx = ctx;
    tx->max = tx->stride - DM_FOOT_LEN;
    tx->sq_size = (uint32_t)conn->sq_size;
    tx->sig_every = tx->sq_size / 4 > 0 ? tx->sq_size / 4 : 1;
    tx->until_signal = tx->sig_every;
    tx->is_send = conn->is_sendrecv;
    conn->ctl_remote = addr;
}

void dm_eager_refill(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t written =
        (uint32_t)atomic_load_explicit(&conn->ctl->credit, memory_order_acquire) & 0xffff;
    uint32_t used = (tx->n_posted - conn->rx.peer_credit) & 0xffff;
    uint32_t used_written = (tx->n_posted - written) & 0xffff;
    uint32_t credits;
    uint32_t queue;

    if (used_written < used)
        used = used_written;
    credits = used < tx->n_slots ? tx->n_slots - used : 0;
    if (tx->is_send) /* one is kept to be able to give credits */
        credits = credits > 0 ? credits - 1 : 0;
    used = tx->n_posted + tx->n_extra - tx->sq_done;
    if (dm_unlikely(used + DM_TX_RESERVE >= tx->sq_size)) {
        dm_poll_drain(conn->adapt);
        used = tx->n_posted + tx->n_extra - tx->sq_done;
    }
    queue = used + DM_TX_RESERVE < tx->sq_size ? tx->sq_size - DM_TX_RESERVE - used : 0;
    tx->room = credits < queue ? credits : queue;
}

/* By send: an empty record, for which one credit and request are kept. */
static void credit_by_send(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t used = (tx->n_posted - conn->rx.peer_credit) & 0xffff;

    /*
     * Without any credit wait: the peer has sent its own message of this kind, which
     * brings some, and reading that asks again.
     */
    if (used < tx->n_slots && tx->n_posted + tx->n_extra - tx->sq_done < tx->sq_size)
        dm_eager_nudge(conn);
}

/* Write the count to the peer's control page. */
static void write_credit(struct dm_conn *conn, bool is_signalled)
{
    /* a word of its own for each, since the provider may not have read the last one yet */
    uint64_t *out = &conn->ctl->credit_out[conn->tx.n_extra % DM_CREDITS_OUT];
    DAT_LMR_TRIPLET lmr;
    DAT_RMR_TRIPLET rmr;
    DAT_RETURN rc;

    conn->rx.n_credited = conn->rx.n_consumed;
    *out = conn->rx.n_consumed & 0xffff;
    lmr.virtual_address = (DAT_VADDR)(uintptr_t)out;
    lmr.segment_length = sizeof(*out);
    lmr.lmr_context = conn->tx.lctx;
    rmr.virtual_address = conn->ctl_remote + offsetof(struct dm_ctl, credit);
    rmr.segment_length = sizeof(*out);
    rmr.rmr_context = conn->tx.rctx;
    rc = dm_eager_write(conn, &lmr, &rmr, is_signalled);
    if (rc != DAT_SUCCESS)
        dm_eager_post_failed(conn, rc);
}

void dm_eager_flush(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    if (!tx->is_lost && tx->n_posted + tx->n_extra != tx->sq_done &&
        tx->n_posted + tx->n_extra - tx->sq_done < tx->sq_size)
        write_credit(conn, true);
}

void dm_eager_credit(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    if (tx->is_lost || !conn->link[DM_LINK_PIPE].may_post)
        return;
    if (tx->is_send) {
        credit_by_send(conn);
        return;
    }
    if (tx->n_posted + tx->n_extra - tx->sq_done >= tx->sq_size) {
        dm_poll_drain(conn->adapt);
        if (tx->n_posted + tx->n_extra - tx->sq_done >= tx->sq_size)
            return;
    }
    write_credit(conn, false);
    if (tx->room > 0)
        dm_eager_refill(conn);
}
