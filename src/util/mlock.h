/*
 * The lock of MPI_THREAD_MULTIPLE, of which there is one (util/glock.h): recursive, given to whoever comes first.
 *
 * A thread that is alone has it by bias: it enters with a store and a load, and whoever comes after it pays for both.
 * Else it is a word. Who finds it taken looks, yields, and sleeps; a release hands nothing over, so that a thread may
 * come back before others have woken up, but who has waited for MLOCK_STARVED_NS is next.
 */
#ifndef DM_UTIL_MLOCK_H
#define DM_UTIL_MLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/port.h"

struct dm_mlock {
    _Atomic(void *) owner; /* address of the holder's self, NULL when free */
    int depth;             /* written by the holder only, as the next */
    bool is_biased;        /* it came in by the bias */
    bool needs_fence;      /* the kernel has no barrier for all threads */
    _Atomic(void *) bias;  /* the thread that needs no word */
    atomic_bool bias_in;   /* it is inside by bias; written by it only */
    atomic_int n_slow;     /* reasons to look before a release: starved threads, listeners */
    atomic_uint n_entries;
    atomic_bool is_shared; /* several threads come in: none has the bias */
    /* The rest is for who waits. */
    DM_ALIGNED(DM_CACHE_LINE)
    atomic_int word; /* 1: somebody holds it, or is about to break the bias */
    atomic_int n_wanting;
    atomic_int n_asleep;
};

extern struct dm_mlock dm_mlock;
extern DM_THREAD_LOCAL char dm_mlock_self DM_INIT_EXEC;

/* Before the first entry: may a thread that is alone have the bias? Only where the kernel has a barrier for all. */
void dm_mlock_init(void);
void dm_mlock_acquire(int depth);
void dm_mlock_leave_slow(void);
void dm_mlock_wake_one(void);
/* For a thread that must not wait: take it if nobody holds or wants it. The bias is not lost. */
bool dm_mlock_try(void);
void dm_mlock_end_try(void);
/* While there are reasons (n more of them), fn is called by whoever is about to release it. Inside. */
void dm_mlock_listen(void (*fn)(void *arg), void *arg);
void dm_mlock_add_listening(int n);
/* Inside: when this thread has given the lock back, it gives its core to others. */
void dm_mlock_yield_after(void);

static inline bool dm_mlock_is_mine(void)
{
    return atomic_load_explicit(&dm_mlock.owner, memory_order_relaxed) == &dm_mlock_self;
}

static inline void dm_mlock_take(int depth, bool is_biased)
{
    atomic_store_explicit(&dm_mlock.owner, (void *)&dm_mlock_self, memory_order_relaxed);
    atomic_store_explicit(&dm_mlock.n_entries,
                          atomic_load_explicit(&dm_mlock.n_entries, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    dm_mlock.depth = depth;
    dm_mlock.is_biased = is_biased;
}

/* Not by who holds it. */
static inline void dm_mlock_enter(int depth)
{
    if (dm_likely(atomic_load_explicit(&dm_mlock.bias, memory_order_relaxed) == &dm_mlock_self)) {
        atomic_store_explicit(&dm_mlock.bias_in, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* who ends the bias has a barrier for both */
        if (dm_likely(atomic_load_explicit(&dm_mlock.bias, memory_order_acquire) ==
                      &dm_mlock_self)) {
            dm_mlock_take(depth, true);
            return;
        }
        atomic_store_explicit(&dm_mlock.bias_in, false, memory_order_release);
    }
    dm_mlock_acquire(depth);
}

/* Give the word back. */
static inline void dm_mlock_release(void)
{
    atomic_store_explicit(&dm_mlock.word, 0, memory_order_release);
    /* A sleeper has a barrier for both; see mlock.c. */
    if (dm_unlikely(dm_mlock.needs_fence))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    if (dm_unlikely(atomic_load_explicit(&dm_mlock.n_asleep, memory_order_relaxed) > 0))
        dm_mlock_wake_one();
}

/* By who holds it, whatever the depth. */
static inline void dm_mlock_leave(void)
{
    if (dm_unlikely(atomic_load_explicit(&dm_mlock.n_slow, memory_order_relaxed) > 0)) {
        dm_mlock_leave_slow();
        return;
    }
    dm_mlock.depth = 0;
    atomic_store_explicit(&dm_mlock.owner, NULL, memory_order_relaxed);
    if (dm_mlock.is_biased)
        atomic_store_explicit(&dm_mlock.bias_in, false, memory_order_release);
    else
        dm_mlock_release();
}

#endif
