/*
 * The global lock: one lock around the library. It is taken only when the program asked for
 * MPI_THREAD_MULTIPLE, or when a progress thread of the library runs beside the program's threads.
 * Everything above src/dapl_adapt runs inside it.
 */
#ifndef DM_UTIL_GLOCK_H
#define DM_UTIL_GLOCK_H

#include <stdbool.h>

/* Switch the lock on (MPI_THREAD_MULTIPLE); before any second thread calls in. */
void dm_glock_enable(bool is_on);
/* Take and give the lock; nothing but a predicted test when it is off. Recursive. */
void dm_glock_enter(void);
void dm_glock_leave(void);
/*
 * In a waiting loop: give the lock so that another thread can progress, and
 * take it again. Releases every level of recursion of this thread.
 */
void dm_glock_yield(void);
/*
 * Around a wait that blocks in the provider: release all levels, returning how
 * many; take them back. dm_glock_release_all returns 0 when the lock is off.
 */
int dm_glock_release_all(void);
void dm_glock_reacquire(int levels);

/* ---- progress threads ---- */

/*
 * Below MPI_THREAD_MULTIPLE the program's threads call in one at a time. The hand-over takes the
 * place of the lock then: entering and leaving cost the program a store and a load, the progress
 * thread pays for both. Levels that this thread holds of either stay held. No progress thread may
 * run meanwhile. With false, returns the levels that were held, for dm_glock_reacquire.
 */
int dm_glock_use_handover(bool is_on);
/*
 * The progress thread (at most one at a time) enters, with the lock or the hand-over: false when a
 * thread of the program is inside or wants to be. It leaves by dm_glock_progress_leave.
 */
bool dm_glock_progress_enter(void);
void dm_glock_progress_leave(void);
/* Inside: does a thread of the program want to get in? Outside: is one inside? */
bool dm_glock_is_wanted(void);
bool dm_glock_is_taken(void);
/* How often the program's threads have come in; the number wraps. */
unsigned int dm_glock_n_entries(void);
/* Is this the progress thread, inside the lock? */
bool dm_glock_is_progress_thread(void);

#endif
