/*
 * The way back: a rail that was lost is tried again, after DATUM_RAIL_RETRY and with back-off, and taken
 * up when it is there.
 *
 * Beside the pipe that is an RDMA queue, which the next large transfer connects. A pipe that has moved
 * to a worse rail goes back: the higher process connects such a queue over the better one, and when
 * that is up, which says that the network and both ends are, the connection moves as if it had broken:
 * nothing is lost or doubled (failover.c). Only atomic operations would be, so that a process that has
 * any stays where it is.
 *
 * A rail that has joined does not reach memory that was made known before. Transfers from and to such
 * memory wait until the connection has gone back, as if it were still broken, and as long.
 */
#include "dapl_adapt/conn/back.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/lose.h"
#include "dapl_adapt/conn/retry.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/provider/ia.h"
#include "util/cfg.h"
#include "util/clock.h"

#define LOOK_US 10000 /* while a queue over the better rail is being connected */

static bool back_may_move(const struct dm_conn *conn)
{
    return conn->state == DM_CONN_UP && conn->adapt->n_words == 0 && !conn->adapt->is_quiet &&
           dm_conn_can_move(conn) && conn->ctl != NULL && conn->addr != NULL &&
           atomic_load_explicit(&conn->ctl->peer_closing, memory_order_acquire) == 0;
}

/* The first better rail that is there; the others are tried. */
static bool back_look(struct dm_conn *conn, uint64_t now)
{
    const struct dm_adapt *adapt = conn->adapt;

    for (int place = 0; place < conn->rails.current; place++) {
        const struct dm_ia *ia = adapt->rails.ias[conn->rails.pair[place][0]];
        int kind = dm_retry_link(conn, place);

        if (ia == conn->ia || ia->caps.is_local)
            continue;
        if (conn->links->at[kind].may_post) {
            dm_move_back(conn, place);
            conn->failover.n_backs++;
            return true;
        }
        if (now >= conn->links->rdmaq[kind - DM_LINK_RDMA].rest_until)
            dm_conn_start(conn, (enum dm_link_kind)kind);
    }
    conn->failover.back_at = dm_clock_after(LOOK_US);
    return false;
}

static void back_await_keys(struct dm_conn *conn, uint64_t now)
{
    if (conn->state != DM_CONN_UP || !conn->adapt->ops->rdma_is_starved(conn))
        conn->failover.starved_until = 0;
    else if (conn->failover.starved_until == 0)
        conn->failover.starved_until = dm_clock_after(dm_cfg()->reconnect);
    else if (now >= conn->failover.starved_until)
        dm_conn_lose(conn, "only a rail is left that joined after memory had been made known");
}

int dm_back_poll(struct dm_adapt *adapt)
{
    struct dm_conn *conn;
    bool is_away = false;
    uint64_t now;
    int n = 0;

    if (!adapt->poll.is_away)
        return 0;
    now = dm_clock_ns();
    dm_conn_for_each (conn, adapt) {
        if (dm_conn_is_lost(conn))
            continue;
        if (dm_conn_has_joined(conn))
            back_await_keys(conn, now);
        is_away |= conn->failover.back_at != 0 || dm_conn_has_joined(conn);
        if (conn->failover.back_at != 0 && now >= conn->failover.back_at && back_may_move(conn))
            n += back_look(conn, now);
    }
    adapt->poll.is_away = is_away;
    return n;
}
