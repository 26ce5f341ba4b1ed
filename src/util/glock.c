/*
 * The thread gate: a fair recursive lock.
 *
 * Tickets make it fair: a thread that polls in a loop and yields the gate must
 * not win it back over one that has been waiting. A waiter spins shortly, then
 * sleeps; the one that leaves wakes sleepers only when there are some.
 * Invariant: serving == next exactly when nobody holds the gate or wants it;
 * owner and depth are written by the holder only.
 *
 * Shared with a thread aside the program's thread only writes its own word (levels) and looks at the
 * other's (wants); the other writes its word, makes a barrier in all threads of the process, and
 * looks at the first. So at least one of them sees the other, and it is the one aside that gives way.
 */
#include "util/glock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "util/barrier.h"
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

/* In place of the lock: the program's thread of the moment, and the one aside. */
enum { ASIDE_OUT, ASIDE_IN, ASIDE_IN_AWAITED };

static struct {
    bool is_on;
    bool needs_fence;   /* the kernel has no barrier for all threads */
    atomic_int levels;  /* the program's */
    atomic_uint turns;  /* how often it came in */
    atomic_int wants;   /* ASIDE_* */
    atomic_uint n_lock; /* tickets of the lock that the thread aside took */
} shared;

static DM_THREAD_LOCAL char self;
static DM_THREAD_LOCAL bool is_aside DM_INIT_EXEC;

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

void dm_glock_enable(bool is_on)
{
    gate.is_on = is_on;
}

/* ---- shared with a thread aside ---- */

/* It is inside, or about to see that it may not be. */
static DM_NOINLINE void await_aside(void)
{
    int in = ASIDE_IN;

    for (int spins = 0; spins < GATE_SPINS; spins++) {
        if (atomic_load_explicit(&shared.wants, memory_order_acquire) == ASIDE_OUT)
            return;
        dm_cpu_relax();
    }
    pthread_mutex_lock(&gate.sleep_lock);
    while (atomic_load_explicit(&shared.wants, memory_order_acquire) != ASIDE_OUT) {
        in = ASIDE_IN;
        if (atomic_compare_exchange_strong(&shared.wants, &in, ASIDE_IN_AWAITED) ||
            in == ASIDE_IN_AWAITED)
            pthread_cond_wait(&gate.sleep_cond, &gate.sleep_lock);
    }
    pthread_mutex_unlock(&gate.sleep_lock);
}

static inline void enter_shared(void)
{
    int levels = atomic_load_explicit(&shared.levels, memory_order_relaxed);

    if (dm_unlikely(is_aside))
        return;
    atomic_store_explicit(&shared.levels, levels + 1, memory_order_relaxed);
    if (levels > 0)
        return;
    atomic_store_explicit(&shared.turns,
                          atomic_load_explicit(&shared.turns, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    if (dm_unlikely(shared.needs_fence))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    if (dm_unlikely(atomic_load_explicit(&shared.wants, memory_order_acquire) != ASIDE_OUT))
        await_aside();
}

static inline void leave_shared(void)
{
    int levels = atomic_load_explicit(&shared.levels, memory_order_relaxed);

    if (dm_likely(!is_aside) && levels > 0)
        atomic_store_explicit(&shared.levels, levels - 1, memory_order_release);
}

int dm_glock_use_handover(bool is_on)
{
    int levels;

    if (is_on) {
        levels = gate.depth > 0 && is_mine() ? gate.depth : 0;
        gate.is_on = false;
        atomic_store(&shared.levels, levels);
        shared.needs_fence = !dm_barrier_register();
        shared.is_on = true;
        if (levels > 0)
            release();
        return levels;
    }
    levels = shared.is_on ? atomic_exchange(&shared.levels, 0) : 0;
    shared.is_on = false;
    return levels;
}

static bool enter_lock_aside(void)
{
    unsigned int ticket = atomic_load(&gate.serving);
    unsigned int next = ticket;

    if (!atomic_compare_exchange_strong(&gate.next, &next, ticket + 1))
        return false;
    atomic_fetch_add_explicit(&shared.n_lock, 1, memory_order_relaxed);
    atomic_store_explicit(&gate.owner, (void *)&self, memory_order_relaxed);
    gate.depth = 1;
    return true;
}

static void leave_aside(void)
{
    if (atomic_exchange(&shared.wants, ASIDE_OUT) == ASIDE_IN_AWAITED) {
        pthread_mutex_lock(&gate.sleep_lock);
        pthread_cond_broadcast(&gate.sleep_cond);
        pthread_mutex_unlock(&gate.sleep_lock);
    }
}

bool dm_glock_progress_enter(void)
{
    if (dm_glock_is_taken())
        return false;
    if (gate.is_on) {
        is_aside = enter_lock_aside();
        return is_aside;
    }
    atomic_store(&shared.wants, ASIDE_IN);
    if (shared.needs_fence)
        atomic_thread_fence(memory_order_seq_cst);
    else
        dm_barrier_all();
    is_aside = atomic_load_explicit(&shared.levels, memory_order_acquire) == 0;
    if (!is_aside)
        leave_aside();
    return is_aside;
}

void dm_glock_progress_leave(void)
{
    is_aside = false;
    if (gate.is_on)
        dm_glock_leave();
    else
        leave_aside();
}

bool dm_glock_is_wanted(void)
{
    if (gate.is_on)
        return atomic_load(&gate.next) - atomic_load(&gate.serving) > 1;
    return atomic_load_explicit(&shared.levels, memory_order_relaxed) > 0;
}

bool dm_glock_is_taken(void)
{
    if (gate.is_on)
        return atomic_load(&gate.next) != atomic_load(&gate.serving);
    return atomic_load_explicit(&shared.levels, memory_order_relaxed) > 0;
}

unsigned int dm_glock_n_entries(void)
{
    if (gate.is_on)
        return atomic_load(&gate.next) - atomic_load_explicit(&shared.n_lock, memory_order_relaxed);
    return atomic_load_explicit(&shared.turns, memory_order_relaxed);
}

bool dm_glock_is_progress_thread(void)
{
    return is_aside;
}

/* ---- either way ---- */

void dm_glock_enter(void)
{
    if (dm_likely(!gate.is_on)) {
        if (dm_unlikely(shared.is_on))
            enter_shared();
        return;
    }
    if (is_mine())
        gate.depth++;
    else
        acquire(1);
}

void dm_glock_leave(void)
{
    if (shared.is_on) {
        leave_shared();
        return;
    }
    /* Not ours when the gate was switched on between enter and leave. */
    if (dm_likely(!gate.is_on) && dm_likely(gate.depth == 0))
        return;
    if (is_mine() && --gate.depth == 0)
        release();
}

void dm_glock_yield(void)
{
    int levels;

    if (dm_likely(!gate.is_on) || !is_mine())
        return;
    /* Our own ticket is serving: another one beyond it means somebody waits. */
    if (atomic_load(&gate.next) - atomic_load(&gate.serving) <= 1)
        return;
    levels = dm_glock_release_all();
    dm_glock_reacquire(levels);
}

int dm_glock_release_all(void)
{
    int levels;

    if (shared.is_on)
        return is_aside ? 0 : atomic_exchange(&shared.levels, 0);
    if (dm_likely(!gate.is_on) || !is_mine())
        return 0;
    levels = gate.depth;
    release();
    return levels;
}

void dm_glock_reacquire(int levels)
{
    if (levels <= 0)
        return;
    if (shared.is_on) {
        enter_shared();
        atomic_store_explicit(&shared.levels, levels, memory_order_relaxed);
    } else {
        acquire(levels);
    }
}
