/*
 * The fabric's registrations of memory. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_KEY_H
#define DM_PROVIDERS_OFI_KEY_H

#include "providers/net/key.h"
#include "providers/ofi/ep.h"

/* The fabric's keys of sinks have index 0, which no memory context has, and a number. */
enum { DM_OFI_SINK_SHIFT = 16, DM_OFI_SINK_MASK = 0xffff };

#endif
