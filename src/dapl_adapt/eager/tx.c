/*
 * The sending side of the pipe: reserve and commit, put. A record never crosses slots; a slot's
 * content is built in the shadow buffer of the peer's ring, except for large parts that are sent
 * from where they are.
 *
 * tx.n_avail is the only thing the fast path looks at: it counts what may be posted before credits
 * and the request queue have to be looked at again, and is 0 while the connection may not post at
 * all.
 */
#include "dapl_adapt/eager/tx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/credit.h"
#include "dapl_adapt/eager/datagram.h"
#include "dapl_adapt/eager/place.h"
#include "dapl_adapt/eager/lend.h"
#include "dapl_adapt/eager/notify.h"
#include "dapl_adapt/eager/post.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/peer.h"
#include "dapl_adapt/public/pipe.h"
#include "util/clock.h"
#include "util/copy.h"
#include "util/err.h"
#include "util/port.h"
#include "util/tune.h"

#define DIRECT_MIN  4096 /* parts from this size are not copied into the shadow buffer */
#define RECORD_LONG 8192 /* bytes: its peer gets another part of the slots that all have */
#define EAGER_AUTO  16384
#define EAGER_LOCAL 8192 /* processes of a host outnumber its cores: one copy, not two */
/* But with slots enough an answer that the sender waits for, or two changes of the process for it, costs more. */
#define EAGER_SHARED 32768
#define SHARED_PART  20 /* slots of a ring that may have such ones */

/* Fewer than n available: look for credits, else remember that somebody waits and start connecting. */
static DM_NOINLINE bool tx_find_credits(struct dm_conn *conn, uint32_t n)
{
    struct dm_tx *tx = &conn->tx;

    if (dm_conn_is_lost(conn))
        return false;
    if (conn->was_up && conn->links->at[DM_LINK_PIPE].may_post)
        dm_eager_refill(conn);
    else if (!dm_eager_datagram_waits(conn))
        dm_adapt_connect(conn);
    if (tx->n_avail >= n)
        return true;
    tx->n_avail = 0;
    if (!tx->is_blocked) {
        tx->is_blocked = true;
        conn->adapt->poll.n_blocked++;
    }
    return false;
}

/* Credits for a record that takes several cells. */
static bool tx_find_cells(struct dm_conn *conn, uint32_t len)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t n = dm_record_cells(dm_record_space(len), tx->ring.shift);

    tx->ring.is_mixed = true;
    return tx->n_avail >= n || tx_find_credits(conn, n);
}

/* Credits for a record of so many bytes, in the ring that takes it. */
static DM_NOINLINE bool tx_find_place(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;

    if (tx->n_avail == 0 && !tx_find_credits(conn, 1))
        return false;
    if (len <= tx->ring.max)
        return true;
    if (tx->place.is_packed)
        return dm_eager_place_unpack_one(conn, len);
    if (tx->place.in_cells && len <= dm_eager_place_cells_max(tx))
        return tx_find_cells(conn, (uint32_t)len);
    if (!tx->place.in_cells || len > tx->idle.max ||
        dm_eager_send_empty(conn, dm_eager_place_leave_cells(conn)) != DM_OK)
        return false;
    tx->n_avail = 0; /* there may be fewer places */
    return tx_find_credits(conn, 1);
}

/* A place where there is none at hand: in a datagram, in *place_p, or in a ring. */
static DM_NOINLINE bool tx_find_any(struct dm_conn *conn, size_t len, void **place_p)
{
    *place_p = conn->was_up ? NULL : dm_eager_datagram_reserve(conn, len);
    return *place_p == NULL && tx_find_place(conn, len);
}

void *dm_adapt_eager_reserve(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;
    void *place;

    if (dm_unlikely((len > tx->ring.max || tx->n_avail == 0) && !tx_find_any(conn, len, &place)))
        return place;
    tx->reserved = dm_record_space((uint32_t)len);
    return tx->ring.trailer - tx->reserved;
}

/* Post the reserved record; who sleeps is not notified of it. */
static inline int tx_commit(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t space = dm_record_space((uint32_t)len);
    DAT_RETURN rc;

    dm_clock_copied(len);
    if (dm_unlikely(space != tx->reserved))
        memmove(tx->ring.trailer - space, tx->ring.trailer - tx->reserved, len);
    if (dm_unlikely(len > RECORD_LONG))
        dm_eager_place_long(conn);
    dm_tx_write_trailer(conn, len);
    rc = dm_tx_post_here(conn, space);
    dm_tx_advance(conn, space);
    return dm_likely(rc == DAT_SUCCESS) ? DM_OK : dm_conn_post_failed(conn, rc);
}

int dm_adapt_eager_commit(struct dm_conn *conn, size_t len)
{
    int err;

    if (dm_unlikely(len == 0))
        return DM_OK;
    if (dm_unlikely(conn->tx.protocol == DM_RECORD_DATAGRAM)) {
        dm_eager_datagram_commit(conn, len);
        return DM_OK;
    }
    err = tx_commit(conn, len);
    if (dm_likely(err == DM_OK))
        dm_eager_notify(conn);
    return err;
}

bool dm_adapt_eager_is_open(const struct dm_conn *conn)
{
    return conn->was_up && conn->state == DM_CONN_UP;
}

size_t dm_adapt_eager_max(const struct dm_conn *conn)
{
    return conn->tx.most;
}

/* Without knowing the rings of a connection. */
static size_t tx_eager_of(const struct dm_ia *ia)
{
    if (ia->tuned != NULL && ia->tuned->eager_limit > 0)
        return ia->tuned->eager_limit;
    return ia->caps.is_local && ia->adapt->is_oversubscribed ? EAGER_LOCAL : EAGER_AUTO;
}

size_t dm_adapt_eager_good(const struct dm_conn *conn)
{
    bool is_tuned;

    if (conn->state < DM_CONN_UP) /* the server's thread chooses rail and ring */
        return EAGER_LOCAL;
    is_tuned = conn->ia != NULL && conn->ia->tuned != NULL && conn->ia->tuned->eager_limit > 0;
    if (!is_tuned && conn->adapt->rings.is_auto_size &&
        conn->ring.slot_size > conn->adapt->rings.size_auto)
        return conn->ring.slot_size * (dm_ia_is_software(conn->ia) ? 1 : 2);
    if (conn->ia == NULL)
        return EAGER_LOCAL;
    if (!is_tuned && conn->ia->caps.is_local && dm_eager_place_part(conn, true) >= SHARED_PART)
        return EAGER_SHARED;
    return tx_eager_of(conn->ia);
}

bool dm_adapt_is_software(const struct dm_conn *conn)
{
    return conn->ia != NULL && dm_ia_is_software(conn->ia);
}

size_t dm_adapt_eager_least(const struct dm_adapt *adapt)
{
    size_t least = EAGER_AUTO;

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        size_t one = tx_eager_of(adapt->rails.ias[i]);

        least = one < least ? one : least;
    }
    return least;
}

/* A walk over the caller's gather list. */
struct cursor {
    const struct iovec *iov;
    int n_iov;
    size_t offset; /* in *iov */
};

/* The record under construction. */
struct record {
    DAT_LMR_TRIPLET iov[DM_TX_IOV];
    int n_iov;
    char *start; /* of the data, in the shadow buffer */
    uint32_t len;
    uint32_t filled;
    uint32_t flushed; /* what iov covers */
    bool is_direct;
};

/* Cover what was copied to the shadow buffer since the last segment. */
static void record_close_segment(const struct dm_tx *tx, struct record *rec, uint32_t end)
{
    DAT_LMR_TRIPLET *seg;

    if (end == rec->flushed)
        return;
    seg = &rec->iov[rec->n_iov++];
    seg->virtual_address = (DAT_VADDR)(uintptr_t)(rec->start + rec->flushed);
    seg->segment_length = end - rec->flushed;
    seg->lmr_context = tx->ring.lctx;
    rec->flushed = end;
}

/* Keep the registration until the write is known complete. */
static bool record_keep_mr(struct dm_conn *conn, struct dm_mr *mr)
{
    struct dm_tx *tx = &conn->tx;

    for (int i = 0; i < tx->direct.n_refs; i++) {
        if (tx->direct.refs[i] == mr) {
            dm_adapt_unreg(conn->adapt, mr);
            return true;
        }
    }
    if (tx->direct.n_refs == DM_TX_REFS) {
        dm_adapt_unreg(conn->adapt, mr);
        return false;
    }
    tx->direct.refs[tx->direct.n_refs++] = mr;
    return true;
}

/* Send a part from where it is; false: copy it. */
static bool record_add_direct(struct dm_conn *conn, struct record *rec, char *part, uint32_t len)
{
    DAT_LMR_TRIPLET *seg;
    struct dm_mr *mr;

    /* the copied bytes before it, itself, and the trailer after it */
    if (conn->tx.direct.is_off || rec->n_iov + 3 > conn->ia->limits.max_iov ||
        rec->n_iov + 3 > DM_TX_IOV)
        return false;
    if (dm_adapt_reg(conn->adapt, part, len, &mr) != DM_OK)
        return false;
    if (!record_keep_mr(conn, mr))
        return false;
    record_close_segment(&conn->tx, rec, rec->filled);
    seg = &rec->iov[rec->n_iov++];
    seg->virtual_address = (DAT_VADDR)(uintptr_t)part;
    seg->segment_length = len;
    seg->lmr_context = mr->lmr[conn->ia->index].lctx;
    rec->flushed += len;
    rec->is_direct = true;
    conn->tx.direct.len += len;
    return true;
}

static void record_copy(struct record *rec, const char *part, size_t n)
{
    memcpy(rec->start + rec->filled, part, n);
    dm_clock_copied(n);
}

static void record_fill(struct dm_conn *conn, struct record *rec, struct cursor *cur)
{
    size_t n;
    char *part;

    while (rec->filled < rec->len) {
        n = cur->iov->iov_len - cur->offset;
        part = (char *)cur->iov->iov_base + cur->offset;
        if (n > rec->len - rec->filled)
            n = rec->len - rec->filled;
        if (n < DIRECT_MIN || !record_add_direct(conn, rec, part, (uint32_t)n))
            record_copy(rec, part, n);
        rec->filled += (uint32_t)n;
        cur->offset += n;
        if (cur->offset == cur->iov->iov_len) {
            cur->iov++;
            cur->n_iov--;
            cur->offset = 0;
        }
    }
}

/* One record of len bytes from the cursor; is_last: the last one that this put can send. */
static DAT_RETURN record_put(struct dm_conn *conn, struct cursor *cur, uint32_t len, bool is_last,
                             bool *direct_p)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t space = dm_record_space(len);
    struct record rec;
    DAT_RETURN rc;

    rec.n_iov = 0;
    rec.start = tx->ring.trailer - space;
    rec.len = len;
    rec.filled = 0;
    rec.flushed = 0;
    rec.is_direct = false;
    record_fill(conn, &rec, cur);
    dm_tx_write_trailer(conn, len);
    record_close_segment(tx, &rec, space + DM_TRAILER_LEN);
    *direct_p = *direct_p || rec.is_direct;
    if (rec.is_direct) {
        tx->direct.is_pending = true;
        tx->direct.post = tx->n_posted + tx->n_extra;
        tx->direct.has_hole = true;
        tx->direct.hole = tx->n_posted;
    }
    if (tx->ring.is_mixed)
        rc = dm_tx_post_mixed(conn, rec.iov, space);
    else
        rc = dm_tx_post(conn, rec.n_iov, rec.iov, (uint64_t)(uintptr_t)rec.start + tx->ring.delta,
                        space + DM_TRAILER_LEN, is_last && *direct_p);
    dm_tx_advance(conn, space);
    return rc;
}

/* All of it in a datagram. False: that cannot be. */
static bool tx_put_datagram(struct dm_conn *conn, const struct iovec *iov, int n_iov, size_t len)
{
    char *place = len > 0 ? dm_eager_datagram_reserve(conn, len) : NULL;

    if (place == NULL)
        return false;
    for (int i = 0; i < n_iov; i++) {
        memcpy(place, iov[i].iov_base, iov[i].iov_len);
        place += iov[i].iov_len;
    }
    dm_eager_datagram_commit(conn, len);
    return true;
}

int dm_adapt_eager_put(struct dm_conn *conn, const struct iovec *iov, int n_iov, size_t *taken_p)
{
    struct dm_tx *tx = &conn->tx;
    struct cursor cur = {iov, n_iov, 0};
    bool has_direct = false;
    size_t left = 0;
    size_t len;
    DAT_RETURN rc;

    *taken_p = 0;
    if (dm_unlikely(dm_conn_is_lost(conn)))
        return conn->parting.is_over ? DM_OK : DM_EPEER;
    for (int i = 0; i < n_iov; i++)
        left += iov[i].iov_len;
    if (dm_unlikely(!conn->was_up) && tx_put_datagram(conn, iov, n_iov, left)) {
        *taken_p = left;
        return DM_OK;
    }
    while (left > 0) {
        /* whole slots while there is much, so that pages and lines stay aligned */
        len = left > tx->most ? tx->piece : left;
        if (dm_unlikely((len > tx->ring.max || tx->n_avail == 0) && !tx_find_place(conn, len)))
            break;
        while (cur.offset == cur.iov->iov_len) /* empty parts */
            cur.iov++;
        if (dm_unlikely(len > RECORD_LONG))
            dm_eager_place_long(conn);
        rc = record_put(conn, &cur, (uint32_t)len, left == len || tx->n_avail == 1, &has_direct);
        if (dm_unlikely(rc != DAT_SUCCESS) && dm_conn_post_failed(conn, rc) != DM_OK)
            return DM_EPEER;
        left -= len;
        *taken_p += len;
    }
    if (*taken_p > 0)
        dm_eager_notify(conn);
    if (has_direct)
        conn->adapt->ops->drain(conn->adapt); /* many providers are done already */
    return dm_conn_is_lost(conn) ? DM_EPEER : DM_OK;
}

bool dm_adapt_eager_flushed(const struct dm_conn *conn)
{
    return !conn->tx.direct.is_pending;
}

void dm_eager_sent(struct dm_conn *conn, uint32_t number)
{
    struct dm_tx *tx = &conn->tx;

    if ((int32_t)(number + 1 - tx->sq.done) > 0)
        tx->sq.done = number + 1;
    if (tx->loan.places != NULL)
        dm_eager_lend_back(conn, tx->sq.done);
    if (tx->direct.is_pending && (int32_t)(tx->sq.done - tx->direct.post) > 0) {
        tx->direct.is_pending = false;
        while (tx->direct.n_refs > 0)
            dm_adapt_unreg(conn->adapt, tx->direct.refs[--tx->direct.n_refs]);
    }
}
