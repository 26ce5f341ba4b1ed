/*
 * Driving the sockets.
 */
#ifndef DM_PROVIDERS_TCP_PROGRESS_H
#define DM_PROVIDERS_TCP_PROGRESS_H

#include "providers/tcp/ia.h"

const struct dm_net_ops *dm_tcp_net_ops_get(void);

#endif
