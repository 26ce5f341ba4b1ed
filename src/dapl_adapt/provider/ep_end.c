/*
 * Calls that end endpoints, by a thread that may be left alone.
 */
#include "dapl_adapt/provider/ep_end.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/serial.h"
#include "util/futex.h"
#include "util/log.h"

#define END_NS   UINT64_C(5000000000)
#define LEFT_MAX 64 /* more are forgotten: their memory may be that of others by then */

enum { CALL_RUNS, CALL_BACK, CALL_LEFT };

/* A call; who finds it over after the other frees it. */
struct end_call {
    DAT_RETURN (*end)(DAT_EP_HANDLE ep);
    DAT_EP_HANDLE ep;
    pthread_t thread;
    _Atomic uint32_t state; /* CALL_*; futex */
    atomic_int tid;
};

static struct {
    atomic_bool is_guarded;
    pthread_mutex_t lock;
    DAT_EP_HANDLE left[LEFT_MAX];
    unsigned int n_left;
} ends = {.lock = PTHREAD_MUTEX_INITIALIZER};

void dm_ep_end_guard(void)
{
    atomic_store(&ends.is_guarded, true);
}

static void *end_main(void *arg)
{
    struct end_call *call = arg;

    atomic_store(&call->tid, (int)syscall(SYS_gettid));
    (void)call->end(call->ep);
    if (atomic_exchange(&call->state, CALL_BACK) == CALL_LEFT)
        free(call);
    else
        dm_futex_wake(&call->state, 1);
    return NULL;
}

static bool end_start(struct end_call *call)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all); /* signals belong to the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&call->thread, NULL, end_main, call);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0;
}

/* It may poll for ever: it gets what others leave of the processors. */
static void end_leave(pthread_t thread, int tid, DAT_EP_HANDLE ep)
{
    pthread_detach(thread);
    if (tid != 0) /* else it has not begun */
        (void)setpriority(PRIO_PROCESS, (id_t)tid, 19);
    pthread_mutex_lock(&ends.lock);
    DM_TRACE(CONN, "the provider keeps receives of an endpoint, which is left as it is");
    ends.left[ends.n_left++ % LEFT_MAX] = ep;
    pthread_mutex_unlock(&ends.lock);
}

bool dm_ep_end_call(DAT_RETURN (*end)(DAT_EP_HANDLE ep), DAT_EP_HANDLE ep, uint64_t ns)
{
    struct end_call *call = calloc(1, sizeof(*call));
    uint64_t until = dm_futex_now() + ns;
    uint32_t runs = CALL_RUNS;
    pthread_t thread;
    int tid;

    if (call == NULL)
        return true; /* the endpoint lives on */
    *call = (struct end_call){.end = end, .ep = ep};
    if (!end_start(call)) {
        free(call);
        (void)end(ep);
        return true;
    }
    while (atomic_load(&call->state) == CALL_RUNS && dm_futex_now() < until)
        (void)dm_futex_wait(&call->state, CALL_RUNS, until);
    thread = call->thread;
    tid = atomic_load(&call->tid);
    if (atomic_compare_exchange_strong(&call->state, &runs, CALL_LEFT)) {
        end_leave(thread, tid, ep);
        return false;
    }
    pthread_join(thread, NULL);
    free(call);
    return true;
}

bool dm_ep_end_is_left(DAT_EP_HANDLE ep)
{
    bool is_left = false;

    pthread_mutex_lock(&ends.lock);
    for (unsigned int i = 0; i < ends.n_left && i < LEFT_MAX; i++)
        is_left |= ends.left[i] == ep;
    pthread_mutex_unlock(&ends.lock);
    return is_left;
}

bool dm_ep_end_has_left(void)
{
    bool has_left;

    pthread_mutex_lock(&ends.lock);
    has_left = ends.n_left > 0;
    pthread_mutex_unlock(&ends.lock);
    return has_left;
}

static DAT_RETURN end_disconnect(DAT_EP_HANDLE ep)
{
    return dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN end_free(DAT_EP_HANDLE ep)
{
    return dat_ep_free(ep);
}

static void end_by(DAT_RETURN (*end)(DAT_EP_HANDLE ep), DAT_EP_HANDLE ep)
{
    bool is_guarded = atomic_load(&ends.is_guarded);

    if (is_guarded && dm_ep_end_is_left(ep))
        return;
    dm_serial_lock();
    if (is_guarded)
        (void)dm_ep_end_call(end, ep, END_NS);
    else
        (void)end(ep);
    dm_serial_unlock();
}

void dm_ep_disconnect(DAT_EP_HANDLE ep)
{
    end_by(end_disconnect, ep);
}

void dm_ep_free(DAT_EP_HANDLE ep)
{
    end_by(end_free, ep);
}
