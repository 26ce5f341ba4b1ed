/*
 * Owns the one process-wide variable of this provider.
 */
#include "providers/ofi/transport/ofi_state.h"

struct dm_ofi_state dm_ofi_state = {.lock = PTHREAD_MUTEX_INITIALIZER};
