/*
 * The global lock: a fair recursive ticket lock, and the hand-over in its place.
 *
 * Tickets make it fair: a thread that polls in a loop and yields the lock must not win it back over
 * one that has been waiting. A waiter spins shortly, then sleeps; a release wakes sleepers only
 * when there are some. Invariant: serving == next exactly when nobody holds the lock or wants it;
 * owner and depth are written by the holder only.
 *
 * Hand-over: one thread of the program at a time and one progress thread. The program's thread
 * writes its own word (levels) and reads the other's (wants). The progress thread writes its word,
 * makes a barrier in all threads of the process (membarrier) and reads the first. So at least one
 * of them sees the other, and the progress thread gives way.
 */
#include "util/glock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "util/barrier.h"
#include "util/port.h"

#define GLOCK_SPINS 200

static struct {
    bool is_on;
    int depth;
    _Atomic(void *) owner; /* address of the holder's self, NULL when free */
    atomic_uint next;      /* the ticket that the next comer takes */
    atomic_uint serving;   /* the ticket that holds the lock */
    atomic_int n_sleepers;
    pthread_mutex_t sleep_lock;
    pthread_cond_t sleep_cond;
} glock = {
    .sleep_lock = PTHREAD_MUTEX_INITIALIZER,
    .sleep_cond = PTHREAD_COND_INITIALIZER,
};

/* What `wants` says of the progress thread. */
enum { PROGRESS_OUT, PROGRESS_IN, PROGRESS_IN_AWAITED };

static struct {
    bool is_on;
    bool needs_fence;      /* the kernel has no barrier for all threads */
    atomic_int levels;     /* the program's */
    atomic_uint n_entries; /* how often it came in */
    atomic_int wants;      /* PROGRESS_* */
    atomic_uint n_lock;    /* tickets of the lock that the progress thread took */
} handover;

static DM_THREAD_LOCAL char self;
static DM_THREAD_LOCAL bool is_progress DM_INIT_EXEC;

static bool glock_is_mine(void)
{
    return atomic_load_explicit(&glock.owner, memory_order_relaxed) == &self;
}

static void glock_sleep_until(unsigned int ticket)
{
    pthread_mutex_lock(&glock.sleep_lock);
    atomic_fetch_add(&glock.n_sleepers, 1);
    while (atomic_load(&glock.serving) != ticket)
        pthread_cond_wait(&glock.sleep_cond, &glock.sleep_lock);
    atomic_fetch_sub(&glock.n_sleepers, 1);
    pthread_mutex_unlock(&glock.sleep_lock);
}

static void glock_acquire(int depth)
{
    unsigned int ticket = atomic_fetch_add(&glock.next, 1);
    int spins = 0;

    while (atomic_load_explicit(&glock.serving, memory_order_acquire) != ticket) {
        if (spins++ < GLOCK_SPINS)
            dm_cpu_relax();
        else
            glock_sleep_until(ticket);
    }
    atomic_store_explicit(&glock.owner, (void *)&self, memory_order_relaxed);
    glock.depth = depth;
}

static void glock_release(void)
{
    glock.depth = 0;
    atomic_store_explicit(&glock.owner, NULL, memory_order_relaxed);
    /* Sequentially consistent against n_sleepers: one of the two sides sees the other. */
    atomic_fetch_add(&glock.serving, 1);
    if (atomic_load(&glock.n_sleepers) > 0) {
        pthread_mutex_lock(&glock.sleep_lock);
        pthread_cond_broadcast(&glock.sleep_cond);
        pthread_mutex_unlock(&glock.sleep_lock);
    }
}

void dm_glock_enable(bool is_on)
{
    glock.is_on = is_on;
}

/* ---- the hand-over ---- */

/* The progress thread is inside, or about to see that it may not be. */
static DM_NOINLINE void handover_await_progress(void)
{
    int in = PROGRESS_IN;

    for (int spins = 0; spins < GLOCK_SPINS; spins++) {
        if (atomic_load_explicit(&handover.wants, memory_order_acquire) == PROGRESS_OUT)
            return;
        dm_cpu_relax();
    }
    pthread_mutex_lock(&glock.sleep_lock);
    while (atomic_load_explicit(&handover.wants, memory_order_acquire) != PROGRESS_OUT) {
        in = PROGRESS_IN;
        if (atomic_compare_exchange_strong(&handover.wants, &in, PROGRESS_IN_AWAITED) ||
            in == PROGRESS_IN_AWAITED)
            pthread_cond_wait(&glock.sleep_cond, &glock.sleep_lock);
    }
    pthread_mutex_unlock(&glock.sleep_lock);
}

static inline void handover_enter(void)
{
    int levels = atomic_load_explicit(&handover.levels, memory_order_relaxed);

    if (dm_unlikely(is_progress))
        return;
    atomic_store_explicit(&handover.levels, levels + 1, memory_order_relaxed);
    if (levels > 0)
        return;
    atomic_store_explicit(&handover.n_entries,
                          atomic_load_explicit(&handover.n_entries, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    if (dm_unlikely(handover.needs_fence))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    if (dm_unlikely(atomic_load_explicit(&handover.wants, memory_order_acquire) != PROGRESS_OUT))
        handover_await_progress();
}

static inline void handover_leave(void)
{
    int levels = atomic_load_explicit(&handover.levels, memory_order_relaxed);

    if (dm_likely(!is_progress) && levels > 0)
        atomic_store_explicit(&handover.levels, levels - 1, memory_order_release);
}

int dm_glock_use_handover(bool is_on)
{
    int levels;

    if (is_on) {
        levels = glock.depth > 0 && glock_is_mine() ? glock.depth : 0;
        glock.is_on = false;
        atomic_store(&handover.levels, levels);
        handover.needs_fence = !dm_barrier_register();
        handover.is_on = true;
        if (levels > 0)
            glock_release();
        return levels;
    }
    levels = handover.is_on ? atomic_exchange(&handover.levels, 0) : 0;
    handover.is_on = false;
    return levels;
}

static bool glock_try_progress(void)
{
    unsigned int ticket = atomic_load(&glock.serving);
    unsigned int next = ticket;

    if (!atomic_compare_exchange_strong(&glock.next, &next, ticket + 1))
        return false;
    atomic_fetch_add_explicit(&handover.n_lock, 1, memory_order_relaxed);
    atomic_store_explicit(&glock.owner, (void *)&self, memory_order_relaxed);
    glock.depth = 1;
    return true;
}

static void handover_progress_leave(void)
{
    if (atomic_exchange(&handover.wants, PROGRESS_OUT) == PROGRESS_IN_AWAITED) {
        pthread_mutex_lock(&glock.sleep_lock);
        pthread_cond_broadcast(&glock.sleep_cond);
        pthread_mutex_unlock(&glock.sleep_lock);
    }
}

bool dm_glock_progress_enter(void)
{
    if (dm_glock_is_taken())
        return false;
    if (glock.is_on) {
        is_progress = glock_try_progress();
        return is_progress;
    }
    atomic_store(&handover.wants, PROGRESS_IN);
    if (handover.needs_fence)
        atomic_thread_fence(memory_order_seq_cst);
    else
        dm_barrier_all();
    is_progress = atomic_load_explicit(&handover.levels, memory_order_acquire) == 0;
    if (!is_progress)
        handover_progress_leave();
    return is_progress;
}

void dm_glock_progress_leave(void)
{
    is_progress = false;
    if (glock.is_on)
        dm_glock_leave();
    else
        handover_progress_leave();
}

bool dm_glock_is_wanted(void)
{
    if (glock.is_on)
        return atomic_load(&glock.next) - atomic_load(&glock.serving) > 1;
    return atomic_load_explicit(&handover.levels, memory_order_relaxed) > 0;
}

bool dm_glock_is_taken(void)
{
    if (glock.is_on)
        return atomic_load(&glock.next) != atomic_load(&glock.serving);
    return atomic_load_explicit(&handover.levels, memory_order_relaxed) > 0;
}

unsigned int dm_glock_n_entries(void)
{
    if (glock.is_on)
        return atomic_load(&glock.next) -
               atomic_load_explicit(&handover.n_lock, memory_order_relaxed);
    return atomic_load_explicit(&handover.n_entries, memory_order_relaxed);
}

bool dm_glock_is_progress_thread(void)
{
    return is_progress;
}

/* ---- lock or hand-over ---- */

void dm_glock_enter(void)
{
    if (dm_likely(!glock.is_on)) {
        if (dm_unlikely(handover.is_on))
            handover_enter();
        return;
    }
    if (glock_is_mine())
        glock.depth++;
    else
        glock_acquire(1);
}

void dm_glock_leave(void)
{
    if (handover.is_on) {
        handover_leave();
        return;
    }
    /* Not ours when the lock was switched on between enter and leave. */
    if (dm_likely(!glock.is_on) && dm_likely(glock.depth == 0))
        return;
    if (glock_is_mine() && --glock.depth == 0)
        glock_release();
}

void dm_glock_yield(void)
{
    int levels;

    if (dm_likely(!glock.is_on) || !glock_is_mine())
        return;
    /* Our own ticket is serving: another one beyond it means somebody waits. */
    if (atomic_load(&glock.next) - atomic_load(&glock.serving) <= 1)
        return;
    levels = dm_glock_release_all();
    dm_glock_reacquire(levels);
}

int dm_glock_release_all(void)
{
    int levels;

    if (handover.is_on)
        return is_progress ? 0 : atomic_exchange(&handover.levels, 0);
    if (dm_likely(!glock.is_on) || !glock_is_mine())
        return 0;
    levels = glock.depth;
    glock_release();
    return levels;
}

void dm_glock_reacquire(int levels)
{
    if (levels <= 0)
        return;
    if (handover.is_on) {
        handover_enter();
        atomic_store_explicit(&handover.levels, levels, memory_order_relaxed);
    } else {
        glock_acquire(levels);
    }
}
