/*
 * A provider's own thread: its start.
 */
#include "providers/common/own_thread.h"

#include <signal.h>

bool dm_prov_thread_start(struct dm_pia *ia, void *(*run)(void *ia))
{
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ia->has_thread = true;
    if (pthread_create(&ia->thread, NULL, run, ia) != 0)
        ia->has_thread = false;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ia->has_thread;
}
