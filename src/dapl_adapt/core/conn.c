/*
 * The state of a connection.
 */
#include "dapl_adapt/core/conn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/provider/ia.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

#define TO(state) (1u << DM_CONN_##state)
#define WHY_LEN   400

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

/* ---- links ---- */

/* clang-format off */
#define LOST {.state = DM_LINK_LOST}
static const struct dm_conn_links conn_idle_links;
static const struct dm_conn_links conn_lost_links = {.at = {LOST, LOST, LOST, LOST, LOST, LOST}};
/* clang-format on */
_Static_assert(DM_LINK_N == 6, "all links of conn_lost_links are lost");

static struct dm_conn_links *links_shared(const struct dm_conn_links *links)
{
    return (void *)(uintptr_t)links; /* nobody writes to them */
}

bool dm_conn_has_links(const struct dm_conn *conn)
{
    return conn->links != &conn_idle_links && conn->links != &conn_lost_links;
}

void dm_conn_init_links(struct dm_conn *conn)
{
    conn->links = links_shared(&conn_idle_links);
}

void dm_conn_lose_links(struct dm_conn *conn)
{
    conn->links = links_shared(&conn_lost_links);
}

int dm_conn_make_links(struct dm_conn *conn)
{
    struct dm_conn_links *links;

    if (conn->links != &conn_idle_links)
        return DM_OK;
    links = calloc(1, sizeof(*links));
    if (links == NULL)
        return DM_FAIL(DM_ENOMEM, "endpoints to %s, %zu bytes",
                       dm_who(conn->adapt, conn->proc).text, sizeof(*links));
    for (int k = 0; k < DM_LINK_N; k++) {
        links->at[k].conn = conn;
        links->at[k].kind = (enum dm_link_kind)k;
        dm_list_init(&links->at[k].note);
        dm_list_init(&links->at[k].wait);
    }
    conn->links = links;
    return DM_OK;
}

int dm_conn_want_links(struct dm_conn *conn)
{
    int err;

    if (dm_likely(conn->links != &conn_idle_links))
        return DM_OK;
    pthread_mutex_lock(&conn->adapt->shared.lock);
    err = dm_conn_make_links(conn);
    pthread_mutex_unlock(&conn->adapt->shared.lock);
    return err;
}

/* ---- why it is lost ---- */

void dm_conn_set_why(struct dm_conn *conn, const char *format, ...)
{
    char text[WHY_LEN];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    free(conn->loss.why);
    conn->loss.why = strdup(text);
}

const char *dm_conn_why(const struct dm_conn *conn)
{
    return conn->loss.why != NULL ? conn->loss.why : "";
}
