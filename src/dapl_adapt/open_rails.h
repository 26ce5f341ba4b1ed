/*
 * The rails of a process: those that its job needs are opened at start, the others when processes of
 * other jobs come, and those that did not open when they do. Under the global lock.
 */
#ifndef DM_DAPL_ADAPT_OPEN_RAILS_H
#define DM_DAPL_ADAPT_OPEN_RAILS_H

#include <stdbool.h>

struct dm_adapt;

/* Which providers there are. DM_ECONFIG: a wrong DAT_OVERRIDE or DATUM_PROVIDER. */
int dm_open_conf(struct dm_adapt *adapt);
/* Open them, for so many peers. What dm_rails_open says; DM_ENOMEM. */
int dm_open_rails(struct dm_adapt *adapt, int n_peers, bool is_one_host);
/* Find out how they are to be used, and answer who connects. DM_ECONFIG, DM_EPROVIDER, DM_ESYS. */
int dm_open_use(struct dm_adapt *adapt);
/* When to look for rails that did not open. */
void dm_open_late_plan(struct dm_adapt *adapt);
/* Look, if it is time; how many have come. They are used from now on, and events.joined is called. */
int dm_open_late(struct dm_adapt *adapt);
/* May connections be made again? Then a process that computes must answer. */
bool dm_open_may_failover(const struct dm_adapt *adapt);
/* Nobody connects any more. */
void dm_open_stop_servers(struct dm_adapt *adapt);
/* Close all, and what they were given of this process' memory. */
void dm_open_close(struct dm_adapt *adapt);

#endif
