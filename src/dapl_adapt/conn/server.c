/*
 * The connection server: what answers connection requests and takes connection events, so that a
 * process that computes still answers. It accepts by itself; everything else it leaves as a note for
 * the main thread. Where the provider's own thread calls agents it is one, else it is a thread for
 * each rail. When it does not run, the main thread looks at the same queue and calls the same
 * function.
 */
#include "dapl_adapt/conn/server.h"

#include <pthread.h>
#include <sched.h>
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

static void server_agent(DAT_PVOID arg, DAT_EVD_HANDLE evd)
{
    struct dm_ia *ia = arg;
    const DAT_OS_WAIT_PROXY_AGENT again = {ia, server_agent};
    DAT_EVENT event;

    dm_ring_forbid_growth();
    atomic_fetch_add(&ia->cm.n_calls, 1);
    if (!atomic_load(&ia->cm.stop)) {
        dat_cno_modify_agent(ia->cm.cno, again); /* before the look, so that nothing is missed */
        pthread_mutex_lock(&ia->cm.lock);
        while (DAT_EVD_DEQUEUE(evd, &event) == DAT_SUCCESS)
            dm_conn_event(ia, &event);
        pthread_mutex_unlock(&ia->cm.lock);
    }
    atomic_fetch_sub(&ia->cm.n_calls, 1);
}

static int server_start_thread(struct dm_ia *ia)
{
    sigset_t all;
    sigset_t old;
    int rc;

    sigfillset(&all); /* signals belong to the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&ia->cm.thread, NULL, server_main, ia);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return DM_FAIL(DM_ESYS, "cannot start the connection server's thread: %s", strerror(rc));
    return DM_OK;
}

int dm_conn_serve(struct dm_ia *ia)
{
    const DAT_OS_WAIT_PROXY_AGENT agent = {ia, server_agent};
    int err = DM_OK;

    if (ia->cm.is_served)
        return DM_OK;
    atomic_store(&ia->cm.stop, 0);
    ia->cm.is_served = true; /* before the first event that the agent gets */
    if (ia->cm.cno != DAT_HANDLE_NULL)
        dat_cno_modify_agent(ia->cm.cno, agent);
    else
        err = server_start_thread(ia);
    ia->cm.is_served = err == DM_OK;
    return err;
}

int dm_conn_serve_now(struct dm_ia *ia)
{
    DAT_EVENT event;
    DAT_RETURN rc;
    int n = 0;

    if (!ia->cm.is_served || ia->cm.cno == DAT_HANDLE_NULL ||
        pthread_mutex_trylock(&ia->cm.lock) != 0)
        return 0;
    for (;;) {
        dm_serial_enter(ia->is_serial);
        rc = DAT_EVD_DEQUEUE(ia->cm.evd, &event);
        dm_serial_leave(ia->is_serial);
        if (rc != DAT_SUCCESS)
            break;
        dm_conn_event(ia, &event);
        n++;
    }
    pthread_mutex_unlock(&ia->cm.lock);
    return n;
}

void dm_conn_unserve(struct dm_ia *ia)
{
    if (!ia->cm.is_served)
        return;
    atomic_store(&ia->cm.stop, 1);
    if (ia->cm.cno != DAT_HANDLE_NULL) {
        dat_cno_modify_agent(ia->cm.cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
        while (atomic_load(&ia->cm.n_calls) > 0)
            sched_yield();
    } else {
        dm_serial_lock();
        dat_evd_set_unwaitable(ia->cm.evd);
        dm_serial_unlock();
        pthread_join(ia->cm.thread, NULL);
        dat_evd_clear_unwaitable(ia->cm.evd);
    }
    ia->cm.is_served = false;
}
