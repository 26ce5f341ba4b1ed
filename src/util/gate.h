/*
 * The thread gate: one lock around the library, taken only when the program
 * asked for MPI_THREAD_MULTIPLE. Everything above src/dapl_adapt runs inside it.
 */
#ifndef DM_UTIL_GATE_H
#define DM_UTIL_GATE_H

#include <stdbool.h>

/* Switch the lock on (MPI_THREAD_MULTIPLE); before any second thread calls in. */
void dm_gate_enable(bool is_on);
/* Take and give the lock; nothing but a predicted test when it is off. Recursive. */
void dm_gate_enter(void);
void dm_gate_leave(void);
/*
 * In a waiting loop: give the lock so that another thread can progress, and
 * take it again. Releases every level of recursion of this thread.
 */
void dm_gate_yield(void);
/*
 * Around a wait that blocks in the provider: release all levels, returning how
 * many; take them back. dm_gate_drop returns 0 when the lock is off.
 */
int dm_gate_drop(void);
void dm_gate_retake(int levels);

#endif
