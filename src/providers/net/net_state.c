/*
 * Owns the one process-wide variable of a provider over a network.
 */
#include "providers/net/net_state.h"

struct dm_net_state dm_net_state = {.lock = PTHREAD_MUTEX_INITIALIZER};
