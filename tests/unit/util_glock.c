/* test: layers=util timeout=30 */
/* the global lock: mutual exclusion, recursion, dropping, fairness. */
#include "util/glock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "test.h"

#define N_THREADS 4
#define N_ROUNDS  20000

static int counter; /* guarded by the lock */

static void start(pthread_t *thread, void *(*fn)(void *))
{
    if (pthread_create(thread, NULL, fn, NULL) != 0)
        abort();
}

static void off_costs_nothing_and_nests(void)
{
    dm_glock_enter();
    dm_glock_leave();
    dm_glock_leave();
    dm_glock_yield();
    CHECK_EQ(dm_glock_release_all(), 0);
    dm_glock_reacquire(0);
    /* Switched on between enter and leave, as MPI_Init_thread does. */
    dm_glock_enter();
    dm_glock_enable(true);
    dm_glock_leave();
    dm_glock_enter();
    dm_glock_enter();
    CHECK_EQ(dm_glock_release_all(), 2);
    dm_glock_reacquire(2);
    dm_glock_leave();
    CHECK_EQ(dm_glock_release_all(), 1);
    dm_glock_reacquire(1);
    /* Switched off inside, as MPI_Finalize does. */
    dm_glock_enable(false);
    dm_glock_leave();
    dm_glock_enable(true);
    dm_glock_enter();
    dm_glock_leave();
}

static void *count(void *arg)
{
    (void)arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        dm_glock_enter();
        dm_glock_enter();
        counter++;
        dm_glock_leave();
        if (i % 8 == 0)
            dm_glock_yield();
        counter++;
        dm_glock_leave();
    }
    return NULL;
}

static void threads_exclude_each_other(void)
{
    pthread_t threads[N_THREADS];

    for (int i = 0; i < N_THREADS; i++)
        start(&threads[i], count);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(counter, 2 * N_ROUNDS * N_THREADS);
}

static atomic_int is_done;

static void *set_done(void *arg)
{
    (void)arg;
    dm_glock_enter();
    atomic_store(&is_done, 1);
    dm_glock_leave();
    return NULL;
}

/* One that polls and yields must let the other in; a lost wake-up hangs here. */
static void yield_lets_others_in(void)
{
    for (int i = 0; i < 200; i++) {
        pthread_t thread;

        atomic_store(&is_done, 0);
        dm_glock_enter();
        dm_glock_enter();
        start(&thread, set_done);
        while (!atomic_load(&is_done))
            dm_glock_yield();
        dm_glock_leave();
        dm_glock_leave();
        pthread_join(thread, NULL);
    }
}

static void drop_lets_others_in(void)
{
    pthread_t thread;
    int levels;

    atomic_store(&is_done, 0);
    dm_glock_enter();
    start(&thread, set_done);
    levels = dm_glock_release_all();
    pthread_join(thread, NULL);
    dm_glock_reacquire(levels);
    CHECK_EQ(atomic_load(&is_done), 1);
    dm_glock_leave();
}

/* ---- handed over to a progress thread ---- */

static atomic_int is_over;
static int n_progress; /* guarded by the lock, as counter */

static void *progress_pass(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        if (!dm_glock_progress_enter()) {
            sched_yield();
            continue;
        }
        CHECK(dm_glock_is_progress_thread());
        for (int i = 0; i < 100 && !dm_glock_is_wanted(); i++)
            counter++, n_progress++;
        dm_glock_enter(); /* as the library does inside itself */
        counter++;
        n_progress++;
        dm_glock_leave();
        dm_glock_progress_leave();
        CHECK(!dm_glock_is_progress_thread());
    }
    return NULL;
}

/* Nothing is lost between the program's thread and the progress thread. */
static void one_progress_thread_yields(void)
{
    pthread_t progress;
    unsigned int turns;
    int n_mine = 0;

    dm_glock_enable(false);
    CHECK_EQ(dm_glock_use_handover(true), 0);
    turns = dm_glock_n_entries();
    counter = n_progress = 0;
    atomic_store(&is_over, 0);
    start(&progress, progress_pass);
    for (int i = 0; i < 5 * N_ROUNDS; i++) {
        dm_glock_enter();
        counter++;
        n_mine++;
        dm_glock_enter();
        CHECK(dm_glock_is_taken());
        if (i % 64 == 0) {
            int levels = dm_glock_release_all();

            CHECK_EQ(levels, 2);
            CHECK(!dm_glock_is_taken());
            sched_yield();
            dm_glock_reacquire(levels);
        }
        dm_glock_leave();
        counter++;
        n_mine++;
        dm_glock_leave();
        if (i % 512 == 0)
            sched_yield();
    }
    CHECK(dm_glock_n_entries() - turns >= 5 * N_ROUNDS);
    atomic_store(&is_over, 1);
    pthread_join(progress, NULL);
    CHECK_EQ(counter, n_mine + n_progress);
    dm_glock_enter();
    CHECK_EQ(dm_glock_use_handover(false), 1);
    dm_glock_leave();
}

/* The same where several threads of the program take the lock. */
static void one_progress_thread_of_many(void)
{
    pthread_t threads[N_THREADS];
    pthread_t progress;

    dm_glock_enable(true);
    counter = n_progress = 0;
    atomic_store(&is_over, 0);
    start(&progress, progress_pass);
    for (int i = 0; i < N_THREADS; i++)
        start(&threads[i], count);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&is_over, 1);
    pthread_join(progress, NULL);
    CHECK_EQ(counter, 2 * N_ROUNDS * N_THREADS + n_progress);
}

/* MPI_Session_init begins with the lock, and goes on with what it has chosen. */
static void levels_change_hands(void)
{
    dm_glock_enable(true);
    dm_glock_enter();
    dm_glock_enter();
    CHECK_EQ(dm_glock_use_handover(true), 2);
    CHECK(dm_glock_is_taken());
    CHECK(!dm_glock_progress_enter());
    dm_glock_leave();
    CHECK(!dm_glock_progress_enter());
    dm_glock_leave();
    CHECK(dm_glock_progress_enter());
    dm_glock_progress_leave();
    dm_glock_enter();
    CHECK_EQ(dm_glock_use_handover(false), 1);
    dm_glock_enable(true);
    dm_glock_reacquire(1);
    CHECK(dm_glock_is_taken());
    dm_glock_leave();
    CHECK(!dm_glock_is_taken());
    dm_glock_enable(false);
}

int main(void)
{
    off_costs_nothing_and_nests();
    threads_exclude_each_other();
    yield_lets_others_in();
    drop_lets_others_in();
    one_progress_thread_yields();
    one_progress_thread_of_many();
    levels_change_hands();
    return test_result();
}
