/*
 * The thread gate: one lock around the library, taken only when the program
 * asked for MPI_THREAD_MULTIPLE, or when a thread of the library's own makes progress
 * aside of the program's. Everything above src/dapl_adapt runs inside it.
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

/* ---- a thread of the library's own, aside of the program's ---- */

/*
 * With less than MPI_THREAD_MULTIPLE the program's threads call in one at a time: coming and going costs
 * them a store and a load, and the one aside pays for both. Takes the place of the lock; levels that
 * this thread holds of either stay held. The thread aside must not run meanwhile. False returns the
 * levels that were held, for dm_glock_reacquire if the lock follows.
 */
int dm_glock_use_handover(bool is_on);
/*
 * The way in of the thread aside (at most one), also where the lock is on: false when a thread of the
 * program is inside or wants to be. Out by dm_glock_progress_leave.
 */
bool dm_glock_progress_enter(void);
void dm_glock_progress_leave(void);
/* Inside: does a thread of the program want to get in? Outside: is one inside? */
bool dm_glock_is_wanted(void);
bool dm_glock_is_taken(void);
/* How often the program's threads have come in; the number wraps. */
unsigned int dm_glock_n_entries(void);
/* Is this the thread aside, inside the gate? */
bool dm_glock_is_progress_thread(void);

#endif
