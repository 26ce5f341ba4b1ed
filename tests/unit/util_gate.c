/* test: layers=util timeout=30 */
/* The thread gate: mutual exclusion, recursion, dropping, fairness. */
#include "util/gate.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "test.h"

#define N_THREADS 4
#define N_ROUNDS  20000

static int counter; /* guarded by the gate */

static void start(pthread_t *thread, void *(*fn)(void *))
{
    if (pthread_create(thread, NULL, fn, NULL) != 0)
        abort();
}

static void off_costs_nothing_and_nests(void)
{
    dm_gate_enter();
    dm_gate_leave();
    dm_gate_leave();
    dm_gate_yield();
    CHECK_EQ(dm_gate_drop(), 0);
    dm_gate_retake(0);
    /* Switched on between enter and leave, as MPI_Init_thread does. */
    dm_gate_enter();
    dm_gate_enable(true);
    dm_gate_leave();
    dm_gate_enter();
    dm_gate_enter();
    CHECK_EQ(dm_gate_drop(), 2);
    dm_gate_retake(2);
    dm_gate_leave();
    CHECK_EQ(dm_gate_drop(), 1);
    dm_gate_retake(1);
    /* Switched off inside, as MPI_Finalize does. */
    dm_gate_enable(false);
    dm_gate_leave();
    dm_gate_enable(true);
    dm_gate_enter();
    dm_gate_leave();
}

static void *count(void *arg)
{
    (void)arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        dm_gate_enter();
        dm_gate_enter();
        counter++;
        dm_gate_leave();
        if (i % 8 == 0)
            dm_gate_yield();
        counter++;
        dm_gate_leave();
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
    dm_gate_enter();
    atomic_store(&is_done, 1);
    dm_gate_leave();
    return NULL;
}

/* One that polls and yields must let the other in; a lost wake-up hangs here. */
static void yield_lets_others_in(void)
{
    for (int i = 0; i < 200; i++) {
        pthread_t thread;

        atomic_store(&is_done, 0);
        dm_gate_enter();
        dm_gate_enter();
        start(&thread, set_done);
        while (!atomic_load(&is_done))
            dm_gate_yield();
        dm_gate_leave();
        dm_gate_leave();
        pthread_join(thread, NULL);
    }
}

static void drop_lets_others_in(void)
{
    pthread_t thread;
    int levels;

    atomic_store(&is_done, 0);
    dm_gate_enter();
    start(&thread, set_done);
    levels = dm_gate_drop();
    pthread_join(thread, NULL);
    dm_gate_retake(levels);
    CHECK_EQ(atomic_load(&is_done), 1);
    dm_gate_leave();
}

/* ---- shared with a thread aside ---- */

static atomic_int is_over;
static int n_aside; /* guarded by the gate, as counter */

static void *pass_aside(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        if (!dm_gate_enter_aside()) {
            sched_yield();
            continue;
        }
        CHECK(dm_gate_is_aside());
        for (int i = 0; i < 100 && !dm_gate_is_wanted(); i++)
            counter++, n_aside++;
        dm_gate_enter(); /* as the library does inside itself */
        counter++;
        n_aside++;
        dm_gate_leave();
        dm_gate_leave_aside();
        CHECK(!dm_gate_is_aside());
    }
    return NULL;
}

/* Nothing is lost between the program's thread and the one aside. */
static void one_aside_steps_aside(void)
{
    pthread_t aside;
    unsigned int turns;
    int n_mine = 0;

    dm_gate_enable(false);
    CHECK_EQ(dm_gate_share(true), 0);
    turns = dm_gate_turns();
    counter = n_aside = 0;
    atomic_store(&is_over, 0);
    start(&aside, pass_aside);
    for (int i = 0; i < 5 * N_ROUNDS; i++) {
        dm_gate_enter();
        counter++;
        n_mine++;
        dm_gate_enter();
        CHECK(dm_gate_is_taken());
        if (i % 64 == 0) {
            int levels = dm_gate_drop();

            CHECK_EQ(levels, 2);
            CHECK(!dm_gate_is_taken());
            sched_yield();
            dm_gate_retake(levels);
        }
        dm_gate_leave();
        counter++;
        n_mine++;
        dm_gate_leave();
        if (i % 512 == 0)
            sched_yield();
    }
    CHECK(dm_gate_turns() - turns >= 5 * N_ROUNDS);
    atomic_store(&is_over, 1);
    pthread_join(aside, NULL);
    CHECK_EQ(counter, n_mine + n_aside);
    dm_gate_enter();
    CHECK_EQ(dm_gate_share(false), 1);
    dm_gate_leave();
}

/* The same where several threads of the program take the lock. */
static void one_aside_of_many(void)
{
    pthread_t threads[N_THREADS];
    pthread_t aside;

    dm_gate_enable(true);
    counter = n_aside = 0;
    atomic_store(&is_over, 0);
    start(&aside, pass_aside);
    for (int i = 0; i < N_THREADS; i++)
        start(&threads[i], count);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&is_over, 1);
    pthread_join(aside, NULL);
    CHECK_EQ(counter, 2 * N_ROUNDS * N_THREADS + n_aside);
}

/* MPI_Session_init begins with the lock, and goes on with what it has chosen. */
static void levels_change_hands(void)
{
    dm_gate_enable(true);
    dm_gate_enter();
    dm_gate_enter();
    CHECK_EQ(dm_gate_share(true), 2);
    CHECK(dm_gate_is_taken());
    CHECK(!dm_gate_enter_aside());
    dm_gate_leave();
    CHECK(!dm_gate_enter_aside());
    dm_gate_leave();
    CHECK(dm_gate_enter_aside());
    dm_gate_leave_aside();
    dm_gate_enter();
    CHECK_EQ(dm_gate_share(false), 1);
    dm_gate_enable(true);
    dm_gate_retake(1);
    CHECK(dm_gate_is_taken());
    dm_gate_leave();
    CHECK(!dm_gate_is_taken());
    dm_gate_enable(false);
}

int main(void)
{
    off_costs_nothing_and_nests();
    threads_exclude_each_other();
    yield_lets_others_in();
    drop_lets_others_in();
    one_aside_steps_aside();
    one_aside_of_many();
    levels_change_hands();
    return test_result();
}
