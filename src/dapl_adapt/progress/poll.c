/*
 * Progress: rings of the active connections, completions, connection events.
 *
 * Completions only change state when they are taken off a queue; every upcall is made
 * from dm_adapt_poll, after that, so that the layer is never entered from within.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/progress.h"
#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/datagram.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/pending.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/credit.h"
#include "dapl_adapt/eager/datagram.h"
#include "dapl_adapt/eager/lend.h"
#include "dapl_adapt/eager/srq.h"
#include "dapl_adapt/progress/dispatch.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/progress.h"
#include "dapl_adapt/public/rdma.h"
#include "dapl_adapt/rma/atomic.h"
#include "dapl_adapt/rma/rma.h"
#include "util/err.h"
#include "util/list.h"
#include "util/port.h"

#define HOT_AFTER 16 /* looks that found something in the same ring and in no other one */
#define COLD      8  /* of the others, so many in turn */

/* Those that are done now; what their upcalls start may be done at once, but the rings come first. */
static void poll_report_done(struct dm_adapt *adapt)
{
    const struct dm_rdma *last = adapt->poll.done_tail;
    struct dm_rdma *rdma;
    bool is_last = false;
    int err;

    while (!is_last && (rdma = adapt->poll.done_head) != NULL) {
        is_last = rdma == last;
        adapt->poll.done_head = rdma->next;
        err = rdma->err;
        if (rdma->owns_mr)
            dm_adapt_unreg(adapt, rdma->mr);
        if (dm_unlikely(rdma->is_atomic))
            dm_atomic_done(adapt, rdma);
        else if (err != DM_OK)
            DM_FAIL(err, "%s", dm_conn_why(rdma->conn));
        rdma->done(rdma, err);
    }
}

static void poll_report_writable(struct dm_adapt *adapt)
{
    struct dm_conn *conn;

    dm_eager_datagrams_unblock(adapt);
    for (int i = 0; i < adapt->poll.n_active; i++) {
        conn = adapt->poll.active[i];
        if (!conn->tx.is_blocked && !conn->is_writable_due)
            continue;
        if (conn->tx.n_avail == 0 && conn->links->at[DM_LINK_PIPE].may_post &&
            !dm_conn_is_lost(conn))
            dm_eager_refill(conn);
        if (conn->tx.n_avail == 0)
            continue;
        if (conn->tx.is_blocked)
            adapt->poll.n_blocked--;
        if (conn->is_writable_due)
            adapt->poll.n_writable_due--;
        conn->tx.is_blocked = false;
        conn->is_writable_due = false;
        adapt->ev.writable(adapt->ev.arg, conn->proc, conn);
    }
}

/*
 * Lost connections, once all that had arrived is read: completions of receives that are older than
 * the loss may still be in the queue, or in the hands of a waiting thread.
 */
static void poll_report_failed(struct dm_adapt *adapt)
{
    struct dm_conn *conn;

    dm_poll_drain_all(adapt);
    dm_conn_for_each (conn, adapt) {
        if (conn->state == DM_CONN_DYING && conn->ia != NULL && conn->ia->is_waited_on)
            continue;
        if (conn->state != DM_CONN_DYING)
            continue;
        if (conn->active >= 0 && (conn->rx.left > 0 || dm_rx_has(&conn->rx))) {
            if (conn->tx.pending.row != NULL) /* it may have died before it set its bit */
                dm_pending_again(conn);
            continue;
        }
        if (!dm_list_is_empty(&conn->rx.datagrams.unread))
            continue;
        dm_conn_set_state(conn, DM_CONN_LOST);
        dm_conn_drop_datagrams(conn);
        dm_eager_srq_leave(conn);
        dm_eager_lend_end(conn);
        adapt->poll.n_blocked -= conn->tx.is_blocked;
        adapt->poll.n_writable_due -= conn->is_writable_due;
        conn->tx.is_blocked = conn->is_writable_due = false;
        dm_active_remove(adapt, conn);
        dm_rdma_fail(conn);
        if (conn->loss.is_silent)
            continue;
        DM_FAIL(conn->loss.err, "%s", dm_conn_why(conn));
        adapt->ev.failed(adapt->ev.arg, conn->proc, conn, conn->loss.err);
    }
}

static inline int poll_look(struct dm_adapt *adapt, int i)
{
    struct dm_conn *conn = adapt->poll.active[i];

    if (dm_likely(!dm_rx_has(&conn->rx)))
        return 0;
    if (i > 0)
        dm_active_swap(adapt, i, i - 1); /* busy ones come to the front */
    adapt->ev.input(adapt->ev.arg, conn->proc, conn);
    return 1;
}

static inline void poll_learn_hot(struct dm_adapt *adapt, struct dm_conn *conn)
{
    struct dm_pending *pending = &adapt->poll.pending;

    if (pending->last != conn) {
        pending->last = conn;
        pending->n_last = 0;
    } else if (++pending->n_last == HOT_AFTER && pending->hot != conn) {
        dm_pending_set_hot(adapt, conn);
    }
}

/* One whose bit is set. */
static int poll_look_pending(struct dm_adapt *adapt, struct dm_conn *conn)
{
    adapt->poll.n_looks += conn != NULL;
    if (conn == NULL || conn->active < 0 || !dm_rx_has(&conn->rx))
        return 0;
    poll_learn_hot(adapt, conn);
    adapt->ev.input(adapt->ev.arg, conn->proc, conn);
    if (dm_rx_has(&conn->rx)) /* it takes one of short ones at a time */
        dm_pending_again(conn);
    return 1;
}

static int poll_look_word(struct dm_adapt *adapt, uint32_t word)
{
    struct dm_pending *pending = &adapt->poll.pending;
    uint64_t bits = dm_pending_take(pending->row, word) | pending->again[word];
    int n = 0;

    pending->again[word] = 0;
    for (; bits != 0; bits &= bits - 1)
        n += poll_look_pending(
            adapt, pending->conns[word * DM_PENDING_WORD + (uint32_t)dm_lowest_bit(bits)]);
    return n;
}

/* The last one first: who exchanges messages with it sees the record before its bit. */
static int poll_look_row(struct dm_adapt *adapt)
{
    const struct dm_pending *pending = &adapt->poll.pending;
    int n = poll_look_pending(adapt, pending->last);

    if (pending->hot != NULL && pending->hot != pending->last)
        n += poll_look_pending(adapt, pending->hot);
    for (uint32_t word = 0; word < pending->n_words; word++)
        n += poll_look_word(adapt, word);
    return n;
}

/* A process that is about to yield to many others looks at all. */
static DM_NOINLINE int poll_look_cold(struct dm_adapt *adapt, bool is_idle)
{
    int most = is_idle && adapt->is_oversubscribed ? adapt->poll.n_plain - adapt->poll.n_hot : COLD;
    int n = 0;

    for (int k = 0; k < most && adapt->poll.n_plain > adapt->poll.n_hot; k++) {
        if (adapt->poll.next_cold < adapt->poll.n_hot ||
            adapt->poll.next_cold >= adapt->poll.n_plain)
            adapt->poll.next_cold = adapt->poll.n_hot;
        if (dm_rx_has(&adapt->poll.active[adapt->poll.next_cold]->rx)) {
            /* among the hot ones from now on, in the place of one of them */
            dm_active_swap(adapt, adapt->poll.next_cold, adapt->poll.n_hot - 1);
            n += poll_look(adapt, adapt->poll.n_hot - 1);
        }
        adapt->poll.next_cold++;
        adapt->poll.n_looks++;
    }
    return n;
}

/* Those beyond the first ones. */
static DM_NOINLINE int poll_look_others(struct dm_adapt *adapt, int n)
{
    adapt->poll.n_many++;
    adapt->poll.n_looks += (uint64_t)adapt->poll.n_hot;
    if (adapt->poll.pending.row != NULL)
        n += poll_look_row(adapt);
    if (adapt->poll.n_plain > adapt->poll.n_hot)
        n += poll_look_cold(adapt, n == 0);
    return n;
}

/* What is not in every poll: told by counters that are 0 on the fast path. */
static DM_NOINLINE int poll_more(struct dm_adapt *adapt)
{
    int n = 0;

    if (adapt->poll.n_moving > 0) /* the events that it waits for */
        n += dm_poll_rare(adapt);
    if (atomic_load_explicit(&adapt->shared.n_notes, memory_order_relaxed) > 0 ||
        !dm_list_is_empty(&adapt->poll.connecting))
        n += dm_conn_progress(adapt);
    if (adapt->poll.n_blocked > 0 || adapt->poll.n_writable_due > 0)
        poll_report_writable(adapt);
    if (adapt->poll.n_dying > 0) {
        poll_report_failed(adapt);
        n++;
    }
    if (adapt->poll.done_head != NULL) {
        poll_report_done(adapt);
        n++;
    }
    return n;
}

/* A look at a driven rail costs a system call: not for rails that nobody is connected over. */
static inline bool poll_is_driving(const struct dm_adapt *adapt)
{
    return adapt->poll.n_driven > 0 || !dm_list_is_empty(&adapt->poll.connecting);
}

int dm_adapt_poll(struct dm_adapt *adapt)
{
    int n = 0;

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        struct dm_ia *ia = adapt->rails.ias[i];

        if (dm_unlikely(ia->n_signalled > 0 || ia->n_sendrecv > 0 ||
                        (ia->is_driven && poll_is_driving(adapt))))
            n += dm_poll_drain_rail(ia);
    }
    for (int i = 0; i < adapt->poll.n_hot; i++)
        n += poll_look(adapt, i);
    if (dm_unlikely(adapt->poll.n_active > adapt->poll.n_hot))
        n = poll_look_others(adapt, n);
    if (dm_unlikely(dm_datagram_is_due(&adapt->poll.datagrams)))
        n += dm_eager_datagrams_poll(adapt);
    if (dm_unlikely(atomic_load_explicit(&adapt->shared.n_notes, memory_order_relaxed) > 0 ||
                    adapt->poll.n_blocked > 0 || adapt->poll.n_writable_due > 0 ||
                    adapt->poll.n_dying > 0 || adapt->poll.done_head != NULL ||
                    !dm_list_is_empty(&adapt->poll.connecting)))
        n += poll_more(adapt);
    /* a poll with traffic counts little, so that a busy process hears of losses, too */
    adapt->poll.idle += n > 0 ? 1 : DM_BUSY_PER_IDLE;
    if (dm_unlikely(adapt->poll.idle >= DM_RARE * DM_BUSY_PER_IDLE)) {
        adapt->poll.idle = 0;
        n += dm_poll_rare(adapt);
    }
    return n;
}
