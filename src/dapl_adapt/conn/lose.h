/*
 * Loss of a connection.
 */
#ifndef DM_DAPL_ADAPT_CONN_LOSE_H
#define DM_DAPL_ADAPT_CONN_LOSE_H

struct dm_conn;

/* This connection is lost for good. text is static. Main thread. */
void dm_conn_lose(struct dm_conn *conn, const char *text);

#endif
