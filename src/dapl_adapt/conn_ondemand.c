/*
 * Connections at first use: either end may begin, and both may at once.
 */
#include "dapl_adapt/adapt.h"
#include "dapl_adapt/conn.h"
#include "util/err.h"

/*
 * The rule that both ends apply alone and that never leaves them without a connection:
 * of two attempts that cross, the one of the higher rank counts. The lower accepts it
 * and drops its own; the higher refuses the lower's as crossed, which the lower knows
 * to be harmless.
 */
enum dm_reject dm_conn_cross(const struct dm_link *link, int my_rank)
{
    switch (link->state) {
    case DM_LINK_IDLE:
        return DM_REJECT_NONE;
    case DM_LINK_CONNECTING:
        return link->conn->proc > my_rank ? DM_REJECT_NONE : DM_REJECT_CROSSED;
    case DM_LINK_ACCEPTING: /* an earlier attempt of the peer, not yet known to have failed */
        return DM_REJECT_AGAIN;
    case DM_LINK_UP:
        return link->is_active ? DM_REJECT_CROSSED : DM_REJECT_AGAIN;
    default:
        return DM_REJECT_LOST;
    }
}

struct dm_conn *dm_adapt_conn(struct dm_adapt *adapt, int proc)
{
    return &adapt->conns[proc];
}

int dm_adapt_connect(struct dm_conn *conn)
{
    if (conn->tx.is_lost)
        return DM_EPEER;
    if (conn->is_up || conn->is_asked)
        return DM_OK;
    conn->is_asked = true;
    return dm_conn_start(conn, DM_LINK_PIPE);
}
