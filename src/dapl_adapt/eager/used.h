/*
 * Which records the peer has consumed.
 */
#ifndef DM_DAPL_ADAPT_EAGER_USED_H
#define DM_DAPL_ADAPT_EAGER_USED_H

#include <stdint.h>

struct dm_conn;

/* Slots and cells of our records that the peer has not consumed yet, as far as we know. */
uint32_t dm_eager_count_used(struct dm_conn *conn);

#endif
