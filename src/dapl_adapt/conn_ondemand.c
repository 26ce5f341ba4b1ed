/*
 * Connections at first use: either end may begin, and both may at once.
 */
#include <stdio.h>
#include <string.h>

#include "dapl_adapt/adapt.h"
#include "dapl_adapt/conn.h"
#include "util/err.h"
#include "util/log.h"

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
        if (link->ep == DAT_HANDLE_NULL) /* ours has failed: perhaps only this way there is one */
            return DM_REJECT_NONE;
        return link->conn->proc > my_rank ? DM_REJECT_NONE : DM_REJECT_CROSSED;
    case DM_LINK_CLOSING:
        return DM_REJECT_AGAIN;
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
    struct dm_conn *conn = dm_conn_find(adapt, proc);

    if (dm_likely(conn != NULL))
        return conn;
    pthread_mutex_lock(&adapt->lock);
    conn = dm_conn_make(adapt, proc);
    pthread_mutex_unlock(&adapt->lock);
    return conn;
}

int dm_adapt_connect(struct dm_conn *conn)
{
    int err;

    if (conn->tx.is_lost)
        return DM_EPEER;
    if (conn->is_up || conn->is_asked)
        return DM_OK;
    conn->is_asked = true;
    err = dm_conn_start(conn, DM_LINK_PIPE);
    if (err != DM_OK && !conn->tx.is_lost) { /* it cannot even begin: no rail, no card */
        dm_log_error("%s", dm_err_detail()); /* all of it; what the callers keep is shorter */
        snprintf(conn->why, sizeof(conn->why), "%.*s", (int)strcspn(dm_err_detail(), "\n"),
                 dm_err_detail());
        conn->err = err;
        dm_conn_lose(conn, "it cannot be connected to");
    }
    return err;
}
