/*
 * The address exchange, and the rails that two processes have in common.
 */
#ifndef DM_DAPL_ADAPT_CONN_EXCHANGE_H
#define DM_DAPL_ADAPT_CONN_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dm_adapt;
struct dm_conn;
/* Publish the own address, one fence. */
int dm_addr_publish(struct dm_adapt *adapt);
/*
 * Fetch the peer's address once and find the rails that both have, best first. DM_ECONN, with the
 * reason for each provider, if there is none, or if versions or settings that must be alike differ.
 */
int dm_addr_fetch(struct dm_conn *conn);
/* Rails that both have by now, and had not when its address was fetched: they come behind the others.
 * The pipe does not move to them, since what peers know of each other's memory is older (windows). */
void dm_addr_match_more(struct dm_conn *conn);
/* Is the peer on this host? By its address, if there is one, else by the launcher's word. */
bool dm_addr_is_near(const struct dm_conn *conn);
/*
 * Has it another network, or kernel, by its address, while the launcher says that it is on this
 * host?
 */
bool dm_addr_is_apart(const struct dm_conn *conn);
/* Writer and reader of this pipe have pending bits for each other from now on. False: the peer has no row. */
bool dm_addr_join_pending(struct dm_conn *conn);
/* The address that a process of the own job has published, without what others do not need. */
int dm_addr_of_own_job(struct dm_adapt *adapt, int proc, char *buf, size_t len);
/* The number of a host, by what an address calls it, and its name. */
int dm_addr_node(struct dm_adapt *adapt, uint64_t host, const char *name);
/* Is there a core for every process of this host, by their addresses? */
int dm_addr_oversubscribed(struct dm_adapt *adapt, bool *oversubscribed_p);

#endif
