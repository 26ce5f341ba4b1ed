/*
 * Which providers become the rails of this process, in which order, and why not the others.
 */
#ifndef DM_DAPL_ADAPT_RAILS_H
#define DM_DAPL_ADAPT_RAILS_H

#include "dapl_adapt/adapt.h"

/*
 * Open the rails of a job, best first. DM_EPROVIDER when none opens, or one that the user named does
 * not; DM_ECONFIG when too many are named. Each refusal is kept for messages.
 */
int dm_rails_open(struct dm_adapt *adapt);
/* True when all processes run on this host. */
bool dm_rails_is_one_host(const struct dm_adapt_job *job);

#endif
