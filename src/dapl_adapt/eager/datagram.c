/*
 * Datagrams in the place of records.
 */
#include "dapl_adapt/eager/datagram.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/lose.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/datagram.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/eager/post.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ext.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/public/peer.h"
#include "util/err.h"
#include "util/hash.h"
#include "util/list.h"

#define PEER_MOST 512  /* sent to a peer; then connecting costs less than what more of them would */
#define FULL_MOST 64   /* times that a box is full; then a ring of our own is worth it */
#define ASK_EVERY 4096 /* looks for a free slot: whether the peer is still there */

/* ---- the process ---- */

/* Would all pipes be alike, inside this host, with rings? */
static bool datagrams_are_apt(const struct dm_adapt *adapt)
{
    const struct dm_ia *ia;

    if (!adapt->is_demand || !dm_adapt_is_one_host(adapt) || adapt->rails.n_ias != 1)
        return false;
    ia = adapt->rails.ias[0];
    return ia->caps.is_local && ia->caps.can_share && !ia->caps.has_clock && !ia->is_driven &&
           !ia->caps.needs_sendrecv && !adapt->rings.wants_sendrecv && !adapt->rings.is_basic &&
           ia->wake.evd[DM_SIDE_RECV] != DAT_HANDLE_NULL;
}

void dm_eager_datagrams_open(struct dm_adapt *adapt)
{
    struct dm_datagram_poll *poll = &adapt->poll.datagrams;

    if (!datagrams_are_apt(adapt))
        return;
    poll->way.job = dm_hash_text(adapt->self.job, DM_VERSION);
    poll->way.me = adapt->self.rank;
    poll->way.wake_evd = (void *)adapt->rails.ias[0]->wake.evd[DM_SIDE_RECV];
    poll->is_on = dm_ext_datagrams(adapt->rails.ias[0], &poll->way) == DAT_SUCCESS;
}

void dm_eager_datagrams_close(struct dm_adapt *adapt)
{
    struct dm_datagram_poll *poll = &adapt->poll.datagrams;

    if (!poll->is_on)
        return;
    poll->is_on = false;
    poll->way.wake_evd = NULL;
    (void)dm_ext_datagrams(adapt->rails.ias[0], &poll->way);
}

/* ---- sending ---- */

static struct dm_datagram *datagram_claim_slot(const struct dm_conn *conn,
                                               struct dm_tx_datagrams *out)
{
    const struct dm_datagrams *way = &conn->adapt->poll.datagrams.way;

    return way->claim(way->arg, out->box, &out->cap);
}

/* Claim a slot for the next one. */
static bool datagram_claim(struct dm_conn *conn, size_t len)
{
    struct dm_datagram_poll *poll = &conn->adapt->poll.datagrams;
    struct dm_tx_datagrams *out = &conn->tx.datagrams;

    if (out->box == NULL)
        out->box = poll->way.find(poll->way.arg, (uint32_t)conn->proc);
    if (out->box == NULL || out->n_sent == PEER_MOST || out->n_full == FULL_MOST) {
        out->is_over = true;
        return false;
    }
    out->cap = (uint32_t)len;
    out->slot = datagram_claim_slot(conn, out);
    if (out->slot != NULL)
        return true;
    out->n_full++;
    if (dm_list_is_empty(&out->blocked))
        dm_list_add_tail(&poll->blocked, &out->blocked);
    return false;
}

static void datagram_send(struct dm_conn *conn, size_t len)
{
    const struct dm_datagrams *way = &conn->adapt->poll.datagrams.way;
    struct dm_tx_datagrams *out = &conn->tx.datagrams;
    struct dm_datagram *slot = out->slot;

    slot->source = conn->adapt->self.rank;
    slot->number = out->n_sent;
    slot->len = (uint32_t)len;
    out->slot = NULL;
    way->send(way->arg, out->box, slot);
}

void *dm_eager_datagram_reserve(struct dm_conn *conn, size_t len)
{
    struct dm_tx_datagrams *out = &conn->tx.datagrams;

    if (!conn->adapt->poll.datagrams.is_on || out->is_over || conn->who.foreign != NULL ||
        conn->state > DM_CONN_ASKED)
        return NULL;
    if (len > DM_DATAGRAM_MAX) { /* nor does what follows it */
        out->is_over = true;
        dm_list_del(&out->blocked);
        return NULL;
    }
    if (out->slot != NULL && out->cap < len) /* an empty one gives it back */
        datagram_send(conn, 0);
    if (out->slot == NULL && !datagram_claim(conn, len))
        return NULL;
    conn->tx.protocol = DM_RECORD_DATAGRAM;
    return out->slot->data;
}

void dm_eager_datagram_commit(struct dm_conn *conn, size_t len)
{
    datagram_send(conn, len);
    conn->tx.datagrams.n_sent++;
    conn->tx.protocol = DM_RECORD_WRITE;
    conn->adapt->poll.datagrams.n_sent++;
}

bool dm_eager_datagram_waits(const struct dm_conn *conn)
{
    return !dm_list_is_empty(&conn->tx.datagrams.blocked);
}

void dm_eager_datagrams_end(struct dm_conn *conn, bool is_counted)
{
    struct dm_tx_datagrams *out = &conn->tx.datagrams;

    if (out->slot != NULL)
        datagram_send(conn, 0);
    dm_list_del(&out->blocked);
    out->is_over = true;
    out->is_count_due = is_counted;
    if (!is_counted)
        conn->rx.has_datagrams = false;
}

void dm_eager_datagrams_count(struct dm_conn *conn)
{
    DAT_RETURN rc;

    if (!conn->tx.datagrams.is_count_due)
        return;
    conn->tx.datagrams.is_count_due = false;
    rc = dm_eager_write_word(conn, offsetof(struct dm_ctl, datagrams),
                             (uint64_t)conn->tx.datagrams.n_sent + 1, false);
    if (rc != DAT_SUCCESS)
        dm_conn_post_failed(conn, rc);
}

/* Has the peer's process died? Without a connection nobody says so. */
static void datagram_ask(struct dm_conn *conn)
{
    struct dm_datagram_poll *poll = &conn->adapt->poll.datagrams;
    struct dm_tx_datagrams *out = &conn->tx.datagrams;

    if (dm_conn_is_lost(conn) || conn->was_up ||
        (out->n_sent == 0 && conn->rx.datagrams.n_read == 0))
        return;
    if (out->box == NULL)
        out->box = poll->way.find(poll->way.arg, (uint32_t)conn->proc);
    if (out->box != NULL && poll->way.has_died(poll->way.arg, out->box))
        dm_conn_lose(conn, "its process has ended");
}

void dm_eager_datagrams_watch(struct dm_adapt *adapt)
{
    struct dm_datagram_poll *poll = &adapt->poll.datagrams;

    if (!poll->is_on || adapt->is_quiet)
        return;
    dm_list_for_each_safe (it, next, &poll->blocked) {
        struct dm_tx *tx = dm_container_of(it, struct dm_tx, datagrams.blocked);

        datagram_ask(dm_container_of(tx, struct dm_conn, tx));
    }
    poll->watched = poll->watched != NULL ? poll->watched->next_made
                                          : atomic_load_explicit(&adapt->all, memory_order_acquire);
    if (poll->watched != NULL && poll->watched->who.foreign == NULL)
        datagram_ask(poll->watched);
}

void dm_eager_datagrams_unblock(struct dm_adapt *adapt)
{
    struct dm_datagram_poll *poll = &adapt->poll.datagrams;

    dm_list_for_each_safe (it, next, &poll->blocked) {
        struct dm_tx *tx = dm_container_of(it, struct dm_tx, datagrams.blocked);
        struct dm_conn *conn = dm_container_of(tx, struct dm_conn, tx);

        tx->datagrams.slot = datagram_claim_slot(conn, &tx->datagrams);
        if (tx->datagrams.slot == NULL) {
            if (++tx->datagrams.n_looks % ASK_EVERY == 0)
                datagram_ask(conn);
            continue;
        }
        dm_list_del(&tx->datagrams.blocked);
        adapt->poll.n_blocked -= tx->is_blocked;
        tx->is_blocked = false;
        adapt->ev.writable(adapt->ev.arg, conn->proc, conn);
    }
}

/* ---- receiving ---- */

static bool datagram_is_readable(const struct dm_conn *conn)
{
    const struct dm_rx_datagrams *rx = &conn->rx.datagrams;

    return rx->in != NULL && rx->in->number == rx->n_read;
}

/* Whose it is; NULL: nobody's. */
static struct dm_conn *datagram_source(struct dm_adapt *adapt, const struct dm_datagram *slot)
{
    struct dm_conn *conn;

    if (slot->len == 0 || slot->len > DM_DATAGRAM_MAX ||
        slot->source >= (uint32_t)adapt->job.size || slot->source == adapt->self.rank)
        return NULL;
    conn = dm_adapt_conn(adapt, (int)slot->source);
    return conn != NULL && conn->rx.has_datagrams && !dm_conn_is_lost(conn) ? conn : NULL;
}

/* Keep len bytes of it until they are read. */
static void datagram_keep(struct dm_conn *conn, uint32_t number, const void *data, uint32_t len)
{
    struct dm_rx_datagrams *rx = &conn->rx.datagrams;
    struct dm_datagram_in **at_p = &rx->in;
    struct dm_datagram_in *in = malloc(sizeof(*in) + len);

    if (in == NULL) {
        dm_conn_lose(conn, "no memory for what it has sent");
        return;
    }
    in->number = number;
    in->len = len;
    memcpy(in->data, data, len);
    if (rx->in != NULL && rx->last->number < number)
        at_p = &rx->last->next;
    while (*at_p != NULL && (*at_p)->number < number)
        at_p = &(*at_p)->next;
    in->next = *at_p;
    *at_p = in;
    if (in->next == NULL)
        rx->last = in;
    if (dm_list_is_empty(&rx->unread))
        dm_list_add_tail(&conn->adapt->poll.datagrams.unread, &rx->unread);
}

static void datagram_take(void *arg, const struct dm_datagram *slot)
{
    struct dm_conn *conn = datagram_source(arg, slot);

    if (conn != NULL)
        datagram_keep(conn, slot->number, slot->data, slot->len);
}

/* Have it read where it is, if it is next. */
static void datagram_deliver(void *arg, const struct dm_datagram *slot)
{
    struct dm_adapt *adapt = arg;
    struct dm_conn *conn = datagram_source(adapt, slot);
    struct dm_rx *rx;

    if (conn == NULL)
        return;
    rx = &conn->rx;
    if (rx->datagrams.in != NULL || rx->left > 0 || slot->number != rx->datagrams.n_read) {
        datagram_keep(conn, slot->number, slot->data, slot->len);
        return;
    }
    rx->data = (const char *)slot->data;
    rx->left = slot->len;
    rx->len_got += slot->len;
    adapt->ev.input(adapt->ev.arg, conn->proc, conn);
    if (rx->left == 0 || slot->number != rx->datagrams.n_read)
        return;
    datagram_keep(conn, slot->number, rx->data, rx->left);
    rx->left = 0;
}

/* Has the peer sent all that it will? If some are still in the box, take them. */
static bool datagrams_are_read(struct dm_conn *conn)
{
    struct dm_datagram_poll *poll = &conn->adapt->poll.datagrams;
    uint64_t count =
        conn->was_up ? atomic_load_explicit(&conn->ctl->datagrams, memory_order_acquire) : 0;

    if (count == 0)
        return false;
    if ((uint32_t)(count - 1) == conn->rx.datagrams.n_read)
        return true;
    if (poll->is_on)
        (void)poll->way.receive(poll->way.arg, datagram_take, conn->adapt);
    return false;
}

size_t dm_eager_datagram_peek(struct dm_conn *conn, const void **data_p)
{
    struct dm_rx *rx = &conn->rx;

    if (rx->left == 0 && !datagram_is_readable(conn) && datagrams_are_read(conn)) {
        rx->has_datagrams = false;
        return 0;
    }
    if (rx->left == 0 && datagram_is_readable(conn)) {
        rx->data = (const char *)rx->datagrams.in->data;
        rx->left = rx->datagrams.in->len;
        rx->len_got += rx->left;
    }
    *data_p = rx->data;
    return rx->left;
}

void dm_eager_datagram_consume(struct dm_conn *conn, size_t len)
{
    struct dm_rx *rx = &conn->rx;
    struct dm_datagram_in *in = rx->datagrams.in;

    rx->data += len;
    rx->left -= (uint32_t)len;
    if (rx->left > 0)
        return;
    if (in != NULL && in->number == rx->datagrams.n_read) { /* else it is in its slot */
        rx->datagrams.in = in->next;
        free(in);
    }
    rx->datagrams.n_read++;
}

int dm_eager_datagrams_poll(struct dm_adapt *adapt)
{
    struct dm_datagram_poll *poll = &adapt->poll.datagrams;
    struct dm_list now;
    int n = 0;

    if (atomic_load_explicit(poll->way.due, memory_order_relaxed) != 0)
        n = poll->way.receive(poll->way.arg, datagram_deliver, adapt);
    dm_list_init(&now);
    while (!dm_list_is_empty(&poll->unread)) {
        struct dm_list *first = poll->unread.next;

        dm_list_del(first);
        dm_list_add_tail(&now, first);
    }
    while (!dm_list_is_empty(&now)) {
        struct dm_rx *rx = dm_container_of(now.next, struct dm_rx, datagrams.unread);
        struct dm_conn *conn = dm_container_of(rx, struct dm_conn, rx);

        dm_list_del(&rx->datagrams.unread);
        if (!datagram_is_readable(conn))
            continue;
        adapt->ev.input(adapt->ev.arg, conn->proc, conn);
        n++;
        if (datagram_is_readable(conn) && dm_list_is_empty(&rx->datagrams.unread))
            dm_list_add_tail(&poll->unread, &rx->datagrams.unread);
    }
    return n;
}
