/*
 * The sending side.
 */
#ifndef DM_DAPL_ADAPT_EAGER_TX_H
#define DM_DAPL_ADAPT_EAGER_TX_H

#include <stdint.h>

struct dm_conn;

/* A post of the pipe's endpoint completed, and everything before it. */
void dm_eager_sent(struct dm_conn *conn, uint32_t number);

#endif
