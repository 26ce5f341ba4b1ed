/*
 * The lock around calls of providers that are not thread-safe. One for all of them: what
 * several adapters of one library share is its own affair.
 */
#include "dapl_adapt/provider/serial.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void dm_serial_lock(void)
{
    pthread_mutex_lock(&lock);
}

void dm_serial_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
