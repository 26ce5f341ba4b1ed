/*
 * The address exchange, and the rails that two processes have in common.
 */
#ifndef DM_DAPL_ADAPT_CONN_EXCHANGE_H
#define DM_DAPL_ADAPT_CONN_EXCHANGE_H

#include <stdbool.h>

struct dm_adapt;
struct dm_conn;
/* Publish own card, one fence. */
int dm_card_publish(struct dm_adapt *adapt);
/*
 * Fetch the peer's card once and find the rails that both have, best first. DM_ECONN, with the
 * reason for each provider, if there is none, or if versions or settings that must be alike differ.
 */
int dm_card_fetch(struct dm_conn *conn);
/* Is the peer on this host? By its card, if there is one, else by the launcher's word. */
bool dm_card_is_near(const struct dm_conn *conn);
/* Has it another network, or kernel, by its card, while the launcher says that it is on this host? */
bool dm_card_is_apart(const struct dm_conn *conn);
/* Is there a core for every process of this host, by their cards? */
int dm_card_oversubscribed(struct dm_adapt *adapt, bool *oversubscribed_p);

#endif
