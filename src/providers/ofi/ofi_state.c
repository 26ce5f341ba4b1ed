/*
 * Owns the one process-wide variable of this provider.
 */
#include "providers/ofi/ofi_state.h"

struct dm_ofi_state dm_ofi_state = {.lock = PTHREAD_MUTEX_INITIALIZER};
