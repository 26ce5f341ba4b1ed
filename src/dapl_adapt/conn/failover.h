/*
 * Failover: a broken connection is made again, on another rail or the same. Main thread.
 */
#ifndef DM_DAPL_ADAPT_CONN_FAILOVER_H
#define DM_DAPL_ADAPT_CONN_FAILOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"

struct dm_conn;

/* Its rail broke: move, or lose it when that cannot be. text is static. */
void dm_conn_break(struct dm_conn *conn, const char *text);
/* The same for a rail beside the pipe's, whose transfers have to come to an end first. */
void dm_conn_break_beside(struct dm_conn *conn, const struct dm_ia *ia, const char *text);
/* Nothing broke, and it moves to the rail at that place. */
void dm_move_back(struct dm_conn *conn, int place);
/* What the end of a connection means that nobody has asked for. */
const char *dm_conn_gone_text(const struct dm_conn *conn);
/* The peer wants the connection anew, in its epoch `wanted`. */
void dm_conn_follow(struct dm_conn *conn);
/* A failed post: the connection moves (DM_OK), or is lost (DM_EPEER). */
int dm_conn_post_failed(struct dm_conn *conn, DAT_RETURN rc);
/* A look at a moving connection; returns how many things happened. */
int dm_move_timer(struct dm_conn *conn, uint64_t now);
/* An attempt of a moving connection ended. why: NULL, or the peer's word that is final. */
void dm_move_refused(struct dm_conn *conn, int event, const char *why);
/* How long an attempt may take, microseconds. */
uint64_t dm_move_attempt_us(const struct dm_conn *conn);
/* Completions that were coming will not count; RDMA is queued again. */
void dm_conn_flush_counts(struct dm_conn *conn);
/* The pipe is there again. */
void dm_move_done(struct dm_conn *conn);

#endif
