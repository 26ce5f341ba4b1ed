/*
 * The pipe by send and receive, with receives of the rail's shared queue.
 *
 * A completion says which buffer, not by which connection: OFED's providers name the queue instead of
 * the endpoint. So the trailer names the sender, in the place of the generation, which nobody needs
 * here: records of a connection arrive in order. A slot is a place in that order, and has the number
 * of the buffer.
 *
 * Credits. Every connection has a grant: so many receives are for it, whether the records are still to
 * come, or have come and are not read. The grants of all and what is spare are together the receives
 * of the queue, so that no record ever finds none. A grant begins with DM_RX_GRANT. Each record that is
 * read gives one credit, and
 *     a second one, so that the grant is larger by one, while it has taken less than half of what
 *     would be spare then;
 *     or none, so that it is smaller by one, when nothing is spare for those who have less.
 * So who is busy has more, each leaves something for others, and everybody goes on with the least.
 * The sender knows rings of n_slots: what it hears of as consumed is n_slots - grant less.
 */
#include "dapl_adapt/eager/srq.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/lose.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/srq.h"
#include "util/err.h"
#include "util/log.h"

#define SHARE     2 /* a grant grows while so many times its growth are spare */
#define DUE_LEAST 3 /* credits that are worth a message: more than one record gives */

_Static_assert(DUE_LEAST < DM_RX_GRANT, "who is out of credits is owed as much");

static uint32_t srq_due(uint32_t grant)
{
    return grant / 2 > DUE_LEAST ? grant / 2 : DUE_LEAST;
}

int dm_eager_srq_setup(struct dm_conn *conn)
{
    struct dm_rx *rx = &conn->rx;
    const struct dm_rail_srq *srq = conn->ia->memory.srq;

    if (rx->trailers == NULL)
        rx->trailers = calloc(rx->n_slots, sizeof(*rx->trailers));
    if (rx->places == NULL)
        rx->places = calloc(rx->n_slots, sizeof(*rx->places));
    if (rx->trailers == NULL || rx->places == NULL)
        return DM_FAIL(DM_ENOMEM, "shared receives of a pipe, %u slots", rx->n_slots);
    rx->protocol = DM_RECORD_SEND;
    rx->slots = srq->region.ptr;
    rx->stride = srq->stride;
    rx->ring.trailer = rx->trailers;
    rx->ring.step = sizeof(*rx->trailers);
    rx->grant = DM_RX_GRANT;
    rx->n_consumed = rx->n_credited = rx->grant - rx->n_slots;
    rx->ring.due = srq_due(rx->grant);
    return DM_OK;
}

void dm_eager_srq_setup_tx(struct dm_conn *conn)
{
    conn->tx.ring.tag = (uint64_t)conn->adapt->self.rank << DM_TRAILER_TAG;
    conn->credits.acked_by_peer = DM_RX_GRANT - conn->tx.n_slots;
    conn->rx.peer_credit = conn->credits.acked_by_peer & 0xffff;
}

static void srq_post_again(struct dm_ia *ia, uint32_t place)
{
    DAT_RETURN rc = dm_rail_srq_post(ia, place);

    if (rc != DAT_SUCCESS)
        DM_TRACE(DAT, "%s: dat_srq_post_recv: %s", ia->name, dm_dat_text(rc));
}

static uint64_t srq_word(const struct dm_ia *ia, uint32_t place, uint32_t len)
{
    uint64_t word;

    memcpy(&word, dm_rail_srq_buffer(ia->memory.srq, place) + len - DM_TRAILER_LEN, sizeof(word));
    return word;
}

struct dm_conn *dm_eager_srq_source(struct dm_ia *ia, uint32_t place,
                                    const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
    size_t len = (size_t)dto->transfered_length;
    struct dm_conn *conn = NULL;
    uint64_t rank;

    if (dto->status == DAT_DTO_SUCCESS && len >= DM_TRAILER_LEN && len <= ia->memory.srq->stride) {
        rank = srq_word(ia, place, (uint32_t)len) >> DM_TRAILER_TAG;
        if (rank < (uint64_t)ia->adapt->job.size)
            conn = dm_conn_find(ia->adapt, (int)rank);
    }
    if (conn == NULL) /* flushed with its connection */
        srq_post_again(ia, place);
    return conn;
}

void dm_eager_srq_arrived(struct dm_conn *conn, uint32_t place, uint32_t len)
{
    struct dm_rx *rx = &conn->rx;
    uint32_t slot = rx->arrive;
    uint64_t tag, word;

    if (rx->grant == 0 || conn->state == DM_CONN_LOST) { /* late */
        srq_post_again(conn->ia, place);
        return;
    }
    tag = dm_trailer_tag(rx->ring.gen + (slot < rx->ring.slot));
    word = atomic_load_explicit(&rx->trailers[slot], memory_order_relaxed);
    if ((word ^ tag) >> DM_TRAILER_TAG == 0) {
        srq_post_again(conn->ia, place);
        dm_conn_lose(conn, "it sent more records than it has credits for");
        return;
    }
    word = srq_word(conn->ia, place, len);
    conn->ia->memory.srq->n_messages++;
    rx->places[slot] = place;
    rx->arrive = slot + 1 == rx->n_slots ? 0 : slot + 1;
    rx->peer_credit = (uint32_t)(word >> DM_TRAILER_CREDIT) & 0xffff;
    word = tag | (word & ((UINT64_C(1) << DM_TRAILER_TAG) - 1));
    atomic_store_explicit(&rx->trailers[slot], word, memory_order_release);
}

/* A record is read: how many credits that makes. */
static uint32_t srq_move_on(struct dm_rx *rx, struct dm_rail_srq *srq)
{
    uint32_t more = rx->grant - DM_RX_GRANT;

    if (rx->grant < rx->n_slots && srq->n_spare > SHARE * more) {
        srq->n_spare--;
        rx->grant++;
        if (srq->n_spare < srq->least_spare)
            srq->least_spare = srq->n_spare;
        return 2;
    }
    if (more == 0 || srq->n_spare > 0)
        return 1;
    srq->n_spare++;
    srq->n_kept++;
    rx->grant--;
    return 0;
}

void dm_eager_srq_release(struct dm_conn *conn, uint32_t slot)
{
    struct dm_rx *rx = &conn->rx;
    DAT_RETURN rc = dm_rail_srq_post(conn->ia, rx->places[slot]);

    if (rc != DAT_SUCCESS) { /* one less, for ever: this connection's */
        dm_conn_post_failed(conn, rc);
        return;
    }
    rx->n_consumed += srq_move_on(rx, conn->ia->memory.srq) - 1; /* the record itself counts one */
    rx->ring.due = srq_due(rx->grant);
}

void dm_eager_srq_leave(struct dm_conn *conn)
{
    if (conn->rx.grant == 0)
        return;
    conn->ia->memory.srq->n_spare += conn->rx.grant - DM_RX_GRANT;
    conn->rx.n_consumed = dm_rx_n_read(&conn->rx);
    conn->rx.grant = 0;
}
