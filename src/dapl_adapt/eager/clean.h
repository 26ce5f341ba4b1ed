/*
 * Data that could look like a trailer.
 */
#ifndef DM_DAPL_ADAPT_EAGER_CLEAN_H
#define DM_DAPL_ADAPT_EAGER_CLEAN_H

#include <stdint.h>

#include "dapl_adapt/provider/dat.h"

struct dm_conn;

/*
 * For the record with `space` bytes before its trailer, which is written, in cells of which some have had parts
 * of records: so many bytes before it must be sent with it, from *lmr_p. 0: none.
 */
uint32_t dm_eager_clean(struct dm_conn *conn, uint32_t space, DAT_LMR_TRIPLET *lmr_p);

#endif
