/*
 * When a rail that was lost is tried again: after DATUM_RAIL_RETRY, and with back-off where it does not
 * stay. What happens then is in back.c and in rma/stripe.c.
 */
#include "dapl_adapt/conn/retry.h"

#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/ia.h"
#include "util/cfg.h"
#include "util/clock.h"

#define DOUBLINGS 5
#define MOST_US   (UINT64_C(1) << 40)

/* Microseconds. */
static uint64_t retry_after(uint32_t n)
{
    uint64_t us = dm_cfg()->rail_retry < MOST_US ? dm_cfg()->rail_retry : MOST_US;

    return us << (n < DOUBLINGS ? n : DOUBLINGS);
}

/* It was up for long, so that a break is a new one. */
static void retry_forget(struct dm_rdmaq *rdmaq, uint64_t up_since, uint64_t now)
{
    if (up_since != 0 && now - up_since > 1000 * retry_after(rdmaq->n_broken))
        rdmaq->n_broken = 0;
}

uint64_t dm_retry_rest(struct dm_rdmaq *rdmaq, uint64_t now)
{
    if (dm_cfg()->rail_retry == 0)
        return UINT64_MAX;
    retry_forget(rdmaq, rdmaq->up_since, now);
    rdmaq->up_since = 0;
    rdmaq->n_broken++;
    return dm_clock_after(retry_after(rdmaq->n_broken > 1 ? rdmaq->n_broken - 2 : 0));
}

void dm_retry_lost(struct dm_conn *conn, const struct dm_ia *ia)
{
    int place = dm_conn_rail_of(conn, ia);
    struct dm_rdmaq *rdmaq;

    if (place < 0)
        return;
    rdmaq = &conn->links->rdmaq[dm_retry_link(conn, place) - DM_LINK_RDMA];
    conn->adapt->rails.ias[conn->rails.pair[place][0]]->counts.n_lost++;
    retry_forget(rdmaq, ia == conn->ia ? conn->failover.up_since : rdmaq->up_since, dm_clock_ns());
    rdmaq->n_broken += rdmaq->n_broken == 0;
}

void dm_retry_broke(struct dm_conn *conn, uint64_t now)
{
    if (!conn->failover.is_back &&
        now - conn->failover.up_since > 1000 * retry_after(conn->failover.n_backs))
        conn->failover.n_backs = 0;
    conn->failover.back_at = 0;
}

/* One of the two decides: the higher, whose attempts count when they cross. */
void dm_retry_plan(struct dm_conn *conn)
{
    if (conn->who.is_higher || conn->rails.current <= 0 || dm_cfg()->rail_retry == 0)
        return;
    conn->failover.back_at = dm_clock_after(retry_after(conn->failover.n_backs));
    conn->adapt->poll.is_away = true;
}
