/*
 * The pipe's face: reserve and commit, put, peek and consume, over either way of
 * travelling. A record never crosses slots; a slot's content is built in the mirror of
 * the peer's ring, except for large parts that are sent from where they are.
 *
 * tx.room is the only thing the fast path looks at: it counts what may be posted
 * before credits and the request queue have to be looked at again, and is 0 while the
 * connection may not post at all.
 */
#include "dapl_adapt/eager.h"

#include <string.h>

#include "dapl_adapt/adapt.h"
#include "dapl_adapt/ring.h"
#include "dapl_adapt/serial.h"
#include "util/err.h"
#include "util/log.h"

#define DIRECT_MIN   4096 /* parts from this size are not copied into the mirror */
#define MAX_IOV      8
#define PREFETCH_MAX 512 /* bytes of a record */
#define EAGER_AUTO   16384

static inline void advance(struct dm_tx *tx)
{
    tx->n_posted++;
    tx->room--;
    tx->foot += tx->stride;
    if (dm_unlikely(++tx->slot == tx->n_slots)) {
        tx->slot = 0;
        tx->foot -= (size_t)tx->n_slots * tx->stride;
        tx->tag = dm_foot_tag(++tx->lap);
    }
}

/* Write the footer of a record of len bytes: everything consumed so far is acknowledged. */
static inline void write_footer(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t credit = conn->rx.n_consumed;

    conn->rx.n_credited = credit;
    *(uint64_t *)(void *)tx->foot =
        tx->tag | (uint64_t)(credit & 0xffff) << DM_FOOT_CRED | (uint64_t)len;
}

/* Should this post give a completion? Some have to, so that the queue's places come back. */
static inline enum dm_cookie_kind signal_kind(struct dm_conn *conn, bool is_signalled,
                                              DAT_COMPLETION_FLAGS *flags_p)
{
    struct dm_tx *tx = &conn->tx;

    if (dm_unlikely(is_signalled || tx->until_signal <= 1)) {
        tx->until_signal = tx->sig_every;
        tx->n_sig++;
        conn->ia->n_signalled++;
        *flags_p = DAT_COMPLETION_DEFAULT_FLAG;
        return DM_COOKIE_TX;
    }
    tx->until_signal--;
    *flags_p = DAT_COMPLETION_SUPPRESS_FLAG;
    return DM_COOKIE_QUIET;
}

static inline DAT_DTO_COOKIE tx_cookie(const struct dm_tx *tx, enum dm_cookie_kind kind)
{
    DAT_DTO_COOKIE c;

    c.as_64 = (uint64_t)(tx->n_posted + tx->n_extra) << 32 | tx->cookie | (uint64_t)kind;
    return c;
}

static inline uint64_t first_foot(const struct dm_tx *tx)
{
    return (uint64_t)(uintptr_t)tx->foot - (uint64_t)tx->slot * tx->stride;
}

/*
 * The basic design: the data, then the footer as a word of its own (the head). The data are a post
 * that is no record, so that the numbers of posts go on by one.
 */
static DAT_RETURN post_basic(struct dm_conn *conn, DAT_COUNT n_iov, DAT_LMR_TRIPLET *iov,
                             DAT_RMR_TRIPLET *rmr, enum dm_cookie_kind kind,
                             DAT_COMPLETION_FLAGS flags)
{
    struct dm_tx *tx = &conn->tx;
    DAT_LMR_TRIPLET *last = &iov[n_iov - 1];
    DAT_LMR_TRIPLET head;
    DAT_RETURN rc = DAT_SUCCESS;

    head.virtual_address = last->virtual_address + last->segment_length - DM_FOOT_LEN;
    head.segment_length = DM_FOOT_LEN;
    head.lmr_context = tx->lctx;
    last->segment_length -= DM_FOOT_LEN;
    rmr->segment_length -= DM_FOOT_LEN;
    n_iov -= last->segment_length == 0;
    if (n_iov > 0) {
        rc = DAT_EP_POST_RDMA_WRITE(tx->ep, n_iov, iov, tx_cookie(tx, DM_COOKIE_QUIET), rmr,
                                    DAT_COMPLETION_SUPPRESS_FLAG);
        tx->n_extra++;
        conn->ia->counts.n_writes++;
    }
    if (rc != DAT_SUCCESS)
        return rc;
    rmr->virtual_address =
        tx->heads + (head.virtual_address - first_foot(tx)) / tx->stride * DM_FOOT_LEN;
    rmr->segment_length = DM_FOOT_LEN;
    return DAT_EP_POST_RDMA_WRITE(tx->ep, 1, &head, tx_cookie(tx, kind), rmr, flags);
}

/* A record that is not one write. */
static DM_NOINLINE DAT_RETURN post_other(struct dm_conn *conn, DAT_COUNT n_iov,
                                         DAT_LMR_TRIPLET *iov, DAT_RMR_TRIPLET *rmr,
                                         enum dm_cookie_kind kind, DAT_COMPLETION_FLAGS flags)
{
    if (!conn->tx.is_send)
        return post_basic(conn, n_iov, iov, rmr, kind, flags);
    return DAT_EP_POST_SEND(conn->tx.ep, n_iov, iov, tx_cookie(&conn->tx, kind), flags);
}

/* Send a record, whose bytes up to and with the footer are in iov, to slot address remote. */
static inline DAT_RETURN post(struct dm_conn *conn, DAT_COUNT n_iov, DAT_LMR_TRIPLET *iov,
                              uint64_t remote, uint32_t len, bool is_signalled)
{
    struct dm_tx *tx = &conn->tx;
    DAT_COMPLETION_FLAGS flags;
    enum dm_cookie_kind kind = signal_kind(conn, is_signalled, &flags);
    DAT_RMR_TRIPLET rmr;
    DAT_RETURN rc;

    rmr.virtual_address = remote;
    rmr.segment_length = len;
    rmr.rmr_context = tx->rctx;
    tx->len_sent += len;
    dm_serial_enter(tx->is_serial);
    if (dm_unlikely(tx->is_other))
        rc = post_other(conn, n_iov, iov, &rmr, kind, flags);
    else
        rc = DAT_EP_POST_RDMA_WRITE(tx->ep, n_iov, iov, tx_cookie(tx, kind), &rmr, flags);
    dm_serial_leave(tx->is_serial);
    return rc;
}

DAT_RETURN dm_eager_write(struct dm_conn *conn, DAT_LMR_TRIPLET *lmr, DAT_RMR_TRIPLET *rmr,
                          bool is_signalled)
{
    struct dm_tx *tx = &conn->tx;
    DAT_COMPLETION_FLAGS flags;
    enum dm_cookie_kind kind = signal_kind(conn, is_signalled, &flags);
    DAT_DTO_COOKIE cookie = tx_cookie(tx, kind);
    DAT_RETURN rc;

    tx->n_extra++;
    *(rmr != NULL ? &conn->ia->counts.n_writes : &conn->ia->counts.n_sends) += 1;
    dm_serial_enter(tx->is_serial);
    if (rmr != NULL)
        rc = DAT_EP_POST_RDMA_WRITE(tx->ep, 1, lmr, cookie, rmr, flags);
    else
        rc = DAT_EP_POST_SEND(tx->ep, 1, lmr, cookie, flags);
    dm_serial_leave(tx->is_serial);
    return rc;
}

DAT_RETURN dm_eager_post_again(struct dm_conn *conn, const void *foot, uint32_t room)
{
    DAT_LMR_TRIPLET lmr;
    DAT_RETURN rc;

    lmr.virtual_address = (DAT_VADDR)(uintptr_t)foot - room;
    lmr.segment_length = room + DM_FOOT_LEN;
    lmr.lmr_context = conn->tx.lctx;
    rc = post(conn, 1, &lmr, lmr.virtual_address + conn->tx.delta, room + DM_FOOT_LEN, false);
    conn->tx.n_extra++;
    *(conn->tx.is_send ? &conn->ia->counts.n_sends : &conn->ia->counts.n_writes) += 1;
    return rc;
}

int dm_eager_post_failed(struct dm_conn *conn, DAT_RETURN rc)
{
    if (DAT_GET_TYPE(rc) != DAT_INVALID_STATE)
        dm_log_warn("posting to rank %d on host %s: %s", conn->proc,
                    dm_adapt_host_of(conn->adapt, conn->proc), dm_dat_text(rc));
    dm_conn_break(conn, "the provider refuses to send");
    return conn->tx.is_lost ? DM_EPEER : DM_OK;
}

/* No room: look for credits, else remember that somebody waits and start connecting. */
static DM_NOINLINE bool find_room(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    if (tx->is_lost)
        return false;
    if (conn->is_up && conn->link[DM_LINK_PIPE].may_post)
        dm_eager_refill(conn);
    else
        dm_adapt_connect(conn);
    if (tx->room > 0)
        return true;
    if (!tx->is_blocked) {
        tx->is_blocked = true;
        conn->adapt->n_blocked++;
    }
    return false;
}

void *dm_adapt_eager_reserve(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;

    if (dm_unlikely(len > tx->max || (tx->room == 0 && !find_room(conn))))
        return NULL;
    tx->reserved = dm_record_room((uint32_t)len);
    return tx->foot - tx->reserved;
}

int dm_adapt_eager_commit(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t room = dm_record_room((uint32_t)len);
    DAT_LMR_TRIPLET lmr;
    DAT_RETURN rc;

    if (dm_unlikely(len == 0))
        return DM_OK;
    if (dm_unlikely(room != tx->reserved))
        memmove(tx->foot - room, tx->foot - tx->reserved, len);
    write_footer(conn, len);
    lmr.virtual_address = (DAT_VADDR)(uintptr_t)(tx->foot - room);
    lmr.segment_length = room + DM_FOOT_LEN;
    lmr.lmr_context = tx->lctx;
    rc = post(conn, 1, &lmr, lmr.virtual_address + tx->delta, room + DM_FOOT_LEN, false);
    advance(tx);
    if (dm_unlikely(rc != DAT_SUCCESS))
        return dm_eager_post_failed(conn, rc);
    dm_eager_rouse(conn);
    return DM_OK;
}

size_t dm_adapt_eager_max(const struct dm_conn *conn)
{
    return conn->tx.most;
}

size_t dm_adapt_eager_good(const struct dm_conn *conn)
{
    if (conn->ia != NULL && conn->ia->tuned != NULL && conn->ia->tuned->eager_limit > 0)
        return conn->ia->tuned->eager_limit;
    return conn->adapt->is_auto_size && conn->slot_size > conn->adapt->size_auto
               ? 2 * conn->slot_size
               : EAGER_AUTO;
}

size_t dm_adapt_eager_least(const struct dm_adapt *adapt)
{
    size_t least = EAGER_AUTO;

    for (int i = 0; i < adapt->n_ias; i++) {
        const struct dm_tune_rail *tuned = adapt->ias[i]->tuned;

        if (tuned != NULL && tuned->eager_limit > 0 && tuned->eager_limit < least)
            least = tuned->eager_limit;
    }
    return least;
}

bool dm_adapt_is_ready(const struct dm_conn *conn)
{
    return conn->is_up && conn->link[DM_LINK_PIPE].may_post && !conn->tx.is_lost;
}

int dm_eager_nudge(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    DAT_LMR_TRIPLET lmr;
    DAT_RETURN rc;

    write_footer(conn, 0);
    lmr.virtual_address = (DAT_VADDR)(uintptr_t)tx->foot;
    lmr.segment_length = DM_FOOT_LEN;
    lmr.lmr_context = tx->lctx;
    rc = post(conn, 1, &lmr, lmr.virtual_address + tx->delta, DM_FOOT_LEN, false);
    if (tx->room == 0)
        tx->room = 1; /* the held-back one is used */
    advance(tx);
    if (rc != DAT_SUCCESS)
        return dm_eager_post_failed(conn, rc);
    dm_eager_rouse(conn);
    return DM_OK;
}

/* ---- put ---- */

/* A walk over the caller's gather list. */
struct cursor {
    const struct iovec *iov;
    int n_iov;
    size_t offset; /* in *iov */
};

/* The record under construction. */
struct record {
    DAT_LMR_TRIPLET iov[MAX_IOV];
    int n_iov;
    char *start; /* of the data, in the mirror */
    uint32_t len;
    uint32_t filled;
    uint32_t flushed; /* what iov covers */
    bool is_direct;
};

/* Cover what was copied to the mirror since the last segment. */
static void close_segment(const struct dm_tx *tx, struct record *rec, uint32_t end)
{
    DAT_LMR_TRIPLET *seg;

    if (end == rec->flushed)
        return;
    seg = &rec->iov[rec->n_iov++];
    seg->virtual_address = (DAT_VADDR)(uintptr_t)(rec->start + rec->flushed);
    seg->segment_length = end - rec->flushed;
    seg->lmr_context = tx->lctx;
    rec->flushed = end;
}

/* Keep the registration until the write is known complete. */
static bool hold(struct dm_conn *conn, struct dm_mr *mr)
{
    struct dm_tx *tx = &conn->tx;

    for (int i = 0; i < tx->n_refs; i++) {
        if (tx->refs[i] == mr) {
            dm_adapt_unreg(conn->adapt, mr);
            return true;
        }
    }
    if (tx->n_refs == DM_TX_REFS) {
        dm_adapt_unreg(conn->adapt, mr);
        return false;
    }
    tx->refs[tx->n_refs++] = mr;
    return true;
}

/* Send a part from where it is; false: copy it. */
static bool add_direct(struct dm_conn *conn, struct record *rec, char *part, uint32_t len)
{
    DAT_LMR_TRIPLET *seg;
    struct dm_mr *mr;

    /* the copied bytes before it, itself, and the footer after it */
    if (conn->tx.is_kept || rec->n_iov + 3 > conn->ia->max_iov || rec->n_iov + 3 > MAX_IOV)
        return false;
    if (dm_adapt_reg(conn->adapt, part, len, &mr) != DM_OK)
        return false;
    if (!hold(conn, mr))
        return false;
    close_segment(&conn->tx, rec, rec->filled);
    seg = &rec->iov[rec->n_iov++];
    seg->virtual_address = (DAT_VADDR)(uintptr_t)part;
    seg->segment_length = len;
    seg->lmr_context = mr->lmr[conn->ia->index].lctx;
    rec->flushed += len;
    rec->is_direct = true;
    conn->tx.len_direct += len;
    return true;
}

static void fill_record(struct dm_conn *conn, struct record *rec, struct cursor *cur)
{
    size_t n;
    char *part;

    while (rec->filled < rec->len) {
        n = cur->iov->iov_len - cur->offset;
        part = (char *)cur->iov->iov_base + cur->offset;
        if (n > rec->len - rec->filled)
            n = rec->len - rec->filled;
        if (n < DIRECT_MIN || !add_direct(conn, rec, part, (uint32_t)n))
            memcpy(rec->start + rec->filled, part, n);
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
static DAT_RETURN put_record(struct dm_conn *conn, struct cursor *cur, uint32_t len, bool is_last,
                             bool *direct_p)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t room = dm_record_room(len);
    struct record rec;
    DAT_RETURN rc;

    rec.n_iov = 0;
    rec.start = tx->foot - room;
    rec.len = len;
    rec.filled = 0;
    rec.flushed = 0;
    rec.is_direct = false;
    fill_record(conn, &rec, cur);
    write_footer(conn, len);
    close_segment(tx, &rec, room + DM_FOOT_LEN);
    *direct_p = *direct_p || rec.is_direct;
    if (rec.is_direct) {
        tx->has_direct = true;
        tx->direct = tx->n_posted + tx->n_extra;
        tx->has_hole = true;
        tx->hole = tx->n_posted;
    }
    rc = post(conn, rec.n_iov, rec.iov, (uint64_t)(uintptr_t)rec.start + tx->delta,
              room + DM_FOOT_LEN, is_last && *direct_p);
    advance(tx);
    return rc;
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
    if (dm_unlikely(tx->is_lost))
        return DM_EPEER;
    for (int i = 0; i < n_iov; i++)
        left += iov[i].iov_len;
    while (left > 0 && (tx->room > 0 || find_room(conn))) {
        /* whole slots while there is much, so that pages and lines stay aligned */
        len = left > tx->most ? tx->piece : left;
        while (cur.offset == cur.iov->iov_len) /* empty parts */
            cur.iov++;
        rc = put_record(conn, &cur, (uint32_t)len, left == len || tx->room == 1, &has_direct);
        if (dm_unlikely(rc != DAT_SUCCESS) && dm_eager_post_failed(conn, rc) != DM_OK)
            return DM_EPEER;
        left -= len;
        *taken_p += len;
    }
    if (*taken_p > 0)
        dm_eager_rouse(conn);
    if (has_direct)
        dm_poll_drain(conn->adapt); /* many providers are done already */
    return tx->is_lost ? DM_EPEER : DM_OK;
}

bool dm_adapt_eager_flushed(const struct dm_conn *conn)
{
    return !conn->tx.has_direct;
}

void dm_eager_sent(struct dm_conn *conn, uint32_t number)
{
    struct dm_tx *tx = &conn->tx;

    if ((int32_t)(number + 1 - tx->sq_done) > 0)
        tx->sq_done = number + 1;
    if (tx->has_direct && (int32_t)(tx->sq_done - tx->direct) > 0) {
        tx->has_direct = false;
        while (tx->n_refs > 0)
            dm_adapt_unreg(conn->adapt, tx->refs[--tx->n_refs]);
    }
}

/* ---- the receiving side ---- */

/* Where the data of the record in front are, when its footer is not behind them. */
static const char *data_apart(struct dm_rx *rx, uint64_t word, uint32_t len)
{
    const char *slot = rx->ring + (size_t)rx->slot * rx->stride;

    if (rx->is_recv) /* the credit is known */
        return slot;
    rx->peer_credit = (uint32_t)(word >> DM_FOOT_CRED) & 0xffff;
    return slot + rx->stride - DM_FOOT_LEN - dm_record_room(len);
}

size_t dm_adapt_eager_peek(struct dm_conn *conn, const void **data_p)
{
    struct dm_rx *rx = &conn->rx;
    uint64_t word;
    uint32_t len;

    while (rx->left == 0) {
        word = atomic_load_explicit(rx->foot, memory_order_acquire);
        if ((word ^ rx->tag) >> DM_FOOT_TAG != 0)
            return 0;
        len = (uint32_t)word & DM_FOOT_SIZE;
        if (dm_unlikely(rx->is_apart)) {
            rx->data = data_apart(rx, word, len);
        } else {
            rx->peer_credit = (uint32_t)(word >> DM_FOOT_CRED) & 0xffff;
            rx->data = (const char *)rx->foot - dm_record_room(len);
            /* they come from another core, all at once rather than one by one as they are read */
            for (uint32_t at = 0; at + DM_CACHE_LINE < len && at < PREFETCH_MAX;
                 at += DM_CACHE_LINE)
                __builtin_prefetch(rx->data + at);
        }
        rx->left = len;
        rx->len_got += len;
        if (dm_unlikely(len == 0))
            dm_eager_next(conn);
    }
    *data_p = rx->data;
    return rx->left;
}

void dm_adapt_eager_consume(struct dm_conn *conn, size_t len)
{
    struct dm_rx *rx = &conn->rx;

    rx->data += len;
    rx->left -= (uint32_t)len;
    if (dm_likely(rx->left == 0))
        dm_eager_next(conn);
}

void dm_eager_next(struct dm_conn *conn)
{
    struct dm_rx *rx = &conn->rx;

    if (dm_unlikely(rx->is_recv) && dm_eager_sr_repost(conn, rx->slot) != DM_OK)
        return;
    rx->foot = (void *)((char *)rx->foot + rx->foot_step);
    if (dm_unlikely(++rx->slot == rx->n_slots)) {
        rx->slot = 0;
        rx->foot = (void *)((char *)rx->foot - (size_t)rx->n_slots * rx->foot_step);
        rx->tag = dm_foot_tag(++rx->lap);
    }
    __builtin_prefetch((char *)rx->foot + rx->foot_step); /* of the record after the next */
    rx->n_consumed++;
    if (dm_unlikely(!conn->link[DM_LINK_PIPE].may_post && conn->epoch == 0)) {
        /* the connector has spoken: we may too (later epochs: eager_move.c) */
        conn->link[DM_LINK_PIPE].may_post = true;
        dm_eager_refill(conn);
        if (!conn->tell_ready) {
            conn->tell_ready = true;
            conn->adapt->n_tell++;
        }
    }
    if (dm_unlikely(rx->n_consumed - rx->n_credited >= rx->due))
        dm_eager_credit(conn);
}
