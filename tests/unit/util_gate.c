/* test: layers=util timeout=30 */
/* The thread gate: mutual exclusion, recursion, dropping, fairness. */
#include "util/gate.h"

#include <pthread.h>
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

int main(void)
{
    off_costs_nothing_and_nests();
    threads_exclude_each_other();
    yield_lets_others_in();
    drop_lets_others_in();
    return test_result();
}
