/*
 * Waiting for the lock, and the bias.
 *
 * Invariants: word is 1 while somebody holds the lock without the bias, or breaks the bias. Only who has word writes
 * bias. bias_in is true only while the thread that had the bias when it came in is inside, or about to see that it
 * has lost it.
 *
 * Sleepers: who goes to sleep counts itself, then makes a barrier in all threads, then looks at the word again; who
 * releases writes the word and then looks whether there are any. So a release costs no fence.
 */
#include "util/mlock.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

#include "util/barrier.h"
#include "util/futex.h"

#define MLOCK_LOOKS      60 /* before the first yield */
#define MLOCK_YIELDS     64 /* before sleeps */
#define MLOCK_STARVED_NS 1000000
#define MLOCK_SLEEP_NS   2000000 /* at most; a release wakes earlier */
#define MLOCK_STREAK     50000 /* entries of one thread, before it gets the bias; doubled each time */
#define MLOCK_STREAK_MAX (1 << 30)

struct dm_mlock dm_mlock;
DM_THREAD_LOCAL char dm_mlock_self DM_INIT_EXEC;

static struct {
    bool may_bias;           /* the kernel has a barrier for all threads */
    void *last;              /* who had the word, */
    int streak, streak_min;  /* how often in a row, and how often for the bias */
    void *kept_bias;         /* during a try */
    atomic_bool is_waking;   /* a sleeper has been woken and has not come yet */
    atomic_uint calls;       /* futex of the sleepers */
    _Atomic(void *) starved; /* the thread that is next */
    atomic_bool is_granted;  /* and has it */
    bool yields_after;       /* the next release; counts in n_slow */
    int n_listening;
    void (*listener)(void *arg);
    void *listener_arg;
} mlock;

void dm_mlock_init(void)
{
    mlock.may_bias = dm_barrier_register();
    dm_mlock.needs_fence = !mlock.may_bias;
    if (mlock.streak_min == 0)
        mlock.streak_min = MLOCK_STREAK;
    if (!mlock.may_bias)
        atomic_store(&dm_mlock.is_shared, true);
    else if (!atomic_load(&dm_mlock.is_shared) && atomic_load(&dm_mlock.word) == 0 &&
             atomic_load(&dm_mlock.bias) == NULL)
        atomic_store(&dm_mlock.bias, (void *)&dm_mlock_self);
}

static void mlock_fence(void)
{
    if (mlock.may_bias)
        dm_barrier_all();
    else
        atomic_thread_fence(memory_order_seq_cst);
}

static bool mlock_try_word(void)
{
    int is_free = 0;

    return atomic_load_explicit(&dm_mlock.word, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong_explicit(&dm_mlock.word, &is_free, 1,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* ---- the bias ---- */

/* Has word. The thread with the bias may be inside for long. */
static void mlock_end_bias(void)
{
    static const struct timespec pause = {.tv_nsec = 20000};

    atomic_fetch_add(&dm_mlock.n_wanting, 1);
    atomic_store(&dm_mlock.is_shared, true);
    atomic_store(&dm_mlock.bias, NULL);
    dm_barrier_all();
    for (int i = 0; atomic_load_explicit(&dm_mlock.bias_in, memory_order_acquire); i++) {
        if (i < MLOCK_LOOKS)
            dm_cpu_relax();
        else if (i < MLOCK_LOOKS + MLOCK_YIELDS)
            sched_yield();
        else
            (void)nanosleep(&pause, NULL);
    }
    atomic_fetch_sub(&dm_mlock.n_wanting, 1);
    mlock.streak = 0;
}

/* Has word: others have not come in for long, so this thread gets the bias for the next time. */
static void mlock_count_streak(void)
{
    if (mlock.last != &dm_mlock_self) {
        mlock.last = &dm_mlock_self;
        mlock.streak = 0;
    }
    if (++mlock.streak < mlock.streak_min)
        return;
    mlock.streak = 0;
    if (!mlock.may_bias || atomic_load(&dm_mlock.n_wanting) > 0 || mlock.n_listening > 0)
        return;
    mlock.streak_min =
        mlock.streak_min < MLOCK_STREAK_MAX / 2 ? 2 * mlock.streak_min : MLOCK_STREAK_MAX;
    atomic_store(&dm_mlock.bias, (void *)&dm_mlock_self);
    atomic_store(&dm_mlock.is_shared, false);
}

/* ---- waiting ---- */

/* It is no longer the next: it has got the lock. */
static void mlock_starve_no_more(void)
{
    if (atomic_load_explicit(&mlock.starved, memory_order_relaxed) != &dm_mlock_self)
        return;
    atomic_store(&mlock.is_granted, false);
    atomic_store(&mlock.starved, NULL);
    atomic_fetch_sub(&dm_mlock.n_slow, 1);
}

static bool mlock_got(void)
{
    bool is_granted =
        atomic_load_explicit(&mlock.starved, memory_order_relaxed) == &dm_mlock_self &&
        atomic_load_explicit(&mlock.is_granted, memory_order_acquire);

    if (!is_granted && !mlock_try_word())
        return false;
    mlock_starve_no_more();
    return true;
}

static void mlock_starve(uint64_t since)
{
    void *nobody = NULL;

    if (dm_futex_now() - since > MLOCK_STARVED_NS &&
        atomic_compare_exchange_strong(&mlock.starved, &nobody, (void *)&dm_mlock_self))
        atomic_fetch_add(&dm_mlock.n_slow, 1);
}

/* True: it has got the lock meanwhile. */
static bool mlock_sleep(void)
{
    uint32_t calls = atomic_load(&mlock.calls);
    bool has_got;

    atomic_fetch_add(&dm_mlock.n_asleep, 1);
    atomic_store(&mlock.is_waking, false);
    mlock_fence();
    has_got = mlock_got();
    if (!has_got)
        (void)dm_futex_wait(&mlock.calls, calls, dm_futex_now() + MLOCK_SLEEP_NS);
    atomic_fetch_sub(&dm_mlock.n_asleep, 1);
    atomic_store(&mlock.is_waking, false);
    return has_got;
}

static DM_NOINLINE void mlock_wait(void)
{
    uint64_t since = 0;

    atomic_fetch_add(&dm_mlock.n_wanting, 1);
    for (int i = 0; !mlock_got(); i++) {
        if (i < MLOCK_LOOKS) {
            dm_cpu_relax();
            continue;
        }
        if (since == 0)
            since = dm_futex_now();
        mlock_starve(since);
        if (i < MLOCK_LOOKS + MLOCK_YIELDS)
            sched_yield();
        else if (mlock_sleep())
            break;
    }
    atomic_fetch_sub(&dm_mlock.n_wanting, 1);
}

void dm_mlock_acquire(int depth)
{
    const void *bias;

    if (dm_unlikely(!mlock_try_word()))
        mlock_wait();
    bias = atomic_load_explicit(&dm_mlock.bias, memory_order_relaxed);
    if (dm_unlikely(bias != NULL && bias != &dm_mlock_self))
        mlock_end_bias();
    mlock_count_streak();
    dm_mlock_take(depth, false);
}

/* ---- releasing ---- */

void dm_mlock_wake_one(void)
{
    if (atomic_exchange(&mlock.is_waking, true))
        return;
    atomic_fetch_add(&mlock.calls, 1);
    dm_futex_wake(&mlock.calls, 1);
}

/* The word stays taken: it is that thread's. */
static void mlock_grant(void)
{
    atomic_store_explicit(&mlock.is_granted, true, memory_order_release);
    mlock_fence();
    if (atomic_load(&dm_mlock.n_asleep) > 0) { /* perhaps it sleeps */
        atomic_fetch_add(&mlock.calls, 1);
        dm_futex_wake(&mlock.calls, INT_MAX);
    }
}

void dm_mlock_leave_slow(void)
{
    bool yields = mlock.yields_after;

    if (mlock.n_listening > 0)
        mlock.listener(mlock.listener_arg);
    if (yields) {
        mlock.yields_after = false;
        atomic_fetch_sub(&dm_mlock.n_slow, 1);
    }
    dm_mlock.depth = 0;
    atomic_store_explicit(&dm_mlock.owner, NULL, memory_order_relaxed);
    if (dm_mlock.is_biased)
        atomic_store_explicit(&dm_mlock.bias_in, false, memory_order_release);
    else if (atomic_load(&mlock.starved) != NULL)
        mlock_grant();
    else
        dm_mlock_release();
    if (yields)
        sched_yield();
}

void dm_mlock_yield_after(void)
{
    if (!dm_mlock_is_mine() || mlock.yields_after)
        return;
    mlock.yields_after = true;
    atomic_fetch_add(&dm_mlock.n_slow, 1);
}

/* ---- for the progress thread ---- */

bool dm_mlock_try(void)
{
    if (atomic_load(&dm_mlock.bias_in) || atomic_load(&dm_mlock.n_wanting) > 0 || !mlock_try_word())
        return false;
    mlock.kept_bias = atomic_load(&dm_mlock.bias);
    if (mlock.kept_bias != NULL) {
        atomic_store(&dm_mlock.bias, NULL);
        dm_barrier_all();
        if (atomic_load_explicit(&dm_mlock.bias_in, memory_order_acquire)) {
            atomic_store(&dm_mlock.bias, mlock.kept_bias);
            dm_mlock_release();
            return false;
        }
    }
    atomic_store_explicit(&dm_mlock.owner, (void *)&dm_mlock_self, memory_order_relaxed);
    dm_mlock.depth = 1;
    dm_mlock.is_biased = false;
    return true;
}

void dm_mlock_end_try(void)
{
    if (mlock.n_listening > 0)
        mlock.listener(mlock.listener_arg);
    dm_mlock.depth = 0;
    atomic_store_explicit(&dm_mlock.owner, NULL, memory_order_relaxed);
    /* With this that thread may be inside; it may not while the word says so and it had to wait for it. */
    atomic_store(&dm_mlock.bias, mlock.kept_bias);
    if (atomic_load(&mlock.starved) != NULL)
        mlock_grant();
    else
        dm_mlock_release();
}

/* ---- listening ---- */

void dm_mlock_listen(void (*fn)(void *arg), void *arg)
{
    mlock.listener = fn;
    mlock.listener_arg = arg;
}

void dm_mlock_add_listening(int n)
{
    mlock.n_listening += n;
    atomic_fetch_add(&dm_mlock.n_slow, n);
}
