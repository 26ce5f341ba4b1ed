/*
 * What every call reads first.
 */
#include "api/api.h"

struct dm_api dm_api = {.is_slow = true};
