/*
 * What every DAT provider of this project shares: handles, event dispatchers,
 * attributes, registration with libdat2.
 */
#ifndef DM_PROVIDERS_COMMON_COMMON_H
#define DM_PROVIDERS_COMMON_COMMON_H

#include "providers/common/ep.h"
#include "providers/common/evd.h"
#include "util/futex.h"
#include "providers/common/init.h"
#include "providers/common/obj.h"
#include "providers/common/slice.h"

#endif
