/*
 * The process-wide state of a provider over a network: its open instances, for fork().
 */
#ifndef DM_PROVIDERS_NET_NET_STATE_H
#define DM_PROVIDERS_NET_NET_STATE_H

#include "providers/net/net.h"

struct dm_net_state {
    pthread_mutex_t lock; /* before those of the instances */
    struct dm_list nets;  /* struct dm_net, link */
    bool is_ready;
};

extern struct dm_net_state dm_net_state;

#endif
