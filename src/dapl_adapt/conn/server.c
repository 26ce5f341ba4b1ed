/*
 * The connection server: a thread per rail that waits for connection requests and
 * connection events, so that a process that computes still answers. It accepts by
 * itself; everything else it leaves as a note for the main thread. When it does
 * not run, the main thread looks at the same queue and calls the same function.
 */
#include "dapl_adapt/conn/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "dapl_adapt/conn/event.h"
#include "dapl_adapt/conn/ring.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/err.h"

#define WAIT_US 100000 /* a provider may not wake us when asked to stop */

static void *server_main(void *arg)
{
    const struct timespec pause = {0, 1000000};
    struct dm_ia *ia = arg;
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_RETURN rc;

    dm_ring_forbid_growth();
    while (!atomic_load_explicit(&ia->cm.stop, memory_order_acquire)) {
        rc = dat_evd_wait(ia->cm.evd, WAIT_US, 1, &event, &n_more);
        if (rc == DAT_SUCCESS)
            dm_conn_event(ia, &event);
        else if (DAT_GET_TYPE(rc) != DAT_TIMEOUT_EXPIRED &&
                 !atomic_load_explicit(&ia->cm.stop, memory_order_acquire))
            nanosleep(&pause, NULL); /* interrupted, or the provider is in trouble */
    }
    return NULL;
}

int dm_conn_serve(struct dm_ia *ia)
{
    sigset_t all;
    sigset_t old;
    int rc;

    if (ia->cm.has_thread)
        return DM_OK;
    atomic_store_explicit(&ia->cm.stop, 0, memory_order_release);
    sigfillset(&all); /* signals belong to the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&ia->cm.thread, NULL, server_main, ia);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return DM_FAIL(DM_ESYS, "cannot start the connection server's thread: %s", strerror(rc));
    ia->cm.has_thread = true;
    return DM_OK;
}

void dm_conn_unserve(struct dm_ia *ia)
{
    if (!ia->cm.has_thread)
        return;
    atomic_store_explicit(&ia->cm.stop, 1, memory_order_release);
    dm_serial_lock();
    dat_evd_set_unwaitable(ia->cm.evd);
    dm_serial_unlock();
    pthread_join(ia->cm.thread, NULL);
    dat_evd_clear_unwaitable(ia->cm.evd);
    ia->cm.has_thread = false;
}
