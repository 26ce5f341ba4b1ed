/*
 * Owns the one process-wide variable of a provider library.
 */
#include "providers/common/prov_state.h"

struct dm_prov_state dm_prov_state = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                      .fork_lock = PTHREAD_MUTEX_INITIALIZER};
