/*
 * One thread at a time in a provider.
 *
 * The connection server's thread and the program's threads share an interface adapter. A provider
 * that is not thread-safe is called by one of them at a time, whatever the objects; one that
 * allows different threads to use different objects, which is what they do, pays nothing.
 * Around single DAT calls: nothing else is done, and no other lock taken, inside. Not around
 * dat_evd_wait, in which a thread sleeps while others work; it has that queue for itself.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_SERIAL_H
#define DM_DAPL_ADAPT_PROVIDER_SERIAL_H

#include <stdbool.h>

#include "util/port.h"

/* The lock itself, for calls that are rare: taken whether needed or not. */
void dm_serial_lock(void);
void dm_serial_unlock(void);

/* is_serial: of the rail that is called (dm_ia). */
static inline void dm_serial_enter(bool is_serial)
{
    if (dm_unlikely(is_serial))
        dm_serial_lock();
}

static inline void dm_serial_leave(bool is_serial)
{
    if (dm_unlikely(is_serial))
        dm_serial_unlock();
}

#endif
