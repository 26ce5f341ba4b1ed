/*
 * The state of a connection.
 */
#include "dapl_adapt/core/conn.h"

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/provider/ia.h"
#include "util/cfg.h"
#include "util/log.h"

#define TO(state) (1u << DM_CONN_##state)

/* Where each state may lead to. */
static const unsigned conn_successors[] = {
    [DM_CONN_IDLE] = TO(ASKED) | TO(UP) | TO(MOVING) | TO(DYING),
    [DM_CONN_ASKED] = TO(UP) | TO(MOVING) | TO(DYING),
    [DM_CONN_UP] = TO(MOVING) | TO(DYING),
    [DM_CONN_MOVING] = TO(MOVING) | TO(UP) | TO(DYING),
    [DM_CONN_DYING] = TO(LOST),
    [DM_CONN_LOST] = 0,
};

void dm_conn_set_state(struct dm_conn *conn, enum dm_conn_state state)
{
    static const char *const names[] = {"idle", "asked", "up", "moving", "dying", "lost"};
    struct dm_poll *poll = &conn->adapt->poll;

    if (!(conn_successors[conn->state] & 1u << state))
        dm_log_error("connection to %s: from %s to %s, which cannot be",
                     dm_who(conn->adapt, conn->proc).text, names[conn->state], names[state]);
    DM_TRACE(CONN, "rank %d: %s, was %s", conn->proc, names[state], names[conn->state]);
    poll->n_moving += (state == DM_CONN_MOVING) - (conn->state == DM_CONN_MOVING);
    poll->n_dying += (state == DM_CONN_DYING) - (conn->state == DM_CONN_DYING);
    conn->state = state;
}

bool dm_conn_has_values(void)
{
    return dm_cfg()->rndv == DM_RNDV_IMM || dm_cfg()->fin == DM_FIN_CHAINED;
}

bool dm_conn_can_move(const struct dm_conn *conn)
{
    const struct dm_rails *rails = &conn->adapt->rails;
    int n = conn->who.foreign != NULL ? rails->n_ias : rails->n_own;

    return dm_cfg()->reconnect > 0 && !dm_conn_has_values() && !conn->ring.has_srq &&
           !conn->ring.peer_has_srq && (n > 1 || !conn->ia->caps.is_local);
}

bool dm_conn_has_pending(const struct dm_conn *conn)
{
    return conn->adapt->poll.pending.row != NULL && conn->who.foreign == NULL &&
           conn->ia->caps.is_local && conn->ia->caps.can_share && !conn->ia->caps.has_clock;
}
