/*
 * Bulk RDMA on the endpoints beside the pipe.
 *
 * A transfer waits in its lane's queue until the link is up and the request
 * queue has a place; it is split by what the provider moves at once. Reads have one
 * local segment and registrations allow everything, as iWARP wants them; no more of them are
 * posted than both ends' providers have places for. Where a write is done before it is
 * placed, it is followed by a read of its last byte, which cannot overtake it. Every part is
 * signalled; the transfer is done when all parts have come back. A lane remembers what is
 * posted, so that it can be posted again when the endpoint is gone: the same bytes to the same
 * place. Only atomic operations (rma_atomic.c) are not. Parts complete in order, but nothing breaks if they do not.
 */
#include <string.h>

#include "dapl_adapt/adapt.h"
#include "dapl_adapt/atomic.h"
#include "dapl_adapt/eager.h"
#include "dapl_adapt/serial.h"
#include "dapl_adapt/stripe.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

#define SHORT_PAGE  4096 /* the smallest that the host of the source may have */
#define SHORT_BYTES 64

void dm_rma_finish(struct dm_adapt *adapt, struct dm_rdma *rdma)
{
    rdma->next = NULL;
    if (adapt->done_head == NULL)
        adapt->done_head = rdma;
    else
        adapt->done_tail->next = rdma;
    adapt->done_tail = rdma;
}

static void enqueue(struct dm_lane *lane, struct dm_rdma *rdma)
{
    rdma->next = NULL;
    rdma->is_queued = true;
    if (lane->queue_head == NULL)
        lane->queue_head = rdma;
    else
        lane->queue_tail->next = rdma;
    lane->queue_tail = rdma;
}

static void enqueue_first(struct dm_lane *lane, struct dm_rdma *rdma)
{
    rdma->next = lane->queue_head;
    rdma->is_queued = true;
    lane->queue_head = rdma;
    if (rdma->next == NULL)
        lane->queue_tail = rdma;
}

static void dequeue(struct dm_lane *lane)
{
    struct dm_rdma *rdma = lane->queue_head;

    lane->queue_head = rdma->next;
    rdma->is_queued = false;
}

/* Does its next part, or the one that is posted last, take one of the places for reads? */
static bool takes_read(const struct dm_rdma *rdma)
{
    return rdma->is_read || rdma->is_echo;
}

/* What is queued or posted there may not have been placed, though it was done: from the start. */
static void rewind_late(struct dm_lane *lane, struct dm_rdma *rdma)
{
    uint64_t done = rdma->len - rdma->left;

    if (!lane->ia->is_late || rdma->is_read || rdma->err != DM_OK)
        return;
    rdma->local -= done;
    rdma->remote -= done;
    rdma->left = rdma->len;
    rdma->is_echo = false;
    lane->ia->counts.again_len += done;
}

void dm_rma_completed(struct dm_conn *conn, struct dm_lane *lane, uint32_t place, bool is_ok)
{
    struct dm_rdma *rdma = lane->parts[place].rdma;

    if (rdma == NULL)
        return;
    lane->parts[place].rdma = NULL;
    lane->n_reads -= takes_read(rdma);
    while (lane->tail != lane->head && lane->parts[lane->tail % DM_LANE_REQS].rdma == NULL)
        lane->tail++;
    rdma->n_posted--;
    if (!is_ok && rdma->err == DM_OK)
        rdma->err = DM_EPEER;
    if (rdma->err != DM_OK)
        rdma->left = 0;
    if (rdma->n_posted != 0 || rdma->left != 0 || rdma->is_queued)
        return;
    if (lane->ia->is_late && !rdma->is_read && !rdma->is_echo && rdma->err == DM_OK) {
        rdma->is_echo = true;
        enqueue_first(lane, rdma);
    } else {
        dm_rma_finish(conn->adapt, rdma);
    }
}

/* Atomic operations stay on their rail: those that were not even posted are to be started again. */
static void drop_atomics(struct dm_adapt *adapt, struct dm_lane *lane)
{
    struct dm_rdma *next;
    struct dm_rdma *rdma = lane->queue_head;

    lane->queue_head = lane->queue_tail = NULL;
    for (; rdma != NULL; rdma = next) {
        next = rdma->next;
        if (rdma->is_atomic)
            dm_atomic_finish(adapt, rdma, DM_EAGAIN);
        else
            enqueue(lane, rdma);
    }
}

void dm_rma_requeue(struct dm_conn *conn, struct dm_lane *lane, struct dm_lane *to)
{
    struct dm_part *part;
    struct dm_rdma *rdma;

    lane->n_reads = 0;
    drop_atomics(conn->adapt, lane);
    for (rdma = lane->queue_head; rdma != NULL; rdma = rdma->next)
        rewind_late(lane, rdma);
    while (lane != to && (rdma = lane->queue_head) != NULL) {
        dequeue(lane);
        enqueue(to, rdma);
    }
    while (lane->head != lane->tail) {
        part = &lane->parts[--lane->head % DM_LANE_REQS];
        rdma = part->rdma;
        part->rdma = NULL;
        if (rdma == NULL)
            continue;
        rdma->n_posted--;
        if (rdma->is_atomic) { /* it may have been done */
            dm_atomic_finish(conn->adapt, rdma, DM_EPEER);
            continue;
        }
        if (part->local < rdma->local) {
            lane->ia->counts.again_len += rdma->local - part->local;
            rdma->left += rdma->local - part->local;
            rdma->local = part->local;
            rdma->remote = part->remote;
        }
        rewind_late(lane, rdma);
        if (!rdma->is_queued)
            enqueue_first(to, rdma);
    }
}

/*
 * Bytes of the next part. Soft-iWARP sends up to 24 bytes together with their header, and takes wrong ones
 * when they come from two pages (docs/TROUBLESHOOTING.md): a short part ends where its source's page does.
 */
static uint64_t part_len(const struct dm_ia *ia, const struct dm_rdma *rdma)
{
    uint64_t len = rdma->left < ia->max_rdma ? rdma->left : ia->max_rdma;
    uint64_t from = rdma->is_read ? rdma->remote : rdma->local;
    uint64_t in_page = SHORT_PAGE - from % SHORT_PAGE;

    return dm_unlikely(ia->is_late) && len <= SHORT_BYTES && len > in_page ? in_page : len;
}

/* Post the next part of a transfer, or the read behind it. */
static DAT_RETURN post_part(struct dm_conn *conn, struct dm_lane *lane, struct dm_rdma *rdma)
{
    const struct dm_link *link = dm_link_of(conn, lane);
    struct dm_part *part = &lane->parts[lane->head % DM_LANE_REQS];
    uint64_t len = part_len(lane->ia, rdma);
    DAT_LMR_TRIPLET lmr;
    DAT_RMR_TRIPLET rmr;
    DAT_DTO_COOKIE cookie;
    DAT_RETURN rc;

    lmr.virtual_address = rdma->local;
    lmr.segment_length = (DAT_SEG_LENGTH)len;
    lmr.lmr_context = rdma->mr->lmr[lane->ia->index].lctx;
    rmr.virtual_address = rdma->remote;
    rmr.segment_length = (DAT_SEG_LENGTH)len;
    rmr.rmr_context = rdma->rkey.ctx[lane->peer_rail];
    if (rdma->is_echo) {
        lmr.virtual_address = (DAT_VADDR)(uintptr_t)lane->ia->echo;
        lmr.lmr_context = lane->ia->echo_lmr.lctx;
        lmr.segment_length = 1;
        rmr.virtual_address--;
        rmr.segment_length = 1;
    }
    cookie =
        dm_cookie(DM_COOKIE_RDMA, link, (uint32_t)link->kind << 16 | lane->head % DM_LANE_REQS);
    dm_serial_enter(lane->ia->is_serial);
    if (dm_unlikely(rdma->has_imm) && len == rdma->left)
        rc = dm_imm_post(lane->ia, link->ep, &lmr, cookie, &rmr, rdma->imm);
    else if (dm_unlikely(rdma->is_atomic))
        rc = dm_atomic_post(lane->ia, link->ep, &lmr, cookie, &rmr, rdma->add);
    else if (takes_read(rdma))
        rc = DAT_EP_POST_RDMA_READ(link->ep, 1, &lmr, cookie, &rmr, DAT_COMPLETION_DEFAULT_FLAG);
    else
        rc = DAT_EP_POST_RDMA_WRITE(link->ep, 1, &lmr, cookie, &rmr, DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_leave(lane->ia->is_serial);
    if (rc != DAT_SUCCESS)
        return rc;
    *part = (struct dm_part){rdma, rdma->local, rdma->remote};
    lane->head++;
    lane->rq_used++;
    lane->n_reads += takes_read(rdma);
    lane->ia->n_signalled++;
    lane->ia->counts.rdma_len += len;
    if (!rdma->is_atomic)
        *(takes_read(rdma) ? &lane->ia->counts.n_reads : &lane->ia->counts.n_writes) += 1;
    rdma->n_posted++;
    rdma->local += len;
    rdma->remote += len;
    rdma->left -= len;
    return DAT_SUCCESS;
}

static bool has_place(const struct dm_lane *lane, const struct dm_rdma *rdma)
{
    return lane->rq_used < lane->rq_size && lane->head - lane->tail < DM_LANE_REQS &&
           (!takes_read(rdma) || lane->n_reads < lane->max_reads);
}

void dm_rma_push(struct dm_conn *conn, struct dm_lane *lane)
{
    struct dm_link *link = dm_link_of(conn, lane);
    struct dm_rdma *rdma;
    DAT_RETURN rc = DAT_SUCCESS;

    while ((rdma = lane->queue_head) != NULL && has_place(lane, rdma) && link->may_post &&
           !conn->tx.is_lost) {
        if (rdma->left > 0 || (rdma->is_echo && rdma->err == DM_OK))
            rc = post_part(conn, lane, rdma);
        if (rc != DAT_SUCCESS)
            break;
        if (rdma->left == 0) {
            dequeue(lane);
            if (rdma->n_posted == 0)
                dm_rma_finish(conn->adapt, rdma);
        }
    }
    if (rc == DAT_SUCCESS || (DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES && lane->rq_used > 0))
        return;
    if (link->kind >= DM_LINK_EXTRA)
        dm_lane_break(link);
    else
        dm_eager_post_failed(conn, rc);
}

bool dm_rma_is_wanted(const struct dm_conn *conn)
{
    bool is_so = false;

    for (int k = 0; k < DM_LANES; k++)
        is_so = is_so || conn->lane[k].queue_head != NULL;
    return is_so;
}

void dm_rma_fail(struct dm_conn *conn)
{
    struct dm_lane *lane;
    struct dm_rdma *rdma;

    for (int k = 0; k < DM_LANES; k++) {
        lane = &conn->lane[k];
        while ((rdma = lane->queue_head) != NULL) {
            dequeue(lane);
            rdma->left = 0;
            rdma->err = conn->err;
            if (rdma->n_posted == 0)
                dm_rma_finish(conn->adapt, rdma);
        }
    }
    dm_imm_fail(conn);
}

void dm_rma_start(struct dm_conn *conn, struct dm_lane *lane, struct dm_rdma *rdma)
{
    rdma->len = rdma->left;
    rdma->is_echo = false;
    enqueue(lane, rdma);
    if (dm_link_of(conn, lane)->may_post)
        dm_rma_push(conn, lane);
    else if (conn->is_up)
        dm_conn_start(conn, DM_LINK_RDMA);
    else
        dm_adapt_connect(conn);
}

static int start(struct dm_conn *conn, struct dm_rdma *rdma, void *local, struct dm_mr *mr,
                 uint64_t remote, const struct dm_rkey *rkey, size_t len, bool is_read,
                 const uint32_t *imm)
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
    rdma->has_imm = imm != NULL;
    rdma->imm = imm != NULL ? *imm : 0;
    rdma->is_atomic = false;
    rdma->is_queued = false;
    rdma->stripes = NULL;
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
    if (dm_likely(len < 2 * dm_cfg()->stripe || adapt->n_ias == 1) || rdma->has_imm ||
        !dm_stripe_start(conn, rdma))
        dm_rma_start(conn, &conn->lane[0], rdma);
    return DM_OK;
}

int dm_adapt_rdma_write(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                        struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    return start(conn, rdma, (void *)(uintptr_t)local, mr, remote, rkey, len, false, NULL);
}

int dm_adapt_rdma_read(struct dm_conn *conn, struct dm_rdma *rdma, void *local, struct dm_mr *mr,
                       uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    return start(conn, rdma, local, mr, remote, rkey, len, true, NULL);
}

int dm_adapt_rdma_write_imm(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                            struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey,
                            size_t len, uint32_t value)
{
    return start(conn, rdma, (void *)(uintptr_t)local, mr, remote, rkey, len, false, &value);
}
