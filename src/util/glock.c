/*
 * The global lock: the lock of many threads (mlock.c), or the hand-over in its place.
 *
 * Hand-over: one thread of the program at a time and one progress thread. The program's thread
 * writes its own word (levels) and reads the other's (wants). The progress thread writes its word,
 * makes a barrier in all threads of the process (membarrier) and reads the first. So at least one
 * of them sees the other, and the progress thread gives way.
 */
#include "util/glock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "util/barrier.h"
#include "util/mlock.h"
#include "util/port.h"

#define GLOCK_SPINS 200

static struct {
    bool is_on;
    pthread_mutex_t sleep_lock; /* of the hand-over */
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
} handover;

static DM_THREAD_LOCAL bool is_progress DM_INIT_EXEC;

void dm_glock_enable(bool is_on)
{
    if (is_on)
        dm_mlock_init();
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
        levels = dm_mlock_is_mine() ? dm_mlock.depth : 0;
        glock.is_on = false;
        atomic_store(&handover.levels, levels);
        handover.needs_fence = !dm_barrier_register();
        handover.is_on = true;
        if (levels > 0)
            dm_mlock_leave();
        return levels;
    }
    levels = handover.is_on ? atomic_exchange(&handover.levels, 0) : 0;
    handover.is_on = false;
    return levels;
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
        is_progress = dm_mlock_try();
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
        dm_mlock_end_try();
    else
        handover_progress_leave();
}

bool dm_glock_is_wanted(void)
{
    if (glock.is_on)
        return atomic_load_explicit(&dm_mlock.n_wanting, memory_order_relaxed) > 0;
    return atomic_load_explicit(&handover.levels, memory_order_relaxed) > 0;
}

bool dm_glock_is_taken(void)
{
    if (glock.is_on)
        return atomic_load(&dm_mlock.word) != 0 || atomic_load(&dm_mlock.bias_in);
    return atomic_load_explicit(&handover.levels, memory_order_relaxed) > 0;
}

unsigned int dm_glock_n_entries(void)
{
    if (glock.is_on)
        return atomic_load_explicit(&dm_mlock.n_entries, memory_order_relaxed);
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
    if (dm_mlock_is_mine())
        dm_mlock.depth++;
    else
        dm_mlock_enter(1);
}

void dm_glock_leave(void)
{
    if (handover.is_on) {
        handover_leave();
        return;
    }
    /* Not ours when the lock was switched on between enter and leave; perhaps ours when off. */
    if (dm_likely(!glock.is_on) && dm_likely(dm_mlock.depth == 0))
        return;
    if (dm_mlock_is_mine() && --dm_mlock.depth == 0)
        dm_mlock_leave();
}

void dm_glock_yield(void)
{
    int levels;

    if (dm_likely(!glock.is_on) || !dm_mlock_is_mine() || !dm_glock_is_wanted())
        return;
    levels = dm_glock_release_all();
    sched_yield();
    dm_glock_reacquire(levels);
}

int dm_glock_release_all(void)
{
    int levels;

    if (handover.is_on)
        return is_progress ? 0 : atomic_exchange(&handover.levels, 0);
    if (dm_likely(!glock.is_on) || !dm_mlock_is_mine())
        return 0;
    levels = dm_mlock.depth;
    dm_mlock_leave();
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
        dm_mlock_enter(levels);
    }
}
