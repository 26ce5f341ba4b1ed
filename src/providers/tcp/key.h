/*
 * Who uses the memory that a context stands for. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_KEY_H
#define DM_PROVIDERS_TCP_KEY_H

#include "providers/net/key.h"

/* Is no request under way in it? */
bool dm_tcp_key_is_left(struct dm_net *net, const struct dm_pz *pz, uint32_t key);

#endif
