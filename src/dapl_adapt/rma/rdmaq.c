/*
 * Bulk RDMA on the endpoints beside the pipe.
 *
 * A transfer waits in its RDMA queue until the link is up and the request queue has a place; it is
 * split by what the provider moves at once. Reads have one local segment and registrations allow
 * everything, as iWARP wants them; no more of them are posted than both ends' providers have places
 * for. Where a write is done before it is placed, it is followed by a read of its last byte, which
 * cannot overtake it. With DATUM_FIN=chained a message is posted behind the last write instead, at
 * once: the receiver gets it after the data. Every part is signalled; the transfer is done when all
 * parts have come back.
 * An RDMA queue remembers what is posted, so that it can be posted again when the endpoint is gone:
 * the same bytes to the same place. Only atomic operations (atomic.c) are not. Parts complete in
 * order, but nothing breaks if they do not.
 */
#include "dapl_adapt/rma/rdmaq.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/retry.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ext.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/public/peer.h"
#include "dapl_adapt/public/rdma.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/list.h"
#include "util/log.h"
#include "util/port.h"

#define SHORT_PAGE  4096 /* the smallest that the host of the source may have */
#define SHORT_BYTES 64
#define MESSAGE_LEN 8 /* bytes of a message behind a write */

void dm_rdma_finish(struct dm_adapt *adapt, struct dm_rdma *rdma)
{
    rdma->next = NULL;
    if (adapt->poll.done_head == NULL)
        adapt->poll.done_head = rdma;
    else
        adapt->poll.done_tail->next = rdma;
    adapt->poll.done_tail = rdma;
}

static void rdmaq_enqueue(struct dm_rdmaq *rdmaq, struct dm_rdma *rdma)
{
    rdma->next = NULL;
    rdma->is_queued = true;
    if (rdmaq->queue_head == NULL)
        rdmaq->queue_head = rdma;
    else
        rdmaq->queue_tail->next = rdma;
    rdmaq->queue_tail = rdma;
}

static void rdmaq_enqueue_first(struct dm_rdmaq *rdmaq, struct dm_rdma *rdma)
{
    rdma->next = rdmaq->queue_head;
    rdma->is_queued = true;
    rdmaq->queue_head = rdma;
    if (rdma->next == NULL)
        rdmaq->queue_tail = rdma;
}

static void rdmaq_dequeue(struct dm_rdmaq *rdmaq)
{
    struct dm_rdma *rdma = rdmaq->queue_head;

    rdmaq->queue_head = rdma->next;
    rdma->is_queued = false;
}

/* Does its next part, or the one that is posted last, take one of the places for reads? */
static bool rdma_takes_read(const struct dm_rdma *rdma)
{
    return rdma->is_read || rdma->is_echo;
}

/* What is queued or posted there may not have been placed, though it was done: from the start. */
static void rdma_rewind_late(struct dm_rdmaq *rdmaq, struct dm_rdma *rdma)
{
    uint64_t done = rdma->len - rdma->left;

    if (!rdmaq->ia->caps.is_late || rdma->is_read || rdma->err != DM_OK)
        return;
    rdma->local -= done;
    rdma->remote -= done;
    rdma->left = rdma->len;
    rdma->is_echo = false;
    rdmaq->ia->counts.again_len += done;
}

void dm_rdma_completed(struct dm_conn *conn, struct dm_rdmaq *rdmaq, uint32_t place, bool is_ok)
{
    struct dm_rdma *rdma = rdmaq->posted->parts[place].rdma;

    if (rdma == NULL)
        return;
    rdmaq->posted->parts[place].rdma = NULL;
    rdmaq->n_reads -= rdma_takes_read(rdma);
    while (rdmaq->tail != rdmaq->head &&
           rdmaq->posted->parts[rdmaq->tail % DM_RDMAQ_REQS].rdma == NULL)
        rdmaq->tail++;
    rdma->n_posted--;
    if (!is_ok && rdma->err == DM_OK)
        rdma->err = DM_EPEER;
    if (rdma->err != DM_OK)
        rdma->left = 0;
    if (rdma->n_posted != 0 || rdma->left != 0 || rdma->is_queued)
        return;
    if (rdmaq->ia->caps.is_late && !rdma->is_read && !rdma->is_echo && rdma->err == DM_OK &&
        rdma->end == DM_RDMA_END_NONE) {
        rdma->is_echo = true;
        rdmaq_enqueue_first(rdmaq, rdma);
    } else {
        dm_rdma_finish(conn->adapt, rdma);
    }
}

/* It ends with err, though it has not completed. */
static void rdmaq_finish_atomic(struct dm_adapt *adapt, struct dm_rdma *rdma, int err)
{
    rdma->left = 0;
    rdma->err = err;
    dm_rdma_finish(adapt, rdma);
}

/* Atomic operations stay on their rail: those that were not even posted are to be started again. */
static void rdmaq_drop_atomics(struct dm_adapt *adapt, struct dm_rdmaq *rdmaq)
{
    struct dm_rdma *next;
    struct dm_rdma *rdma = rdmaq->queue_head;

    rdmaq->queue_head = rdmaq->queue_tail = NULL;
    for (; rdma != NULL; rdma = next) {
        next = rdma->next;
        if (rdma->is_atomic)
            rdmaq_finish_atomic(adapt, rdma, DM_EAGAIN);
        else
            rdmaq_enqueue(rdmaq, rdma);
    }
}

void dm_rdma_requeue(struct dm_conn *conn, struct dm_rdmaq *rdmaq, struct dm_rdmaq *to)
{
    struct dm_part *part;
    struct dm_rdma *rdma;

    rdmaq->n_reads = 0;
    rdmaq_drop_atomics(conn->adapt, rdmaq);
    for (rdma = rdmaq->queue_head; rdma != NULL; rdma = rdma->next)
        rdma_rewind_late(rdmaq, rdma);
    while (rdmaq != to && (rdma = rdmaq->queue_head) != NULL) {
        rdmaq_dequeue(rdmaq);
        rdmaq_enqueue(to, rdma);
    }
    while (rdmaq->head != rdmaq->tail) {
        part = &rdmaq->posted->parts[--rdmaq->head % DM_RDMAQ_REQS];
        rdma = part->rdma;
        part->rdma = NULL;
        if (rdma == NULL)
            continue;
        rdma->n_posted--;
        if (rdma->is_atomic) { /* it may have been done */
            rdmaq_finish_atomic(conn->adapt, rdma, DM_EPEER);
            continue;
        }
        if (part->local < rdma->local) {
            rdmaq->ia->counts.again_len += rdma->local - part->local;
            rdma->left += rdma->local - part->local;
            rdma->local = part->local;
            rdma->remote = part->remote;
        }
        rdma_rewind_late(rdmaq, rdma);
        if (!rdma->is_queued)
            rdmaq_enqueue_first(to, rdma);
    }
}

/*
 * Bytes of the next part. Soft-iWARP sends up to 24 bytes together with their header, and takes
 * wrong ones when they come from two pages (docs/TROUBLESHOOTING.md): a short part ends where its
 * source's page does.
 */
static uint64_t rdma_part_len(const struct dm_ia *ia, const struct dm_rdma *rdma)
{
    uint64_t len = rdma->left < ia->limits.max_rdma ? rdma->left : ia->limits.max_rdma;
    uint64_t from = rdma->is_read ? rdma->remote : rdma->local;
    uint64_t in_page = SHORT_PAGE - from % SHORT_PAGE;

    return dm_unlikely(ia->caps.is_late) && len <= SHORT_BYTES && len > in_page ? in_page : len;
}

/* It is posted, at this place of the queue. */
static void rdmaq_posted(struct dm_rdmaq *rdmaq, uint32_t place, struct dm_rdma *rdma)
{
    rdmaq->posted->parts[place] =
        (struct dm_part){.rdma = rdma, .local = rdma->local, .remote = rdma->remote};
    rdmaq->head++;
    rdmaq->rq_used++;
    rdmaq->ia->n_signalled++;
    rdma->n_posted++;
}

/* Is there a message to post behind its last write? */
static bool rdma_owes_message(const struct dm_rdma *rdma)
{
    return dm_unlikely(rdma->end == DM_RDMA_END_MESSAGE) && rdma->left == 0 && rdma->err == DM_OK;
}

/*
 * Post that message. Its bytes say nothing: the peer has posted a receive for each value that it
 * has given out, in that order, and the writes are in that order, too.
 */
static DAT_RETURN rdmaq_post_message(struct dm_conn *conn, struct dm_rdmaq *rdmaq,
                                     struct dm_rdma *rdma)
{
    const struct dm_link *link = dm_link_of(conn, rdmaq);
    uint32_t place = rdmaq->head % DM_RDMAQ_REQS;
    DAT_LMR_TRIPLET *lmr = &rdmaq->posted->descs[place].lmr;
    DAT_RETURN rc;

    dm_link_first(link, lmr);
    lmr->segment_length = MESSAGE_LEN;
    dm_serial_enter(rdmaq->ia->is_serial);
    rc = DAT_EP_POST_SEND(link->ep, 1, lmr,
                          dm_cookie(DM_COOKIE_RDMA, link, (uint32_t)link->kind << 16 | place),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_leave(rdmaq->ia->is_serial);
    if (rc != DAT_SUCCESS)
        return rc;
    rdmaq_posted(rdmaq, place, rdma);
    rdmaq->ia->counts.n_sends++;
    rdma->end = DM_RDMA_END_POSTED;
    return DAT_SUCCESS;
}

bool dm_rdma_has_keys(const struct dm_rdmaq *rdmaq, const struct dm_rdma *rdma)
{
    return rdma->rkey.ctx[rdmaq->peer_rail] != 0 &&
           rdma->mr->lmr[rdmaq->ia->index].handle != DAT_HANDLE_NULL;
}

bool dm_rdma_is_starved(const struct dm_conn *conn)
{
    const struct dm_rdma *rdma = conn->links->rdmaq[0].queue_head;

    return rdma != NULL && rdma->left > 0 && !rdma->is_atomic &&
           !dm_rdma_has_keys(&conn->links->rdmaq[0], rdma);
}

/* Post the next part of a transfer, or the read behind it. */
static DAT_RETURN rdmaq_post_part(struct dm_conn *conn, struct dm_rdmaq *rdmaq,
                                  struct dm_rdma *rdma)
{
    const struct dm_link *link = dm_link_of(conn, rdmaq);
    uint32_t place = rdmaq->head % DM_RDMAQ_REQS;
    struct dm_desc *desc = &rdmaq->posted->descs[place];
    uint64_t len = rdma_part_len(rdmaq->ia, rdma);
    DAT_DTO_COOKIE cookie;
    DAT_RETURN rc;

    desc->lmr.virtual_address = rdma->local;
    desc->lmr.segment_length = (DAT_SEG_LENGTH)len;
    desc->lmr.lmr_context = rdma->mr->lmr[rdmaq->ia->index].lctx;
    desc->rmr.virtual_address = rdma->remote;
    desc->rmr.segment_length = (DAT_SEG_LENGTH)len;
    desc->rmr.rmr_context = rdma->rkey.ctx[rdmaq->peer_rail];
    if (rdma->is_echo) {
        desc->lmr.virtual_address = (DAT_VADDR)(uintptr_t)rdmaq->ia->memory.echo.bytes;
        desc->lmr.lmr_context = rdmaq->ia->memory.echo.lmr.lctx;
        desc->lmr.segment_length = 1;
        desc->rmr.virtual_address--;
        desc->rmr.segment_length = 1;
    }
    cookie = dm_cookie(DM_COOKIE_RDMA, link, (uint32_t)link->kind << 16 | place);
    dm_serial_enter(rdmaq->ia->is_serial);
    if (dm_unlikely(rdma->end == DM_RDMA_END_VALUE) && len == rdma->left)
        rc = dm_ext_write_imm(rdmaq->ia, link->ep, &desc->lmr, cookie, &desc->rmr, rdma->value);
    else if (dm_unlikely(rdma->is_atomic))
        rc = rdma->is_swap ? dm_ext_compare_swap(rdmaq->ia, link->ep, &desc->lmr, cookie,
                                                 &desc->rmr, rdma->compare, rdma->operand)
                           : dm_ext_fetch_add(rdmaq->ia, link->ep, &desc->lmr, cookie, &desc->rmr,
                                              rdma->operand);
    else if (rdma_takes_read(rdma))
        rc = DAT_EP_POST_RDMA_READ(link->ep, 1, &desc->lmr, cookie, &desc->rmr,
                                   DAT_COMPLETION_DEFAULT_FLAG);
    else
        rc = DAT_EP_POST_RDMA_WRITE(link->ep, 1, &desc->lmr, cookie, &desc->rmr,
                                    DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_leave(rdmaq->ia->is_serial);
    if (rc != DAT_SUCCESS)
        return rc;
    rdmaq_posted(rdmaq, place, rdma);
    rdmaq->n_reads += rdma_takes_read(rdma);
    rdmaq->ia->counts.rdma_len += len;
    if (!rdma->is_atomic)
        *(rdma_takes_read(rdma) ? &rdmaq->ia->counts.n_reads : &rdmaq->ia->counts.n_writes) += 1;
    rdma->local += len;
    rdma->remote += len;
    rdma->left -= len;
    return DAT_SUCCESS;
}

static bool rdmaq_has_slot(const struct dm_rdmaq *rdmaq, const struct dm_rdma *rdma)
{
    return rdmaq->rq_used < rdmaq->rq_size && rdmaq->head - rdmaq->tail < DM_RDMAQ_REQS &&
           (!rdma_takes_read(rdma) || rdmaq->n_reads < rdmaq->max_reads);
}

void dm_rdma_push(struct dm_conn *conn, struct dm_rdmaq *rdmaq)
{
    struct dm_link *link = dm_link_of(conn, rdmaq);
    struct dm_rdma *rdma;
    DAT_RETURN rc = DAT_SUCCESS;

    while ((rdma = rdmaq->queue_head) != NULL && rdmaq_has_slot(rdmaq, rdma) && link->may_post &&
           !dm_conn_is_lost(conn)) {
        if (dm_unlikely(dm_conn_has_joined(conn) && link->kind == DM_LINK_RDMA &&
                        dm_rdma_is_starved(conn)))
            return; /* until it is over another rail */
        if (rdma->left > 0 || (rdma->is_echo && rdma->err == DM_OK))
            rc = rdmaq_post_part(conn, rdmaq, rdma);
        else if (rdma_owes_message(rdma))
            rc = rdmaq_post_message(conn, rdmaq, rdma);
        if (rc != DAT_SUCCESS)
            break;
        if (rdma->left == 0 && !rdma_owes_message(rdma)) {
            rdmaq_dequeue(rdmaq);
            if (rdma->n_posted == 0)
                dm_rdma_finish(conn->adapt, rdma);
        }
    }
    if (rc == DAT_SUCCESS || (DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES && rdmaq->rq_used > 0))
        return;
    if (link->kind >= DM_LINK_EXTRA)
        dm_rdmaq_break(link);
    else
        dm_conn_post_failed(conn, rc);
}

bool dm_rdma_is_wanted(const struct dm_conn *conn)
{
    bool is_so = false;

    for (int k = 0; k < DM_RDMAQS; k++)
        is_so = is_so || conn->links->rdmaq[k].queue_head != NULL;
    return is_so;
}

void dm_rdmaq_fail(struct dm_conn *conn)
{
    struct dm_rdmaq *rdmaq;
    struct dm_rdma *rdma;

    for (int k = 0; k < DM_RDMAQS; k++) {
        rdmaq = &conn->links->rdmaq[k];
        while ((rdma = rdmaq->queue_head) != NULL) {
            rdmaq_dequeue(rdmaq);
            rdma->left = 0;
            rdma->err = conn->loss.err;
            if (rdma->n_posted == 0)
                dm_rdma_finish(conn->adapt, rdma);
        }
    }
}

void dm_rdma_start(struct dm_conn *conn, struct dm_rdmaq *rdmaq, struct dm_rdma *rdma)
{
    rdma->len = rdma->left;
    rdma->is_echo = false;
    rdmaq_enqueue(rdmaq, rdma);
    if (dm_link_of(conn, rdmaq)->may_post)
        dm_rdma_push(conn, rdmaq);
    else if (conn->was_up)
        dm_conn_start(conn, DM_LINK_RDMA);
    else
        dm_adapt_connect(conn);
}

/*
 * Bytes of a write that are under way could still be placed by the peer's end, after the same bytes
 * came another way and the program there went on. So both sides end everything first.
 */
static bool rdmaq_has_writes(const struct dm_rdmaq *rdmaq)
{
    const struct dm_rdma *rdma;

    for (uint32_t i = rdmaq->tail; i != rdmaq->head; i++) {
        rdma = rdmaq->posted->parts[i % DM_RDMAQ_REQS].rdma;
        if (rdma != NULL && !rdma->is_read)
            return true;
    }
    /* completed, but where writes complete before they are placed the read behind them has not been posted yet */
    for (rdma = rdmaq->queue_head; rdma != NULL && rdmaq->ia->caps.is_late; rdma = rdma->next)
        if (!rdma->is_read && rdma->left < rdma->len)
            return true;
    return false;
}

void dm_rdmaq_break(struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    struct dm_rdmaq *rdmaq = dm_rdmaq_of(link);
    struct dm_adapt *adapt = conn->adapt;

    if (dm_conn_is_lost(conn) || dm_conn_is_moving(conn) || link->state == DM_LINK_CLOSING)
        return;
    if (rdmaq_has_writes(rdmaq)) {
        dm_conn_break_beside(conn, rdmaq->ia, "with writes under way");
        return;
    }
    DM_TRACE(CONN, "rank %d link %d broke", conn->proc, link->kind);
    if (rdmaq->ia != NULL && rdmaq->up_since != 0)
        rdmaq->ia->counts.n_lost++;
    rdmaq->rest_until = dm_retry_rest(rdmaq, dm_clock_ns());
    rdmaq->speed = 0;
    pthread_mutex_lock(&adapt->shared.lock);
    if (link->ep != DAT_HANDLE_NULL) {
        if (link->state != DM_LINK_IDLE)
            dm_conn_cut(link);
        dm_conn_free_ep(link->conn->adapt, &link->dropped);
        dm_conn_free_ep(link->conn->adapt, &link->ep);
    }
    atomic_fetch_add_explicit(&link->gen, 1, memory_order_relaxed);
    dm_conn_forget_notes(link);
    link->state = DM_LINK_IDLE;
    link->may_post = link->is_reported = link->is_active = false;
    dm_list_del(&link->wait);
    pthread_mutex_unlock(&adapt->shared.lock);
    if (rdmaq->ia != NULL)
        rdmaq->ia->n_signalled -= rdmaq->rq_used + link->is_due;
    link->is_due = false;
    rdmaq->rq_used = 0;
    dm_rdma_requeue(conn, rdmaq, &conn->links->rdmaq[0]);
    if (conn->links->at[DM_LINK_RDMA].may_post)
        dm_rdma_push(conn, &conn->links->rdmaq[0]);
}
