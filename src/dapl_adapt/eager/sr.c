/*
 * The pipe by send and receive: the same records in posted buffers, so that the
 * arrival of one is a completion, which wakes a process that waits in the provider.
 *
 * A buffer is a cell and, for what is longer, the rest of a slot, whose beginning is copied to it then: so
 * short records touch few pages.
 *
 * Buffers are posted, filled and given back in the order of slots. Every record has
 * a posted buffer waiting (credits), so that the provider never finds none.
 */
#include "dapl_adapt/eager/sr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/lose.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/eager/srq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/err.h"

static char *sr_cell(const struct dm_rx *rx, uint32_t slot)
{
    return rx->cells + (size_t)slot * DM_CELL_LEN;
}

static DAT_LMR_TRIPLET sr_segment(const struct dm_conn *conn, char *at, uint32_t len)
{
    DAT_LMR_TRIPLET seg;

    memset(&seg, 0, sizeof(seg));
    seg.virtual_address = (DAT_VADDR)(uintptr_t)at;
    seg.segment_length = len;
    seg.lmr_context = conn->region.lmr.lctx;
    return seg;
}

static DAT_RETURN sr_post_slot(struct dm_conn *conn, DAT_EP_HANDLE ep, uint32_t slot)
{
    struct dm_rx *rx = &conn->rx;
    DAT_LMR_TRIPLET *lmr = &rx->iov[(size_t)slot * DM_RX_IOV];
    char *at = rx->slots + (size_t)slot * rx->stride;
    uint32_t first = rx->cells != NULL ? DM_CELL_LEN : 0;
    DAT_COUNT n = 0;
    DAT_RETURN rc;

    if (first > 0)
        lmr[n++] = sr_segment(conn, sr_cell(rx, slot), first);
    lmr[n++] = sr_segment(conn, at + first, rx->stride - first);
    dm_serial_enter(conn->ia->is_serial);
    rc = DAT_EP_POST_RECV(ep, n, lmr,
                          dm_cookie(DM_COOKIE_RECV, &conn->links->at[DM_LINK_PIPE], slot),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_leave(conn->ia->is_serial);
    return rc;
}

int dm_eager_sr_post(struct dm_conn *conn, DAT_EP_HANDLE ep, uint32_t slot, uint32_t n)
{
    DAT_RETURN rc = DAT_SUCCESS;

    conn->rx.ep = ep;
    for (uint32_t i = 0; i < n && rc == DAT_SUCCESS; i++)
        rc = sr_post_slot(conn, ep, (slot + i) % conn->rx.n_slots);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_ep_post_recv: %s", conn->ia->name, dm_dat_text(rc));
    return DM_OK;
}

bool dm_eager_sr_can_split(const struct dm_ia *ia)
{
    return ia->limits.max_iov >= DM_RX_IOV;
}

/* Are slots longer than cells, and can receives of all rails have two parts? */
static char *sr_find_cells(const struct dm_conn *conn)
{
    const struct dm_rails *rails = &conn->adapt->rails;

    if (conn->ring.stride <= DM_CELL_LEN)
        return NULL;
    for (int i = 0; i < rails->n_ias; i++)
        if (!dm_eager_sr_can_split(rails->ias[i]))
            return NULL;
    return conn->region.ptr + dm_region_cells();
}

int dm_eager_sr_alloc(struct dm_conn *conn)
{
    struct dm_rx *rx = &conn->rx;

    if (rx->trailers == NULL)
        rx->cells = sr_find_cells(conn);
    if (rx->trailers == NULL)
        rx->trailers = calloc(rx->n_slots, sizeof(*rx->trailers));
    if (rx->iov == NULL)
        rx->iov = calloc(rx->n_slots, DM_RX_IOV * sizeof(*rx->iov));
    return rx->trailers != NULL && rx->iov != NULL
               ? DM_OK
               : DM_FAIL(DM_ENOMEM, "receives of a pipe, %u slots", rx->n_slots);
}

int dm_eager_sr_setup(struct dm_conn *conn, DAT_EP_HANDLE ep)
{
    struct dm_rx *rx = &conn->rx;

    if (dm_eager_sr_alloc(conn) != DM_OK)
        return DM_ENOMEM;
    rx->protocol = DM_RECORD_SEND;
    rx->ring.trailer = rx->trailers;
    rx->ring.step = sizeof(*rx->trailers);
    return dm_eager_sr_post(conn, ep, 0, rx->n_slots);
}

char *dm_eager_sr_at(const struct dm_rx *rx, uint32_t slot, uint32_t len)
{
    uint32_t place = rx->places != NULL ? rx->places[slot] : slot;

    if (rx->cells != NULL && len <= DM_CELL_MAX)
        return sr_cell(rx, slot);
    return rx->slots + (size_t)place * rx->stride;
}

void dm_eager_sr_arrived(struct dm_conn *conn, uint32_t slot, uint32_t len)
{
    struct dm_rx *rx = &conn->rx;
    char *at = rx->slots + (size_t)slot * rx->stride;
    uint64_t word;

    if (len < DM_TRAILER_LEN || len > rx->stride || slot != rx->arrive) {
        dm_conn_lose(conn, "it sent a message that is not a record");
        return;
    }
    if (rx->cells != NULL && len <= DM_CELL_LEN)
        at = sr_cell(rx, slot);
    else if (rx->cells != NULL)
        memcpy(at, sr_cell(rx, slot), DM_CELL_LEN);
    memcpy(&word, at + len - DM_TRAILER_LEN, sizeof(word));
    rx->arrive = slot + 1 == rx->n_slots ? 0 : slot + 1;
    /* credits count at once, also behind unread records */
    rx->peer_credit = (uint32_t)(word >> DM_TRAILER_CREDIT) & 0xffff;
    atomic_store_explicit(&rx->trailers[slot], word, memory_order_release);
}

int dm_eager_sr_repost(struct dm_conn *conn, uint32_t slot)
{
    DAT_EP_HANDLE rx_ep = conn->rx.ep;
    DAT_RETURN rc;

    if (conn->ring.has_srq) {
        dm_eager_srq_release(conn, slot);
        return DM_OK;
    }
    if (dm_conn_is_lost(conn) || rx_ep == DAT_HANDLE_NULL ||
        rx_ep != conn->links->at[DM_LINK_PIPE].ep)
        return DM_OK; /* no endpoint takes it now; what arrived is still read */
    rc = sr_post_slot(conn, conn->links->at[DM_LINK_PIPE].ep, slot);
    if (rc != DAT_SUCCESS)
        dm_conn_post_failed(conn, rc);
    return DM_OK;
}
