/*
 * What every DAT provider of this project shares: objects, event dispatchers,
 * attributes, the calls, registration with libdat2.
 */
#ifndef DM_PROVIDERS_COMMON_COMMON_H
#define DM_PROVIDERS_COMMON_COMMON_H

#include "providers/common/init.h"
#include "providers/common/own_thread.h"
#include "providers/common/provider.h"
#include "util/futex.h"

#endif
