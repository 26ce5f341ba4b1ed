/*
 * Loss of a connection, for good.
 */
#include "dapl_adapt/conn/lose.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/pipe.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/peer.h"
#include "util/err.h"
#include "util/list.h"

void dm_conn_lose(struct dm_conn *conn, const char *text)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_tx *tx = &conn->tx;

    if (tx->is_lost)
        return;
    tx->is_lost = true;
    tx->n_redo = 0;
    tx->n_avail = 0;
    tx->has_direct = false;
    while (tx->n_refs > 0)
        dm_adapt_unreg(adapt, tx->refs[--tx->n_refs]);
    conn->is_dying = true;
    adapt->poll.n_dying++;
    conn->is_failed = adapt->is_quiet;
    if (conn->err == DM_OK)
        conn->err = DM_EPEER;
    if (conn->err == DM_EPEER && !adapt->is_quiet && text != NULL)
        snprintf(conn->why, sizeof(conn->why), "rank %d on host %s: connection lost (%s)",
                 conn->proc, dm_adapt_host_of(adapt, conn->proc), text);
    pthread_mutex_lock(&adapt->shared.lock);
    adapt->poll.n_moving -= conn->is_moving;
    conn->is_moving = false;
    for (int k = 0; k < DM_LINK_N; k++) {
        if (conn->link[k].state == DM_LINK_UP)
            dm_conn_cut(&conn->link[k]);
        conn->link[k].state = DM_LINK_LOST;
        dm_conn_turn_away(&conn->link[k]);
        dm_list_del(&conn->link[k].wait);
    }
    pthread_mutex_unlock(&adapt->shared.lock);
}

const char *dm_adapt_lost_why(const struct dm_conn *conn)
{
    return conn->tx.is_lost ? conn->why : "";
}
