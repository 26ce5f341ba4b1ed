/*
 * fork(): a forked child is no peer of anybody.
 */
#ifndef DM_PROVIDERS_COMMON_FORK_H
#define DM_PROVIDERS_COMMON_FORK_H

#include "providers/common/ia.h"

/* From now on forked children give up the instance (ops->ia.forked). False: out of memory. */
bool dm_prov_fork_add(struct dm_pia *ia);
void dm_prov_fork_del(struct dm_pia *ia);

#endif
