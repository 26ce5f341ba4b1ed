/*
 * Holding requests back. The next round sends them, which every poll and wait makes; if nobody makes
 * one, the thread does some milliseconds later at the latest.
 *
 * Bursts: who posts request after request without a poll in between has the first ones sent at once;
 * those behind are held.
 *
 * What follows a read: a consumer that has read what a peer announced says so, and often has more to
 * say at once. As two segments that costs two calls here, and the peer's kernel acknowledges the second
 * one inside the call that reads it, which takes longer than either. So the first is held where
 * lately another one came behind it before the next round, many times in a row. Where it was wrong,
 * and the consumer was away for long, it has to be right twice as often next time.
 */
#include "providers/tcp/transport/hold.h"

#include "providers/tcp/stream.h"

/* Requests sent at once between two rounds; later ones are held so long if nobody polls, but others
 * are posted. */
enum { BURST_MIN = 4, HOLD_NS = 20000 };
/* What follows a read: its bytes, rounds since then, and times in a row, which double, so often at most, when
 * it was held for long. */
enum { SHORT_MAX = 256, AFTER_READ = 2, RIGHT_MIN = 8, WRONG_MAX = 20, LONG_NS = 50000 };

static bool hold_is_after_read(const struct dm_tcp_conn *conn)
{
    const struct dm_tcp_ia *ia = dm_tcp_conn_ia(conn);
    const struct dm_list *queue = &conn->base.ep->queue;
    const struct dm_net_op *op;

    if (!ia->is_read_over || dm_list_is_empty(queue))
        return false;
    op = dm_container_of(queue->prev, struct dm_net_op, link);
    return ia->round - ia->read_round <= AFTER_READ && op->dto.n_seg == 1 &&
           op->dto.seg[0].segment_length <= SHORT_MAX;
}

/* Count what was posted since the last round, and what followed what. */
static void hold_count(struct dm_tcp_conn *conn)
{
    struct dm_tcp_hold *hold = &conn->out.hold;
    struct dm_tcp_ia *ia = dm_tcp_conn_ia(conn);
    bool is_same = hold->round == ia->round;

    if (hold->is_after_read)
        hold->n_right = is_same ? hold->n_right + 1 : 0;
    hold->round = ia->round;
    hold->n_burst = is_same ? hold->n_burst + 1 : 1;
    hold->is_after_read = hold_is_after_read(conn);
    if (hold->is_after_read)
        ia->is_read_over = false;
}

/* While the thread looks each millisecond, or each few where it comes late: after it has seen that
 * consumers poll no more it makes a round, before it sleeps for longer. */
bool dm_tcp_hold_is_safe(const struct dm_net *net)
{
    return net->mode == DM_NET_AUTO &&
           atomic_load_explicit(&net->progress.is_polled, memory_order_relaxed) &&
           !net->is_in_round && atomic_load(&net->pia.led) == NULL;
}

bool dm_tcp_hold_may(struct dm_tcp_conn *conn)
{
    struct dm_tcp_hold *hold = &conn->out.hold;
    bool is_guess;

    hold_count(conn);
    is_guess = hold->is_after_read && hold->n_right >> hold->n_wrong >= RIGHT_MIN;
    hold->is_guess = is_guess && hold->since == 0;
    return (hold->n_burst > BURST_MIN || is_guess) && dm_tcp_hold_is_safe(conn->base.net) &&
           (hold->since == 0 || dm_futex_now() - hold->since < HOLD_NS);
}

void dm_tcp_hold(struct dm_tcp_conn *conn)
{
    if (conn->out.hold.since != 0)
        return;
    conn->out.hold.since = dm_futex_now();
    dm_list_add_tail(&dm_tcp_conn_ia(conn)->held, &conn->link_held);
}

void dm_tcp_hold_end(struct dm_tcp_conn *conn)
{
    struct dm_tcp_hold *hold = &conn->out.hold;

    if (hold->since == 0)
        return;
    dm_list_del(&conn->link_held);
    if (hold->is_guess && dm_futex_now() - hold->since > LONG_NS) {
        hold->n_right = 0;
        hold->n_wrong += hold->n_wrong < WRONG_MAX;
    }
    hold->since = 0;
}
