/*
 * The table of connections, and the list of those whose pipe is up.
 */
#ifndef DM_DAPL_ADAPT_CONN_TABLE_H
#define DM_DAPL_ADAPT_CONN_TABLE_H

#include "dapl_adapt/core/conn.h"
#include <stdbool.h>

#include "dapl_adapt/core/adapt.h"

#define DM_ACTIVE_HOT 32 /* connections looked at in every poll */

/* Set up the tables by process number. */
int dm_conn_init_all(struct dm_adapt *adapt);
/*
 * The object of a peer, made by the first call; NULL when out of memory, or nobody has that number
 * (reported). Lock held, or none but the main thread runs.
 */
struct dm_conn *dm_conn_make(struct dm_adapt *adapt, int proc);
/*
 * Free the object of a peer, of which nothing is under way any more; is_end: all go, and there will be
 * no others. The main thread, lock held.
 */
void dm_conn_free(struct dm_conn *conn, bool is_end);
/* Datagrams that were not read; none come any more. */
void dm_conn_drop_datagrams(struct dm_conn *conn);
/* Are both links there and allowed to post? */
bool dm_conn_is_complete(const struct dm_conn *conn);
/* In the counts of its rail from now on, and not any more. */
void dm_conn_count_in(struct dm_conn *conn);
void dm_conn_count_out(struct dm_conn *conn);
/* Put an established pipe on the list of active ones, or take it off. */
void dm_active_add(struct dm_adapt *adapt, struct dm_conn *conn);
/* Its pending bit says when it is to be looked at. */
void dm_active_join_pending(struct dm_conn *conn);
void dm_active_remove(struct dm_adapt *adapt, struct dm_conn *conn);

static inline void dm_active_swap(struct dm_adapt *adapt, int i, int k)
{
    struct dm_conn *conn = adapt->poll.active[i];

    adapt->poll.active[i] = adapt->poll.active[k];
    adapt->poll.active[k] = conn;
    adapt->poll.active[i]->active = i;
    adapt->poll.active[k]->active = k;
}

#endif
