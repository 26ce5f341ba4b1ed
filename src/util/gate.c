/*
 * The thread gate: a fair recursive lock.
 *
 * Tickets make it fair: a thread that polls in a loop and yields the gate must
 * not win it back over one that has been waiting. A waiter spins shortly, then
 * sleeps; the one that leaves wakes sleepers only when there are some.
 * Invariant: serving == next exactly when nobody holds the gate or wants it;
 * owner and depth are written by the holder only.
 */
#include "util/gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "util/port.h"

#define GATE_SPINS 200

static struct {
    bool is_on;
    int depth;
    _Atomic(void *) owner; /* address of the holder's self, NULL when free */
    atomic_uint next;      /* the ticket that the next comer takes */
    atomic_uint serving;   /* the ticket that holds the gate */
    atomic_int n_sleepers;
    pthread_mutex_t sleep_lock;
    pthread_cond_t sleep_cond;
} gate = {
    .sleep_lock = PTHREAD_MUTEX_INITIALIZER,
    .sleep_cond = PTHREAD_COND_INITIALIZER,
};

static DM_THREAD_LOCAL char self;

static bool is_mine(void)
{
    return atomic_load_explicit(&gate.owner, memory_order_relaxed) == &self;
}

static void sleep_until(unsigned int ticket)
{
    pthread_mutex_lock(&gate.sleep_lock);
    atomic_fetch_add(&gate.n_sleepers, 1);
    while (atomic_load(&gate.serving) != ticket)
        pthread_cond_wait(&gate.sleep_cond, &gate.sleep_lock);
    atomic_fetch_sub(&gate.n_sleepers, 1);
    pthread_mutex_unlock(&gate.sleep_lock);
}

static void acquire(int depth)
{
    unsigned int ticket = atomic_fetch_add(&gate.next, 1);
    int spins = 0;

    while (atomic_load_explicit(&gate.serving, memory_order_acquire) != ticket) {
        if (spins++ < GATE_SPINS)
            dm_cpu_relax();
        else
            sleep_until(ticket);
    }
    atomic_store_explicit(&gate.owner, (void *)&self, memory_order_relaxed);
    gate.depth = depth;
}

static void release(void)
{
    gate.depth = 0;
    atomic_store_explicit(&gate.owner, NULL, memory_order_relaxed);
    /* Sequentially consistent against n_sleepers: one of the two sides sees the other. */
    atomic_fetch_add(&gate.serving, 1);
    if (atomic_load(&gate.n_sleepers) > 0) {
        pthread_mutex_lock(&gate.sleep_lock);
        pthread_cond_broadcast(&gate.sleep_cond);
        pthread_mutex_unlock(&gate.sleep_lock);
    }
}

void dm_gate_enable(bool is_on)
{
    gate.is_on = is_on;
}

void dm_gate_enter(void)
{
    if (dm_likely(!gate.is_on))
        return;
    if (is_mine())
        gate.depth++;
    else
        acquire(1);
}

void dm_gate_leave(void)
{
    /* Not ours when the gate was switched on between enter and leave. */
    if (dm_likely(!gate.is_on) && dm_likely(gate.depth == 0))
        return;
    if (is_mine() && --gate.depth == 0)
        release();
}

void dm_gate_yield(void)
{
    int levels;

    if (dm_likely(!gate.is_on) || !is_mine())
        return;
    /* Our own ticket is serving: another one beyond it means somebody waits. */
    if (atomic_load(&gate.next) - atomic_load(&gate.serving) <= 1)
        return;
    levels = dm_gate_drop();
    dm_gate_retake(levels);
}

int dm_gate_drop(void)
{
    int levels;

    if (dm_likely(!gate.is_on) || !is_mine())
        return 0;
    levels = gate.depth;
    release();
    return levels;
}

void dm_gate_retake(int levels)
{
    if (levels > 0)
        acquire(levels);
}
